//! Products of matrices, and sums by Einstein's convention.

use std::collections::BTreeMap;

use super::{broadcast, number};
use crate::cx::{Cx, indices};
use crate::dims::Dim;
use crate::elem::Elem;
use crate::node::{Done, Node, refuse, refuse_at};
use crate::value::Value;

/// Writes a node of this family.
pub fn write(cx: &mut Cx<'_>, node: &Node<'_>) -> Option<Done> {
    Some(match node.op {
        "MatMul" => matmul(cx, node),
        "Gemm" => gemm(cx, node),
        "Einsum" => einsum(cx, node),
        "Det" => determinant(cx, node),
        _ => return None,
    })
}

fn matmul(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let (a, b) = (node.input(0)?, node.input(1)?);
    let elem = a.elem;
    product(cx, node.out(0), &a, &b, elem, |a, b| format!("{a} * {b}")).map(drop)
}

/// A matrix product by the rules of the format; `term` says what is summed.
pub fn product(
    cx: &mut Cx<'_>,
    out: &str,
    a: &Value,
    b: &Value,
    elem: Elem,
    term: impl FnOnce(&str, &str) -> String,
) -> Done<Value> {
    if a.rank() == 0 || b.rank() == 0 {
        return refuse("an operand has no axes");
    }
    let lead = |v: &Value| v.shape[..v.rank().saturating_sub(2)].to_vec();
    let front = broadcast(&[&lead(a), &lead(b)])?;
    let (has_row, has_col) = (a.rank() > 1, b.rank() > 1);
    let mut shape = front.clone();
    if has_row {
        shape.push(a.shape[a.rank() - 2].clone());
    }
    if has_col {
        shape.push(b.shape[b.rank() - 1].clone());
    }
    let inner = &a.shape[a.rank() - 1];
    let other = &b.shape[b.rank().saturating_sub(2)];
    if let (Some(m), Some(n)) = (inner.known(), other.known())
        && m != n
    {
        return refuse(format!("the extents {m} and {n} do not agree"));
    }
    let names: Vec<String> = match front.len() {
        0 => vec![],
        1 => vec!["batch".into()],
        2 => vec!["batch".into(), "head".into()],
        n => indices(&[], n),
    };
    let mut axes = names.clone();
    let (row, col) = ("row".to_owned(), "col".to_owned());
    if has_row {
        axes.push(row.clone());
    }
    if has_col {
        axes.push(col.clone());
    }
    let mut covered = vec![false; front.len()];
    let mut place = |v: &Value, tail: Vec<String>| -> Vec<String> {
        let own = v.rank().saturating_sub(2);
        let skip = front.len() - own;
        let mut at: Vec<String> = (0..own)
            .map(|i| {
                if v.shape[i].is(1) && !front[skip + i].is(1) {
                    "0".to_owned()
                } else {
                    covered[skip + i] = true;
                    names[skip + i].clone()
                }
            })
            .collect();
        at.extend(tail);
        at
    };
    let at_a = place(a, if has_row { vec![row, "k".into()] } else { vec!["k".into()] });
    let at_b = place(b, if has_col { vec!["k".into(), col] } else { vec!["k".into()] });
    let (a_name, b_name) = (cx.name_of(a), cx.name_of(b));
    let (x, y) =
        (format!("{a_name}[{}]", at_a.join(", ")), format!("{b_name}[{}]", at_b.join(", ")));
    covered.resize(axes.len(), true);
    let body = format!("sum[k]({})", term(&x, &y));
    Ok(cx.define(out, elem, shape, &axes, &covered, &body))
}

fn gemm(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let (a, b) = (node.input(0)?, node.input(1)?);
    if a.rank() != 2 || b.rank() != 2 {
        return refuse("an operand is no matrix");
    }
    let (turn_a, turn_b) = (node.int("transA", 0) != 0, node.int("transB", 0) != 0);
    let (rows, cols) =
        (a.shape[usize::from(turn_a)].clone(), b.shape[usize::from(!turn_b)].clone());
    let shape = vec![rows, cols];
    let (x, y) = (cx.name_of(&a), cx.name_of(&b));
    let x = if turn_a { format!("{x}[k, row]") } else { format!("{x}[row, k]") };
    let y = if turn_b { format!("{y}[col, k]") } else { format!("{y}[k, col]") };
    let (alpha, beta) = (node.float("alpha", 1.0), node.float("beta", 1.0));
    let scale = |factor: f64| {
        if factor == 1.0 {
            String::new()
        } else if a.elem.is_float() {
            format!("{} * ", number(factor, a.elem))
        } else {
            format!("{} * ", factor as i64)
        }
    };
    let mut body = format!("{}sum[k]({x} * {y})", scale(alpha));
    let axes = ["row".to_owned(), "col".to_owned()];
    if let Some(c) = node.optional(2)
        && beta != 0.0
    {
        if c.rank() > 2 {
            return refuse("its third operand is no matrix");
        }
        let (c, _) = cx.read_repeated(&c, &axes, &shape);
        body = format!("{body} + {}{c}", scale(beta));
    }
    cx.define(node.out(0), a.elem, shape, &axes, &[true, true], &body);
    Ok(())
}

fn einsum(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let text: String = node.string("equation", "").chars().filter(|c| !c.is_whitespace()).collect();
    let values = node.all();
    let (left, right) = match text.split_once("->") {
        Some((left, right)) => (left.to_owned(), Some(right.to_owned())),
        None => (text.clone(), None),
    };
    let terms: Vec<&str> = left.split(',').collect();
    if terms.len() != values.len() || values.is_empty() {
        return refuse_at("equation", "has another number of terms than there are inputs");
    }
    // Axes under `...` get letters of their own, counted from the end.
    let dots = terms
        .iter()
        .zip(&values)
        .filter(|(term, _)| term.contains("..."))
        .map(|(term, value)| value.rank() as i64 - (term.len() as i64 - 3))
        .max()
        .unwrap_or(0);
    if !(0..=8).contains(&dots) {
        return refuse_at("equation", "does not fit the ranks of the inputs");
    }
    let spread = |term: &str, number: usize| -> Vec<String> {
        let mut out = Vec::new();
        let mut rest = term;
        while let Some(c) = rest.chars().next() {
            if let Some(after) = rest.strip_prefix("...") {
                out.extend((dots as usize - number..dots as usize).map(|i| format!("batch{i}")));
                rest = after;
            } else {
                out.push(letter(c));
                rest = &rest[c.len_utf8()..];
            }
        }
        out
    };
    let mut extents: BTreeMap<String, Dim> = BTreeMap::new();
    let mut reads = Vec::new();
    let mut order: Vec<String> = Vec::new();
    let mut uses: BTreeMap<String, usize> = BTreeMap::new();
    for (term, value) in terms.iter().zip(&values) {
        if !term.chars().all(|c| c.is_ascii_alphabetic() || c == '.') {
            return refuse_at("equation", "has a sign that is no letter");
        }
        let number =
            if term.contains("...") { value.rank() as i64 - (term.len() as i64 - 3) } else { 0 };
        if number < 0 {
            return refuse_at("equation", "does not fit the ranks of the inputs");
        }
        let letters = spread(term, number as usize);
        if letters.len() != value.rank() {
            return refuse_at("equation", "does not fit the ranks of the inputs");
        }
        let mut at = Vec::new();
        for (name, dim) in letters.iter().zip(&value.shape) {
            let known = extents.entry(name.clone()).or_insert_with(|| dim.clone());
            if known.is(1) && !dim.is(1) {
                *known = dim.clone();
            }
            *uses.entry(name.clone()).or_insert(0) += 1;
            if !order.contains(name) {
                order.push(name.clone());
            }
            at.push((name.clone(), dim.clone()));
        }
        reads.push(at);
    }
    let result = match right {
        Some(right) => spread(&right, dots as usize),
        None => {
            let mut names: Vec<String> = uses
                .iter()
                .filter(|(name, n)| **n == 1 && !name.starts_with("batch"))
                .map(|(name, _)| name.clone())
                .collect();
            names.sort();
            (0..dots).map(|i| format!("batch{i}")).chain(names).collect()
        }
    };
    if result.iter().any(|name| !extents.contains_key(name)) {
        return refuse_at("equation", "has a letter in the result that no term has");
    }
    let mut parts = Vec::new();
    for (value, at) in values.iter().zip(reads) {
        let places: Vec<String> = at
            .iter()
            .map(
                |(name, dim)| {
                    if dim.is(1) && !extents[name].is(1) { "0".into() } else { name.clone() }
                },
            )
            .collect();
        parts.push(cx.read(value, &places));
    }
    let summed: Vec<String> = order.into_iter().filter(|name| !result.contains(name)).collect();
    let product = parts.join(" * ");
    let body =
        if summed.is_empty() { product } else { format!("sum[{}]({product})", summed.join(", ")) };
    let shape = result.iter().map(|name| extents[name].clone()).collect();
    let covered = vec![true; result.len()];
    cx.define(node.out(0), values[0].elem, shape, &result, &covered, &body);
    Ok(())
}

/// A letter of an equation as an index: capitals are other letters.
fn letter(c: char) -> String {
    if c.is_ascii_uppercase() { format!("{}_", c.to_ascii_lowercase()) } else { c.to_string() }
}

fn determinant(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let x = node.input(0)?;
    if x.rank() < 2 {
        return refuse("its input is no matrix");
    }
    cx.helper("determinant", DETERMINANT);
    let lead = x.rank() - 2;
    let axes = indices(&[], lead);
    let name = cx.name_of(&x);
    let body = if lead == 0 {
        format!("determinant({name})")
    } else {
        format!("determinant({name}[{}])", axes.join(", "))
    };
    let body = if x.elem == Elem::F32 { body } else { format!("({body}) as {}", x.elem.lang()) };
    let covered = vec![true; lead];
    cx.define(node.out(0), x.elem, x.shape[..lead].to_vec(), &axes, &covered, &body);
    Ok(())
}

const DETERMINANT: &str =
    "/// The determinant, by elimination with the greatest pivot of each column.
fn determinant(x: [f32; ?n, ?n]) -> f32 {
    if ?n == 0 {
        1.0
    } else {
        let best = argmax[i](abs(x[i, 0]));
        let pivot = x[best, 0];
        let factor[i in 0..?n - 1] = x[if i < best { i } else { i + 1 }, 0] / pivot;
        let rest[i in 0..?n - 1, j in 0..?n - 1] = x[if i < best { i } else { i + 1 }, j + 1]
            - factor[i] * x[best, j + 1];
        let sign = if best % 2 == 0 { 1.0 } else { -1.0 };
        if pivot == 0.0 { 0.0 } else { sign * pivot * determinant(rest) }
    }
}
";
