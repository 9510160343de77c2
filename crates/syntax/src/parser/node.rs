//! Making nodes, and bounding the height of the tree while it grows.

use super::{Parse, Parser};
use crate::ast::*;
use ein_base::{Idx, Span};

/// The heights of the last nodes of one arena.
#[derive(Default)]
struct Recent {
    /// How many nodes came before them.
    before: usize,
    heights: Vec<u16>,
}

impl Recent {
    fn get(&self, node: usize) -> u16 {
        node.checked_sub(self.before).and_then(|at| self.heights.get(at)).copied().unwrap_or(0)
    }
    fn push(&mut self, height: u16) {
        self.heights.push(height);
    }
    fn truncate(&mut self, nodes: usize) {
        self.heights.truncate(nodes.saturating_sub(self.before));
    }
    fn forget(&mut self) {
        self.before += self.heights.len();
        self.heights.clear();
    }
}

/// The heights of the nodes that may still become children.
#[derive(Default)]
pub(super) struct Heights {
    expr: Recent,
    ty: Recent,
    pat: Recent,
    stmt: Recent,
}

impl Heights {
    /// Forgets all nodes that there are: none of them will have a parent.
    pub(super) fn forget(&mut self) {
        self.expr.forget();
        self.ty.forget();
        self.pat.forget();
        self.stmt.forget();
    }
    fn expr(&self, id: ExprId) -> u16 {
        self.expr.get(id.index())
    }
    fn ty(&self, id: TypeId) -> u16 {
        self.ty.get(id.index())
    }
    fn pat(&self, id: PatId) -> u16 {
        self.pat.get(id.index())
    }
    fn exprs(&self, ids: impl IntoIterator<Item = ExprId>) -> u16 {
        ids.into_iter().map(|id| self.expr(id)).max().unwrap_or(0)
    }
    fn tys(&self, ids: impl IntoIterator<Item = TypeId>) -> u16 {
        ids.into_iter().map(|id| self.ty(id)).max().unwrap_or(0)
    }
    fn pats(&self, ids: &[PatId]) -> u16 {
        ids.iter().map(|id| self.pat(*id)).max().unwrap_or(0)
    }
    fn stmts(&self, ids: &[StmtId]) -> u16 {
        ids.iter().map(|id| self.stmt.get(id.index())).max().unwrap_or(0)
    }
    fn args(&self, args: &[Arg]) -> u16 {
        self.exprs(args.iter().map(|a| a.value))
    }
    fn slots(&self, slots: &[Slot]) -> u16 {
        self.exprs(
            slots
                .iter()
                .flat_map(|s| match &s.kind {
                    SlotKind::Expr(e)
                    | SlotKind::Domain { domain: e, .. }
                    | SlotKind::Named { value: e, .. } => [Some(*e), None],
                    SlotKind::Stepped { range, step } => [Some(*range), Some(*step)],
                    SlotKind::Pack(_) | SlotKind::Group(_) | SlotKind::Axis(_) => [None, None],
                })
                .flatten(),
        )
    }
    fn params(&self, params: &[Param]) -> u16 {
        params
            .iter()
            .map(|p| self.pat(p.pat).max(self.tys(p.ty)).max(self.exprs(p.default)))
            .max()
            .unwrap_or(0)
    }

    /// The height of the tallest child.
    fn below_expr(&self, kind: &ExprKind) -> u16 {
        match kind {
            ExprKind::Int { .. }
            | ExprKind::Float { .. }
            | ExprKind::Bool(_)
            | ExprKind::Path(_)
            | ExprKind::Size(_)
            | ExprKind::Hole
            | ExprKind::Error => 0,
            ExprKind::Str(parts) => self.exprs(parts.iter().filter_map(|p| match p {
                StrPart::Value { expr, .. } => Some(*expr),
                StrPart::Text(_) => None,
            })),
            ExprKind::Unary(_, e)
            | ExprKind::At(e)
            | ExprKind::Field(e, _)
            | ExprKind::TupleField(e, _, _)
            | ExprKind::Try(e) => self.expr(*e),
            ExprKind::Binary(_, a, b) | ExprKind::Pipe(_, a, b) | ExprKind::OrElse(a, b) => {
                self.expr(*a).max(self.expr(*b))
            }
            ExprKind::Catch { value, handler, .. } => self.expr(*value).max(self.expr(*handler)),
            ExprKind::Range { lo, hi, .. } => self.exprs(lo.iter().chain(hi).copied()),
            ExprKind::Cast(e, ty) => self.expr(*e).max(self.ty(*ty)),
            ExprKind::Call { callee, args } => self.expr(*callee).max(self.args(args)),
            ExprKind::BracketCall { callee, slots, args } => {
                self.expr(*callee).max(self.slots(slots)).max(self.args(args))
            }
            ExprKind::Index { base, slots } => self.expr(*base).max(self.slots(slots)),
            ExprKind::Array(items) | ExprKind::Tuple(items) => self.exprs(items.iter().copied()),
            ExprKind::Comprehension { body, clauses } => {
                let clauses = clauses.iter().map(|clause| match clause {
                    CompClause::Generator(pat, e) => self.pat(*pat).max(self.expr(*e)),
                    CompClause::Condition(e) | CompClause::Binding(_, e) => self.expr(*e),
                });
                clauses.max().unwrap_or(0).max(self.expr(*body))
            }
            ExprKind::Struct { fields, .. } => self.exprs(fields.iter().map(|f| f.1)),
            ExprKind::Block { stmts, tail } => self.stmts(stmts).max(self.exprs(*tail)),
            ExprKind::If { cond, then, otherwise } => {
                self.expr(*cond).max(self.expr(*then)).max(self.exprs(*otherwise))
            }
            ExprKind::Match { scrutinee, arms } => {
                let arms = arms.iter().map(|arm| {
                    self.pat(arm.pat).max(self.exprs(arm.guard)).max(self.expr(arm.body))
                });
                arms.max().unwrap_or(0).max(self.expr(*scrutinee))
            }
            ExprKind::Closure { params, body } => self.params(params).max(self.expr(*body)),
            ExprKind::Where { body, items, otherwise } => {
                let items = items.iter().map(|item| match item {
                    WhereItem::Binding(_, e) | WhereItem::Guard(e) => *e,
                });
                self.exprs(items).max(self.expr(*body)).max(self.exprs(*otherwise))
            }
        }
    }

    fn below_ty(&self, kind: &TypeKind) -> u16 {
        match kind {
            TypeKind::Path { args, .. } => self.tys(args.iter().copied()),
            TypeKind::Array { elem, dims, .. } => {
                let dims = dims.iter().flatten().filter_map(|dim| match &dim.kind {
                    DimKind::Size(e) => Some(*e),
                    DimKind::Coord { extent, .. } => *extent,
                    DimKind::Pack(_) => None,
                });
                self.ty(*elem).max(self.exprs(dims))
            }
            TypeKind::AnyRank(elem) | TypeKind::Jagged { elem, .. } => self.ty(*elem),
            TypeKind::Tuple(items) => self.tys(items.iter().copied()),
            TypeKind::Function { params, ret } => {
                self.tys(params.iter().copied()).max(self.ty(*ret))
            }
            TypeKind::Some { body, .. } => self.ty(*body),
            TypeKind::Error => 0,
        }
    }

    fn below_pat(&self, kind: &PatKind) -> u16 {
        match kind {
            PatKind::Wild | PatKind::Path(_) | PatKind::Error => 0,
            PatKind::Bind { ty, .. } => self.tys(*ty),
            PatKind::Literal(e) => self.expr(*e),
            PatKind::Range { lo, hi, .. } => self.exprs(lo.iter().chain(hi).copied()),
            PatKind::Tuple(items) | PatKind::Or(items) => self.pats(items),
            PatKind::Array { before, after, .. } => self.pats(before).max(self.pats(after)),
            PatKind::Variant { args, .. } => self.pats(args),
            PatKind::Struct { fields, .. } => {
                fields.iter().map(|f| self.pat(f.1)).max().unwrap_or(0)
            }
            PatKind::At(_, inner) => self.pat(*inner),
        }
    }

    fn below_stmt(&self, kind: &StmtKind) -> u16 {
        match kind {
            StmtKind::Let(it) => self.pat(it.pat).max(self.tys(it.ty)).max(self.expr(it.value)),
            StmtKind::Clause(it) => {
                let domains = it.slots.iter().filter_map(|slot| match slot.kind {
                    LeftSlotKind::Index { domain, .. } => domain,
                    LeftSlotKind::Point(point) => Some(point),
                    LeftSlotKind::Literal(_) | LeftSlotKind::Pack(_) | LeftSlotKind::Error => None,
                });
                self.exprs(domains).max(self.expr(it.value))
            }
            StmtKind::Const(it) => self.tys(it.ty).max(self.expr(it.value)),
            StmtKind::Fn(it) | StmtKind::Rule(it) => {
                self.params(&it.params).max(self.tys(it.ret)).max(self.expr(it.body))
            }
            StmtKind::Mod(it) => it.body.as_deref().map_or(0, |stmts| self.stmts(stmts)),
            StmtKind::Struct(it) => self.tys(it.fields.iter().map(|f| f.ty)),
            StmtKind::Enum(it) => {
                let data = it.variants.iter().map(|variant| match &variant.data {
                    VariantData::Unit => 0,
                    VariantData::Tuple(items) => self.tys(items.iter().copied()),
                    VariantData::Struct(fields) => self.tys(fields.iter().map(|f| f.ty)),
                });
                data.max().unwrap_or(0)
            }
            StmtKind::Test(it) => self.expr(it.body),
            StmtKind::Expr(e) => self.expr(*e),
            StmtKind::Use(_) | StmtKind::Error => 0,
        }
    }
}

impl Parser<'_> {
    /// An expression without children.
    pub(super) fn leaf(&mut self, kind: ExprKind, span: Span) -> ExprId {
        self.heights.expr.push(1);
        self.ast.expr.push(Expr { kind, span })
    }

    /// An expression from `lo` to the token before the current one.
    pub(super) fn expr(&mut self, kind: ExprKind, lo: u32) -> Parse<ExprId> {
        let height = self.heights.below_expr(&kind) + 1;
        if u32::from(height) > MAX_DEPTH {
            return Err(self.too_deep());
        }
        self.heights.expr.push(height);
        let span = self.span_from(lo);
        Ok(self.ast.expr.push(Expr { kind, span }))
    }

    pub(super) fn ty(&mut self, kind: TypeKind, lo: u32) -> Parse<TypeId> {
        let height = self.heights.below_ty(&kind) + 1;
        if u32::from(height) > MAX_DEPTH {
            return Err(self.too_deep());
        }
        self.heights.ty.push(height);
        let span = self.span_from(lo);
        Ok(self.ast.ty.push(Type { kind, span }))
    }

    pub(super) fn pat(&mut self, kind: PatKind, lo: u32) -> Parse<PatId> {
        let height = self.heights.below_pat(&kind) + 1;
        if u32::from(height) > MAX_DEPTH {
            return Err(self.too_deep());
        }
        self.heights.pat.push(height);
        let span = self.span_from(lo);
        Ok(self.ast.pat.push(Pat { kind, span }))
    }

    /// A type that stands for what could not be parsed.
    pub(super) fn error_ty(&mut self) -> TypeId {
        self.heights.ty.push(1);
        let span = Span::new(self.file, self.prev_end, self.prev_end);
        self.ast.ty.push(Type { kind: TypeKind::Error, span })
    }

    /// A pattern that stands for what could not be parsed.
    pub(super) fn error_pat(&mut self) -> PatId {
        self.heights.pat.push(1);
        let span = Span::new(self.file, self.prev_end, self.prev_end);
        self.ast.pat.push(Pat { kind: PatKind::Error, span })
    }

    /// A statement from `lo` to the token before the current one. One that is too high is
    /// replaced by an error.
    pub(super) fn stmt(&mut self, kind: StmtKind, lo: u32, docs: Vec<Doc>) -> StmtId {
        let height = self.heights.below_stmt(&kind) + 1;
        let span = self.span_from(lo);
        let (kind, height) = if u32::from(height) > MAX_DEPTH {
            self.too_deep();
            (StmtKind::Error, 1)
        } else {
            (kind, height)
        };
        self.heights.stmt.push(height);
        self.ast.stmt.push(Stmt { kind, span, docs: docs.into() })
    }

    /// How many nodes there are, to take a try back with [`Self::rewind`].
    pub(super) fn mark(&self) -> (usize, usize, usize, usize) {
        (self.ast.expr.len(), self.ast.ty.len(), self.ast.pat.len(), self.ast.stmt.len())
    }

    /// Drops the nodes made since `mark`.
    pub(super) fn rewind(&mut self, mark: (usize, usize, usize, usize)) {
        self.ast.expr.truncate(mark.0);
        self.heights.expr.truncate(mark.0);
        self.ast.ty.truncate(mark.1);
        self.heights.ty.truncate(mark.1);
        self.ast.pat.truncate(mark.2);
        self.heights.pat.truncate(mark.2);
        self.ast.stmt.truncate(mark.3);
        self.heights.stmt.truncate(mark.3);
    }
}
