//! Nodes whose inputs are constant are computed while importing: chains of shapes mostly.

use std::rc::Rc;

use crate::cx::Cx;
use crate::data::{Data, Items};
use crate::dims::{Dim, count, known};
use crate::elem::Elem;
use crate::node::{Node, axis};
use crate::value::{Source, Value};

/// The most integers that a computed constant has; larger ones are left to the program.
const MOST_INTS: usize = 4096;
/// The most floats.
const MOST_FLOATS: usize = 64;

/// Computes a node if it can be done here; says whether.
pub fn node(cx: &mut Cx<'_>, node: &Node<'_>) -> bool {
    if matches!(node.op, "Shape" | "Size") {
        let Some(x) = node.optional(0) else { return false };
        let data = if node.op == "Size" {
            Data::ints(Elem::I64, Vec::new(), vec![count(&x.shape)])
        } else {
            let rank = x.rank() as i64;
            let clip = |n: i64| (if n < 0 { n + rank } else { n }).clamp(0, rank) as usize;
            let (start, end) = (clip(node.int("start", 0)), clip(node.int("end", rank)));
            Data::row(x.shape.get(start..end).unwrap_or_default().to_vec())
        };
        cx.set_constant(node.out(0), data);
        return true;
    }
    if node.op == "Identity"
        && let Some(x) = node.optional(0)
    {
        cx.set(node.out(0), x);
        return true;
    }
    let mut inputs = Vec::new();
    for input in &node.inputs {
        match input {
            None => inputs.push(None),
            Some(value) => match &value.known {
                Some(data) => inputs.push(Some(data.clone())),
                None => return false,
            },
        }
    }
    // A constant of the file that is only moved stays a weight of its own name.
    if inputs.is_empty() || node.outputs.iter().filter(|it| !it.is_empty()).count() != 1 {
        return node.op == "Split" && split(cx, node, &inputs).is_some();
    }
    match compute(node, &inputs) {
        Some(data) if data.len() <= limit(&data) => {
            let moved = matches!(node.op, "Cast" | "Reshape" | "Unsqueeze" | "Squeeze");
            if moved && let Some(Value { source: Source::Bound(_), .. }) = node.optional(0) {
                return false;
            }
            cx.set_constant(node.out(0), data);
            true
        }
        _ => false,
    }
}

fn limit(data: &Data) -> usize {
    match data.items {
        Items::Ints(_) => MOST_INTS,
        Items::Floats(_) => MOST_FLOATS,
    }
}

type Given = [Option<Rc<Data>>];

fn compute(node: &Node<'_>, inputs: &Given) -> Option<Data> {
    let x = inputs.first()?.as_deref();
    let given = |at: usize| inputs.get(at).and_then(|it| it.as_deref());
    match node.op {
        "Add" | "Sub" | "Mul" | "Div" | "Mod" | "Equal" | "Greater" | "GreaterOrEqual" | "Less"
        | "LessOrEqual" | "And" | "Or" => binary(node, x?, given(1)?),
        "Min" | "Max" => {
            let mut all = inputs.iter().flatten();
            let mut out = all.next()?.as_ref().clone();
            for other in all {
                out = binary(node, &out, other)?;
            }
            Some(out)
        }
        "Neg" | "Abs" | "Floor" | "Ceil" | "Not" | "Sqrt" | "Round" => unary(node.op, x?),
        "Cast" => cast(x?, Elem::of(i32::try_from(node.int("to", 1)).ok()?)?),
        "Gather" => gather(x?, given(1)?, node.int("axis", 0)),
        "Concat" => {
            let all: Option<Vec<&Data>> = inputs.iter().map(|it| it.as_deref()).collect();
            concat(&all?, node.int("axis", 0))
        }
        "Slice" => slice(node, x?, inputs),
        "Squeeze" | "Unsqueeze" | "Reshape" | "Flatten" => {
            let x = x?;
            let shape = crate::ops::shape::reshaped(node).ok()?;
            let shape = known(&shape)?.into_iter().map(|n| n as usize).collect::<Vec<_>>();
            (shape.iter().product::<usize>() == x.len()).then(|| Data { shape, ..x.clone() })
        }
        "ConstantOfShape" => {
            let shape = x?.as_ints()?;
            let size = shape.iter().try_fold(1i64, |a, n| a.checked_mul(*n).filter(|n| *n >= 0))?;
            let fill = match node.tensor("value").ok()? {
                Some(stored) => stored.data()?,
                None => Data::float(Elem::F32, 0.0),
            };
            if size as usize > limit(&fill) || fill.len() != 1 {
                return None;
            }
            let shape = shape.into_iter().map(|n| n as usize).collect();
            Some(pick(&fill, shape, &vec![0; size as usize]))
        }
        "Range" => {
            let (start, end, step) =
                (x?.as_ints()?[0], given(1)?.as_ints()?[0], given(2)?.as_ints()?[0]);
            let number =
                (end.checked_sub(start)?).checked_add(step - step.signum())?.checked_div(step)?;
            let number = usize::try_from(number.max(0)).ok().filter(|n| *n <= MOST_INTS)?;
            let items = (0..number as i64).map(|i| Dim::from(start + i * step)).collect();
            Some(Data::ints(x?.elem, vec![number], items))
        }
        "Expand" => {
            let (x, shape) = (x?, given(1)?.as_ints()?);
            let target: Vec<usize> =
                shape.into_iter().map(|n| usize::try_from(n).ok()).collect::<Option<_>>()?;
            repeat(x, &broadcast(&x.shape, &target)?)
        }
        "Transpose" => {
            let x = x?;
            let rank = x.shape.len();
            let order = node.ints("perm").unwrap_or_else(|| (0..rank as i64).rev().collect());
            let order: Vec<usize> =
                order.into_iter().map(|n| axis(n, rank).ok()).collect::<Option<_>>()?;
            if order.len() != rank {
                return None;
            }
            let shape: Vec<usize> = order.iter().map(|at| x.shape[*at]).collect();
            let places: Vec<usize> = positions(&shape)
                .map(|at| {
                    let mut from = vec![0; rank];
                    order.iter().zip(&at).for_each(|(axis, n)| from[*axis] = *n);
                    flat(&from, &x.shape)
                })
                .collect();
            Some(pick(x, shape, &places))
        }
        "Where" => {
            let (cond, a, b) = (x?, given(1)?, given(2)?);
            let shape = broadcast(&broadcast(&cond.shape, &a.shape)?, &b.shape)?;
            let truth = repeat(cond, &shape)?.as_ints()?;
            let (a, b) = (repeat(a, &shape)?, repeat(b, &shape)?);
            let items = match (&a.items, &b.items) {
                (Items::Ints(a), Items::Ints(b)) => Items::Ints(
                    truth
                        .iter()
                        .enumerate()
                        .map(|(i, t)| if *t != 0 { a[i].clone() } else { b[i].clone() })
                        .collect(),
                ),
                (Items::Floats(a), Items::Floats(b)) => Items::Floats(
                    truth
                        .iter()
                        .enumerate()
                        .map(|(i, t)| if *t != 0 { a[i] } else { b[i] })
                        .collect(),
                ),
                _ => return None,
            };
            Some(Data { elem: a.elem, shape, items })
        }
        "ReduceProd" | "ReduceSum" | "ReduceMax" | "ReduceMin" => reduce(node, x?),
        _ => None,
    }
}

/// Elements by their places.
fn pick(x: &Data, shape: Vec<usize>, places: &[usize]) -> Data {
    let items = match &x.items {
        Items::Ints(items) => Items::Ints(places.iter().map(|at| items[*at].clone()).collect()),
        Items::Floats(items) => Items::Floats(places.iter().map(|at| items[*at]).collect()),
    };
    Data { elem: x.elem, shape, items }
}

/// All positions of a shape in order.
fn positions(shape: &[usize]) -> impl Iterator<Item = Vec<usize>> + use<> {
    let shape = shape.to_vec();
    (0..shape.iter().product::<usize>()).map(move |mut flat| {
        let mut at = vec![0; shape.len()];
        for (axis, extent) in shape.iter().enumerate().rev() {
            at[axis] = flat % extent;
            flat /= extent;
        }
        at
    })
}

fn flat(at: &[usize], shape: &[usize]) -> usize {
    at.iter().zip(shape).fold(0, |sum, (n, extent)| sum * extent + n)
}

fn broadcast(a: &[usize], b: &[usize]) -> Option<Vec<usize>> {
    let rank = a.len().max(b.len());
    let at = |shape: &[usize], i: usize| {
        if i + shape.len() < rank { 1 } else { shape[i + shape.len() - rank] }
    };
    (0..rank)
        .map(|i| match (at(a, i), at(b, i)) {
            (1, n) | (n, 1) => Some(n),
            (m, n) => (m == n).then_some(n),
        })
        .collect()
}

fn repeat(x: &Data, shape: &[usize]) -> Option<Data> {
    let total = shape.iter().try_fold(1usize, |a, n| a.checked_mul(*n))?;
    if total > MOST_INTS {
        return None;
    }
    let lead = shape.len() - x.shape.len();
    let places: Vec<usize> = positions(shape)
        .map(|at| {
            let own: Vec<usize> = x
                .shape
                .iter()
                .enumerate()
                .map(|(i, n)| if *n == 1 { 0 } else { at[lead + i] })
                .collect();
            flat(&own, &x.shape)
        })
        .collect();
    Some(pick(x, shape.to_vec(), &places))
}

fn binary(node: &Node<'_>, a: &Data, b: &Data) -> Option<Data> {
    let shape = broadcast(&a.shape, &b.shape)?;
    let (x, y) = (repeat(a, &shape)?, repeat(b, &shape)?);
    let truth = matches!(
        node.op,
        "Equal" | "Greater" | "GreaterOrEqual" | "Less" | "LessOrEqual" | "And" | "Or"
    );
    if let (Items::Ints(x), Items::Ints(y)) = (&x.items, &y.items) {
        let items: Option<Vec<Dim>> = x.iter().zip(y).map(|(x, y)| int(node, x, y)).collect();
        return Some(Data {
            elem: if truth { Elem::Bool } else { a.elem },
            shape,
            items: Items::Ints(items?),
        });
    }
    let (x, y) = (x.as_floats()?, y.as_floats()?);
    // Floats are computed here only in their own precision.
    let round = |v: f64| if a.elem == Elem::F64 { v } else { f64::from(v as f32) };
    if a.elem.is_half() {
        return None;
    }
    let pairs = x.iter().zip(&y);
    let compared = |test: fn(&f64, &f64) -> bool| {
        Items::Ints(x.iter().zip(&y).map(|(x, y)| Dim::from(i64::from(test(x, y)))).collect())
    };
    let items = match node.op {
        "Add" => Items::Floats(pairs.map(|(x, y)| round(x + y)).collect()),
        "Sub" => Items::Floats(pairs.map(|(x, y)| round(x - y)).collect()),
        "Mul" => Items::Floats(pairs.map(|(x, y)| round(x * y)).collect()),
        "Div" => Items::Floats(pairs.map(|(x, y)| round(x / y)).collect()),
        "Min" if x.iter().chain(&y).all(|v| !v.is_nan()) => {
            Items::Floats(pairs.map(|(x, y)| x.min(*y)).collect())
        }
        "Max" if x.iter().chain(&y).all(|v| !v.is_nan()) => {
            Items::Floats(pairs.map(|(x, y)| x.max(*y)).collect())
        }
        "Equal" => compared(|x, y| x == y),
        "Greater" => compared(|x, y| x > y),
        "GreaterOrEqual" => compared(|x, y| x >= y),
        "Less" => compared(|x, y| x < y),
        "LessOrEqual" => compared(|x, y| x <= y),
        _ => return None,
    };
    Some(Data { elem: if truth { Elem::Bool } else { a.elem }, shape, items })
}

fn int(node: &Node<'_>, x: &Dim, y: &Dim) -> Option<Dim> {
    let truth = |value: bool| Some(Dim::from(i64::from(value)));
    // Sizes that are not known compare as equal only where their texts agree.
    let difference = x.minus(y).known();
    Some(match node.op {
        "Add" => x.plus(y),
        "Sub" => x.minus(y),
        "Mul" => x.times(y),
        "Div" => match (x.known(), y.known()) {
            (Some(x), Some(y)) => Dim::from(x.checked_div(y)?),
            _ => x.over(y),
        },
        "Mod" => {
            let (x, y) = (x.known()?, y.known()?);
            let rest = x.checked_rem(y)?;
            Dim::from(if rest != 0 && (rest < 0) != (y < 0) && node.int("fmod", 0) == 0 {
                rest + y
            } else {
                rest
            })
        }
        "Min" => x.smaller(y),
        "Max" => x.larger(y),
        "Equal" => {
            return match difference {
                Some(n) => truth(n == 0),
                // An extent is never negative.
                None if y.known().is_some_and(|n| n < 0) || x.known().is_some_and(|n| n < 0) => {
                    truth(false)
                }
                None => None,
            };
        }
        "Greater" => return truth(difference? > 0),
        "GreaterOrEqual" => return truth(difference? >= 0),
        "Less" => return truth(difference? < 0),
        "LessOrEqual" => return truth(difference? <= 0),
        "And" => return truth(!x.is(0) && !y.is(0)),
        "Or" => return truth(!x.is(0) || !y.is(0)),
        _ => return None,
    })
}

fn unary(op: &str, x: &Data) -> Option<Data> {
    let items = match (&x.items, op) {
        (Items::Ints(items), "Neg") => {
            Items::Ints(items.iter().map(|n| Dim::from(0).minus(n)).collect())
        }
        (Items::Ints(items), "Not") => Items::Ints(
            items
                .iter()
                .map(|n| Some(Dim::from(i64::from(n.known()? == 0))))
                .collect::<Option<_>>()?,
        ),
        (Items::Ints(items), "Abs") => Items::Ints(
            items
                .iter()
                .map(|n| Some(Dim::from(n.known()?.checked_abs()?)))
                .collect::<Option<_>>()?,
        ),
        (Items::Floats(items), "Neg") => Items::Floats(items.iter().map(|v| -v).collect()),
        (Items::Floats(items), "Abs") => Items::Floats(items.iter().map(|v| v.abs()).collect()),
        (Items::Floats(items), "Floor") => Items::Floats(items.iter().map(|v| v.floor()).collect()),
        (Items::Floats(items), "Ceil") => Items::Floats(items.iter().map(|v| v.ceil()).collect()),
        (Items::Floats(items), "Sqrt") if x.elem == Elem::F32 => {
            Items::Floats(items.iter().map(|v| f64::from((*v as f32).sqrt())).collect())
        }
        _ => return None,
    };
    Some(Data { items, ..x.clone() })
}

fn cast(x: &Data, to: Elem) -> Option<Data> {
    let items = match (&x.items, to.is_float()) {
        (Items::Ints(items), true) if matches!(to, Elem::F32 | Elem::F64) => {
            let round = |n: i64| if to == Elem::F32 { f64::from(n as f32) } else { n as f64 };
            Items::Floats(items.iter().map(|n| Some(round(n.known()?))).collect::<Option<_>>()?)
        }
        (Items::Ints(items), false) if matches!(to, Elem::I64 | Elem::I32) => {
            Items::Ints(items.clone())
        }
        (Items::Ints(items), false) if to == Elem::Bool => Items::Ints(
            items
                .iter()
                .map(|n| Some(Dim::from(i64::from(n.known()? != 0))))
                .collect::<Option<_>>()?,
        ),
        (Items::Floats(items), false) if matches!(to, Elem::I64 | Elem::I32) => {
            Items::Ints(items.iter().map(|v| Dim::from(*v as i64)).collect())
        }
        (Items::Floats(items), true) if to == Elem::F64 || to == x.elem => {
            Items::Floats(items.clone())
        }
        (Items::Floats(items), true) if to == Elem::F32 => {
            Items::Floats(items.iter().map(|v| f64::from(*v as f32)).collect())
        }
        _ => return None,
    };
    Some(Data { elem: to, shape: x.shape.clone(), items })
}

fn gather(x: &Data, at: &Data, along: i64) -> Option<Data> {
    let along = axis(along, x.shape.len()).ok()?;
    let extent = x.shape[along] as i64;
    let at_ints: Option<Vec<usize>> = at
        .as_ints()?
        .into_iter()
        .map(|n| {
            usize::try_from(if n < 0 { n + extent } else { n })
                .ok()
                .filter(|n| (*n as i64) < extent)
        })
        .collect();
    let at_ints = at_ints?;
    let shape = [&x.shape[..along], &at.shape[..], &x.shape[along + 1..]].concat();
    let inner: usize = x.shape[along + 1..].iter().product();
    let outer: usize = x.shape[..along].iter().product();
    let mut places = Vec::new();
    for o in 0..outer {
        for n in &at_ints {
            places.extend((0..inner).map(|i| (o * x.shape[along] + n) * inner + i));
        }
    }
    Some(pick(x, shape, &places))
}

fn concat(all: &[&Data], along: i64) -> Option<Data> {
    let first = *all.first()?;
    let along = axis(along, first.shape.len()).ok()?;
    let outer: usize = first.shape[..along].iter().product();
    let mut shape = first.shape.clone();
    shape[along] = 0;
    for data in all {
        if data.shape.len() != shape.len() {
            return None;
        }
        shape[along] += data.shape[along];
    }
    let mut items = Data { shape, items: Items::Ints(Vec::new()), ..first.clone() };
    let chunk = |data: &Data| data.len() / outer.max(1);
    items.items = match &first.items {
        Items::Ints(_) => {
            let mut out = Vec::new();
            for o in 0..outer {
                for data in all {
                    out.extend_from_slice(&data.as_dims()?[o * chunk(data)..(o + 1) * chunk(data)]);
                }
            }
            Items::Ints(out)
        }
        Items::Floats(_) => {
            let mut out = Vec::new();
            for o in 0..outer {
                for data in all {
                    out.extend_from_slice(
                        &data.as_floats()?[o * chunk(data)..(o + 1) * chunk(data)],
                    );
                }
            }
            Items::Floats(out)
        }
    };
    Some(items)
}

fn slice(node: &Node<'_>, x: &Data, inputs: &Given) -> Option<Data> {
    let ints = |name: &str, at: usize| match node.ints(name) {
        Some(ints) => Some(ints),
        None => inputs.get(at).and_then(|it| it.as_deref()).and_then(Data::as_ints),
    };
    let (starts, ends) = (ints("starts", 1)?, ints("ends", 2)?);
    let axes = ints("axes", 3).unwrap_or_else(|| (0..starts.len() as i64).collect());
    let steps = ints("steps", 4).unwrap_or_else(|| vec![1; starts.len()]);
    let mut out = x.clone();
    for (i, along) in axes.iter().enumerate() {
        let along = axis(*along, x.shape.len()).ok()?;
        let extent = out.shape[along] as i64;
        let (start, step, number) =
            crate::ops::shape::slice_of(*starts.get(i)?, *ends.get(i)?, *steps.get(i)?, extent)?;
        let at: Vec<Dim> = (0..number).map(|k| Dim::from(start + k * step)).collect();
        out = gather(&out, &Data::row(at), along as i64)?;
    }
    Some(out)
}

fn reduce(node: &Node<'_>, x: &Data) -> Option<Data> {
    // Shapes are rows: other reductions are left to the program.
    let axes = node.known_ints("axes", 1).ok()?;
    if x.shape.len() != 1 || axes.is_some_and(|axes| axes != [0] && axes != [-1]) {
        return None;
    }
    let items = x.as_dims()?;
    let (first, rest) = items.split_first()?;
    let value = rest.iter().fold(first.clone(), |a, b| match node.op {
        "ReduceProd" => a.times(b),
        "ReduceSum" => a.plus(b),
        "ReduceMax" => a.larger(b),
        _ => a.smaller(b),
    });
    let shape = if node.int("keepdims", 1) != 0 { vec![1] } else { Vec::new() };
    Some(Data::ints(x.elem, shape, vec![value]))
}

fn split(cx: &mut Cx<'_>, node: &Node<'_>, inputs: &Given) -> Option<()> {
    let x = inputs.first()?.as_deref()?.clone();
    if x.shape.len() != 1 || x.len() > MOST_INTS || !x.elem.is_int() {
        return None;
    }
    let number = node.outputs.len();
    let parts = match node.known_ints("split", 1).ok()? {
        Some(parts) => parts,
        None => vec![x.len().div_ceil(number) as i64; number],
    };
    let mut start = 0usize;
    for (out, part) in node.outputs.iter().zip(parts) {
        let end = (start + usize::try_from(part).ok()?).min(x.len());
        let places: Vec<usize> = (start..end).collect();
        cx.set_constant(out, pick(&x, vec![places.len()], &places));
        start = end;
    }
    Some(())
}
