//! Constants, and arrays that are made from nothing but their places.

use super::{one, zero};
use crate::cx::{Cx, indices};
use crate::data::{Data, Items};
use crate::dims::Dim;
use crate::elem::Elem;
use crate::node::{Done, MUST_BE_KNOWN, Node, axis, refuse, refuse_at};

/// Writes a node of this family.
pub fn write(cx: &mut Cx<'_>, node: &Node<'_>) -> Option<Done> {
    Some(match node.op {
        "Constant" => constant(cx, node),
        "ConstantOfShape" => filled(cx, node),
        "Range" => range(cx, node),
        "EyeLike" => eye(cx, node),
        "OneHot" => one_hot(cx, node),
        "Trilu" => triangle(cx, node),
        "Dropout" => dropout(cx, node),
        "HannWindow" | "HammingWindow" | "BlackmanWindow" => window(cx, node),
        "MelWeightMatrix" => mel(cx, node),
        _ => return None,
    })
}

fn constant(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let data = if let Some(stored) = node.tensor("value")? {
        let value = cx.weight(node.out(0), stored);
        cx.set(node.out(0), value);
        return Ok(());
    } else if let Some(it) = node.attribute("value_float") {
        Data::float(Elem::F32, f64::from(it.f))
    } else if let Some(it) = node.attribute("value_int") {
        Data::ints(Elem::I64, Vec::new(), vec![Dim::from(it.i)])
    } else if let Some(it) = node.attribute("value_floats") {
        let items = it.floats.iter().map(|v| f64::from(*v)).collect();
        Data { elem: Elem::F32, shape: vec![it.floats.len()], items: Items::Floats(items) }
    } else if let Some(it) = node.attribute("value_ints") {
        Data::row(it.ints.iter().map(|n| Dim::from(*n)).collect())
    } else {
        return refuse("it holds neither a dense tensor nor numbers");
    };
    cx.set_constant(node.out(0), data);
    Ok(())
}

fn filled(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let Some(shape) = node.input(0)?.known.as_deref().and_then(Data::as_dims) else {
        return refuse_at("input", MUST_BE_KNOWN);
    };
    if shape.iter().any(|dim| dim.known().is_some_and(|n| !(0..=i64::from(i32::MAX)).contains(&n)))
    {
        return refuse_at("input", "has an extent that is not possible");
    }
    let fill = match node.tensor("value")?.and_then(|it| it.data()) {
        Some(data) if data.len() == 1 => data,
        Some(_) => return refuse_at("value", "is not one element"),
        None => Data::float(Elem::F32, 0.0),
    };
    let axes = indices(&[], shape.len());
    let ty = fill.elem.lang();
    let text = fill.text(0);
    let body = if fill.elem == Elem::Bool { text } else { format!("{text} as {ty}") };
    cx.define(node.out(0), fill.elem, shape, &axes, &[], &body);
    Ok(())
}

fn range(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let (start, limit, delta) = (node.input(0)?, node.input(1)?, node.input(2)?);
    let elem = start.elem;
    let dims = |v: &crate::value::Value| {
        v.known.as_deref().and_then(Data::as_dims).and_then(|it| it.first().cloned())
    };
    let number = if let (Some(a), Some(b), Some(d)) = (start.float(), limit.float(), delta.float())
    {
        let number = ((b - a) / d).ceil().max(0.0);
        if !number.is_finite() || number > f64::from(i32::MAX) {
            return refuse("it has too many elements");
        }
        Dim::from(number as i64)
    } else if let (Some(a), Some(b), Some(1)) = (dims(&start), dims(&limit), delta.int()) {
        b.minus(&a)
    } else {
        let (a, b, d) = (cx.read(&start, &[]), cx.read(&limit, &[]), cx.read(&delta, &[]));
        let float = |x: &str| if elem.is_float() { x.to_owned() } else { format!("({x} as f64)") };
        let name = cx.names.fresh("steps");
        cx.line(
            &[&name],
            format!(
                "let {name} = max(ceil(({} - {}) / {}) as i32, 0);",
                float(&b),
                float(&a),
                float(&d)
            ),
        );
        Dim::atom(name)
    };
    let (a, d) = (cx.read(&start, &[]), cx.read(&delta, &[]));
    let ty = elem.lang();
    let body = match (start.float(), delta.float()) {
        (Some(0.0), Some(1.0)) if ty == "i32" => "i".to_owned(),
        (Some(0.0), Some(1.0)) => format!("i as {ty}"),
        (Some(0.0), _) => format!("{d} * (i as {ty})"),
        _ => format!("{a} + {d} * (i as {ty})"),
    };
    cx.define(node.out(0), elem, vec![number], &["i".to_owned()], &[], &body);
    Ok(())
}

fn eye(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let x = node.input(0)?;
    if x.rank() != 2 {
        return refuse("its input is no matrix");
    }
    let code = i32::try_from(node.int("dtype", 0)).unwrap_or(0);
    let elem = if code == 0 { x.elem } else { Elem::of(code).unwrap_or(x.elem) };
    let k = node.int("k", 0);
    let at = super::shifted("i", &Dim::from(k));
    let ty = elem.lang();
    let (unit, nil) = (one(elem), zero(elem));
    let body = if elem == Elem::Bool {
        format!("j == {at}")
    } else {
        format!("if j == {at} {{ {unit} as {ty} }} else {{ {nil} as {ty} }}")
    };
    let axes = ["i".to_owned(), "j".to_owned()];
    cx.define(node.out(0), elem, x.shape, &axes, &[], &body);
    Ok(())
}

fn one_hot(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let (x, depth, values) = (node.input(0)?, node.input(1)?, node.input(2)?);
    let extent = match depth.known.as_deref() {
        Some(data) => match (data.as_dims(), data.as_floats()) {
            (Some(dims), _) if dims.len() == 1 => dims[0].clone(),
            (_, Some(floats)) if floats.len() == 1 => Dim::from(floats[0] as i64),
            _ => return refuse_at("depth", "is not one number"),
        },
        None => return refuse_at("depth", MUST_BE_KNOWN),
    };
    let rank = x.rank() + 1;
    let along = axis(node.int("axis", -1), rank)?;
    let axes = indices(&[], rank);
    let mut own = axes.clone();
    let class = own.remove(along);
    let at = cx.read(&x, &own);
    let at = if x.elem.is_float() { format!("({at} as i64)") } else { at };
    let name = cx.name_of(&values);
    let found = if x.elem.is_unsigned() {
        format!("{at} == {class} as {}", x.elem.lang())
    } else {
        let kind = if x.elem.is_float() { "i64" } else { x.elem.lang() };
        format!("{at} == {class} as {kind} || {at} + {} == {class} as {kind}", extent.factor_text())
    };
    let body = format!("if {found} {{ {name}[1] }} else {{ {name}[0] }}");
    let mut shape = x.shape.clone();
    shape.insert(along, extent);
    let mut covered = vec![x.single().is_none(); rank];
    covered[along] = false;
    cx.define(node.out(0), values.elem, shape, &axes, &covered, &body);
    Ok(())
}

fn triangle(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let x = node.input(0)?;
    let rank = x.rank();
    if rank < 2 {
        return refuse("its input has fewer than two axes");
    }
    let axes = indices(&x.axes, rank);
    let (row, col) = (&axes[rank - 2], &axes[rank - 1]);
    let edge = match node.optional(1) {
        None => row.clone(),
        Some(k) => match k.int() {
            Some(n) => super::shifted(
                row,
                &Dim::from(n.clamp(-i64::from(i32::MAX) / 2, i64::from(i32::MAX) / 2)),
            ),
            None => format!("{row} as i64 + {}", cx.read(&k, &vec!["0".to_owned(); k.rank()])),
        },
    };
    let col = if edge.contains("as i64") { format!("{col} as i64") } else { col.clone() };
    let test = if node.int("upper", 1) != 0 { ">=" } else { "<=" };
    let element = cx.read(&x, &axes);
    let body = format!("if {col} {test} {edge} {{ {element} }} else {{ {} }}", zero(x.elem));
    let covered = vec![true; rank];
    cx.define(node.out(0), x.elem, x.shape, &axes, &covered, &body);
    Ok(())
}

fn dropout(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let x = node.input(0)?;
    let nothing = node.optional(1).is_some_and(|it| it.float() == Some(0.0));
    if let Some(training) = node.optional(2) {
        match training.int() {
            Some(0) => {}
            Some(_) if nothing => {}
            Some(_) => {
                return refuse_at(
                    "training_mode",
                    "drops elements at random, which a program does not",
                );
            }
            None => return refuse_at("training_mode", MUST_BE_KNOWN),
        }
    }
    let axes = indices(&x.axes, x.rank());
    if node.has_out(1) {
        cx.define(node.out(1), Elem::Bool, x.shape.clone(), &axes, &[], "true");
    }
    cx.set(node.out(0), x);
    Ok(())
}

fn window(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let Some(size) = node.input(0)?.int() else { return refuse_at("size", MUST_BE_KNOWN) };
    let code = i32::try_from(node.int("output_datatype", 1)).unwrap_or(1);
    let Some(elem) = Elem::of(code).filter(|it| it.is_float()) else {
        return refuse_at("output_datatype", "is no float");
    };
    let period = if node.int("periodic", 1) != 0 { size } else { size - 1 };
    let angle = format!("(2.0f64 * 3.141592653589793 * (i as f64) / {period}.0)");
    let body = match node.op {
        "HannWindow" => format!("0.5 - 0.5 * cos({angle})"),
        "HammingWindow" => format!("0.5434782608695652 - 0.45652173913043476 * cos({angle})"),
        _ => format!("0.42 - 0.5 * cos({angle}) + 0.08 * cos(2.0 * {angle})"),
    };
    let body = format!("({body}) as {}", elem.lang());
    cx.define(node.out(0), elem, vec![Dim::from(size)], &["i".to_owned()], &[], &body);
    Ok(())
}

fn mel(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let mut known = Vec::new();
    for i in 0..5 {
        match node.input(i)?.float() {
            Some(value) => known.push(value),
            None => return refuse(MUST_BE_KNOWN),
        }
    }
    let code = i32::try_from(node.int("output_datatype", 1)).unwrap_or(1);
    let Some(elem) = Elem::of(code).filter(|it| it.is_float()) else {
        return refuse_at("output_datatype", "is no float");
    };
    let (bins, length, rate) = (known[0] as i64, known[1] as i64, known[2]);
    if !(1..=4096).contains(&bins) || !(1..=65536).contains(&length) {
        return refuse("it has an extent that is not possible");
    }
    // The edges of the bands are whole places, computed here as the standard says.
    let mel = |hz: f64| 2595.0 * (1.0 + hz / 700.0).log10();
    let (low, high) = (mel(known[3]), mel(known[4]));
    let step = (high - low) / (bins + 2) as f64;
    let edges: Vec<i64> = (0..bins + 2)
        .map(|i| {
            let hz = 700.0 * (10f64.powf((i as f64 * step + low) / 2595.0) - 1.0);
            (((length + 1) as f64 * hz) / rate).floor() as i64
        })
        .collect();
    let edges = cx.constant(Data {
        elem: Elem::I32,
        ..Data::row(edges.into_iter().map(Dim::from).collect())
    });
    let e = cx.name_of(&edges);
    // The middle of a band is 1 even where a side of it has no width.
    let body = format!(
        "if i == {e}[j + 1] {{ 1.0 }} \
         else if i >= {e}[j] && i < {e}[j + 1] {{ (i - {e}[j]) as f32 / ({e}[j + 1] - {e}[j]) as f32 }} \
         else if i > {e}[j + 1] && i < {e}[j + 2] {{ ({e}[j + 2] - i) as f32 / ({e}[j + 2] - {e}[j + 1]) as f32 }} \
         else {{ 0.0 }}"
    );
    let body = if elem == Elem::F32 { body } else { format!("({body}) as {}", elem.lang()) };
    let shape = vec![Dim::from(length / 2 + 1), Dim::from(bins)];
    cx.define(node.out(0), elem, shape, &["i".to_owned(), "j".to_owned()], &[], &body);
    Ok(())
}
