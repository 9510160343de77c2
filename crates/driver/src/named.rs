//! Names that are given with a command, and the bindings of a program that they mean.

use crate::execute::root_file;
use crate::run::RunOptions;
use ein_base::{Code, Diagnostic, Span};
use ein_ir::tensor::walk::{each_child, each_in_stmt};
use ein_ir::tensor::{Expr, ExprKind, HostOp, Program};

/// Restricts the outputs to those asked for. A name that is given for an input or an output and is
/// none is an error: what it was meant for would silently not happen.
pub(crate) fn settle(program: &mut Program, options: &RunOptions) -> Result<(), Box<Diagnostic>> {
    let inputs = inputs(program);
    for (name, _) in &options.inputs {
        if !inputs.contains(name) {
            return Err(Box::new(no_input(program, name, &inputs)));
        }
    }
    let Some(names) = &options.observe else { return Ok(()) };
    let outputs: Vec<String> =
        program.outputs.iter().map(|var| program.vars[*var].name.to_string()).collect();
    let mut kept = Vec::new();
    for name in names {
        match outputs.iter().position(|known| known == name) {
            Some(at) => kept.push(at),
            None => return Err(Box::new(no_output(program, name, &outputs))),
        }
    }
    kept.sort_unstable();
    program.outputs = kept.into_iter().map(|at| program.outputs[at]).collect();
    Ok(())
}

/// The names whose values come from outside, in source order.
fn inputs(program: &Program) -> Vec<String> {
    fn find(e: &Expr, found: &mut Vec<String>) {
        if let ExprKind::Host(HostOp::Input(name), _) = &*e.kind {
            found.push(name.to_string());
        }
        each_child(e, &mut |child| find(child, found));
    }
    let mut found = Vec::new();
    for stmt in &program.top {
        each_in_stmt(stmt, &mut |e| find(e, &mut found));
    }
    found
}

fn no_input(program: &Program, name: &str, inputs: &[String]) -> Diagnostic {
    let bindings = program.outputs.iter().map(|var| program.vars[*var].name.to_string());
    let is_binding = bindings.clone().any(|known| known == name);
    let d = missing(program, format!("the program has no input `{name}`"));
    let d = match inputs {
        [] => d.note("it declares no inputs"),
        inputs => d.note(format!("its inputs are {}", inputs.join(", "))),
    };
    let known: Vec<String> = inputs.iter().cloned().chain(bindings).collect();
    match nearest(name, &known) {
        _ if is_binding => d.help(format!(
            "an input replaces a plain `let {name} = …;`, not one with indices or a pattern: declare it as `let {name}: TYPE = input();`"
        )),
        Some(near) => d.help(format!("did you mean `{near}`?")),
        None => d.help(format!("declare it: `let {name}: TYPE = input();`")),
    }
}

fn no_output(program: &Program, name: &str, outputs: &[String]) -> Diagnostic {
    let d = missing(program, format!("the program has no output `{name}`"))
        .note(format!("its outputs are {}", outputs.join(", ")));
    match nearest(name, outputs) {
        Some(near) => d.help(format!("did you mean `{near}`?")),
        None => d.help("name a top-level binding"),
    }
}

fn missing(program: &Program, message: String) -> Diagnostic {
    Diagnostic::new(Code::E0901, Span::new(root_file(program), 0, 0), message)
}

/// The known name that looks most like what was typed, if one does.
fn nearest<'a>(typed: &str, known: &'a [String]) -> Option<&'a str> {
    let limit = (typed.chars().count() / 3).clamp(1, 3);
    let ranked = known.iter().map(|name| (distance(typed, name), name));
    let (far, name) = ranked.filter(|(far, _)| *far > 0).min_by_key(|(far, _)| *far)?;
    (far <= limit).then_some(name.as_str())
}

/// How many characters must be inserted, deleted or replaced to get from `a` to `b`.
pub(crate) fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
