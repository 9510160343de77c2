//! Builds trees node by node, each with the span of the text that it stands for.

use super::Elem;
use crate::ast::*;
use ein_base::{FileId, Name, Span, Symbol};
use thin_vec::ThinVec;

/// A tree that grows.
#[derive(Debug)]
pub(crate) struct Builder {
    /// The tree so far.
    pub(crate) ast: Ast,
}

impl Builder {
    pub(crate) fn new(file: FileId) -> Self {
        Self { ast: Ast::new(file) }
    }

    pub(crate) fn expr(&mut self, kind: ExprKind, span: Span) -> ExprId {
        self.ast.expr.push(Expr { kind, span })
    }

    pub(crate) fn error(&mut self, span: Span) -> ExprId {
        self.expr(ExprKind::Error, span)
    }

    pub(crate) fn path(&mut self, name: &str, span: Span) -> ExprId {
        let path = name.split("::").map(|it| named(it, span)).collect();
        self.expr(ExprKind::Path(path), span)
    }

    pub(crate) fn int(&mut self, value: i64, span: Span) -> ExprId {
        let kind = ExprKind::Int { value: value.unsigned_abs(), suffix: None };
        let number = self.expr(kind, span);
        if value < 0 { self.expr(ExprKind::Unary(UnaryOp::Neg, number), span) } else { number }
    }

    pub(crate) fn float(&mut self, text: &str, span: Span) -> ExprId {
        let (sign, digits) = match text.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, text),
        };
        let kind = ExprKind::Float { text: Symbol::intern(digits), suffix: None };
        let number = self.expr(kind, span);
        if sign { self.expr(ExprKind::Unary(UnaryOp::Neg, number), span) } else { number }
    }

    /// The whole number that an expression is, if it is a literal.
    pub(crate) fn literal(&self, expr: ExprId) -> Option<i64> {
        match self.ast.expr.get(expr)?.kind {
            ExprKind::Int { value, .. } => i64::try_from(value).ok(),
            ExprKind::Unary(UnaryOp::Neg, inner) => match self.ast.expr.get(inner)?.kind {
                ExprKind::Int { value, .. } => i64::try_from(value).ok().map(|it| -it),
                _ => None,
            },
            _ => None,
        }
    }

    /// The value as floats; literals are written as such.
    pub(crate) fn floats(&mut self, value: ExprId) -> ExprId {
        let span = self.ast.expr[value].span;
        if let Some(number) = self.literal(value) {
            return self.float(&format!("{number}.0"), span);
        }
        if let ExprKind::Array(items) = &self.ast.expr[value].kind
            && self.is_literal(value)
        {
            let items = items.clone();
            let items = items.into_iter().map(|it| self.floats(it)).collect();
            return self.expr(ExprKind::Array(items), span);
        }
        let ty = self.scalar(Elem::Float, span);
        self.expr(ExprKind::Cast(value, ty), span)
    }

    fn is_literal(&self, value: ExprId) -> bool {
        match &self.ast.expr[value].kind {
            ExprKind::Array(items) => items.iter().all(|it| self.is_literal(*it)),
            _ => self.literal(value).is_some(),
        }
    }

    pub(crate) fn call(&mut self, callee: ExprId, args: Vec<ExprId>, span: Span) -> ExprId {
        let args = args.into_iter().map(|value| Arg { name: None, value }).collect();
        self.expr(ExprKind::Call { callee, args }, span)
    }

    pub(crate) fn call_path(&mut self, path: &str, args: Vec<ExprId>, span: Span) -> ExprId {
        let callee = self.path(path, span);
        self.call(callee, args, span)
    }

    /// `first[#0](x)`, `sum[i](x)`
    pub(crate) fn bracket_call(
        &mut self,
        path: &str,
        slot: SlotKind,
        args: Vec<ExprId>,
        span: Span,
    ) -> ExprId {
        let callee = self.path(path, span);
        let args = args.into_iter().map(|value| Arg { name: None, value }).collect();
        let slots = vec![Slot { kind: slot, span }];
        self.expr(ExprKind::BracketCall { callee, slots: slots.into(), args }, span)
    }

    pub(crate) fn index(&mut self, base: ExprId, slots: Vec<ExprId>, span: Span) -> ExprId {
        let slots = slots.into_iter().map(|it| Slot { kind: SlotKind::Expr(it), span }).collect();
        self.expr(ExprKind::Index { base, slots }, span)
    }

    /// `..`: a whole axis.
    pub(crate) fn whole_axis(&mut self, span: Span) -> ExprId {
        self.expr(ExprKind::Range { lo: None, hi: None, inclusive: false }, span)
    }

    /// `0..hi`
    pub(crate) fn range_to(&mut self, hi: ExprId, span: Span) -> ExprId {
        let lo = Some(self.int(0, span));
        self.expr(ExprKind::Range { lo, hi: Some(hi), inclusive: false }, span)
    }

    pub(crate) fn binary(&mut self, op: BinaryOp, a: ExprId, b: ExprId, span: Span) -> ExprId {
        self.expr(ExprKind::Binary(op, a, b), span)
    }

    /// An expression as a block; a block stays as it is.
    pub(crate) fn block(&mut self, stmts: Vec<StmtId>, tail: ExprId, span: Span) -> ExprId {
        if stmts.is_empty() && matches!(self.ast.expr[tail].kind, ExprKind::Block { .. }) {
            return tail;
        }
        self.expr(ExprKind::Block { stmts: stmts.into(), tail: Some(tail) }, span)
    }

    pub(crate) fn if_else(&mut self, c: ExprId, a: ExprId, b: ExprId, span: Span) -> ExprId {
        let then = self.block(Vec::new(), a, span);
        let otherwise = Some(self.block(Vec::new(), b, span));
        self.expr(ExprKind::If { cond: c, then, otherwise }, span)
    }

    pub(crate) fn stmt(&mut self, kind: StmtKind, span: Span) -> StmtId {
        self.ast.stmt.push(Stmt { kind, span, docs: ThinVec::new() })
    }

    pub(crate) fn bind(&mut self, name: Name) -> PatId {
        self.ast.pat.push(Pat { kind: PatKind::Bind { name, ty: None }, span: name.span })
    }

    pub(crate) fn let_(&mut self, name: Name, value: ExprId, span: Span) -> StmtId {
        let pat = self.bind(name);
        self.stmt(StmtKind::Let(Let { pat, ty: None, value }), span)
    }

    /// `let name[i, j in d] = value;`
    pub(crate) fn clause(
        &mut self,
        name: Name,
        slots: Vec<(Name, Option<ExprId>)>,
        value: ExprId,
        span: Span,
    ) -> StmtId {
        let slots = slots
            .into_iter()
            .map(|(name, domain)| LeftSlot {
                kind: LeftSlotKind::Index { name, domain },
                span: name.span,
            })
            .collect();
        self.stmt(StmtKind::Clause(Clause { name, slots, value, until: None }), span)
    }

    pub(crate) fn function(
        &mut self,
        name: Name,
        generics: Vec<Name>,
        params: Vec<(Name, Option<TypeId>)>,
        ret: Option<TypeId>,
        body: ExprId,
        span: Span,
    ) -> StmtId {
        let params = params
            .into_iter()
            .map(|(name, ty)| Param { pat: self.bind(name), ty, default: None, span: name.span })
            .collect();
        let body = self.block(Vec::new(), body, span);
        let function = Function {
            public: false,
            name,
            generics: generics.into(),
            coords: None,
            params,
            ret,
            body,
        };
        self.stmt(StmtKind::Fn(Box::new(function)), span)
    }

    pub(crate) fn closure(&mut self, params: Vec<Name>, body: ExprId, span: Span) -> ExprId {
        let params = params
            .into_iter()
            .map(|name| Param { pat: self.bind(name), ty: None, default: None, span: name.span })
            .collect();
        self.expr(ExprKind::Closure { params, body }, span)
    }

    pub(crate) fn scalar(&mut self, elem: Elem, span: Span) -> TypeId {
        self.named_type(elem.name(), span)
    }

    pub(crate) fn named_type(&mut self, name: &str, span: Span) -> TypeId {
        let kind = TypeKind::Path { path: vec![named(name, span)].into(), args: ThinVec::new() };
        self.ast.ty.push(Type { kind, span })
    }

    /// `elem` without dimensions, else an array.
    pub(crate) fn array_type(&mut self, elem: TypeId, dims: Vec<ExprId>, span: Span) -> TypeId {
        if dims.is_empty() {
            return elem;
        }
        let dims = dims.into_iter().map(|size| Dim { kind: DimKind::Size(size), span }).collect();
        let kind = TypeKind::Array { elem, dims: Some(dims), no_broadcast: false };
        self.ast.ty.push(Type { kind, span })
    }

    /// `use prefix::{names};`
    pub(crate) fn use_(&mut self, prefix: &str, names: &[&str], span: Span) -> StmtId {
        let mut path: Vec<Name> = prefix.split("::").map(|it| named(it, span)).collect();
        let kind = match names {
            [one] => {
                path.push(named(one, span));
                UseKind::Name(None)
            }
            _ => UseKind::Group(
                names
                    .iter()
                    .map(|it| UseTree {
                        prefix: vec![named(it, span)].into(),
                        kind: UseKind::Name(None),
                        span,
                    })
                    .collect(),
            ),
        };
        let tree = UseTree { prefix: path.into(), kind, span };
        self.stmt(StmtKind::Use(Box::new(Use { public: false, tree })), span)
    }
}

/// A name at a place.
pub(crate) fn named(text: &str, span: Span) -> Name {
    Name { sym: Symbol::intern(text), span }
}
