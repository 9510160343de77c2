//! Which numbers a recurrence holds, found before its clauses are checked.
//!
//! `let h[0] = 1.0;` says that `h` holds floats, not which: that is said by what the other clauses make
//! of `h`. So every name that is being defined is a variable, and what its clauses compute is walked
//! once: a value is of some type, made of literals of some class, or as wide as some of the variables.
//! The type of a variable is the first of those that its literals may have that holds all of what its
//! clauses give. What is not understood here says nothing; mistakes are told by the check that follows.

pub(in crate::check) mod calls;
mod parts;

pub(super) use parts::{record_elements, widened};

use super::literal::Class;
use super::state::{Index, Infer};
use super::widen::{holds, wider};
use crate::hir::{self, DefId, DefKind, ExprId, ExprKind as H, LocalId, TypeKind};
use crate::visit;
use ein_ir::tensor::Type;
use ein_scalar::ScalarType as S;
use rustc_hash::FxHashMap;

/// How many calls deep bodies without declared types are followed.
const DEPTH: u32 = 6;

/// How many expressions are looked at: bodies that call each other are not followed for ever.
const STEPS: u32 = 20_000;

/// The types that integers without a point may have, those that are most in use first.
const INTEGERS: [S; 8] = [S::I32, S::I64, S::U8, S::U32, S::U64, S::I8, S::I16, S::U16];
/// The same for floats.
const FLOATS: [S; 4] = [S::F32, S::F64, S::F16, S::BF16];

/// What is known of a number.
#[derive(Clone, Copy, Default)]
struct Number {
    /// A type that it holds the values of.
    known: Option<S>,
    /// The class of the literals in it.
    class: Option<Class>,
    /// Whether one of them is too large for the type that it has by itself.
    large: bool,
    /// Whether it may be a literal that stands by itself, beside nothing that it could adapt to.
    alone: bool,
    /// The variables that it is as wide as, by their bits.
    open: u64,
}

impl Number {
    fn of(known: S) -> Number {
        Number { known: Some(known), ..Number::default() }
    }

    /// A number that may be either of two.
    fn join(self, other: Number) -> Number {
        Number {
            known: match (self.known, other.known) {
                (Some(a), Some(b)) => wider(a, b).or(Some(a)),
                (a, b) => a.or(b),
            },
            class: self.class.max(other.class),
            large: self.large || other.large,
            alone: self.alone || other.alone,
            open: self.open | other.open,
        }
    }

    /// The same of two operands: literals take the type of what they meet.
    fn adapt(self, other: Number) -> Number {
        let says = |it: Number| it.known.is_some() || it.open != 0;
        let alone = match (says(self), says(other)) {
            (true, false) => self.alone,
            (false, true) => other.alone,
            _ => self.alone || other.alone,
        };
        Number { alone, ..self.join(other) }
    }

    fn is_float(self) -> bool {
        self.known.is_some_and(S::is_float) || self.class == Some(Class::Float)
    }
}

/// The variables, and what local names stand for.
#[derive(Clone)]
struct Numbers<'x, 'h> {
    infer: &'x Infer<'h>,
    ix: &'x Index<'h>,
    /// The names that are being defined.
    names: Vec<LocalId>,
    /// What their clauses give.
    values: Vec<Number>,
    /// The variables that must be floats.
    floats: u64,
    /// Variables that meet in an operator, so that they are of one kind.
    kin: Vec<u64>,
    locals: FxHashMap<LocalId, Number>,
    /// The parts of those that are tuples.
    tuples: FxHashMap<LocalId, Vec<Number>>,
    /// A name of tuples, whose parts are the variables.
    tuple: Option<LocalId>,
    /// The struct that it holds instead, whose type arguments are the variables.
    record: Option<DefId>,
    /// The type parameters of the functions that are walked.
    params: FxHashMap<LocalId, Number>,
    /// The function whose result is the first variable, where no names are defined.
    own: Option<DefId>,
    /// The types that the first variable may have, where it stands for type parameters.
    fits: Vec<S>,
    depth: u32,
    steps: u32,
}

impl<'x, 'h> Numbers<'x, 'h> {
    fn new(infer: &'x Infer<'h>, ix: &'x Index<'h>) -> Self {
        Numbers {
            infer,
            ix,
            names: Vec::new(),
            values: Vec::new(),
            floats: 0,
            kin: Vec::new(),
            locals: FxHashMap::default(),
            tuples: FxHashMap::default(),
            tuple: None,
            record: None,
            params: FxHashMap::default(),
            own: None,
            fits: Vec::new(),
            depth: 0,
            steps: 0,
        }
    }

    /// An operation takes only some types: so does the variable in it.
    fn takes(&mut self, value: Number, takes: impl Fn(S) -> bool) {
        if value.open & 1 != 0 {
            self.fits.retain(|ty| takes(*ty));
        }
    }

    /// The same where a value of a known type stands on the other side.
    fn takes_like(&mut self, value: Number, other: Number) {
        match other.known {
            _ if other.is_float() => self.takes(value, S::is_float),
            Some(S::Bool) => self.takes(value, S::is_bool),
            Some(_) => self.takes(value, S::is_int),
            None if other.class.is_some() => self.takes(value, S::is_int),
            None => {}
        }
    }

    /// Operands of one operator are of one kind, and the result is as wide as both.
    fn meet(&mut self, a: Number, b: Number) -> Number {
        if a.is_float() || b.is_float() {
            self.floats |= a.open | b.open;
        }
        self.takes_like(a, b);
        self.takes_like(b, a);
        self.kin.push(a.open | b.open);
        a.adapt(b)
    }

    /// Carries what variables say to those that are as wide as they are, or of their kind.
    fn settle(&mut self) {
        loop {
            let before = (self.floats, self.values.iter().map(|it| it.open).collect::<Vec<_>>());
            for at in 0..self.values.len() {
                let mut value = self.values[at];
                for other in 0..self.values.len() {
                    if value.open & (1 << other) != 0 {
                        value = value.join(self.values[other]);
                    }
                }
                if value.is_float() {
                    self.floats |= value.open | 1 << at;
                }
                self.values[at] = value;
            }
            for kin in &self.kin {
                if kin & self.floats != 0 {
                    self.floats |= kin;
                }
            }
            if before == (self.floats, self.values.iter().map(|it| it.open).collect()) {
                return;
            }
        }
    }

    /// The type of a variable; `None` if nothing says anything of it.
    fn element(&self, at: usize) -> Option<S> {
        let Number { known, class, large, alone, .. } = self.values[at];
        let is_float = self.floats & (1 << at) != 0;
        let types: &[S] = match (is_float, class, known) {
            (true, ..) => &FLOATS,
            (false, Some(_), _) => &INTEGERS,
            // No literal in it: the type is what it is.
            (false, None, known) => return known,
        };
        if class.is_none() && known.is_some() {
            return known;
        }
        let known = known.filter(|known| known.is_float() == is_float && *known != S::Bool);
        if known.is_some() && !alone && !large {
            return known;
        }
        let fits = |ty: &&S| known.is_none_or(|known| **ty == known || holds(**ty, known));
        types.iter().skip(usize::from(large)).find(fits).copied()
    }
}

/// The types of the numbers that some definitions which read each other hold, where their clauses
/// say them.
pub(super) fn infer_elements(
    infer: &Infer,
    ix: &Index,
    definitions: &[hir::Definition],
) -> Vec<Option<S>> {
    if definitions.len() > 64 {
        return vec![None; definitions.len()];
    }
    let mut numbers = Numbers {
        names: definitions.iter().map(|it| it.local).collect(),
        values: vec![Number::default(); definitions.len()],
        ..Numbers::new(infer, ix)
    };
    for (at, definition) in definitions.iter().enumerate() {
        for clause in &definition.clauses {
            let value = number(clause.body, &mut numbers);
            numbers.values[at] = numbers.values[at].join(value);
            numbers.kin.push(numbers.values[at].open | 1 << at);
            if let Some(until) = &clause.until {
                number(until.cond, &mut numbers);
            }
        }
    }
    numbers.settle();
    (0..definitions.len()).map(|at| numbers.element(at)).collect()
}

/// Which of `f32`, `i32` and `bool` the type parameters of a function can be: its body is walked once, down
/// to the intrinsics, and each operation in it takes some types only.
pub(super) fn fitting_numbers(infer: &Infer, ix: &Index, function: &hir::Function) -> Vec<S> {
    let mut numbers = Numbers { fits: vec![S::F32, S::I32, S::Bool], ..Numbers::new(infer, ix) };
    for param in &function.params {
        if let hir::PatKind::Bind(local, _) = &param.pat.kind
            && let Some(Ok(generic)) = param.ty.as_deref().map(calls::generic_or_declared)
        {
            let open = Number { open: 1, ..Number::default() };
            numbers.locals.insert(*local, open);
            numbers.params.insert(generic, open);
        }
    }
    let value = number(function.body, &mut numbers);
    if let Some(Err(ret)) = function.ret.as_ref().map(calls::generic_or_declared) {
        let ret = numbers.declared_number(ret);
        numbers.takes_like(value, ret);
    }
    numbers.fits
}

/// The type of the numbers in an expression that is not checked yet, if it says one.
pub(super) fn known_number(infer: &Infer, ix: &Index, id: ExprId) -> Option<Type> {
    number(id, &mut Numbers::new(infer, ix)).known.map(Type::Scalar)
}

/// What `[]` in one branch takes from another: its type, or, where that is made from calls of the
/// function whose result this is, an array of the numbers that it makes of them.
pub(super) fn nothing_hint(
    infer: &Infer,
    ix: &Index,
    empty: ExprId,
    other: ExprId,
    found: &Type,
) -> Type {
    let own = if found.has_error() { infer.open_function() } else { None };
    match own {
        Some(_) => made_of_calls(empty, other, found, Numbers { own, ..Numbers::new(infer, ix) }),
        None => found.clone(),
    }
}

/// The same from a branch that is never taken, and so is not checked.
pub(super) fn nothing_like(
    infer: &Infer,
    ix: &Index,
    empty: ExprId,
    other: ExprId,
) -> Option<Type> {
    let like = || made_of_calls(empty, other, &Type::Error, Numbers::new(infer, ix));
    infer.has_nothing(empty).then(like).filter(|like| !like.has_error())
}

fn made_of_calls(empty: ExprId, other: ExprId, found: &Type, mut numbers: Numbers) -> Type {
    let hir = numbers.infer.hir;
    match (&hir.exprs[empty].kind, &hir.exprs[other].kind) {
        (H::Block { tail: Some(empty), .. }, _) => {
            return made_of_calls(*empty, other, found, numbers);
        }
        (_, H::Block { stmts, tail: Some(other) }) => {
            stmts.iter().for_each(|stmt| stmt_number(stmt, &mut numbers));
            return made_of_calls(empty, *other, found, numbers);
        }
        (H::Tuple(empty), H::Tuple(items)) if empty.len() == items.len() => {
            let types = empty.iter().zip(items).enumerate().map(|(at, (empty, item))| {
                let found = if let Type::Tuple(found) = found { found.get(at) } else { None };
                match found.filter(|found| !found.has_error()) {
                    Some(found) => found.clone(),
                    None => made_of_calls(*empty, *item, &Type::Error, numbers.clone()),
                }
            });
            return Type::Tuple(types.collect());
        }
        _ => {}
    }
    let value = number(other, &mut numbers);
    numbers.values.push(value);
    numbers.settle();
    match numbers.element(0) {
        Some(number) if numbers.infer.is_empty(empty) => {
            Type::array(Type::Scalar(number), vec![super::anonymous(ein_ir::size::Expr::zero())])
        }
        Some(number) if found.is_broken() => Type::Scalar(number),
        _ => found.clone(),
    }
}

/// What an expression says of the number that it is.
fn number(id: ExprId, numbers: &mut Numbers) -> Number {
    let hir = numbers.infer.hir;
    numbers.steps += 1;
    if numbers.steps > STEPS {
        return Number::default();
    }
    match &hir.exprs[id].kind {
        H::Int(value, None) => Number {
            class: Some(Class::Int),
            large: *value > i32::MAX as u64 + 1,
            alone: true,
            ..Number::default()
        },
        H::Float(text, None) => {
            let large = ein_scalar::parse_float(text.as_str(), S::F32)
                .is_some_and(|value| !value.as_f64().is_finite());
            Number { class: Some(Class::Float), large, alone: true, ..Number::default() }
        }
        H::Int(_, Some(ty)) | H::Float(_, Some(ty)) => Number::of(*ty),
        H::Bool(_) => Number::of(S::Bool),
        H::Size(_) | H::Coord(_) | H::Extent { .. } => Number::of(S::I32),
        H::Local(local) => local_number(numbers.ix, *local, numbers),
        H::Const(def) => const_number(*def, numbers),
        H::Unary(op, inner) => {
            let value = number(*inner, numbers);
            if *op == hir::UnaryOp::Not {
                numbers.takes(value, S::is_bool);
                return Number::of(S::Bool);
            }
            numbers.takes(value, S::is_numeric);
            value
        }
        H::Binary(op, a, b) => binary_number(*op, *a, *b, numbers),
        H::Cast(inner, ty) => {
            number(*inner, numbers);
            numbers.declared_number(ty)
        }
        H::Call { callee, args } | H::CoordCall { callee, args, .. } => {
            calls::call_number(*callee, args, numbers)
        }
        H::Reduce { op, body, .. } => {
            let value = number(*body, numbers);
            calls::reduced(*op, value, numbers)
        }
        H::Index { base, slots } => {
            for slot in slots {
                if let hir::Slot::Expr(index) = slot {
                    let index = number(*index, numbers);
                    numbers.takes(index, S::is_int);
                }
            }
            number(*base, numbers)
        }
        H::Field(..) | H::TupleField(..) => match parts::part_of(id, numbers) {
            Some(parts::Part::Of(ty)) => ty.scalar().map(Number::of).unwrap_or_default(),
            Some(parts::Part::Declared(ty)) => numbers.declared_number(ty),
            None => parts::part(id, numbers),
        },
        H::Array(items) => items.iter().fold(Number::default(), |all, item| {
            let item = number(*item, numbers);
            numbers.meet(all, item)
        }),
        H::Block { stmts, tail } => {
            stmts.iter().for_each(|stmt| stmt_number(stmt, numbers));
            tail.map(|tail| number(tail, numbers)).unwrap_or_default()
        }
        H::If { cond, then, otherwise } => {
            let cond = number(*cond, numbers);
            numbers.takes(cond, S::is_bool);
            let then = number(*then, numbers);
            match otherwise {
                Some(otherwise) => {
                    let otherwise = number(*otherwise, numbers);
                    numbers.meet(then, otherwise)
                }
                None => Number::default(),
            }
        }
        H::Match { scrutinee, arms } => arms.iter().fold(Number::default(), |all, arm| {
            parts::bind_arm(*scrutinee, arm, numbers);
            let value = number(arm.body, numbers);
            numbers.meet(all, value)
        }),
        H::Where { body, items, otherwise } => {
            for item in items {
                match item {
                    hir::WhereItem::Binding(local, value) => {
                        let value = number(*value, numbers);
                        numbers.locals.insert(*local, value);
                    }
                    hir::WhereItem::Guard(guard) => {
                        let guard = number(*guard, numbers);
                        numbers.takes(guard, S::is_bool);
                    }
                }
            }
            let body = number(*body, numbers);
            let otherwise = otherwise.map(|it| number(it, numbers)).unwrap_or_default();
            numbers.meet(body, otherwise)
        }
        H::Comprehension { body, clauses } => {
            for clause in clauses {
                match clause {
                    hir::CompClause::Generator(pat, source) => {
                        let range = matches!(hir.exprs[*source].kind, H::Range { .. });
                        let value = number(*source, numbers);
                        let number = if range { Number::of(S::I32) } else { value };
                        parts::bind_value(pat, number, *source, numbers);
                    }
                    hir::CompClause::Binding(local, value) => {
                        let value = number(*value, numbers);
                        numbers.locals.insert(*local, value);
                    }
                    hir::CompClause::Condition(cond) => {
                        let cond = number(*cond, numbers);
                        numbers.takes(cond, S::is_bool);
                    }
                }
            }
            number(*body, numbers)
        }
        // What is tried, or what is in an optional, and what stands in for it.
        H::Try(inner) => number(*inner, numbers),
        H::OrElse(value, otherwise) | H::Catch { value, handler: otherwise, .. } => {
            let value = number(*value, numbers);
            let otherwise = number(*otherwise, numbers);
            numbers.meet(value, otherwise)
        }
        H::Str(_)
        | H::Fn(_)
        | H::Variant(..)
        | H::Builtin(_)
        | H::Range { .. }
        | H::At(_)
        | H::Tuple(_)
        | H::Struct { .. }
        | H::Closure { .. }
        | H::OptionPipe { .. }
        | H::ResultPipe { .. }
        | H::Error => {
            visit::each_child(hir, id, &mut |child| {
                number(child, numbers);
            });
            Number::default()
        }
    }
}

fn local_number(ix: &Index, local: LocalId, numbers: &Numbers) -> Number {
    if let Some(at) = numbers.names.iter().position(|name| *name == local) {
        return Number { open: 1 << at, ..Number::default() };
    }
    if let Some(value) = numbers.locals.get(&local) {
        return *value;
    }
    let index = matches!(ix.f.env.get(&local), Some(super::Binding::Index(_)));
    let scalar = type_of_local(ix, local).and_then(|ty| ty.scalar());
    match scalar {
        Some(scalar) => Number::of(scalar),
        None if index || ix.hir.locals[local].kind == hir::LocalKind::Index => Number::of(S::I32),
        None => Number::default(),
    }
}

/// The type of a name that is bound outside of what is being defined.
fn type_of_local<'x>(ix: &'x Index, local: LocalId) -> Option<&'x Type> {
    let var = match ix.f.env.get(&local) {
        Some(super::Binding::Var(var)) => *var,
        Some(super::Binding::Index(_)) => return None,
        None => *ix.globals.get(&local)?,
    };
    Some(&ix.vars[var].ty)
}

fn const_number(def: DefId, numbers: &mut Numbers) -> Number {
    let hir = numbers.infer.hir;
    let DefKind::Const(constant) = &hir.defs[def].kind else { return Number::default() };
    if let Some(ty) = &constant.ty {
        return numbers.declared_number(ty);
    }
    let value = number(constant.value, numbers);
    match (value.known, value.class) {
        (None, Some(class)) => class.default_type().scalar().map(Number::of).unwrap_or_default(),
        (known, _) => Number { known, ..Number::default() },
    }
}

impl Numbers<'_, '_> {
    fn declared_number(&self, ty: &hir::Type) -> Number {
        match &ty.kind {
            TypeKind::Scalar(scalar) => Number::of(*scalar),
            TypeKind::Array { elem, .. } | TypeKind::AnyRank(elem) => self.declared_number(elem),
            TypeKind::Some(_, body) => self.declared_number(body),
            TypeKind::Param(local) => {
                let outer = || self.infer.f.type_params.get(local).and_then(Type::scalar);
                let own = self.params.get(local).copied();
                own.or_else(|| outer().map(Number::of)).unwrap_or_default()
            }
            TypeKind::Str
            | TypeKind::Data(..)
            | TypeKind::Jagged(..)
            | TypeKind::Tuple(_)
            | TypeKind::Function(..)
            | TypeKind::Error => Number::default(),
        }
    }
}

fn binary_number(op: hir::BinaryOp, a: ExprId, b: ExprId, numbers: &mut Numbers) -> Number {
    use hir::BinaryOp as B;
    let request = matches!(numbers.infer.hir.exprs[a].kind, H::At(_));
    let (x, y) = (number(a, numbers), number(b, numbers));
    match op {
        B::And | B::Or => {
            numbers.takes(x, S::is_bool);
            numbers.takes(y, S::is_bool);
            Number::of(S::Bool)
        }
        B::In => {
            if matches!(numbers.infer.hir.exprs[b].kind, H::Range { .. }) {
                numbers.takes(x, S::is_int);
            }
            Number::of(S::Bool)
        }
        B::Eq | B::Ne | B::Lt | B::Gt | B::Le | B::Ge => {
            numbers.meet(x, y);
            Number::of(S::Bool)
        }
        // An integer may be the exponent of a float.
        B::Pow if !y.is_float() => x,
        B::Div if request => Number::default(),
        B::Add | B::Sub | B::Mul | B::Div | B::Rem | B::Pow => {
            numbers.takes(x, S::is_numeric);
            numbers.takes(y, S::is_numeric);
            numbers.meet(x, y)
        }
    }
}

fn stmt_number<'h>(stmt: &'h hir::Stmt, numbers: &mut Numbers<'_, 'h>) {
    match &stmt.kind {
        hir::StmtKind::Let { pat, ty, value } => {
            if let (hir::PatKind::Bind(local, None), None, H::Tuple(items)) =
                (&pat.kind, ty, &numbers.infer.hir.exprs[*value].kind)
            {
                let made = items.iter().map(|item| self::number(*item, numbers)).collect();
                numbers.tuples.insert(*local, made);
                numbers.locals.insert(*local, Number::default());
                return;
            }
            let number = self::number(*value, numbers);
            if let hir::PatKind::Bind(local, inner) = &pat.kind {
                let declared = ty.as_deref().or(inner.as_deref());
                let declared = declared.map(|ty| numbers.declared_number(ty));
                numbers.takes_like(number, declared.unwrap_or_default());
                let number = declared.unwrap_or(number);
                numbers.locals.insert(*local, number);
            } else {
                parts::bind_value(pat, number, *value, numbers);
            }
        }
        hir::StmtKind::Define(definition) => definition_number(definition, numbers),
        hir::StmtKind::System(definitions) => {
            definitions.iter().for_each(|it| definition_number(it, numbers));
        }
        hir::StmtKind::Expr(value) => {
            self::number(*value, numbers);
        }
    }
}

/// A definition inside of a clause: as wide as all of its own clauses.
fn definition_number(definition: &hir::Definition, numbers: &mut Numbers) {
    for clause in &definition.clauses {
        let value = number(clause.body, numbers);
        let known = numbers.locals.entry(definition.local).or_default();
        *known = known.join(value);
    }
}
