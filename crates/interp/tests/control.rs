//! Calls, closures, patterns, comprehensions, `try`, limits.

mod support;

use std::sync::atomic::Ordering;

use ein_base::{Code, Symbol};
use ein_ir::tensor::*;
use ein_scalar::{BinaryOp, Scalar};
use support::*;

fn call(func: FuncId, args: Vec<Expr>, ty: Type) -> Expr {
    expr(ExprKind::Call { func, sizes: Vec::new(), closure: None, args }, ty)
}

/// `fn count(n) { if n < 1 { 0 } else { count(n - 1) + 1 } }`, or without an end.
fn counter(b: &mut Build, ends: bool) -> FuncId {
    let n = b.idx("n");
    let func: FuncId = ein_base::Idx::from_usize(0);
    let deeper = add(call(func, vec![sub(b.get(n), int(1))], Type::I32), int(1));
    let ended = if ends { less(b.get(n), int(1)) } else { truth(false) };
    let value = choose(ended, int(0), deeper);
    let body = expr(ExprKind::Block { stmts: Vec::new(), value }, Type::I32);
    b.func("count", vec![n], body)
}

#[test]
fn recursion_goes_deep() {
    let mut b = Build::new();
    let func = counter(&mut b, true);
    assert_eq!(value_of(b, call(func, vec![int(15_000)], Type::I32)), "15000");
}

#[test]
fn runaway_recursion_is_an_error() {
    let mut b = Build::new();
    let func = counter(&mut b, false);
    let error = error_of(b, call(func, vec![int(0)], Type::I32));
    check_error(&error, Code::E0808, &["`count` is too deep"]);
}

#[test]
fn a_small_stack_is_an_error_as_well() {
    let mut b = Build::new();
    let func = counter(&mut b, false);
    b.output("it", call(func, vec![int(0)], Type::I32));
    let program = b.finish();
    let mut options = options();
    options.max_depth = usize::MAX;
    options.stack_bytes = Some(1 << 20);
    let outcome = ein_interp::run(&program, &options, &mut World::default());
    assert_eq!(outcome.error.expect("too deep").code, Code::E0808);
}

#[test]
fn the_user_may_give_up() {
    let mut b = Build::new();
    let func = counter(&mut b, true);
    b.output("first", int(1));
    b.output("it", call(func, vec![int(15_000)], Type::I32));
    let program = b.finish();
    let options = options();
    options.interrupted.store(true, Ordering::Relaxed);
    let (outcome, _) = execute(&program, &options);
    assert!(outcome.interrupted && outcome.error.is_none() && outcome.outputs.is_empty());
}

#[test]
fn sizes_and_captures_reach_their_slots() {
    let mut b = Build::new();
    let (n, captured, x) = (b.local("n", Type::I32), b.idx("c"), b.idx("x"));
    let size = b.atom("n", AtomDef::Var(n));
    let body = add(mul(b.get(captured), int(10)), add(b.get(x), Expr::size(size, span())));
    let func = b.func("closure", vec![x], body);
    b.program.funcs[func].captures = vec![captured];
    b.program.funcs[func].sizes = vec![n];
    let ty = Type::Template(0, Default::default());
    let made = expr(ExprKind::Closure { func: None, captures: vec![int(7)] }, ty);
    let sizes = vec![ein_ir::size::Expr::constant(100)];
    let kind = ExprKind::Call { func, sizes, closure: Some(made), args: vec![int(3)] };
    assert_eq!(value_of(b, expr(kind, Type::I32)), "173");
}

#[test]
fn function_values_are_called() {
    let mut b = Build::new();
    let (captured, x) = (b.idx("c"), b.idx("x"));
    let body = add(b.get(captured), b.get(x));
    let func = b.func("closure", vec![x], body);
    b.program.funcs[func].captures = vec![captured];
    let ty = Type::signature(vec![Type::I32], Type::I32);
    let value = expr(ExprKind::Closure { func: None, captures: vec![int(7)] }, ty.clone());
    let callee = expr(ExprKind::Specialise { value, func }, ty);
    let it = expr(ExprKind::CallValue { callee, args: vec![int(3)] }, Type::I32);
    assert_eq!(value_of(b, it), "10");
}

/// Which arm a value takes.
fn arm_of(b: Build, value: Expr, patterns: Vec<(Pattern, Expr)>) -> String {
    let arms = patterns.into_iter().map(|(pattern, value)| Arm { pattern, guard: None, value });
    let it = expr(ExprKind::Match { value, arms: arms.collect() }, Type::I32);
    value_of(b, it)
}

#[test]
fn patterns() {
    let literal_of = |value| Pattern::Literal(Scalar::I32(value));
    let range = |lo, hi, inclusive| Pattern::Range {
        lo: Some(Scalar::I32(lo)),
        hi: Some(Scalar::I32(hi)),
        inclusive,
    };
    for (value, expected) in [(-1, "1"), (3, "2"), (5, "3"), (7, "4"), (8, "4"), (9, "9")] {
        let mut b = Build::new();
        let n = b.idx("n");
        let name = b.get(n);
        let arms = vec![
            (literal_of(-1), int(1)),
            (range(1, 5, false), int(2)),
            (range(5, 6, true), int(3)),
            (Pattern::Or(vec![literal_of(7), literal_of(8)]), int(4)),
            (Pattern::At(n, Box::new(Pattern::Wild)), name),
        ];
        assert_eq!(arm_of(b, int(value), arms), expected);
    }
}

#[test]
fn patterns_take_apart() {
    let mut b = Build::new();
    let (x, y) = (b.idx("x"), b.idx("y"));
    let both = add(b.get(x), b.get(y));
    let pair = Pattern::Tuple(vec![Pattern::Bind(x), Pattern::Bind(y)]);
    assert_eq!(arm_of(b, tuple(vec![int(3), int(4)]), vec![(pair, both)]), "7");

    let mut b = Build::new();
    let (first, last) = (b.idx("first"), b.idx("last"));
    let rest = b.local("rest", array(Type::I32, &[2]));
    let count = host(HostOp::Len, vec![b.get(rest)], Type::I32);
    let value = add(mul(b.get(first), int(100)), add(mul(b.get(last), int(10)), count));
    let pattern = Pattern::Array {
        before: vec![Pattern::Bind(first)],
        rest: Some(Some(rest)),
        after: vec![Pattern::Bind(last)],
    };
    let empty = Pattern::Array { before: vec![], rest: None, after: vec![] };
    let arms = vec![(empty, int(-1)), (pattern, value)];
    assert_eq!(arm_of(b, ints(&[1, 2, 3, 4]), arms), "142");
}

#[test]
fn data_is_made_matched_and_shown() {
    let mut b = Build::new();
    let sym = Symbol::intern;
    let variant = |name, fields: &[&str], positional| DataVariant {
        name: sym(name),
        fields: fields.iter().map(|field| sym(field)).collect(),
        positional,
    };
    let shape = b.program.data.push(Data {
        name: sym("Shape"),
        variants: vec![
            variant("Dot", &[], false),
            variant("Circle", &["0"], true),
            variant("Rect", &["w", "h"], false),
        ],
        is_enum: true,
    });
    let ty = Type::Data(shape, Vec::new().into());
    let make = |variant, fields| expr(ExprKind::Make { data: shape, variant, fields }, ty.clone());
    let all =
        vec![make(0, vec![]), make(1, vec![float(2.0)]), make(2, vec![float(1.0), text("x")])];
    let shapes = expr(ExprKind::Array(all), array(ty.clone(), &[3]));
    b.output("shapes", shapes);
    let x = b.local("x", Type::F32);
    let circle = Pattern::Data { variant: 1, fields: vec![Pattern::Bind(x)] };
    let arms = [(circle, b.get(x)), (Pattern::Wild, float(0.0))];
    let arms = arms.map(|(pattern, value)| Arm { pattern, guard: None, value }).to_vec();
    let value = make(1, vec![float(2.5)]);
    b.output("radius", expr(ExprKind::Match { value, arms }, Type::F32));
    let field = expr(ExprKind::FieldGet(make(2, vec![float(1.0), text("x")]), 1), Type::Str);
    b.output("field", field);
    assert_eq!(
        b.show(),
        "shapes = [Dot, Circle(2.0), Rect { w: 1.0, h: \"x\" }]\nradius = 2.5\nfield = x"
    );
}

#[test]
fn comprehensions() {
    let run = |condition: i32, ty: Type| {
        let mut b = Build::new();
        let (x, y) = (b.idx("x"), b.idx("y"));
        let range = expr(ExprKind::Range(int(0), b.get(x)), Type::Range);
        let clauses = vec![
            CompClause::Generator(Pattern::Bind(x), ints(&[1, 2, 3])),
            CompClause::Condition(less(int(condition), b.get(x))),
            CompClause::Generator(Pattern::Bind(y), range),
        ];
        let body = add(mul(b.get(x), int(10)), b.get(y));
        value_of(b, expr(ExprKind::Comprehension { clauses, body }, ty))
    };
    assert_eq!(run(1, array(Type::I32, &[0])), "[20, 21, 30, 31, 32]");
    assert_eq!(run(9, array(Type::I32, &[0])), "[]");
}

#[test]
fn rows_stack_or_stay_jagged() {
    let rows = |ends: [i32; 2], ty: Type| {
        let mut b = Build::new();
        let (n, i) = (b.idx("n"), b.idx("i"));
        let slot = ClauseSlot::Loop(binder(i, int(0), b.get(n)));
        let body = define(tensor("row", 1, vec![clause(vec![slot], b.get(i))]));
        let clauses = vec![CompClause::Generator(Pattern::Bind(n), ints(&ends))];
        b.output("it", expr(ExprKind::Comprehension { clauses, body }, ty));
        b.show()
    };
    let flat = array(Type::I32, &[2, 0]);
    assert_eq!(rows([2, 2], flat.clone()), "it = [[0, 1],\n [0, 1]]");
    assert_eq!(rows([2, 3], flat), "E0804: rows of unequal shapes: row 0 has [2], row 1 has [3]");
    assert_eq!(rows([2, 3], Type::Jagged(Box::new(Type::I32), 2)), "it = [[0, 1],\n [0, 1, 2]]");
}

#[test]
fn try_turns_errors_into_values() {
    let mut b = Build::new();
    let variant = |name| DataVariant {
        name: Symbol::intern(name),
        fields: vec![Symbol::intern("0")],
        positional: true,
    };
    let variants = vec![variant("Ok"), variant("Err")];
    let result =
        b.program.data.push(Data { name: Symbol::intern("Result"), variants, is_enum: true });
    let ty = Type::Data(result, vec![Type::I32, Type::Str].into());
    let func = counter(&mut b, false);
    let attempts = [
        ("good", binary(BinaryOp::Div, int(6), int(3))),
        ("bad", binary(BinaryOp::Div, int(6), int(0))),
        ("deep", call(func, vec![int(0)], Type::I32)),
        ("after", add(int(1), int(1))),
    ];
    for (name, attempt) in attempts {
        b.output(name, expr(ExprKind::Try(attempt), ty.clone()));
    }
    assert_eq!(
        b.show(),
        "good = Ok(2)\nbad = Err(\"division by zero in `bad`: 6 / 0 in `i32`\")\n\
         deep = Err(\"the recursion in `count` is too deep: 20001 calls are under way\")\n\
         after = Ok(2)"
    );
}

#[test]
fn outputs_before_an_error_are_kept_and_main_gives_the_result() {
    let mut b = Build::new();
    let main = b.func("main", vec![], add(int(40), int(2)));
    b.program.main = Some(main);
    b.output("a", int(1));
    assert_eq!(b.show(), "a = 1\nmain: 42");

    let mut b = Build::new();
    b.output("a", int(1));
    b.output("b", binary(BinaryOp::Rem, int(1), int(0)));
    b.output("c", int(3));
    assert_eq!(b.show(), "a = 1\nE0803: division by zero in `b`: 1 % 0 in `i32`");
}

#[test]
fn wrapping_is_an_option() {
    let mut b = Build::new();
    b.output("a", add(int(i32::MAX), int(1)));
    let program = b.finish();
    let mut options = options();
    assert_eq!(execute(&program, &options).0.error.expect("traps").code, Code::E0802);
    options.wrapping = true;
    let (outcome, _) = execute(&program, &options);
    assert_eq!(shown(&program, &outcome), format!("a = {}", i32::MIN));
}

#[test]
fn an_error_in_a_call_tells_the_definition_around_it() {
    let mut b = Build::new();
    let x = b.idx("x");
    let body = binary(BinaryOp::Div, int(6), b.get(x));
    let func = b.func("share", vec![x], body);
    let i = b.idx("i");
    let value = call(func, vec![sub(b.get(i), int(2))], Type::I32);
    let it = define(tensor("a", 1, vec![clause(vec![over(i, 0, 4)], value)]));
    let error = error_of(b, it);
    let notes = ["division by zero in `share`: 6 / 0", "while computing `a` at i = 2"];
    check_error(&error, Code::E0803, &notes);
}

#[test]
fn endless_loops_can_be_interrupted() {
    let mut b = Build::new();
    let (i, j) = (b.idx("i"), b.idx("j"));
    let binders = vec![binder(i, int(0), int(i32::MAX)), binder(j, int(1), int(0))];
    b.output("it", reduce(ReduceOp::Sum, binders, vec![], int(1)));
    let program = b.finish();
    let options = options();
    let outcome = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(std::time::Duration::from_millis(20));
            options.interrupted.store(true, Ordering::Relaxed);
        });
        execute(&program, &options).0
    });
    assert!(outcome.interrupted);
}

#[test]
fn absurd_shapes_are_refused() {
    let mut b = Build::new();
    let (i, j, k) = (b.idx("i"), b.idx("j"), b.idx("k"));
    let most = |var| over(var, 0, i32::MAX);
    let empty = expr(ExprKind::Array(vec![]), array(Type::I32, &[0]));
    let slots = vec![most(i), most(j), most(k)];
    let it = define(tensor("huge", 3, vec![clause(slots, empty)]));
    check_error(&error_of(b, it), Code::E0805, &["`huge`"]);
}
