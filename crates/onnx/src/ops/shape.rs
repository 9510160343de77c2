//! Operators that move elements and change shapes.

use super::{axes_of, scaled, shifted};
use crate::cx::{Cx, indices};
use crate::dims::{Dim, count};
use crate::node::{Done, MUST_BE_KNOWN, Node, axis, refuse, refuse_at};
use crate::value::Value;

/// Writes a node of this family.
pub fn write(cx: &mut Cx<'_>, node: &Node<'_>) -> Option<Done> {
    Some(match node.op {
        "Reshape" | "Flatten" | "Squeeze" | "Unsqueeze" => reshape(cx, node),
        "Transpose" => transpose(cx, node),
        "Concat" => concat(cx, node),
        "Split" => split(cx, node),
        "Slice" => slice(cx, node),
        "Expand" => expand(cx, node),
        "Tile" => tile(cx, node),
        "Identity" => Ok(()),
        "DepthToSpace" => depth_to_space(cx, node),
        "SpaceToDepth" => space_to_depth(cx, node),
        _ => return None,
    })
}

/// The extents after a reshape of any kind.
pub fn reshaped(node: &Node<'_>) -> Done<Vec<Dim>> {
    let x = node.input(0)?;
    match node.op {
        "Flatten" => {
            let along = node.int("axis", 1);
            let along = if along < 0 { along + x.rank() as i64 } else { along };
            let Some((front, back)) =
                usize::try_from(along).ok().filter(|n| *n <= x.rank()).map(|n| x.shape.split_at(n))
            else {
                return refuse_at("axis", format!("{along} is no axis"));
            };
            Ok(vec![count(front), count(back)])
        }
        "Squeeze" => match node.known_ints("axes", 1)? {
            None => Ok(x.shape.iter().filter(|dim| !dim.is(1)).cloned().collect()),
            Some(axes) => {
                let axes =
                    axes.into_iter().map(|it| axis(it, x.rank())).collect::<Done<Vec<_>>>()?;
                Ok(x.shape
                    .iter()
                    .enumerate()
                    .filter(|(i, _)| !axes.contains(i))
                    .map(|(_, dim)| dim.clone())
                    .collect())
            }
        },
        "Unsqueeze" => {
            let Some(axes) = node.known_ints("axes", 1)? else {
                return refuse_at("axes", "is missing");
            };
            let rank = x.rank() + axes.len();
            let axes = axes.into_iter().map(|it| axis(it, rank)).collect::<Done<Vec<_>>>()?;
            let mut rest = x.shape.into_iter();
            (0..rank)
                .map(|i| if axes.contains(&i) { Some(Dim::from(1)) } else { rest.next() })
                .collect::<Option<_>>()
                .ok_or_else(|| refuse::<()>("its axes repeat").expect_err("a refusal"))
        }
        _ => {
            let target = match node.ints("shape") {
                Some(ints) => ints.into_iter().map(Dim::from).collect(),
                None => {
                    match node.input(1)?.known.as_deref().and_then(crate::data::Data::as_dims) {
                        Some(dims) => dims,
                        None => return refuse_at("shape", MUST_BE_KNOWN),
                    }
                }
            };
            let copy = node.int("allowzero", 0) == 0;
            let mut shape = Vec::new();
            let mut open = None;
            for (i, dim) in target.into_iter().enumerate() {
                if dim.is(0) && copy {
                    match x.shape.get(i) {
                        Some(own) => shape.push(own.clone()),
                        None => return refuse_at("shape", "copies an axis that is not there"),
                    }
                } else if dim.is(-1) {
                    if open.replace(i).is_some() {
                        return refuse_at("shape", "has two open extents");
                    }
                    shape.push(Dim::from(1));
                } else if dim.known().is_some_and(|n| n < 0) {
                    return refuse_at("shape", "has a negative extent");
                } else {
                    shape.push(dim);
                }
            }
            if let Some(at) = open {
                // Extents that both sides have are left out first, so that the quotient is exact.
                let (mut over, mut under) = (x.shape.clone(), shape.clone());
                under.retain(|dim| {
                    let same = dim
                        .known()
                        .is_none()
                        .then(|| over.iter().position(|it| it == dim))
                        .flatten();
                    same.map(|i| over.remove(i)).is_none()
                });
                shape[at] = count(&over).over(&count(&under));
            }
            Ok(shape)
        }
    }
}

fn reshape(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let x = node.input(0)?;
    let shape = reshaped(node)?;
    if let (Some(a), Some(b)) = (count(&x.shape).known(), count(&shape).known())
        && a != b
    {
        return refuse(format!("{a} elements cannot become {b}"));
    }
    reshape_to(cx, node.out(0), &x, shape);
    Ok(())
}

/// A value with other extents.
pub fn reshape_to(cx: &mut Cx<'_>, out: &str, x: &Value, shape: Vec<Dim>) -> Value {
    if shape == x.shape {
        cx.set(out, x.clone());
        return x.clone();
    }
    // Axes of extent one come and go: the others keep their names and are read directly.
    let full = |dims: &[Dim]| dims.iter().filter(|dim| !dim.is(1)).cloned().collect::<Vec<_>>();
    if full(&x.shape) == full(&shape) {
        let own = indices(&x.axes, x.rank());
        let kept: Vec<&String> =
            own.iter().zip(&x.shape).filter(|(_, dim)| !dim.is(1)).map(|(name, _)| name).collect();
        let mut next = kept.iter();
        let mut axes: Vec<String> = Vec::new();
        let mut covered = Vec::new();
        for dim in &shape {
            covered.push(!dim.is(1));
            axes.push(match dim.is(1) {
                true => format!("_{}", axes.len()),
                false => next.next().map_or_else(String::new, |it| (*it).clone()),
            });
        }
        for (i, axis) in axes.iter_mut().enumerate() {
            if axis.starts_with('_') {
                *axis = format!("_unit{i}");
            }
        }
        let at: Vec<String> = own
            .iter()
            .zip(&x.shape)
            .map(|(name, dim)| if dim.is(1) { "0".into() } else { name.clone() })
            .collect();
        let body = cx.read(x, &at);
        return cx.define(out, x.elem, shape, &axes, &covered, &body);
    }
    let name = cx.name_of(x);
    let extents: Vec<String> = shape.iter().map(Dim::to_string).collect();
    let body = if x.rank() == 0 {
        format!("reshape([{name}], [{}])", extents.join(", "))
    } else if shape.is_empty() {
        format!("{name}[{}]", vec!["0"; x.rank()].join(", "))
    } else {
        format!("reshape({name}, [{}])", extents.join(", "))
    };
    let fresh = cx.names.fresh(out);
    cx.line(&[&fresh], format!("let {fresh} = {body};"));
    let value = cx.bound(&fresh, x.elem, shape, Vec::new());
    cx.set(out, value.clone());
    value
}

fn transpose(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let x = node.input(0)?;
    let rank = x.rank();
    let order = node.ints("perm").unwrap_or_else(|| (0..rank as i64).rev().collect());
    let order = order.into_iter().map(|it| axis(it, rank)).collect::<Done<Vec<_>>>()?;
    if order.len() != rank || (0..rank).any(|i| !order.contains(&i)) {
        return refuse_at("perm", "is no permutation of the axes");
    }
    transpose_to(cx, node.out(0), &x, &order);
    Ok(())
}

/// A value with its axes in another order.
pub fn transpose_to(cx: &mut Cx<'_>, out: &str, x: &Value, order: &[usize]) -> Value {
    let own = indices(&x.axes, x.rank());
    let axes: Vec<String> = order.iter().map(|at| own[*at].clone()).collect();
    let shape = order.iter().map(|at| x.shape[*at].clone()).collect();
    let body = cx.read(x, &own);
    cx.define(out, x.elem, shape, &axes, &vec![x.single().is_none(); order.len()], &body)
}

fn concat(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let values: Vec<Value> = node.all();
    let Some(first) = values.first().cloned() else { return refuse("it has no inputs") };
    let along = axis(node.int("axis", 0), first.rank())?;
    let mut shape = first.shape.clone();
    shape[along] = Dim::from(0);
    for value in &values {
        if value.rank() != shape.len() {
            return refuse("its inputs have different ranks");
        }
        shape[along] = shape[along].plus(&value.shape[along]);
    }
    let values: Vec<Value> = values.into_iter().filter(|it| !it.shape[along].is(0)).collect();
    join(cx, node.out(0), &values, along, shape);
    Ok(())
}

/// Values one after the other along an axis.
pub fn join(cx: &mut Cx<'_>, out: &str, values: &[Value], along: usize, shape: Vec<Dim>) {
    let Some(first) = values.first().cloned() else {
        return;
    };
    if values.len() == 1 {
        cx.set(out, first);
        return;
    }
    let refs: Vec<&Value> = values.iter().collect();
    let axes = axes_of(&refs, first.rank());
    // Constants that the clauses read are put before the first of them.
    let names: Vec<String> = values.iter().map(|it| cx.name_of(it)).collect();
    let name = cx.names.fresh(out);
    let mut start = Dim::from(0);
    let mut text = Vec::new();
    for (value, source) in values.iter().zip(names) {
        let end = start.plus(&value.shape[along]);
        let mut at = axes.clone();
        at[along] = shifted(&axes[along], &Dim::from(0).minus(&start));
        if start.known().is_none() {
            at[along] = format!("{} - ({start})", axes[along]);
        }
        let slots: Vec<String> = axes
            .iter()
            .enumerate()
            .map(|(i, it)| if i == along { format!("{it} in {start}..{end}") } else { it.clone() })
            .collect();
        text.push(format!("let {name}[{}] = {source}[{}];", slots.join(", "), at.join(", ")));
        start = end;
    }
    cx.line(&[&name], text.join("\n"));
    let value = cx.bound(&name, first.elem, shape, axes);
    cx.set(out, value);
}

fn split(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let x = node.input(0)?;
    let along = axis(node.int("axis", 0), x.rank())?;
    let number = node.outputs.len() as i64;
    let parts: Vec<Dim> = match node.known_ints("split", 1)? {
        Some(parts) => parts.into_iter().map(Dim::from).collect(),
        None => match x.shape[along].known() {
            Some(extent) => {
                let part = (extent + number - 1) / number;
                (0..number).map(|i| Dim::from(part.min(extent - i * part).max(0))).collect()
            }
            None => vec![x.shape[along].over(&Dim::from(number)); node.outputs.len()],
        },
    };
    if parts.len() != node.outputs.len() {
        return refuse_at("split", "has another number of parts than there are outputs");
    }
    let mut start = Dim::from(0);
    for (out, part) in node.outputs.iter().zip(parts) {
        if !out.is_empty() {
            piece(cx, out, &x, along, &start, &part);
        }
        start = start.plus(&part);
    }
    Ok(())
}

/// A piece of a value along one axis.
pub fn piece(
    cx: &mut Cx<'_>,
    out: &str,
    x: &Value,
    along: usize,
    start: &Dim,
    part: &Dim,
) -> Value {
    let axes = indices(&x.axes, x.rank());
    let mut at = axes.clone();
    at[along] = shifted(&axes[along], start);
    let name = cx.name_of(x);
    let mut shape = x.shape.clone();
    shape[along] = part.clone();
    let mut covered = vec![true; axes.len()];
    covered[along] = false;
    cx.define(out, x.elem, shape, &axes, &covered, &format!("{name}[{}]", at.join(", ")))
}

/// The first place, the step and the number of elements of a slice of an axis.
pub fn slice_of(start: i64, end: i64, step: i64, extent: i64) -> Option<(i64, i64, i64)> {
    if step == 0 {
        return None;
    }
    let from_end = |n: i64| if n < 0 { n.saturating_add(extent) } else { n };
    let (start, end) = if step > 0 {
        (from_end(start).clamp(0, extent), from_end(end).clamp(0, extent))
    } else {
        (from_end(start).clamp(-1, extent - 1), from_end(end).clamp(-1, extent - 1))
    };
    let span = if step > 0 { end - start } else { start - end };
    let number = if span <= 0 { 0 } else { (span - 1) / step.checked_abs()? + 1 };
    Some((start, step, number))
}

/// Ends of slices that are larger mean the end of the axis: no axis is as long.
const NO_EXTENT: i64 = 1 << 28;

fn slice(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let x = node.input(0)?;
    let dims = |name: &str, at: usize| -> Done<Option<Vec<Dim>>> {
        if let Some(ints) = node.ints(name) {
            return Ok(Some(ints.into_iter().map(Dim::from).collect()));
        }
        match node.optional(at) {
            None => Ok(None),
            Some(value) => match value.known.as_deref().and_then(crate::data::Data::as_dims) {
                Some(dims) => Ok(Some(dims)),
                None => refuse_at(name, MUST_BE_KNOWN),
            },
        }
    };
    let Some(starts) = dims("starts", 1)? else { return refuse_at("starts", "is missing") };
    let Some(ends) = dims("ends", 2)? else { return refuse_at("ends", "is missing") };
    let axes = match node.known_ints("axes", 3)? {
        Some(axes) => axes.into_iter().map(|it| axis(it, x.rank())).collect::<Done<Vec<_>>>()?,
        None => (0..starts.len()).collect(),
    };
    let steps = node.known_ints("steps", 4)?.unwrap_or_else(|| vec![1; starts.len()]);
    if ends.len() != starts.len()
        || axes.len() != starts.len()
        || steps.len() != starts.len()
        || starts.len() > x.rank()
    {
        return refuse("its starts, ends, axes and steps are not equally many");
    }
    let names = indices(&x.axes, x.rank());
    let mut at = names.clone();
    let mut shape = x.shape.clone();
    let mut covered = vec![true; x.rank()];
    for (i, along) in axes.iter().enumerate() {
        let extent = &x.shape[*along];
        let whole =
            starts[i].is(0) && steps[i] == 1 && ends[i].known().is_some_and(|n| n >= NO_EXTENT);
        if whole || (starts[i].is(0) && steps[i] == 1 && ends[i] == *extent) {
            continue;
        }
        covered[*along] = false;
        if let (Some(start), Some(end), Some(size)) =
            (starts[i].known(), ends[i].known(), extent.known())
        {
            let Some((start, step, number)) = slice_of(start, end, steps[i], size) else {
                return refuse_at("steps", "has a step of zero");
            };
            shape[*along] = Dim::from(number);
            at[*along] = if step < 0 {
                format!("{start} - {}", scaled(step.saturating_abs(), &names[*along]))
            } else {
                shifted(&scaled(step, &names[*along]), &Dim::from(start))
            };
            continue;
        }
        // Extents that are known only when the program runs.
        let fix = |dim: &Dim| match dim.known() {
            Some(n) if n < 0 => extent.plus_int(n),
            Some(n) if n >= NO_EXTENT => extent.clone(),
            Some(_) => dim.clone(),
            None => dim.clone(),
        };
        let (start, end) = (fix(&starts[i]), fix(&ends[i]));
        match steps[i] {
            -1 if starts[i].is(-1) && ends[i].known().is_some_and(|n| n < -i64::from(i32::MAX)) => {
                at[*along] = format!("{} - {}", extent.plus_int(-1), names[*along]);
            }
            step if step >= 1 => {
                let end = if end == *extent { end } else { end.smaller(extent) };
                let span = end.minus(&start).plus_int(step - 1).over(&Dim::from(step));
                shape[*along] =
                    if span.known().is_some() { span } else { span.larger(&Dim::from(0)) };
                if end == *extent && start.known().is_some() {
                    shape[*along] = end.minus(&start).plus_int(step - 1).over(&Dim::from(step));
                }
                at[*along] = shifted(&scaled(step, &names[*along]), &start);
            }
            _ => return refuse_at("steps", "is negative along an axis of unknown extent"),
        }
    }
    if covered.iter().all(|it| *it) {
        cx.set(node.out(0), x);
        return Ok(());
    }
    let name = cx.name_of(&x);
    cx.define(node.out(0), x.elem, shape, &names, &covered, &format!("{name}[{}]", at.join(", ")));
    Ok(())
}

fn expand(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let x = node.input(0)?;
    let Some(target) = node.input(1)?.known.as_deref().and_then(crate::data::Data::as_dims) else {
        return refuse_at("shape", MUST_BE_KNOWN);
    };
    let shape = super::broadcast(&[&x.shape, &target])?;
    repeat_to(cx, node.out(0), &x, shape);
    Ok(())
}

/// A value repeated to a larger shape.
pub fn repeat_to(cx: &mut Cx<'_>, out: &str, x: &Value, shape: Vec<Dim>) -> Value {
    if shape == x.shape {
        cx.set(out, x.clone());
        return x.clone();
    }
    let axes = axes_of(&[x], shape.len());
    let (mut body, covered) = cx.read_repeated(x, &axes, &shape);
    if x.single().is_some() && !matches!(x.elem, crate::elem::Elem::Bool) {
        body = format!("{body} as {}", x.elem.lang());
    }
    cx.define(out, x.elem, shape, &axes, &covered, &body)
}

fn tile(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let x = node.input(0)?;
    let Some(repeats) = node.input(1)?.known.as_deref().and_then(crate::data::Data::as_dims) else {
        return refuse_at("repeats", MUST_BE_KNOWN);
    };
    if repeats.len() != x.rank() {
        return refuse_at("repeats", "does not say one number for each axis");
    }
    let names = indices(&x.axes, x.rank());
    let shape = x.shape.iter().zip(&repeats).map(|(dim, times)| dim.times(times)).collect();
    let covered: Vec<bool> = repeats.iter().map(|it| it.is(1)).collect();
    let at: Vec<String> = names
        .iter()
        .zip(&x.shape)
        .zip(&covered)
        .map(|((name, dim), same)| match (same, dim.is(1)) {
            (true, _) => name.clone(),
            (false, true) => "0".into(),
            (false, false) => format!("{name} % {}", dim.factor_text()),
        })
        .collect();
    let body = cx.read(&x, &at);
    cx.define(node.out(0), x.elem, shape, &names, &covered, &body);
    Ok(())
}

fn image(x: &Value) -> Done<[Dim; 4]> {
    match <[Dim; 4]>::try_from(x.shape.clone()) {
        Ok(shape) => Ok(shape),
        Err(_) => refuse("its input does not have four axes"),
    }
}

const IMAGE: [&str; 4] = ["batch", "channel", "row", "col"];

fn depth_to_space(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let x = node.input(0)?;
    let [batch, channel, row, col] = image(&x)?;
    let size = node.int("blocksize", 1);
    let block = Dim::from(size);
    if size < 1 {
        return refuse_at("blocksize", "is not positive");
    }
    let channels = channel.over(&block.times(&block));
    let source = if node.string("mode", "DCR") == "DCR" {
        format!("(row % {size} * {size} + col % {size}) * {} + channel", channels.factor_text())
    } else {
        format!("(channel * {size} + row % {size}) * {size} + col % {size}")
    };
    let name = cx.name_of(&x);
    let body = format!("{name}[batch, {source}, row / {size}, col / {size}]");
    let shape = vec![batch, channels, row.times(&block), col.times(&block)];
    let axes = IMAGE.map(str::to_owned);
    cx.define(node.out(0), x.elem, shape, &axes, &[true], &body);
    Ok(())
}

fn space_to_depth(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let x = node.input(0)?;
    let [batch, channel, row, col] = image(&x)?;
    let size = node.int("blocksize", 1);
    let block = Dim::from(size);
    if size < 1 {
        return refuse_at("blocksize", "is not positive");
    }
    let name = cx.name_of(&x);
    let body = if node.string("mode", "DCR") == "DCR" {
        let old = channel.factor_text();
        format!(
            "{name}[batch, channel % {old}, row * {size} + channel / {old} / {size}, col * {size} + channel / {old} % {size}]"
        )
    } else {
        let area = size.saturating_mul(size);
        format!(
            "{name}[batch, channel / {area}, row * {size} + channel / {size} % {size}, col * {size} + channel % {size}]"
        )
    };
    let shape =
        vec![batch, channel.times(&block).times(&block), row.over(&block), col.over(&block)];
    let axes = IMAGE.map(str::to_owned);
    cx.define(node.out(0), x.elem, shape, &axes, &[true], &body);
    Ok(())
}
