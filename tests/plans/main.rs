//! What programs become: fusion, contractions, windows of storage and hoisting, by their plans.

mod cliffs;
mod derivatives;
mod fusion;
mod growth;
mod products;
mod recurrences;
mod reductions;
mod storage;

use ein_driver::{DumpOptions, FileSources, Form, Input, Options, Session, Show};

/// The plan of a program of which these bindings are observed.
fn plan(source: &str, observe: &[&str]) -> String {
    plan_within(source, observe, None)
}

/// The same, with so many bytes for histories that derivatives read.
fn plan_within(source: &str, observe: &[&str], ad_memory: Option<u64>) -> String {
    let input = Input::Text { name: "program.ein".into(), text: source.into() };
    let mut session = Session::new(Options::default(), FileSources::on_disk());
    let observe = Some(observe.iter().map(|name| (*name).to_owned()).collect());
    let options = DumpOptions { observe, ad_memory, ..DumpOptions::default() };
    let planned = session.dump_plan(&input, &options, Show::Loops(Form::Plan));
    let (text, report) = planned.expect("the compiler does not break");
    assert!(!report.has_errors(), "{:?}", report.diagnostics);
    text
}

/// Lines of a plan that begin with a word.
fn lines<'a>(plan: &'a str, word: &str) -> Vec<&'a str> {
    plan.lines().filter(|line| line.trim_start().starts_with(word)).collect()
}

/// A dot product of two vectors, and two matrices and a vector to lift it over.
const DOT: &str = "fn dot(u: [f32; ?n], v: [f32; ?n]) -> f32 { sum[i](u[i] * v[i]) }
    let A: [f32; 32, 32] = input();
    let B: [f32; 32, 32] = input();
    let x: [f32; 32] = input();";
