//! Programs built by hand: a small builder, and one door through which they run.

#![allow(dead_code, reason = "each test file uses its part")]

use ein_base::{Code, Diagnostic, FileId, Idx, Span, Symbol};
use ein_interp::{Host, InputError, Options, Outcome, Value, display, run, with_big_stack};
use ein_ir::size::{self, Atom};
use ein_ir::tensor::*;
use ein_runtime::Memory;
use ein_scalar::{BinaryOp, Scalar, ScalarType, UnaryOp};

/// A program under construction; all variables of the top level are local unless they are outputs.
#[derive(Default)]
pub struct Build {
    pub program: Program,
    /// Slots of the function under construction.
    slots: u32,
}

pub fn span() -> Span {
    Span::new(FileId::from_usize(0), 0, 0)
}

pub fn array(elem: Type, extents: &[i64]) -> Type {
    let axes = extents.iter().map(|n| Axis::anonymous(size::Expr::constant(*n)));
    Type::array(elem, axes.collect())
}

pub fn expr(kind: ExprKind, ty: Type) -> Expr {
    Expr::new(kind, ty, span())
}

pub fn int(value: i32) -> Expr {
    expr(ExprKind::Const(Scalar::I32(value)), Type::I32)
}

pub fn float(value: f32) -> Expr {
    expr(ExprKind::Const(Scalar::F32(value)), Type::F32)
}

pub fn constant(value: impl Into<Scalar>) -> Expr {
    let value = value.into();
    expr(ExprKind::Const(value), Type::Scalar(value.ty()))
}

pub fn truth(value: bool) -> Expr {
    constant(value)
}

pub fn text(value: &str) -> Expr {
    expr(ExprKind::Str(Symbol::intern(value)), Type::Str)
}

pub fn binary(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    let ty = if op.is_comparison() { Type::BOOL } else { a.ty.clone() };
    expr(ExprKind::Binary(op, a, b), ty)
}

pub fn add(a: Expr, b: Expr) -> Expr {
    binary(BinaryOp::Add, a, b)
}

pub fn sub(a: Expr, b: Expr) -> Expr {
    binary(BinaryOp::Sub, a, b)
}

pub fn mul(a: Expr, b: Expr) -> Expr {
    binary(BinaryOp::Mul, a, b)
}

pub fn less(a: Expr, b: Expr) -> Expr {
    binary(BinaryOp::Lt, a, b)
}

pub fn negate(a: Expr) -> Expr {
    let ty = a.ty.clone();
    expr(ExprKind::Unary(UnaryOp::Neg, a), ty)
}

pub fn choose(cond: Expr, then: Expr, otherwise: Expr) -> Expr {
    let ty = then.ty.clone();
    expr(ExprKind::If { cond, then, otherwise }, ty)
}

pub fn index(base: Expr, indices: Vec<Expr>) -> Expr {
    let axes = base.ty.axes().get(indices.len()..).unwrap_or_default().to_vec();
    let ty = Type::array(base.ty.elem().clone(), axes);
    let bounds = Bounds::Checked;
    let indices = indices.into_iter().map(|value| IndexArg { value, bounds }).collect();
    expr(ExprKind::Index { base, indices }, ty)
}

pub fn literal(items: Vec<Expr>) -> Expr {
    let mut axes = vec![Axis::anonymous(size::Expr::constant(items.len() as i64))];
    let (elem, inner) = match items.first() {
        Some(item) => (item.ty.elem().clone(), item.ty.axes().to_vec()),
        None => (Type::I32, Vec::new()),
    };
    axes.extend(inner);
    expr(ExprKind::Array(items), Type::array(elem, axes))
}

pub fn ints(values: &[i32]) -> Expr {
    literal(values.iter().map(|value| int(*value)).collect())
}

pub fn floats(values: &[f32]) -> Expr {
    literal(values.iter().map(|value| float(*value)).collect())
}

pub fn texts(values: &[&str]) -> Expr {
    literal(values.iter().map(|value| text(value)).collect())
}

pub fn tuple(items: Vec<Expr>) -> Expr {
    let ty = Type::Tuple(items.iter().map(|item| item.ty.clone()).collect());
    expr(ExprKind::Tuple(items), ty)
}

pub fn host(op: HostOp, args: Vec<Expr>, ty: Type) -> Expr {
    expr(ExprKind::Host(op, args), ty)
}

pub fn binder(var: VarId, lo: Expr, hi: Expr) -> Binder {
    Binder { var, lo, hi }
}

pub fn over(var: VarId, lo: i32, hi: i32) -> ClauseSlot {
    ClauseSlot::Loop(binder(var, int(lo), int(hi)))
}

pub fn clause(slots: Vec<ClauseSlot>, value: Expr) -> Clause {
    Clause { slots, items: Vec::new(), value, otherwise: None, until: None, span: span() }
}

/// A definition whose extents only its clauses tell.
pub fn tensor(name: &str, rank: usize, clauses: Vec<Clause>) -> Tensor {
    let inner_rank = clauses[0].value.ty.rank();
    Tensor {
        name: Some(Symbol::intern(name)),
        self_var: None,
        shape: vec![None; rank],
        inner_rank,
        clauses,
        recurrence: None,
        requires: Vec::new(),
    }
}

pub fn define(tensor: Tensor) -> Expr {
    let value = &tensor.clauses[0].value.ty;
    let unknown = Axis::anonymous(size::Expr::atom(Atom::from_usize(usize::MAX)));
    let mut axes = vec![unknown; tensor.shape.len()];
    axes.extend(value.axes().iter().cloned());
    let ty = Type::array(value.elem().clone(), axes);
    expr(ExprKind::Tensor(tensor), ty)
}

pub fn reduce(op: ReduceOp, binders: Vec<Binder>, items: Vec<Item>, value: Expr) -> Expr {
    let ty = match op {
        ReduceOp::Argmax | ReduceOp::Argmin | ReduceOp::Count => Type::I32,
        _ => value.ty.clone(),
    };
    expr(ExprKind::Reduce(Reduce { op, binders, items, value, requires: Vec::new() }), ty)
}

impl Build {
    pub fn new() -> Build {
        Build::default()
    }

    fn variable(&mut self, name: &str, ty: Type, place: Place) -> VarId {
        self.program.vars.push(Var { name: Symbol::intern(name), span: span(), ty, place })
    }

    /// A local variable of the function under construction, or of the top level.
    pub fn local(&mut self, name: &str, ty: Type) -> VarId {
        self.slots += 1;
        self.variable(name, ty, Place::Local(self.slots - 1))
    }

    /// An index variable.
    pub fn idx(&mut self, name: &str) -> VarId {
        self.local(name, Type::I32)
    }

    /// A variable of the top level.
    pub fn global(&mut self, name: &str, ty: Type) -> VarId {
        self.program.global_slots += 1;
        self.variable(name, ty, Place::Global(self.program.global_slots - 1))
    }

    pub fn atom(&mut self, name: &str, def: AtomDef) -> size::Expr {
        let info = AtomInfo { name: Symbol::intern(name), def, external: true };
        size::Expr::atom(self.program.atoms.push(info))
    }

    /// A read of a variable.
    pub fn get(&self, var: VarId) -> Expr {
        expr(ExprKind::Var(var), self.program.vars[var].ty.clone())
    }

    /// A function; its variables must have been made since the last one.
    pub fn func(&mut self, name: &str, params: Vec<VarId>, body: Expr) -> FuncId {
        let slots = std::mem::take(&mut self.slots);
        self.program.funcs.push(Func {
            name: Symbol::intern(name),
            span: span(),
            sizes: Vec::new(),
            captures: Vec::new(),
            params,
            ret: body.ty.clone(),
            body,
            slots,
            rule: None,
            by: None,
        })
    }

    pub fn stmt(&mut self, kind: StmtKind) {
        self.program.top.push(Stmt { kind, span: span() });
    }

    pub fn run_expr(&mut self, value: Expr) {
        self.stmt(StmtKind::Expr(value));
    }

    /// `let name = value;` as an output.
    pub fn output(&mut self, name: &str, value: Expr) -> VarId {
        let var = self.global(name, value.ty.clone());
        self.stmt(StmtKind::Let(var, value));
        self.program.outputs.push(var);
        var
    }

    pub fn finish(mut self) -> Program {
        self.program.top_slots = self.slots;
        self.program
    }

    /// Runs the program and shows its outputs as `name = value`, or the error.
    pub fn show(self) -> String {
        let program = self.finish();
        let (outcome, _) = execute(&program, &options());
        shown(&program, &outcome)
    }

    /// The error of the program, which must have one.
    pub fn error(self) -> Diagnostic {
        let program = self.finish();
        let (outcome, _) = execute(&program, &options());
        outcome.error.expect("the program fails")
    }
}

/// The value of one expression.
pub fn value_of(build: Build, value: Expr) -> String {
    let mut build = build;
    build.output("it", value);
    let text = build.show();
    text.strip_prefix("it = ").unwrap_or(&text).to_owned()
}

/// The error of one expression.
pub fn error_of(build: Build, value: Expr) -> Diagnostic {
    let mut build = build;
    build.output("it", value);
    build.error()
}

#[track_caller]
pub fn check_error(error: &Diagnostic, code: Code, parts: &[&str]) {
    assert_eq!(error.code, code, "{error:?}");
    let all = format!("{}\n{}\n{}", error.message, error.primary.text, error.notes.join("\n"));
    for part in parts {
        assert!(all.contains(part), "{part:?} is not in {all:?}");
    }
}

pub fn options() -> Options {
    Options::new(Memory::unlimited())
}

pub fn shown(program: &Program, outcome: &Outcome) -> String {
    let mut lines: Vec<String> = Vec::new();
    for (var, value) in &outcome.outputs {
        lines.push(format!("{} = {}", program.vars[*var].name, display(value, program)));
    }
    if let Some(value) = &outcome.result {
        lines.push(format!("main: {}", display(value, program)));
    }
    if let Some(error) = &outcome.error {
        lines.push(format!("{}: {}", error.code, error.message));
    }
    lines.join("\n")
}

/// A world that remembers what was printed and knows two inputs.
#[derive(Default)]
pub struct World {
    pub lines: Vec<String>,
}

impl Host for World {
    fn print(&mut self, line: &str) {
        self.lines.push(line.to_owned());
    }

    fn input(&mut self, name: Symbol, _: &Type) -> Result<Value, InputError> {
        match name.as_str() {
            "three" => Ok(Value::Scalar(Scalar::I32(3))),
            "grid" => {
                let tensor = Memory::unlimited().from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[2, 2]);
                Ok(Value::tensor(tensor.expect("four elements")))
            }
            _ => {
                let message = format!("the input `{name}` was not given");
                Err(InputError { code: Code::E0901, message })
            }
        }
    }
}

pub fn execute(program: &Program, options: &Options) -> (Outcome, Vec<String>) {
    with_big_stack(|| {
        let mut world = World::default();
        let outcome = run(program, options, &mut world);
        (outcome, world.lines)
    })
    .expect("a thread")
}

pub fn scalar_type(ty: ScalarType) -> Type {
    Type::Scalar(ty)
}
