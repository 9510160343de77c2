//! Choices by value: the greatest elements, those that are not zero, those that differ.

use crate::cx::{Cx, indices, others};
use crate::data::Data;
use crate::dims::{Dim, count};
use crate::elem::Elem;
use crate::node::{Done, MUST_BE_KNOWN, Node, axis, refuse, refuse_at};

/// Writes a node of this family.
pub fn write(cx: &mut Cx<'_>, node: &Node<'_>) -> Option<Done> {
    Some(match node.op {
        "TopK" => top(cx, node),
        "NonZero" => non_zero(cx, node),
        "Compress" => compress(cx, node),
        "Unique" => unique(cx, node),
        "NonMaxSuppression" => suppression(cx, node),
        _ => return None,
    })
}

fn top(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let x = node.input(0)?;
    let number = match node.attribute("k") {
        Some(k) => Dim::from(k.i),
        None => match node.input(1)?.known.as_deref().and_then(Data::as_dims) {
            Some(dims) if dims.len() == 1 => dims[0].clone(),
            _ => return refuse_at("K", MUST_BE_KNOWN),
        },
    };
    let along = axis(node.int("axis", -1), x.rank())?;
    let axes = indices(&x.axes, x.rank());
    let step = others(&axes, &["k"]).remove(0);
    let mut at = axes.clone();
    at[along].clone_from(&step);
    let (other, own) = (cx.read(&x, &at), cx.read(&x, &axes));
    let sign = if node.int("largest", 1) != 0 { ">" } else { "<" };
    // How many come before an element: greater ones, and equal ones with a smaller index.
    let body = format!(
        "count[{step}]({other} {sign} {own} || {other} == {own} && {step} < {})",
        axes[along]
    );
    let covered = vec![true; axes.len()];
    let order = cx.temp("order", Elem::I32, x.shape.clone(), &axes, &covered, &body);
    let mut shape = x.shape.clone();
    shape[along] = number;
    let order = cx.read(&order, &at);
    let mut covered = covered;
    covered[along] = false;
    let body = format!("sum[{step}]({step} as i64 where {order} == {})", axes[along]);
    let out = if node.has_out(1) { node.out(1) } else { "places" };
    let places = cx.temp(out, Elem::I64, shape.clone(), &axes, &covered, &body);
    cx.set(node.out(1), places.clone());
    if node.has_out(0) {
        let place = cx.read(&places, &axes);
        let mut at = axes.clone();
        at[along] = place;
        let body = cx.read(&x, &at);
        cx.define(node.out(0), x.elem, shape, &axes, &vec![false; axes.len()], &body);
    }
    Ok(())
}

/// The size of an array that is known when the program runs.
fn hidden_size(cx: &mut Cx<'_>) -> (Dim, String) {
    let name = cx.names.fresh("found");
    (Dim::atom(format!("?{name}")), name)
}

fn non_zero(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let x = node.input(0)?;
    if x.rank() == 0 {
        return refuse("its input has no axes");
    }
    let axes = indices(&x.axes, x.rank());
    let element = cx.read(&x, &axes);
    let test = if x.elem == Elem::Bool {
        element
    } else {
        format!("{element} != {}", super::zero(x.elem))
    };
    let places: Vec<String> = axes.iter().map(|it| format!("{it} as i64")).collect();
    let ranges: Vec<String> =
        axes.iter().zip(&x.shape).map(|(it, dim)| format!("{it} in 0..{dim}")).collect();
    let (size, name) = hidden_size(cx);
    let rows = cx.names.fresh("places");
    cx.line(
        &[&rows, &name],
        format!(
            "let {rows}: [i64; ?{name}, {}] = [[{}] | {}, {test}];",
            x.rank(),
            places.join(", "),
            ranges.join(", ")
        ),
    );
    let out = ["axis".to_owned(), "place".to_owned()];
    let shape = vec![Dim::from(x.rank() as i64), size];
    cx.define(node.out(0), Elem::I64, shape, &out, &[true, true], &format!("{rows}[place, axis]"));
    Ok(())
}

fn compress(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let (mut x, condition) = (node.input(0)?, node.input(1)?);
    let along = match node.attribute("axis") {
        Some(it) => axis(it.i, x.rank())?,
        None => {
            let shape = vec![count(&x.shape)];
            x = super::shape::reshape_to(cx, "", &x, shape);
            0
        }
    };
    let test = cx.name_of(&condition);
    let (size, name) = hidden_size(cx);
    let kept = cx.names.fresh("kept");
    cx.line(
        &[&kept, &name],
        format!("let {kept}: [i32; ?{name}] = [at | at in 0..{}, {test}[at]];", condition.shape[0]),
    );
    let axes = indices(&x.axes, x.rank());
    let mut at = axes.clone();
    at[along] = format!("{kept}[{}]", axes[along]);
    let body = cx.read(&x, &at);
    let mut shape = x.shape.clone();
    shape[along] = size;
    let covered = vec![true; axes.len()];
    cx.define(node.out(0), x.elem, shape, &axes, &covered, &body);
    Ok(())
}

fn unique(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let mut x = node.input(0)?;
    let given = node.attribute("axis").map(|it| it.i);
    let along = match given {
        Some(given) => axis(given, x.rank())?,
        None => {
            let shape = vec![count(&x.shape)];
            x = super::shape::reshape_to(cx, "", &x, shape);
            0
        }
    };
    // Slices along the axis as rows.
    let extent = x.shape[along].clone();
    let rest: Vec<usize> = (0..x.rank()).filter(|i| *i != along).collect();
    let order: Vec<usize> = [along].into_iter().chain(rest.iter().copied()).collect();
    let width = count(&rest.iter().map(|i| x.shape[*i].clone()).collect::<Vec<_>>());
    let turned =
        if along == 0 { x.clone() } else { super::shape::transpose_to(cx, "", &x, &order) };
    let rows = super::shape::reshape_to(cx, "", &turned, vec![extent.clone(), width.clone()]);
    let rows = cx.name_of(&rows);
    let names = |list: &[&str]| -> Vec<String> { list.iter().map(|it| (*it).to_owned()).collect() };
    // The first column in which two rows differ decides; equal rows have none.
    let body = format!(
        "sum[c in 0..{width}](if {rows}[a, c] != {rows}[b, c] && all[d in 0..c]({rows}[a, d] == {rows}[b, d]) {{ if {rows}[a, c] < {rows}[b, c] {{ 1 }} else {{ -1 }} }} else {{ 0 }})"
    );
    let compare = cx.temp(
        "before",
        Elem::I32,
        vec![extent.clone(), extent.clone()],
        &names(&["a", "b"]),
        &[],
        &body,
    );
    let compare = cx.name_of(&compare);
    let body = format!("min[b in 0..{extent}](if {compare}[a, b] == 0 {{ b }} else {{ a }})");
    let first = cx.temp("first_place", Elem::I32, vec![extent.clone()], &names(&["a"]), &[], &body);
    let first = cx.name_of(&first);
    let sorted = node.int("sorted", 1) != 0;
    let rank_of =
        if sorted { format!("{compare}[b, a] == 1") } else { format!("{first}[b] < {first}[a]") };
    let body = format!("count[b in 0..{extent}]({first}[b] == b && {rank_of})");
    let position = cx.temp("position", Elem::I32, vec![extent.clone()], &names(&["a"]), &[], &body);
    let position = cx.name_of(&position);
    let (size, name) = hidden_size(cx);
    let heads = cx.names.fresh("heads");
    cx.line(
        &[&heads, &name],
        format!("let {heads}: [i32; ?{name}] = [at | at in 0..{extent}, {first}[at] == at];"),
    );
    let place = names(&["place"]);
    let body = format!("sum[b in 0..{size}]({heads}[b] where {position}[{heads}[b]] == place)");
    let chosen = cx.temp("chosen", Elem::I32, vec![size.clone()], &place, &[], &body);
    let chosen = cx.name_of(&chosen);
    let axes = indices(&x.axes, x.rank());
    let mut at = axes.clone();
    at[along] = format!("{chosen}[{}]", axes[along]);
    let body = cx.read(&x, &at);
    let mut shape = x.shape.clone();
    shape[along] = size.clone();
    cx.define(node.out(0), x.elem, shape, &axes, &vec![true; axes.len()], &body);
    if node.has_out(1) {
        cx.define(
            node.out(1),
            Elem::I64,
            vec![size.clone()],
            &place,
            &[true],
            &format!("{chosen}[place] as i64"),
        );
    }
    if node.has_out(2) {
        cx.define(
            node.out(2),
            Elem::I64,
            vec![extent.clone()],
            &names(&["a"]),
            &[],
            &format!("{position}[a] as i64"),
        );
    }
    if node.has_out(3) {
        let body = format!("count[b in 0..{extent}]({compare}[{chosen}[place], b] == 0) as i64");
        cx.define(node.out(3), Elem::I64, vec![size], &place, &[true], &body);
    }
    Ok(())
}

fn suppression(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let (boxes, scores) = (node.input(0)?, node.input(1)?);
    if boxes.rank() != 3 || scores.rank() != 3 {
        return refuse("its inputs do not have three axes");
    }
    let scalar = |cx: &mut Cx<'_>, at: usize, default: &str| match node.optional(at) {
        None => default.to_owned(),
        Some(v) => cx.read(&v, &vec!["0".to_owned(); v.rank()]),
    };
    let most = scalar(cx, 2, "0");
    let overlap = scalar(cx, 3, "0.0");
    let lowest = node.optional(4).map(|_| scalar(cx, 4, "0.0"));
    let (b, s) = (cx.name_of(&boxes), cx.name_of(&scores));
    let (batch, class, number) =
        (scores.shape[0].clone(), scores.shape[1].clone(), scores.shape[2].clone());
    let names = |list: &[&str]| -> Vec<String> { list.iter().map(|it| (*it).to_owned()).collect() };
    // Corners in order, whatever way they are given.
    let corner = |i: i64| {
        if node.int("center_point_box", 0) != 0 {
            let (middle, size, sign) =
                [(1, 3, "-"), (0, 2, "-"), (1, 3, "+"), (0, 2, "+")][i as usize];
            format!("{b}[n, i, {middle}] {sign} {b}[n, i, {size}] / 2.0")
        } else {
            let (first, second, way) =
                [(0, 2, "min"), (1, 3, "min"), (0, 2, "max"), (1, 3, "max")][i as usize];
            format!("{way}({b}[n, i, {first}], {b}[n, i, {second}])")
        }
    };
    let axes = names(&["n", "i"]);
    let plane = vec![boxes.shape[0].clone(), boxes.shape[1].clone()];
    let mut edges = Vec::new();
    for (i, hint) in ["top_edge", "left_edge", "bottom_edge", "right_edge"].iter().enumerate() {
        let value = cx.temp(hint, Elem::F32, plane.clone(), &axes, &[], &corner(i as i64));
        edges.push(cx.name_of(&value));
    }
    let [top, left, bottom, right] = [&edges[0], &edges[1], &edges[2], &edges[3]];
    let body = format!(
        "max(min({bottom}[n, i], {bottom}[n, j]) - max({top}[n, i], {top}[n, j]), 0.0) * max(min({right}[n, i], {right}[n, j]) - max({left}[n, i], {left}[n, j]), 0.0)"
    );
    let pairs = names(&["n", "i", "j"]);
    let square = vec![plane[0].clone(), plane[1].clone(), plane[1].clone()];
    let common = cx.temp("common", Elem::F32, square, &pairs, &[], &body);
    let common = cx.name_of(&common);
    let body = format!("({bottom}[n, i] - {top}[n, i]) * ({right}[n, i] - {left}[n, i])");
    let area = cx.temp("area", Elem::F32, plane, &axes, &[], &body);
    let area = cx.name_of(&area);
    // Boxes in the order of their scores.
    let triple = names(&["n", "c", "i"]);
    let cube = vec![batch.clone(), class.clone(), number.clone()];
    let body = format!(
        "count[j in 0..{number}]({s}[n, c, j] > {s}[n, c, i] || {s}[n, c, j] == {s}[n, c, i] && j < i)"
    );
    let order = cx.temp("order", Elem::I32, cube.clone(), &triple, &[], &body);
    let order = cx.name_of(&order);
    let body = format!("sum[j in 0..{number}](j where {order}[n, c, j] == i)");
    let ranked = cx.temp("ranked", Elem::I32, cube, &triple, &[], &body);
    let ranked = cx.name_of(&ranked);
    // A box stays if no better one that stays covers too much of it.
    let kept = cx.names.fresh("kept");
    let (own, other) = (format!("{ranked}[n, c, i]"), format!("{ranked}[n, c, j]"));
    let score =
        lowest.map_or_else(String::new, |lowest| format!(" && {s}[n, c, {own}] > {lowest}"));
    cx.line(&[&kept], format!(
        "let {kept}[i in 0..{number}, n in 0..{batch}, c in 0..{class}] = if count[j in 0..i]({kept}[j, n, c] && {common}[n, {own}, {other}] > {overlap} * ({area}[n, {own}] + {area}[n, {other}] - {common}[n, {own}, {other}])) == 0{score} {{ count[j in 0..i]({kept}[j, n, c]) as i64 < {most} }} else {{ false }};"
    ));
    let (size, name) = hidden_size(cx);
    let rows = cx.names.fresh("chosen");
    cx.line(&[&rows, &name], format!(
        "let {rows}: [i64; ?{name}, 3] = [[n as i64, c as i64, {ranked}[n, c, i] as i64] | n in 0..{batch}, c in 0..{class}, i in 0..{number}, {kept}[i, n, c]];"
    ));
    let value = cx.bound(&rows, Elem::I64, vec![size, Dim::from(3)], Vec::new());
    cx.set(node.out(0), value);
    Ok(())
}
