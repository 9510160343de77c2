//! Padding and cropping.

use super::{shifted, zero};
use crate::cx::{Cx, indices};
use crate::dims::Dim;
use crate::node::{Done, MUST_BE_KNOWN, Node, axis, refuse_at};

/// Writes a node of this family.
pub fn write(cx: &mut Cx<'_>, node: &Node<'_>) -> Option<Done> {
    Some(match node.op {
        "Pad" => pad(cx, node),
        "CenterCropPad" => center(cx, node),
        _ => return None,
    })
}

fn pad(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let x = node.input(0)?;
    let pads: Vec<Dim> = match node.ints("pads") {
        Some(ints) => ints.into_iter().map(Dim::from).collect(),
        None => match node.input(1)?.known.as_deref().and_then(crate::data::Data::as_dims) {
            Some(dims) => dims,
            None => return refuse_at("pads", MUST_BE_KNOWN),
        },
    };
    let chosen: Vec<usize> = match node.optional(3) {
        None => (0..x.rank()).collect(),
        Some(v) => match v.ints() {
            Some(ints) => ints.into_iter().map(|it| axis(it, x.rank())).collect::<Done<_>>()?,
            None => return refuse_at("axes", MUST_BE_KNOWN),
        },
    };
    if pads.len() != 2 * chosen.len() {
        return refuse_at("pads", "does not say two numbers for each axis");
    }
    let fill = match (node.attribute("value"), node.optional(2)) {
        (Some(value), _) => super::number(f64::from(value.f), x.elem),
        (None, Some(value)) => cx.read(&value, &vec!["0".to_owned(); value.rank()]),
        (None, None) => zero(x.elem).to_owned(),
    };
    let mode = node.string("mode", "constant");
    let names = indices(&x.axes, x.rank());
    let (mut at, mut shape, mut guards) = (names.clone(), x.shape.clone(), Vec::new());
    let mut covered = vec![true; x.rank()];
    for (i, along) in chosen.iter().enumerate() {
        let (before, after) = (&pads[i], &pads[chosen.len() + i]);
        if before.is(0) && after.is(0) {
            continue;
        }
        covered[*along] = false;
        let extent = &x.shape[*along];
        shape[*along] = extent.plus(before).plus(after);
        if shape[*along].known().is_some_and(|n| n < 0) {
            return refuse_at("pads", "takes more away than there is");
        }
        let place = match before.known() {
            Some(n) => shifted(&names[*along], &Dim::from(n.saturating_neg())),
            None => format!("{} - ({before})", names[*along]),
        };
        let last = extent.plus_int(-1);
        at[*along] = match mode.as_str() {
            "constant" => {
                if before.known().is_none_or(|n| n > 0) || after.known().is_none_or(|n| n > 0) {
                    guards.push(format!("{place} in 0..{extent}"));
                }
                place
            }
            "edge" => format!("min(max({place}, 0), {last})"),
            "wrap" => format!("std::math::mod({place}, {extent})"),
            "reflect" => {
                // There and back again: a period of twice the distance between the ends.
                let period = last.times(&Dim::from(2));
                if period.is(0) {
                    "0".into()
                } else {
                    format!("{last} - abs(std::math::mod({place}, {period}) - ({last}))")
                }
            }
            other => return refuse_at("mode", format!("`{other}` is not known")),
        };
    }
    let name = cx.name_of(&x);
    let element = if at.is_empty() { name } else { format!("{name}[{}]", at.join(", ")) };
    let body = if guards.is_empty() {
        element
    } else {
        format!("if {} {{ {element} }} else {{ {fill} }}", guards.join(" && "))
    };
    cx.define(node.out(0), x.elem, shape, &names, &covered, &body);
    Ok(())
}

fn center(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let x = node.input(0)?;
    let Some(target) = node.input(1)?.ints() else { return refuse_at("shape", MUST_BE_KNOWN) };
    let chosen: Vec<usize> = match node.ints("axes") {
        Some(ints) => ints.into_iter().map(|it| axis(it, x.rank())).collect::<Done<_>>()?,
        None => (0..x.rank()).collect(),
    };
    if target.len() != chosen.len() {
        return refuse_at("shape", "does not say an extent for each axis");
    }
    let names = indices(&x.axes, x.rank());
    let (mut at, mut shape, mut guards) = (names.clone(), x.shape.clone(), Vec::new());
    let mut covered = vec![true; x.rank()];
    for (along, wanted) in chosen.into_iter().zip(target) {
        let Some(extent) = x.shape[along].known() else {
            return refuse_at("input_data", "has an extent that is not known");
        };
        if wanted == extent {
            continue;
        }
        covered[along] = false;
        shape[along] = Dim::from(wanted);
        // Half of the difference before, the larger half behind.
        let offset = if wanted > extent { -((wanted - extent) / 2) } else { (extent - wanted) / 2 };
        at[along] = shifted(&names[along], &Dim::from(offset));
        if wanted > extent {
            guards.push(format!("{} in 0..{extent}", at[along]));
        }
    }
    let name = cx.name_of(&x);
    let element = format!("{name}[{}]", at.join(", "));
    let body = if guards.is_empty() {
        element
    } else {
        format!("if {} {{ {element} }} else {{ {} }}", guards.join(" && "), zero(x.elem))
    };
    cx.define(node.out(0), x.elem, shape, &names, &covered, &body);
    Ok(())
}
