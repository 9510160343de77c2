//! Resampling along axes. For known extents the places and weights of each axis are computed here
//! and stand in the program as small tables.

use super::number;
use crate::cx::{Cx, indices, others};
use crate::data::{Data, Items};
use crate::dims::Dim;
use crate::elem::Elem;
use crate::node::{Done, MUST_BE_KNOWN, Node, axis, refuse, refuse_at};
use crate::value::Value;

/// Writes a node of this family.
pub fn write(cx: &mut Cx<'_>, node: &Node<'_>) -> Option<Done> {
    Some(match node.op {
        "Resize" | "Upsample" => resize(cx, node),
        _ => return None,
    })
}

/// How one axis is resampled.
struct Axis {
    along: usize,
    scale: f64,
    size: Dim,
    roi: (f64, f64),
}

fn known_floats(value: Option<Value>, name: &str) -> Done<Option<Vec<f64>>> {
    match value {
        None => Ok(None),
        Some(value) if value.shape.first().is_some_and(|dim| dim.is(0)) => Ok(None),
        Some(value) => match value.known.as_deref().and_then(Data::as_floats) {
            Some(floats) => Ok(Some(floats)),
            None => refuse_at(name, MUST_BE_KNOWN),
        },
    }
}

fn axes_of(node: &Node<'_>, x: &Value) -> Done<Vec<Axis>> {
    let chosen: Vec<usize> = match node.ints("axes") {
        Some(axes) => axes.into_iter().map(|it| axis(it, x.rank())).collect::<Done<_>>()?,
        None => (0..x.rank()).collect(),
    };
    let old = node.op == "Upsample" || node.opset < 11;
    let scales = match node.attribute("scales") {
        Some(it) => Some(it.floats.iter().map(|v| f64::from(*v)).collect()),
        None => known_floats(node.optional(if old { 1 } else { 2 }), "scales")?,
    };
    let sizes = match (old, node.optional(3)) {
        (false, Some(value)) if !value.shape.first().is_some_and(|dim| dim.is(0)) => {
            match value.known.as_deref().and_then(Data::as_dims) {
                Some(dims) => Some(dims),
                None => return refuse_at("sizes", MUST_BE_KNOWN),
            }
        }
        _ => None,
    };
    let crop = node.string("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize";
    let roi = if crop { known_floats(node.optional(1), "roi")? } else { None };
    let n = chosen.len();
    let extent = |along: usize| match x.shape[along].known() {
        Some(n) => Ok(n as f64),
        None => refuse("an extent that it changes is not known"),
    };
    let mut out = Vec::new();
    if let Some(sizes) = sizes {
        if sizes.len() != n {
            return refuse_at("sizes", "does not say an extent for each axis");
        }
        let policy = node.string("keep_aspect_ratio_policy", "stretch");
        let mut common: Option<f64> = None;
        for (along, size) in chosen.iter().zip(&sizes) {
            if *size != x.shape[*along] && size.known().is_none() {
                return refuse_at("sizes", MUST_BE_KNOWN);
            }
            if policy != "stretch" {
                let Some(size) = size.known() else { return refuse_at("sizes", MUST_BE_KNOWN) };
                let scale = size as f64 / extent(*along)?;
                common = Some(match (common, policy.as_str()) {
                    (None, _) => scale,
                    (Some(old), "not_larger") => old.min(scale),
                    (Some(old), _) => old.max(scale),
                });
            }
        }
        for (i, (along, size)) in chosen.iter().zip(sizes).enumerate() {
            if size == x.shape[*along] && common.is_none() && roi.is_none() {
                continue;
            }
            let (scale, size) = match common {
                Some(scale) => (scale, Dim::from((scale * extent(*along)? + 0.5).floor() as i64)),
                None => (size.known().unwrap_or(0) as f64 / extent(*along)?, size),
            };
            let roi = roi.as_ref().map_or((0.0, 1.0), |roi| (roi[i], roi[n + i]));
            out.push(Axis { along: *along, scale, size, roi });
        }
        return Ok(out);
    }
    let Some(scales) = scales else { return refuse("neither scales nor sizes are given") };
    if scales.len() != n || roi.as_ref().is_some_and(|it| it.len() != 2 * n) {
        return refuse_at("scales", "does not say a number for each axis");
    }
    for (i, (along, scale)) in chosen.iter().zip(scales).enumerate() {
        if scale == 1.0 && roi.as_ref().is_none_or(|roi| (roi[i], roi[n + i]) == (0.0, 1.0)) {
            continue;
        }
        if !(scale > 0.0 && scale < 1e6) {
            return refuse_at("scales", "is not positive");
        }
        let size = match x.shape[*along].known() {
            Some(extent) => Dim::from((extent as f64 * scale).floor() as i64),
            None if scale.fract() == 0.0 => x.shape[*along].times(&Dim::from(scale as i64)),
            None => return refuse("an extent that it changes is not known"),
        };
        let roi = roi.as_ref().map_or((0.0, 1.0), |roi| (roi[i], roi[n + i]));
        out.push(Axis { along: *along, scale, size, roi });
    }
    Ok(out)
}

fn resize(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let x = node.input(0)?;
    let axes = axes_of(node, &x)?;
    if axes.is_empty() {
        cx.set(node.out(0), x);
        return Ok(());
    }
    let mode = node.string("mode", "nearest");
    let old = node.op == "Upsample" || node.opset < 11;
    let transform = if old {
        "asymmetric".into()
    } else {
        node.string("coordinate_transformation_mode", "half_pixel")
    };
    let rounding =
        if old { "floor".into() } else { node.string("nearest_mode", "round_prefer_floor") };
    // Whole factors of the nearest point are plain quotients.
    let simple = mode == "nearest"
        && axes.iter().all(|it| it.scale.fract() == 0.0 && it.scale >= 1.0)
        && (transform == "asymmetric" && rounding == "floor"
            || transform == "half_pixel" && rounding.starts_with("round"));
    if simple {
        let names = indices(&x.axes, x.rank());
        let (mut at, mut shape) = (names.clone(), x.shape.clone());
        let mut covered = vec![true; x.rank()];
        for it in axes {
            at[it.along] = format!("{} / {}", names[it.along], it.scale as i64);
            shape[it.along] = it.size;
            covered[it.along] = false;
        }
        let body = cx.read(&x, &at);
        cx.define(node.out(0), x.elem, shape, &names, &covered, &body);
        return Ok(());
    }
    let total = axes.len();
    let mut current = x.clone();
    let mut outside: Vec<(usize, Vec<bool>)> = Vec::new();
    for (i, it) in axes.into_iter().enumerate() {
        let Some(extent) = current.shape[it.along].known() else {
            return refuse("an extent that it changes is not known");
        };
        let Some(size) = it.size.known().filter(|n| (0..=1 << 20).contains(n)) else {
            return refuse_at("sizes", "has an extent that is not possible");
        };
        let table = Table::of(node, &mode, &transform, &rounding, &it, extent, size)?;
        if table.outside.iter().any(|it| *it) {
            outside.push((it.along, table.outside.clone()));
        }
        let last = i + 1 == total && outside.is_empty();
        let out = if last { node.out(0) } else { "" };
        current = apply(cx, out, &current, it.along, &it.size, &table);
    }
    if !outside.is_empty() {
        let fill = number(node.float("extrapolation_value", 0.0), x.elem);
        let names = indices(&current.axes, current.rank());
        let mut tests = Vec::new();
        for (along, flags) in outside {
            let items = flags.iter().map(|it| Dim::from(i64::from(*it))).collect();
            let table = cx.constant(Data::ints(Elem::Bool, vec![flags.len()], items));
            tests.push(cx.read(&table, &[names[along].clone()]));
        }
        let element = cx.read(&current, &names);
        let covered = vec![true; names.len()];
        let body = format!("if {} {{ {fill} }} else {{ {element} }}", tests.join(" || "));
        cx.define(node.out(0), x.elem, current.shape, &names, &covered, &body);
    }
    Ok(())
}

/// The places and weights for each point of the result along one axis.
struct Table {
    taps: usize,
    places: Vec<i64>,
    weights: Vec<f64>,
    outside: Vec<bool>,
}

impl Table {
    fn of(
        node: &Node<'_>,
        mode: &str,
        transform: &str,
        rounding: &str,
        it: &Axis,
        extent: i64,
        size: i64,
    ) -> Done<Table> {
        let (width, scale) = (extent as f64, it.scale);
        let long = scale * width;
        let antialias = node.int("antialias", 0) != 0;
        let a = node.float("cubic_coeff_a", -0.75);
        let exclude = node.int("exclude_outside", 0) != 0;
        let mut table = Table { taps: 0, places: vec![], weights: vec![], outside: vec![] };
        for i in 0..size {
            let x = i as f64;
            let half = (x + 0.5) / scale - 0.5;
            let mut outside = false;
            let source = match transform {
                "align_corners" if long == 1.0 => 0.0,
                "align_corners" => x * (width - 1.0) / (long - 1.0),
                "asymmetric" => x / scale,
                "pytorch_half_pixel" if long == 1.0 => -0.5,
                "pytorch_half_pixel" | "half_pixel" => half,
                "half_pixel_symmetric" => width / 2.0 * (1.0 - size as f64 / long) + half,
                "tf_crop_and_resize" => {
                    let span = it.roi.1 - it.roi.0;
                    let source = if long == 1.0 {
                        span * (width - 1.0) / 2.0
                    } else {
                        x * span * (width - 1.0) / (long - 1.0)
                    };
                    let source = source + it.roi.0 * (width - 1.0);
                    outside = source < 0.0 || source > width - 1.0;
                    source
                }
                "tf_half_pixel_for_nn" => (x + 0.5) / scale,
                other => {
                    return refuse_at(
                        "coordinate_transformation_mode",
                        format!("`{other}` is not known"),
                    );
                }
            };
            // The point on the left is preferred: a whole place is one step behind it.
            let ratio = if source == source.trunc() { 1.0 } else { source - source.floor() };
            let mut weights = match mode {
                "nearest" => nearest(ratio, rounding)?,
                "linear" | "bilinear" if antialias => linear_smooth(ratio, scale),
                "linear" | "bilinear" => vec![1.0 - ratio, ratio],
                "cubic" if antialias => cubic_smooth(ratio, scale, a),
                "cubic" => cubic(ratio, a),
                other => return refuse_at("mode", format!("`{other}` is not known")),
            };
            let n = weights.len();
            let mut places = neighbours(source, n, extent);
            if exclude {
                for (place, weight) in places.iter().zip(&mut weights) {
                    if *place < 0 || *place >= extent {
                        *weight = 0.0;
                    }
                }
                let sum: f64 = weights.iter().sum();
                weights.iter_mut().for_each(|it| *it /= sum);
            }
            places.iter_mut().for_each(|it| *it = (*it).clamp(0, extent - 1));
            table.taps = n;
            table.places.extend(places);
            table.weights.extend(weights);
            table.outside.push(outside);
        }
        Ok(table)
    }
}

fn nearest(ratio: f64, rounding: &str) -> Done<Vec<f64>> {
    let left = if ratio == 1.0 {
        false
    } else {
        match rounding {
            "round_prefer_floor" => ratio <= 0.5,
            "round_prefer_ceil" => ratio < 0.5,
            "floor" => true,
            "ceil" => false,
            other => return refuse_at("nearest_mode", format!("`{other}` is not known")),
        }
    };
    Ok(if left { vec![1.0, 0.0] } else { vec![0.0, 1.0] })
}

fn linear_smooth(ratio: f64, scale: f64) -> Vec<f64> {
    let scale = scale.min(1.0);
    let start = (-1.0 / scale).floor() as i64 + 1;
    let raw: Vec<f64> = (start..2 - start)
        .map(|i| (1.0 - ((i as f64 - ratio) * scale).abs()).clamp(0.0, 1.0))
        .collect();
    let sum: f64 = raw.iter().sum();
    raw.into_iter().map(|it| it / sum).collect()
}

fn cubic(r: f64, a: f64) -> Vec<f64> {
    let far = |t: f64| ((a * t - 5.0 * a) * t + 8.0 * a) * t - 4.0 * a;
    let near = |t: f64| ((a + 2.0) * t - (a + 3.0)) * t * t + 1.0;
    vec![far(r + 1.0), near(r), near(1.0 - r), far((1.0 - r) + 1.0)]
}

fn cubic_smooth(ratio: f64, scale: f64, a: f64) -> Vec<f64> {
    let scale = scale.min(1.0);
    let weight = |x: f64| {
        let x = x.abs();
        if x <= 1.0 {
            (a + 2.0) * x * x * x - (a + 3.0) * x * x + 1.0
        } else if x < 2.0 {
            a * x * x * x - 5.0 * a * x * x + 8.0 * a * x - 4.0 * a
        } else {
            0.0
        }
    };
    let start = (-2.0 / scale).floor() as i64 + 1;
    let raw: Vec<f64> = (start..2 - start).map(|i| weight(scale * (i as f64 - ratio))).collect();
    let sum: f64 = raw.iter().sum();
    raw.into_iter().map(|it| it / sum).collect()
}

/// The `n` places nearest to a point, smaller ones first where two are equally near.
fn neighbours(source: f64, n: usize, extent: i64) -> Vec<i64> {
    let pad = n.div_ceil(2) as i64;
    let middle = source.floor() as i64;
    let reach = n as i64 + 1;
    let low = (middle - reach).max(-pad).min(extent - 1 + pad);
    let high = (middle + reach).min(extent - 1 + pad).max(low);
    // At the far ends of the padded axis there are places on one side only.
    let (low, high) =
        ((low.min(high - n as i64)).max(-pad), (high.max(low + n as i64)).min(extent - 1 + pad));
    let mut places: Vec<i64> = (low..=high).collect();
    places.sort_by(|a, b| {
        let (x, y) = ((source - *a as f64).abs(), (source - *b as f64).abs());
        x.total_cmp(&y).then(a.cmp(b))
    });
    places.truncate(n);
    places.sort_unstable();
    places
}

fn apply(cx: &mut Cx<'_>, out: &str, x: &Value, along: usize, size: &Dim, table: &Table) -> Value {
    let names = indices(&x.axes, x.rank());
    let own = names[along].clone();
    let mut shape = x.shape.clone();
    shape[along] = size.clone();
    let mut covered = vec![true; names.len()];
    let rows = table.places.len() / table.taps.max(1);
    // One point alone counts: a table of places is enough.
    let chosen: Option<Vec<i64>> = table
        .weights
        .chunks(table.taps.max(1))
        .zip(table.places.chunks(table.taps.max(1)))
        .map(|(weights, places)| {
            let ones: Vec<i64> =
                weights.iter().zip(places).filter(|(w, _)| **w != 0.0).map(|(_, p)| *p).collect();
            match (ones.as_slice(), weights.contains(&1.0)) {
                ([one], true) => Some(*one),
                _ => None,
            }
        })
        .collect();
    if let Some(chosen) = chosen {
        let table = cx.constant(Data {
            elem: Elem::I32,
            ..Data::row(chosen.into_iter().map(Dim::from).collect())
        });
        let table = cx.name_of(&table);
        let mut at = names.clone();
        at[along] = format!("{table}[{own}]");
        let body = cx.read(x, &at);
        covered[along] = rows > 0;
        return cx.define(out, x.elem, shape, &names, &covered, &body);
    }
    let tap = others(&names, &["k"]).remove(0);
    let places = Data::ints(
        Elem::I32,
        vec![rows, table.taps],
        table.places.iter().map(|n| Dim::from(*n)).collect(),
    );
    let weights = Data {
        elem: x.elem,
        shape: vec![rows, table.taps],
        items: Items::Floats(table.weights.clone()),
    };
    let (places, weights) = (cx.constant(places), cx.constant(weights));
    let (places, weights) = (cx.name_of(&places), cx.name_of(&weights));
    let mut at = names.clone();
    at[along] = format!("{places}[{own}, {tap}]");
    let name = cx.name_of(x);
    let body = format!("sum[{tap}]({weights}[{own}, {tap}] * {name}[{}])", at.join(", "));
    cx.define(out, x.elem, shape, &names, &covered, &body)
}
