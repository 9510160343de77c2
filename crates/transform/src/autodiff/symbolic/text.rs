//! The printer: expressions and definitions as they could be written in the source.

use super::super::Pass;
use super::names::Names;
use ein_ir::tensor::print::infix;
use ein_ir::tensor::walk::{any, each_child};
use ein_ir::tensor::{
    AtomDef, Binder, ClauseSlot, Expr, ExprKind, IndexArg, Item, Scatter, Stmt, StmtKind, Type,
    VarId,
};
use ein_scalar::{BinaryOp, ScalarType, UnaryOp};
use rustc_hash::{FxHashMap, FxHashSet};
use std::fmt::Write;

/// Source text under way.
pub(super) struct Text<'a, 'p> {
    pub(super) pass: &'a mut Pass<'p>,
    pub(super) names: Names,
    /// The indices of the target that every definition has first.
    family: Vec<Binder>,
    /// Whether the definitions being written stand inside another one, which has them.
    pub(super) inside: bool,
    /// The definitions that have them.
    members: FxHashSet<VarId>,
    /// What the literals of a definition end in.
    pub(super) suffix: Option<ScalarType>,
    pub(super) out: String,
}

impl<'a, 'p> Text<'a, 'p> {
    pub(super) fn new(pass: &'a mut Pass<'p>) -> Self {
        Self {
            pass,
            names: Names::default(),
            family: Vec::new(),
            inside: false,
            members: FxHashSet::default(),
            suffix: None,
            out: String::new(),
        }
    }
}

impl Text<'_, '_> {
    /// Keeps the names of the program in an expression from being given to anything else.
    pub(super) fn reserve(&mut self, e: &Expr) {
        if let ExprKind::Var(var) = &*e.kind {
            let name = self.pass.program.vars[*var].name;
            if !made_up(name.as_str()) {
                self.names.reserve(name.as_str());
            }
        }
        each_child(e, &mut |child| self.reserve(child));
    }

    /// Gives all definitions the indices of the target.
    pub(super) fn family(&mut self, family: Vec<Binder>, members: impl Iterator<Item = VarId>) {
        if !family.is_empty() {
            self.members = members.collect();
        }
        family.iter().for_each(|binder| {
            self.name_of(binder.var);
        });
        self.family = family;
    }

    /// The expression alone.
    pub(super) fn finished(mut self, e: &Expr) -> String {
        self.expr(e, 0);
        self.out
    }

    /// The lines so far.
    pub(super) fn into_text(self) -> String {
        self.out.trim_end().to_string()
    }

    pub(super) fn name_of(&mut self, var: VarId) -> String {
        if let Some(name) = self.names.get(var) {
            return name.to_owned();
        }
        let name = self.pass.program.vars[var].name;
        if !made_up(name.as_str()) {
            return name.to_string();
        }
        let plain = name.as_str().trim_start_matches('$').trim_end_matches('\'').to_string();
        // Index variables that the compiler made up get letters of their own.
        let numbered = plain.chars().all(|c| c.is_ascii_digit());
        let name = if plain == "i" || plain == "p" || numbered {
            let letters = ["i", "j", "k", "l", "m", "n"];
            let free = letters.iter().find(|letter| self.names.is_free(letter));
            free.map_or_else(|| self.names.numbered("i"), |letter| (*letter).to_string())
        } else {
            self.names.numbered(&plain)
        };
        self.names.insert(var, name.clone());
        name
    }

    /// `d_v` for the adjoint of `v`, `d_x` for that of the parameter.
    pub(super) fn name_adjoint(&mut self, var: VarId, parameter: Option<VarId>) {
        let name = self.pass.program.vars[parameter.unwrap_or(var)].name;
        let plain = name.as_str().trim_start_matches('$').trim_end_matches('\'');
        let name = self.names.numbered(&format!("d_{plain}"));
        self.names.insert(var, name);
    }

    fn is_made_up(&self, var: VarId) -> bool {
        made_up(self.pass.program.vars[var].name.as_str())
    }

    /// The derivative by a parameter, as the last definition.
    pub(super) fn result(&mut self, x: VarId, e: &Expr) {
        let plain = self.pass.program.vars[x].name;
        let name = self.names.numbered(&format!("d_{}", plain.as_str().trim_start_matches('$')));
        self.lines(&name, e);
    }

    /// `let d_x[i in 0..3] = …;`
    pub(super) fn definition(&mut self, var: VarId, e: &Expr) {
        let name = self.name_of(var);
        self.lines(&name, e);
    }

    fn lines(&mut self, name: &str, e: &Expr) {
        self.clauses(name, e);
        self.out.push('\n');
    }

    /// A definition, its clauses one after another.
    pub(super) fn clauses(&mut self, name: &str, e: &Expr) {
        match &*e.kind {
            ExprKind::Tensor(tensor) => {
                if let Some(own) = tensor.self_var {
                    self.names.insert(own, name.to_string());
                    if !self.family.is_empty() && !self.inside {
                        self.members.insert(own);
                    }
                }
                for (at, clause) in tensor.clauses.iter().enumerate() {
                    if at > 0 {
                        self.out.push(if self.inside { ' ' } else { '\n' });
                    }
                    let before = self.names.mark();
                    self.left(name, &clause.slots);
                    self.bound(&clause.value);
                    self.items(&clause.items);
                    self.out.push(';');
                    self.names.reset(before);
                }
            }
            ExprKind::Scatter(scatter) => self.scatter(name, scatter, e),
            _ => {
                self.left(name, &[]);
                self.bound(e);
                self.out.push(';');
            }
        }
    }

    /// What a name is bound to: where nothing else says which floats its literals are, they do.
    fn bound(&mut self, e: &Expr) {
        let says = any(e, &mut |part| {
            matches!(&*part.kind, ExprKind::Var(_))
                && part.ty.scalar().is_some_and(|ty| ty.is_float())
        });
        let outer = self.suffix;
        self.suffix = e.ty.scalar().filter(|ty| !says && ty.is_float() && *ty != ScalarType::F32);
        self.expr(e, 0);
        self.suffix = outer;
    }

    /// `let d_x[i in 0..3] = `
    fn left(&mut self, name: &str, slots: &[ClauseSlot]) {
        let _ = write!(self.out, "let {name}");
        let family = if self.inside { Vec::new() } else { self.family.clone() };
        let mut separator = "[";
        for binder in &family {
            self.out.push_str(separator);
            separator = ", ";
            self.binder(binder);
        }
        for slot in slots {
            self.out.push_str(separator);
            separator = ", ";
            match slot {
                ClauseSlot::Point(at) => {
                    let _ = write!(self.out, "{at}");
                }
                ClauseSlot::Loop(binder) => self.binder(binder),
            }
        }
        self.out.push_str(if separator == "[" { " = " } else { "] = " });
    }

    /// An accumulation, as the sum over the points that name a cell.
    fn scatter(&mut self, name: &str, scatter: &Scatter, e: &Expr) {
        let before = self.names.mark();
        let mut slots = Vec::new();
        let mut items = scatter.items.clone();
        for (extent, index) in scatter.shape.iter().zip(&scatter.indices) {
            let var = self.pass.local("$i", Type::I32, e.span);
            let hi = Expr::size(extent.clone(), e.span);
            slots.push(ClauseSlot::Loop(Binder { var, lo: Expr::int(0, e.span), hi }));
            let here = self.pass.var(var, e.span);
            let test = ExprKind::Binary(BinaryOp::Eq, index.value.clone(), here);
            items.push(Item::Guard(Expr::new(test, Type::BOOL, e.span)));
        }
        self.left(name, &slots);
        self.reduction("sum", &scatter.binders, &scatter.value, &items);
        self.out.push(';');
        self.names.reset(before);
    }

    fn reduction(&mut self, op: &str, binders: &[Binder], value: &Expr, items: &[Item]) {
        let before = self.names.mark();
        self.out.push_str(op);
        self.out.push('[');
        for (at, binder) in binders.iter().enumerate() {
            if at > 0 {
                self.out.push_str(", ");
            }
            self.binder(binder);
        }
        self.out.push_str("](");
        self.expr(value, 0);
        self.items(items);
        self.out.push(')');
        self.names.reset(before);
    }

    fn binder(&mut self, binder: &Binder) {
        let name = self.name_of(binder.var);
        let _ = write!(self.out, "{name} in ");
        self.expr(&binder.lo, 5);
        self.out.push_str("..");
        self.expr(&binder.hi, 5);
    }

    fn items(&mut self, items: &[Item]) {
        for (at, item) in items.iter().enumerate() {
            self.out.push_str(if at == 0 { " where " } else { ", " });
            match item {
                Item::Let(var, value) => {
                    let name = self.name_of(*var);
                    let _ = write!(self.out, "{name} = ");
                    self.expr(value, 0);
                }
                Item::Guard(cond) => self.expr(cond, 0),
            }
        }
    }

    pub(super) fn expr(&mut self, e: &Expr, least: u8) {
        if let ExprKind::Size(size) = &*e.kind {
            let plain = self.pass.size_expr(size, e.span);
            if !matches!(&*plain.kind, ExprKind::Size(_)) {
                return self.expr(&plain, least);
            }
        }
        let strength = match &*e.kind {
            ExprKind::Or(..) => 1,
            ExprKind::And(..) => 2,
            ExprKind::Binary(op, ..) => infix(*op).map_or(9, |(_, strength)| strength),
            ExprKind::Cast(_) => 6,
            ExprKind::Unary(UnaryOp::Neg | UnaryOp::Not, _) => 7,
            ExprKind::Closure { .. } | ExprKind::Range(..) => 0,
            _ => 9,
        };
        if strength < least {
            self.out.push('(');
        }
        self.bare(e, strength);
        if strength < least {
            self.out.push(')');
        }
    }

    fn bare(&mut self, e: &Expr, strength: u8) {
        match &*e.kind {
            ExprKind::Const(value) => self.number(*value),
            ExprKind::Str(text) => self.quoted(*text),
            ExprKind::Unit => self.out.push_str("()"),
            ExprKind::Var(_) => self.read(e, &[]),
            ExprKind::Size(size) => {
                let plain = self.pass.size_expr(size, e.span);
                if let ExprKind::Size(size) = &*plain.kind {
                    let mut names = FxHashMap::default();
                    for atom in size.atoms() {
                        let name = match self.pass.program.atoms[atom].def {
                            AtomDef::Var(var) => self.name_of(var),
                            AtomDef::Extent(var, axis) if self.is_made_up(var) => {
                                format!("{}.shape[{axis}]", self.name_of(var))
                            }
                            AtomDef::Extent(..) | AtomDef::Length(_) | AtomDef::Unknown => {
                                self.pass.program.atoms[atom].name.to_string()
                            }
                        };
                        names.insert(atom, name);
                    }
                    let text = size.display(&|atom| names.get(&atom).cloned().unwrap_or_default());
                    let _ = write!(self.out, "{text}");
                }
            }
            ExprKind::Unary(UnaryOp::Neg, a) => {
                self.out.push('-');
                self.expr(a, strength);
            }
            ExprKind::Unary(UnaryOp::Not, a) => {
                self.out.push('!');
                self.expr(a, strength);
            }
            ExprKind::Unary(op, a) => self.call(source_name(*op), std::slice::from_ref(a)),
            ExprKind::Binary(op, a, b) => match infix(*op) {
                Some((sign, _)) => {
                    self.expr(a, strength);
                    let _ = write!(self.out, " {sign} ");
                    self.expr(b, strength + 1);
                }
                None => self.call(source_name_of_two(*op), &[a.clone(), b.clone()]),
            },
            ExprKind::And(a, b) | ExprKind::Or(a, b) => {
                self.expr(a, strength);
                self.out.push_str(if strength == 2 { " && " } else { " || " });
                self.expr(b, strength + 1);
            }
            ExprKind::Cast(a) => {
                self.expr(a, strength);
                let name = e.ty.scalar().map_or("f64", |ty| ty.name());
                let _ = write!(self.out, " as {name}");
            }
            ExprKind::If { cond, then, otherwise } => {
                self.out.push_str("if ");
                self.expr(cond, 0);
                self.out.push_str(" { ");
                self.expr(then, 0);
                self.out.push_str(" } else { ");
                self.expr(otherwise, 0);
                self.out.push_str(" }");
            }
            ExprKind::Index { base, indices } => self.read(base, indices),
            ExprKind::Reduce(reduce) => {
                self.reduction(reduce.op.as_str(), &reduce.binders, &reduce.value, &reduce.items);
            }
            ExprKind::Block { stmts, value } => self.block(stmts, value),
            ExprKind::Call { func, args, .. } => self.called(*func, args),
            ExprKind::CallValue { callee, args } => {
                self.expr(callee, 9);
                self.list("(", args, ")");
            }
            ExprKind::Closure { func: Some(func), .. } => self.closure(*func),
            ExprKind::Specialise { value, func } => match &*value.kind {
                ExprKind::Closure { .. } => self.closure(*func),
                _ => self.bare(value, strength),
            },
            ExprKind::Match { value, arms } => self.matching(value, arms),
            ExprKind::Array(items) => self.list("[", items, "]"),
            ExprKind::Tuple(items) => self.list("(", items, ")"),
            ExprKind::TupleGet(base, at) | ExprKind::FieldGet(base, at) => self.field(base, *at),
            ExprKind::Make { data, variant, fields } => self.make(*data, *variant, fields),
            ExprKind::Tensor(_) | ExprKind::Scatter(_) => self.defined(e),
            ExprKind::Slice { base, axis, lo, hi } => {
                self.slice(base, *axis, lo.as_ref(), hi.as_ref());
            }
            ExprKind::Gather { base, axis, indices, .. } => self.gather(base, *axis, indices),
            ExprKind::Permute { base, order } => self.permute(e, base, order),
            ExprKind::Join { axis, left, right } => {
                let _ = write!(self.out, "join[#{axis}]");
                self.list("(", &[left.clone(), right.clone()], ")");
            }
            ExprKind::Comprehension { clauses, body } => self.comprehension(clauses, body),
            ExprKind::Range(lo, hi) => {
                self.expr(lo, 5);
                self.out.push_str("..");
                self.expr(hi, 5);
            }
            ExprKind::Try(inner) => {
                self.out.push_str("try ");
                self.expr(inner, 9);
            }
            ExprKind::Host(op, args) => self.host(op, args),
            ExprKind::Assert { value, .. } => self.bare(value, strength),
            // Code that is chosen where it is called, and what no program that runs has.
            ExprKind::Closure { func: None, .. } | ExprKind::Derivative(_) | ExprKind::Error => {
                self.out.push('…');
            }
        }
    }

    /// A value, or a part of it; one of the family has the indices of the target first.
    fn read(&mut self, base: &Expr, indices: &[IndexArg]) {
        let mut separator = "[";
        match &*base.kind {
            ExprKind::Var(var) => {
                let name = self.name_of(*var);
                self.out.push_str(&name);
                if self.members.contains(var) {
                    for binder in self.family.clone() {
                        self.out.push_str(separator);
                        separator = ", ";
                        let index = self.name_of(binder.var);
                        self.out.push_str(&index);
                    }
                }
            }
            _ => self.expr(base, 9),
        }
        for index in indices {
            self.out.push_str(separator);
            separator = ", ";
            self.expr(&index.value, 0);
        }
        if separator == ", " {
            self.out.push(']');
        }
    }

    /// The text of an expression by itself.
    pub(super) fn shown(&mut self, e: &Expr) -> String {
        let before = std::mem::take(&mut self.out);
        self.expr(e, 0);
        std::mem::replace(&mut self.out, before)
    }

    fn block(&mut self, stmts: &[Stmt], value: &Expr) {
        let outer = std::mem::replace(&mut self.inside, true);
        self.out.push_str("{ ");
        for stmt in stmts {
            if let StmtKind::Let(var, bound) = &stmt.kind {
                let name = self.name_of(*var);
                self.clauses(&name, bound);
                self.out.push(' ');
            }
        }
        self.expr(value, 0);
        self.out.push_str(" }");
        self.inside = outer;
    }

    pub(super) fn call(&mut self, name: &str, args: &[Expr]) {
        self.out.push_str(name);
        self.list("(", args, ")");
    }
}

/// Whether the compiler made up a name.
pub(super) fn made_up(name: &str) -> bool {
    name.starts_with('$') || name.ends_with('\'')
}

/// The name of a function in the library.
fn source_name(op: UnaryOp) -> &'static str {
    match op {
        UnaryOp::Log => "ln",
        other => other.as_str(),
    }
}

fn source_name_of_two(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::FloorMod => "mod",
        BinaryOp::FloorDiv => "div_floor",
        other => other.as_str(),
    }
}
