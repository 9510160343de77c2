//! Normalisations.

use super::number;
use super::reduce::reduction;
use crate::cx::{Cx, indices};
use crate::dims::Dim;
use crate::elem::Elem;
use crate::node::{Done, Node, axis, refuse, refuse_at};
use crate::value::Value;

/// Writes a node of this family.
pub fn write(cx: &mut Cx<'_>, node: &Node<'_>) -> Option<Done> {
    Some(match node.op {
        "BatchNormalization" => batch(cx, node),
        "InstanceNormalization" => instance(cx, node),
        "GroupNormalization" => group(cx, node),
        "LayerNormalization" => layer(cx, node),
        "RMSNormalization" | "SimplifiedLayerNormalization" => rms(cx, node),
        "LpNormalization" => lp(cx, node),
        "MeanVarianceNormalization" => mvn(cx, node),
        "LRN" => lrn(cx, node),
        _ => return None,
    })
}

/// `batch channel row col` as far as the rank goes.
fn image_axes(rank: usize) -> Vec<String> {
    let mut axes = vec!["batch".to_owned(), "channel".to_owned()];
    axes.extend(super::conv::spatial(rank.saturating_sub(2)));
    axes.truncate(rank);
    axes
}

fn batch(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let mut x = node.input(0)?;
    if x.rank() < 2 {
        return refuse("its input has no channels");
    }
    x.axes = image_axes(x.rank());
    let channel = ["channel".to_owned()];
    let (scale, bias, mean, var) = (node.input(1)?, node.input(2)?, node.input(3)?, node.input(4)?);
    let epsilon = number(node.float("epsilon", 1e-5), var.elem);
    let at = x.axes.clone();
    let element = cx.read(&x, &at);
    let (mut mean_at, mut var_at) = (cx.read(&mean, &channel), cx.read(&var, &channel));
    if node.int("training_mode", 0) != 0 {
        let momentum = node.float("momentum", 0.9);
        let axes: Vec<usize> = (0..x.rank()).filter(|i| *i != 1).collect();
        let way = reduction(&x, &axes, false);
        let over = way.over.join(", ");
        let now = cx.temp(
            "batch_mean",
            x.elem,
            way.shape.clone(),
            &way.axes,
            &way.covered,
            &format!("mean[{over}]({element})"),
        );
        let now_at = cx.read(&now, &channel);
        let spread = cx.temp(
            "batch_var",
            x.elem,
            way.shape.clone(),
            &way.axes,
            &way.covered,
            &format!("mean[{over}](({element} - {now_at}) ** 2)"),
        );
        let spread_at = cx.read(&spread, &channel);
        let (keep, new) = (number(momentum, x.elem), number(1.0 - momentum, x.elem));
        for (i, (old, fresh)) in
            [(&mean_at, &now_at), (&var_at, &spread_at)].into_iter().enumerate()
        {
            if node.has_out(1 + i) {
                cx.define(
                    node.out(1 + i),
                    x.elem,
                    way.shape.clone(),
                    &channel,
                    &[true],
                    &format!("{keep} * {old} + {new} * {fresh}"),
                );
            }
        }
        (mean_at, var_at) = (now_at, spread_at);
    }
    let (scale, bias) = (cx.read(&scale, &channel), cx.read(&bias, &channel));
    // What belongs to the channel is one number: no division for each point.
    let factor = format!("({scale} / sqrt({var_at} + {epsilon}))");
    let body = format!("({element} - {mean_at}) * {factor} + {bias}");
    let covered = vec![true; at.len()];
    cx.define(node.out(0), x.elem, x.shape, &at, &covered, &body);
    Ok(())
}

/// Mean and one over the deviation along axes, in a type that is wide enough.
fn moments(
    cx: &mut Cx<'_>,
    x: &Value,
    axes: &[usize],
    epsilon: f64,
    elem: Elem,
) -> (Value, Value, Vec<String>) {
    let way = reduction(x, axes, false);
    let over = way.over.join(", ");
    let element = cx.read(x, &way.at);
    let element = if x.elem == elem { element } else { format!("({element} as {})", elem.lang()) };
    let mean = cx.temp(
        "centre",
        elem,
        way.shape.clone(),
        &way.axes,
        &way.covered,
        &format!("mean[{over}]({element})"),
    );
    let mean_at = cx.read(&mean, &way.axes);
    let body = format!(
        "1.0 / sqrt(mean[{over}](({element} - {mean_at}) ** 2) + {})",
        number(epsilon, elem)
    );
    let scale = cx.temp("spread", elem, way.shape.clone(), &way.axes, &way.covered, &body);
    (mean, scale, way.axes)
}

fn instance(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let mut x = node.input(0)?;
    if x.rank() < 3 {
        return refuse("its input has no spatial axes");
    }
    x.axes = image_axes(x.rank());
    let axes: Vec<usize> = (2..x.rank()).collect();
    let elem = x.elem;
    let (mean, spread, at) = moments(cx, &x, &axes, node.float("epsilon", 1e-5), elem);
    let (mean, spread) = (cx.read(&mean, &at), cx.read(&spread, &at));
    let channel = ["channel".to_owned()];
    let (scale, bias) = (cx.read(&node.input(1)?, &channel), cx.read(&node.input(2)?, &channel));
    let own = x.axes.clone();
    let element = cx.read(&x, &own);
    let covered = vec![true; own.len()];
    cx.define(
        node.out(0),
        elem,
        x.shape,
        &own,
        &covered,
        &format!("({element} - {mean}) * {spread} * {scale} + {bias}"),
    );
    Ok(())
}

fn group(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let x = node.input(0)?;
    let groups = node.int("num_groups", 1);
    if x.rank() < 3 || groups < 1 {
        return refuse_at("num_groups", "does not fit its input");
    }
    let elem = x.elem;
    let wide = if node.int("stash_type", 1) == 1 && elem.is_half() { Elem::F32 } else { elem };
    let per = x.shape[1].over(&Dim::from(groups));
    let own = image_axes(x.rank());
    let name = cx.name_of(&x);
    let spatial = own[2..].join(", ");
    let cast =
        |text: String| if wide == elem { text } else { format!("({text} as {})", wide.lang()) };
    let element = cast(format!("{name}[batch, group * {} + k, {spatial}]", per.factor_text()));
    let over = format!("k in 0..{per}, {spatial}");
    let axes = ["batch".to_owned(), "group".to_owned()];
    let shape = vec![x.shape[0].clone(), Dim::from(groups)];
    cx.temp("centre", wide, shape.clone(), &axes, &[true], &format!("mean[{over}]({element})"));
    let mean = cx.lines.last().map_or_else(String::new, |it| it.binds[0].clone());
    let body = format!(
        "1.0 / sqrt(mean[{over}](({element} - {mean}[batch, group]) ** 2) + {})",
        number(node.float("epsilon", 1e-5), wide)
    );
    cx.temp("spread", wide, shape, &axes, &[true], &body);
    let spread = cx.lines.last().map_or_else(String::new, |it| it.binds[0].clone());
    // Before version 21 there is one scale for each group.
    let (scale, bias) = (node.input(1)?, node.input(2)?);
    let by_group = node.opset < 21 && scale.shape[0] != x.shape[1];
    let which =
        if by_group { format!("channel / {}", per.factor_text()) } else { "channel".to_owned() };
    let (scale, bias) = (cx.read(&scale, std::slice::from_ref(&which)), cx.read(&bias, &[which]));
    let element = cast(cx.read(&x, &own));
    let group = format!("batch, channel / {}", per.factor_text());
    let normal = format!("({element} - {mean}[{group}]) * {spread}[{group}]");
    let body = if wide == elem {
        format!("{normal} * {scale} + {bias}")
    } else {
        format!("(({normal}) as {}) * {scale} + {bias}", elem.lang())
    };
    let covered = vec![true; own.len()];
    cx.define(node.out(0), elem, x.shape, &own, &covered, &body);
    Ok(())
}

fn layer(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let x = node.input(0)?;
    let start = axis(node.int("axis", -1), x.rank())?;
    let axes: Vec<usize> = (start..x.rank()).collect();
    let elem = x.elem;
    let wide = if node.int("stash_type", 1) == 1 && elem.is_half() { Elem::F32 } else { elem };
    let (mean, spread, at) = moments(cx, &x, &axes, node.float("epsilon", 1e-5), wide);
    let mut kept = x.shape[..start].to_vec();
    kept.extend(axes.iter().map(|_| Dim::from(1)));
    let (mean_at, spread_at) = (cx.read(&mean, &at), cx.read(&spread, &at));
    let own = indices(&x.axes, x.rank());
    let element = cx.read(&x, &own);
    let element = if wide == elem { element } else { format!("({element} as f32)") };
    let mut body = format!("({element} - {mean_at}) * {spread_at}");
    if wide != elem {
        body = format!("(({body}) as {})", elem.lang());
    }
    let (scale, _) = cx.read_repeated(&node.input(1)?, &own, &x.shape);
    body = format!("{body} * {scale}");
    if let Some(bias) = node.optional(2) {
        let (bias, _) = cx.read_repeated(&bias, &own, &x.shape);
        body = format!("{body} + {bias}");
    }
    let covered = vec![true; own.len()];
    cx.define(node.out(0), elem, x.shape.clone(), &own, &covered, &body);
    for (i, value) in [mean, spread].iter().enumerate() {
        if node.has_out(1 + i) {
            super::shape::reshape_to(cx, node.out(1 + i), value, kept.clone());
        }
    }
    Ok(())
}

fn rms(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let x = node.input(0)?;
    let start = axis(node.int("axis", -1), x.rank())?;
    let axes: Vec<usize> = (start..x.rank()).collect();
    let elem = x.elem;
    let wide = if node.int("stash_type", 1) == 1 && elem.is_half() { Elem::F32 } else { elem };
    let way = reduction(&x, &axes, false);
    let over = way.over.join(", ");
    let element = cx.read(&x, &way.at);
    let element = if wide == elem { element } else { format!("({element} as f32)") };
    let body = format!(
        "1.0 / sqrt(mean[{over}]({element} * {element}) + {})",
        number(node.float("epsilon", 1e-5), wide)
    );
    let spread = cx.temp("spread", wide, way.shape.clone(), &way.axes, &way.covered, &body);
    let spread = cx.read(&spread, &way.axes);
    let (scale, _) = cx.read_repeated(&node.input(1)?, &way.at, &x.shape);
    let mut body = format!("{element} * {spread}");
    if wide != elem {
        body = format!("(({body}) as {})", elem.lang());
    }
    let covered = vec![true; way.at.len()];
    cx.define(node.out(0), elem, x.shape, &way.at, &covered, &format!("{body} * {scale}"));
    Ok(())
}

fn lp(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let x = node.input(0)?;
    let along = axis(node.int("axis", -1), x.rank())?;
    let way = reduction(&x, &[along], false);
    let over = way.over.join(", ");
    let element = cx.read(&x, &way.at);
    let body = if node.int("p", 2) == 1 {
        format!("sum[{over}](abs({element}))")
    } else {
        format!("sqrt(sum[{over}]({element} * {element}))")
    };
    let size = cx.temp("size", x.elem, way.shape.clone(), &way.axes, &way.covered, &body);
    let size = cx.read(&size, &way.axes);
    let covered = vec![true; way.at.len()];
    // What has no length stays zero.
    let body = format!("if {size} == 0.0 {{ 0.0 }} else {{ {element} / {size} }}");
    cx.define(node.out(0), x.elem, x.shape, &way.at, &covered, &body);
    Ok(())
}

fn mvn(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let x = node.input(0)?;
    let axes = node.ints("axes").unwrap_or_else(|| vec![0, 2, 3]);
    let axes = axes.into_iter().map(|it| axis(it, x.rank())).collect::<Done<Vec<_>>>()?;
    let way = reduction(&x, &axes, false);
    let over = way.over.join(", ");
    let element = cx.read(&x, &way.at);
    let mean = cx.temp(
        "centre",
        x.elem,
        way.shape.clone(),
        &way.axes,
        &way.covered,
        &format!("mean[{over}]({element})"),
    );
    let mean = cx.read(&mean, &way.axes);
    let body = format!("sqrt(mean[{over}](({element} - {mean}) ** 2))");
    let spread = cx.temp("spread", x.elem, way.shape.clone(), &way.axes, &way.covered, &body);
    let spread = cx.read(&spread, &way.axes);
    let covered = vec![true; way.at.len()];
    cx.define(
        node.out(0),
        x.elem,
        x.shape,
        &way.at,
        &covered,
        &format!("({element} - {mean}) / ({spread} + 1e-9)"),
    );
    Ok(())
}

fn lrn(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let mut x = node.input(0)?;
    if x.rank() < 2 {
        return refuse("its input has no channels");
    }
    x.axes = image_axes(x.rank());
    let size = node.int("size", 1).clamp(1, 1 << 20);
    let (alpha, beta, bias) =
        (node.float("alpha", 1e-4), node.float("beta", 0.75), node.float("bias", 1.0));
    let before = (size - 1) / 2;
    let place = super::shifted("channel + k", &Dim::from(-before));
    let mut at = x.axes.clone();
    at[1].clone_from(&place);
    let element = cx.read(&x, &at);
    let own = x.axes.clone();
    let center = cx.read(&x, &own);
    let channels = &x.shape[1];
    let body = format!(
        "{center} / ({} + {} * sum[k in 0..{size}]({element} * {element} where {place} in 0..{channels})) ** {}",
        number(bias, x.elem),
        number(alpha / size as f64, x.elem),
        number(beta, x.elem)
    );
    let covered = vec![true; own.len()];
    cx.define(node.out(0), x.elem, x.shape, &own, &covered, &body);
    Ok(())
}
