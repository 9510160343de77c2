//! Regions of images at places that data decide: `RoiAlign`.

use crate::cx::Cx;
use crate::dims::Dim;
use crate::node::{Done, Node, refuse, refuse_at};

/// Writes a node of this family.
pub fn write(cx: &mut Cx<'_>, node: &Node<'_>) -> Option<Done> {
    Some(match node.op {
        "RoiAlign" => aligned(cx, node),
        _ => return None,
    })
}

/// Functions of the program; `T` is the element type.
const CORNERS: &str = "/// The four points around a place of an image, each by its weight; zeros outside.
fn corners(x: [T; ?h, ?w], row: T, col: T) -> [T; 4] {
    if row < -1.0 || row > ?h as T || col < -1.0 || col > ?w as T {
        [0.0, 0.0, 0.0, 0.0]
    } else {
        let (y, z) = (min(max(row, 0.0), (?h - 1) as T), min(max(col, 0.0), (?w - 1) as T));
        let (i, j) = (floor(y) as i32, floor(z) as i32);
        let (k, l) = (min(i + 1, ?h - 1), min(j + 1, ?w - 1));
        let (below, right) = (y - i as T, z - j as T);
        let (above, left) = (1.0 - below, 1.0 - right);
        [above * left * x[i, j], above * right * x[i, l], below * left * x[k, j], below * right * x[k, l]]
    }
}
";

fn aligned(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let (x, regions, items) = (node.input(0)?, node.input(1)?, node.input(2)?);
    if x.rank() != 4 || regions.rank() != 2 || items.rank() != 1 {
        return refuse("its inputs are not an image, regions and the items they are of");
    }
    if !x.elem.is_float() || regions.elem != x.elem {
        return refuse("its images and regions are not floats of one type");
    }
    let mode = node.string("mode", "avg");
    if mode != "avg" && mode != "max" {
        return refuse_at("mode", format!("`{mode}` is not known"));
    }
    let shift = match node.string("coordinate_transformation_mode", "half_pixel").as_str() {
        "half_pixel" if node.opset >= 16 => "0.5",
        "half_pixel" | "output_half_pixel" => "0.0",
        other => {
            return refuse_at("coordinate_transformation_mode", format!("`{other}` is not known"));
        }
    };
    let (high, wide) = (node.int("output_height", 1), node.int("output_width", 1));
    let samples = node.int("sampling_ratio", 0);
    if high < 1 || wide < 1 || samples < 0 {
        return refuse("the extents of its windows are not positive");
    }
    let ty = x.elem.lang();
    cx.helper("corners", CORNERS.replace('T', ty));
    let scale = super::number(node.float("spatial_scale", 1.0), x.elem);
    let (xn, rn, bn) = (cx.name_of(&x), cx.name_of(&regions), cx.name_of(&items));
    let count = regions.shape[0].clone();
    let names = |list: &[&str]| list.iter().map(|it| (*it).to_owned()).collect::<Vec<String>>();
    // A region without a half pixel at its edge has at least one.
    let least = if shift == "0.0" { "1.0" } else { "-1e30" };
    let mut sides = Vec::new();
    for (first, out) in [(1, high), (0, wide)] {
        let plane = vec![count.clone()];
        let axis = names(&["region"]);
        let start = format!("{rn}[region, {first}] * {scale} - {shift}");
        let start = cx.temp("start", x.elem, plane.clone(), &axis, &[true], &start);
        let start = cx.name_of(&start);
        let bin = format!(
            "max({rn}[region, {}] * {scale} - {shift} - {start}[region], {least}) / {out}.0",
            first + 2
        );
        let bin = cx.temp("bin", x.elem, plane.clone(), &axis, &[true], &bin);
        let bin = cx.name_of(&bin);
        let taken = match samples {
            0 => {
                let taken = format!("max(ceil({bin}[region]) as i32, 0)");
                let taken = cx.temp("taken", crate::elem::Elem::I32, plane, &axis, &[true], &taken);
                format!("{}[region]", cx.name_of(&taken))
            }
            n => n.to_string(),
        };
        sides.push((start, bin, taken));
    }
    let place = |(start, bin, taken): &(String, String, String), out: &str, step: &str| {
        format!(
            "{start}[region] + {bin}[region] * ({out} as {ty} + ({step} as {ty} + 0.5) / ({taken} as {ty}))"
        )
    };
    let (row, col) = (place(&sides[0], "row", "u"), place(&sides[1], "col", "v"));
    let over = format!("u in 0..{}, v in 0..{}", sides[0].2, sides[1].2);
    let corners = format!("corners({xn}[{bn}[region], channel], {row}, {col})");
    let body = match mode.as_str() {
        "avg" => format!(
            "sum[{over}](sum[corner]({corners}[corner])) / (max({} * {}, 1) as {ty})",
            sides[0].2, sides[1].2
        ),
        _ => format!("max[{over}](max[corner]({corners}[corner]))"),
    };
    let shape = vec![count, x.shape[1].clone(), Dim::from(high), Dim::from(wide)];
    let axes = names(&["region", "channel", "row", "col"]);
    let covered = [true, true, false, false];
    cx.define(node.out(0), x.elem, shape, &axes, &covered, &body);
    Ok(())
}
