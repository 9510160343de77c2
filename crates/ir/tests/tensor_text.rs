//! The text of tensor IR: every construct reads back as it was written, and every rule of the
//! verifier is broken once.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ein_ir::tensor::parse::parse;
use ein_ir::tensor::print::print;
use ein_ir::tensor::verify::{verify, verify_differentiated};

/// A program with every construct, in the form in which it is printed.
const EVERYTHING: &str = include_str!("data/everything.tir");

#[test]
fn every_construct_is_printed_as_it_was_read() {
    let program = parse(EVERYTHING).unwrap();
    let text = print(&program);
    for (number, (own, expected)) in text.lines().zip(EVERYTHING.lines()).enumerate() {
        assert_eq!(own, expected, "line {}", number + 1);
    }
    assert_eq!(text.lines().count(), EVERYTHING.lines().count());
}

/// A program that keeps all rules.
const SOUND: &str = include_str!("data/sound.tir");

#[test]
fn a_sound_program_is_accepted() {
    assert_eq!(verify(&parse(SOUND).unwrap()), Ok(()));
}

/// Replaces a part of the sound program and looks for what the verifier says.
#[track_caller]
fn check(part: &str, broken: &str, expected: &str) {
    assert!(SOUND.contains(part), "the program has no `{part}`");
    let program = parse(&SOUND.replacen(part, broken, 1)).unwrap();
    let said: Vec<String> = match verify(&program) {
        Ok(()) => Vec::new(),
        Err(violations) => violations.iter().map(ToString::to_string).collect(),
    };
    let found = said.iter().any(|it| it.contains(expected));
    assert!(found, "`{broken}`: expected `{expected}`, found {said:#?}");
}

#[test]
fn ids_and_tables() {
    check("x_0: [f32; n_0]", "x_0: [f32; n_9]", "there is no atom a9");
    check("s_4: f32", "s_4: error", "an error type is left");
    check("s_4: f32", "s_4: [[f32; 2]; 2]", "the elements of an array are arrays");
    check("s_4: f32", "s_4: #P_7", "there is no struct or enum data7");
    check("extent x_0 0", "extent x_0 3", "v0 has no axis 3");
    check("extent x_0 0", "extent x_99 0", "there is no variable v99");
    check("y_1: [f32; i: n_0] = global 1", "y_1: [f32; i: n_0] = global 9", "no global slot 9");
    check("i_2: i32 = local 0", "i_2: i32 = local 8", "lives in slot 8 of 4");
    check("a_7: f32 = local 1", "a_7: f32 = local 4", "lives in slot 4 of 3");
    check("outputs x_0", "outputs i_2", "output v2 is not a global that is bound");
    check("main @main_1", "main @half_0", "`main` and tests take nothing");
    check("main @main_1", "main @main_9", "there is no function f9");
    check("@half_0<n_0>(s_4)", "(@half_9<n_0>(s_4) : f32)", "there is no function f9");
}

#[test]
fn scopes() {
    check("x_0[i_2] / total_3", "x_0[k_5] / total_3", "k_5 is used where it is not bound");
    check("let y_1 = def", "let s_4 = y_1[0]; let y_1 = def", "y_1 is used where it is not bound");
    check("a_7 / 2.0", "total_3", "total_3 is used where it is not bound");
    check("a_7 / 2.0", "{ let total_3 = a_7; total_3 }", "two functions bind total_3");
    check("a_7 / 2.0", "{ let s_4 = a_7; a_7 }", "a function binds the global s_4");
    check("a_7 / 2.0", "loose_8", "the global loose_8 is bound nowhere");
    check("a_7 / 2.0", "{ $i_1; a_7 }", "i_2 is used where it is not bound");
    check("(.0(b_9) | .1(b_9, _))", "(.0(b_9) | .1(_, _))", "bind different variables");
    check("=> b_9", "=> a_7", "a_7 is used where it is not bound");
}

#[test]
fn types_of_operations() {
    check("x_0[i_2] / total_3", "(x_0[i_2] / i_2 : f32)", "div does not take these operands");
    check("x_0[i_2] / total_3", "(x_0[i_2] / total_3 : i32)", "the result of div is i32");
    check("x_0[i_2] / total_3", "(exp(i_2) : f32)", "exp does not take these operands");
    check("if y_1[0?] > 1.0", "if y_1[0?]", "a condition is f32, expected bool");
    check("{ 1.0 } else", "{ 1 } else", "expected");
    check("let s_4 = if", "let s_4 = 5; if", "the value of s_4 is i32, expected f32");
    check(", if i_2 < 5", ", if i_2", "a guard is i32, expected bool");
    check("y_1[0?]", "(y_1[0?, 1] : f32)", "2 indices into f32 of rank 1");
    check("y_1[0?]", "y_1[1.0?]", "an index is f32");
    check("t_10.0", "(t_10.2 : f32)", "there is no component 2");
    check("t_10.0", "(x_0.f0 : f32)", "there is no field 0");
    check("slice(x_0, 0,", "slice(x_0, 1,", "f32 of rank 1 has no axis 1");
    check("slice(x_0, 0, 1,", "slice(x_0, 0, 1.0,", "the end of a slice is f32");
    check("permute(x_0, 0)", "(permute(x_0, 0, 0) : [f32; n_0])", "the order [0, 0] of 1 axes");
    check("s_4 as i32", "x_0 as i32", "a cast does not take these operands");
    check("true && false", "true && 1", "an operand of `&&` or `||` is i32");
}

#[test]
fn definitions_and_reductions() {
    check("[i_2: 0..$n_0]", "[i_2: 0..$n_0, 0]", "a clause has 2 slots for 1 axes");
    check("[i_2: 0..$n_0]", "[i_2: 0..2.0]", "the end of a domain is f32");
    check("k_5: i32", "k_5: i64", "the index k_5 is i64, expected i32");
    check("shape(n_0) :", "shape(n_0) inner 1 :", "a definition of 2 axes has a type of rank 1");
    check("= x_0[i_2] / total_3", "= x_0", "the value of a clause has 1 axes, expected 0");
    check("= x_0[i_2] / total_3", "= true", "the value of a clause is bool, expected f32");
    check("recurrent(0)", "recurrent(3)", "a recurrence runs along axis 3 of 1");
    check("recurrent(0)", "recurrent(0, 0)", "a recurrence runs twice along axis 0");
    check("self h_12", "self s_4", "what a recurrence reads itself by is f32");
    check("](x_0[k_5])", "](x_0)", "`sum` reduces something that is not a scalar");
    check("](x_0[k_5])", "](true)", "`sum` of bool");
    check("sum[k_5: 0..$n_0](x_0[k_5])", "(sum[k_5: 0..1](1) : f32)", "the result of `sum` is f32");
    check(
        "scatter shape(n_0)",
        "scatter shape(n_0, 1)",
        "a scatter of 2 axes has a type of rank 1",
    );
    check("[k_5](x_0[k_5]) :", "[k_5, 0](x_0[k_5]) :", "a scatter names 2 of 1 axes");
    check("[k_5](x_0[k_5]) :", "[1.0](x_0[k_5]) :", "the cell of a scatter is f32");
    check("[k_5](x_0[k_5]) :", "[k_5](true) :", "a scatter adds something that is not a number");
    check("where if true]", "where if k_5]", "a guard is i32, expected bool");
}

#[test]
fn calls_and_data() {
    check("@half_0<n_0>(", "@half_0(", "`half` takes 1 sizes, not 0");
    check("@half_0<n_0>(s_4)", "@half_0<n_0>()", "`half` takes 1 arguments, not 0");
    check("@half_0<n_0>(s_4)", "@half_0<n_0>(true)", "an argument of `half` is bool");
    check("@half_0<n_0>(s_4)", "(@half_0<n_0>(s_4) : i32)", "the result of `half` is i32");
    check("@half_0<n_0>(s_4)", "@inner_2(s_4)", "`inner` is called without its captures");
    check("closure @inner_2 {s_4}", "closure @inner_2 {}", "a closure has 0 captures");
    check("apply(g_11, s_4)", "apply(g_11)", "a function value takes 1 arguments, not 0");
    check("apply(g_11, s_4)", "apply(s_4, s_4)", "f32 is called");
    check("make #P_0.0(s_4)", "make #P_0.0()", "is not there or has other fields");
    check("make #P_0.0(s_4)", "make #P_0.5(s_4)", "is not there or has other fields");
    check(".0(b_9) |", ".7(b_9) |", "a variant that is not there");
    check("destructure (u_13, _)", "destructure (u_13,)", "a tuple pattern does not fit");
    check("a_7 / 2.0", "1", "the result is i32, expected f32");
}

#[test]
fn errors_and_derivatives() {
    check("a_7 / 2.0", "(error : f32)", "an error node is left");
    let program = SOUND.replacen("a_7 / 2.0", "(derivative(a_7, a_7) : f32)", 1);
    let program = parse(&program).unwrap();
    assert_eq!(verify(&program), Ok(()));
    let violations = verify_differentiated(&program).unwrap_err();
    assert_eq!(violations[0].to_string(), "function half_0: a derivative request is left");
}
