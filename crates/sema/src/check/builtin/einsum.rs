//! `einsum("ij,jk->ik", (a, b))`: a sum of products whose indices stand in a text.
//!
//! The text is part of the program, so what it says is a definition like any other.

use crate::check::state::{Build, Index, Report};
use crate::check::{Declared, anonymous, coerce, error, expr, pointwise, vars};
use ein_base::{Code, Name, Span, Symbol};
use ein_ir::size;
use ein_ir::tensor::{Binder, Bounds, Expr, ExprKind, Reduce, ReduceOp, Type};
use ein_scalar::BinaryOp;

/// The indices of the operands and of the result.
struct Equation {
    operands: Vec<Vec<char>>,
    result: Vec<char>,
}

pub(super) fn einsum(
    ix: &mut Index,
    build: &mut Build,
    report: &mut Report,
    equation: Expr,
    inputs: Expr,
    span: Span,
) -> Expr {
    let ExprKind::Str(text) = &*equation.kind else {
        let d = error(Code::E0501, equation.span, "the equation of `einsum` must be written out")
            .here("it says which axes the result has")
            .help("write it as a text: `einsum(\"ij,jk->ik\", (a, b))`");
        return report.fail(d);
    };
    let parsed = match parse(text.as_str()) {
        Ok(parsed) => parsed,
        Err(why) => {
            let d = error(Code::E0501, equation.span, format!("`einsum`: {why}"))
                .here("the equation")
                .help("write indices as letters: `einsum(\"ij,jk->ik\", (a, b))`");
            return report.fail(d);
        }
    };
    let Some(operands) = einsum_operands(ix, build, report, &parsed, inputs, span) else {
        return Expr::error(span);
    };
    contracted(ix, build, report, &parsed, operands, span)
}

/// The operands, one by one: the parts of a tuple, or the slices of an array.
fn einsum_operands(
    ix: &mut Index,
    build: &mut Build,
    report: &mut Report,
    equation: &Equation,
    inputs: Expr,
    span: Span,
) -> Option<Vec<Expr>> {
    let inputs = expr::settle_expr(ix, build, inputs);
    let inputs = vars::atomise(ix, build, inputs);
    let count = equation.operands.len();
    let operands: Vec<Expr> = match &inputs.ty {
        Type::Tuple(items) => items
            .iter()
            .enumerate()
            .map(|(at, ty)| {
                let part = ExprKind::TupleGet(inputs.clone(), at);
                Expr::new(part, ty.clone(), inputs.span)
            })
            .collect(),
        Type::Array(array)
            if array.axes.first().and_then(|axis| axis.size.as_constant())
                == Some(count as i64) =>
        {
            (0..count)
                .map(|at| {
                    let at = Expr::size(size::Expr::constant(at as i64), span);
                    expr::read(inputs.clone(), vec![at], Bounds::Proved, span)
                })
                .collect()
        }
        _ if count == 1 => vec![inputs.clone()],
        _ => {
            let have = ix.show(&inputs.ty);
            let d = error(
                Code::E0501,
                inputs.span,
                format!("`einsum` takes a tuple of {count} arrays, not `{have}`"),
            )
            .here(format!("this is `{have}`"))
            .help("write the arrays in parentheses: `(a, b)`");
            report.report_at(d);
            return None;
        }
    };
    if operands.len() != count {
        let d = error(
            Code::E0501,
            inputs.span,
            format!(
                "the equation of `einsum` has {count} operands, but {} are given",
                operands.len()
            ),
        )
        .here("the operands")
        .help("separate the indices of operands by commas");
        report.report_at(d);
        return None;
    }
    for (letters, operand) in equation.operands.iter().zip(&operands) {
        let rank = operand.ty.rank();
        if rank != letters.len() {
            let text: String = letters.iter().collect();
            let d = error(
                Code::E0405,
                operand.span,
                format!("`{text}` has {} indices, but the operand has {rank} axes", letters.len()),
            )
            .here(format!("has an operand of type `{}`", ix.show(&operand.ty)))
            .help("write one letter for each axis");
            report.report_at(d);
            return None;
        }
    }
    Some(operands)
}

fn contracted(
    ix: &mut Index,
    build: &mut Build,
    report: &mut Report,
    equation: &Equation,
    operands: Vec<Expr>,
    span: Span,
) -> Expr {
    let operands: Vec<Expr> = operands
        .into_iter()
        .map(|operand| {
            let operand = expr::settle_expr(ix, build, operand);
            vars::atomise(ix, build, operand)
        })
        .collect();
    // The first axis of a letter gives its extent; others must have the same.
    let mut sizes: Vec<(char, size::Expr)> = Vec::new();
    for (letters, operand) in equation.operands.iter().zip(&operands) {
        for (letter, axis) in letters.iter().zip(operand.ty.axes()) {
            match sizes.iter().find(|(known, _)| known == letter) {
                None => sizes.push((*letter, axis.size.clone())),
                Some((_, known)) if *known == axis.size => {}
                Some((_, known)) => {
                    if let (Some(a), Some(b)) = (known.as_constant(), axis.size.as_constant()) {
                        let d = error(
                            Code::E0402,
                            span,
                            format!(
                                "index `{letter}` of `einsum` runs over {a} and over {b} positions"
                            ),
                        )
                        .here("in this call")
                        .help("give axes of one letter the same extent");
                        return report.fail(d);
                    }
                    let what = format!("index `{letter}` of `einsum`");
                    coerce::require(ix, build, known.clone(), axis.size.clone(), what, span);
                }
            }
        }
    }
    let size_of = |letter: &char| {
        sizes
            .iter()
            .find(|(known, _)| known == letter)
            .map_or_else(size::Expr::one, |(_, size)| size.clone())
    };
    let axes = equation.result.iter().map(|letter| anonymous(size_of(letter))).collect::<Vec<_>>();
    let summed: Vec<(char, size::Expr)> =
        sizes.iter().filter(|(letter, _)| !equation.result.contains(letter)).cloned().collect();
    let result = equation.result.clone();
    let point = |ix: &mut Index, build: &mut Build, outer: &[Expr]| {
        let mut places: Vec<(char, Expr)> =
            result.iter().copied().zip(outer.iter().cloned()).collect();
        let mut binders: Vec<Binder> = Vec::new();
        for (letter, size) in &summed {
            let name = Name { sym: Symbol::intern(&letter.to_string()), span };
            let index = ix.new_index(name, Declared::Any);
            binders.push(pointwise::full_binder(ix.indices[index].var, size, span));
            places.push((*letter, ix.index_expr(index, span)));
        }
        let mut value: Option<Expr> = None;
        for (letters, operand) in equation.operands.iter().zip(operands) {
            let at = letters
                .iter()
                .filter_map(|letter| places.iter().find(|(known, _)| known == letter))
                .map(|(_, place)| place.clone())
                .collect();
            let factor = expr::read(operand, at, Bounds::Proved, span);
            value = Some(match value {
                None => factor,
                Some(value) => {
                    super::scalar_binary(ix, build, report, BinaryOp::Mul, value, factor, span)
                }
            });
        }
        let Some(value) = value else { return Expr::error(span) };
        if binders.is_empty() || value.ty.has_error() {
            return value;
        }
        let ty = value.ty.clone();
        let reduce =
            Reduce { op: ReduceOp::Sum, binders, items: Vec::new(), value, requires: Vec::new() };
        Expr::new(ExprKind::Reduce(reduce), ty, span)
    };
    if axes.is_empty() {
        point(ix, build, &[])
    } else {
        pointwise::tabulate(ix, build, axes, span, point)
    }
}

/// The parts of an equation, or what is wrong with it. Without `->` the result has the letters that
/// occur once, in alphabetical order.
fn parse(text: &str) -> Result<Equation, String> {
    let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let (left, right) = match text.split_once("->") {
        Some((left, right)) => (left, Some(right)),
        None => (text.as_str(), None),
    };
    let letters = |part: &str| -> Result<Vec<char>, String> {
        part.chars()
            .map(
                |c| if c.is_ascii_alphabetic() { Ok(c) } else { Err(format!("`{c}` is no index")) },
            )
            .collect()
    };
    let operands = left.split(',').map(letters).collect::<Result<Vec<_>, _>>()?;
    let occurs = |c: char| operands.iter().flatten().filter(|other| **other == c).count();
    let result = match right {
        Some(right) => letters(right)?,
        None => {
            let mut once: Vec<char> =
                operands.iter().flatten().copied().filter(|c| occurs(*c) == 1).collect();
            once.sort_unstable();
            once
        }
    };
    for (at, c) in result.iter().enumerate() {
        if occurs(*c) == 0 {
            return Err(format!("index `{c}` of the result stands in no operand"));
        }
        if result[..at].contains(c) {
            return Err(format!("index `{c}` stands twice in the result"));
        }
    }
    Ok(Equation { operands, result })
}
