//! Convolutions.

use super::{scaled, shifted};
use crate::cx::Cx;
use crate::dims::Dim;
use crate::elem::Elem;
use crate::node::{Done, Node, refuse, refuse_at};
use crate::value::Value;

/// Writes a node of this family.
pub fn write(cx: &mut Cx<'_>, node: &Node<'_>) -> Option<Done> {
    Some(match node.op {
        "Conv" => conv(cx, node),
        "ConvTranspose" => transposed(cx, node),
        _ => return None,
    })
}

/// How a window moves over the spatial axes.
#[derive(Clone, Debug)]
pub struct Window {
    /// Its extents.
    pub kernel: Vec<i64>,
    /// The distance between neighbours.
    pub strides: Vec<i64>,
    /// The distance between points of the window.
    pub dilations: Vec<i64>,
    /// Points added before each axis.
    pub before: Vec<Dim>,
    /// The extents of the result.
    pub out: Vec<Dim>,
    /// Whether a window may reach beyond the array along an axis.
    pub beyond: Vec<bool>,
    /// The points added behind each axis.
    pub after: Vec<Dim>,
}

/// The names of the spatial axes.
pub fn spatial(count: usize) -> Vec<String> {
    match count {
        1 => vec!["col".into()],
        2 => vec!["row".into(), "col".into()],
        3 => vec!["depth".into(), "row".into(), "col".into()],
        n => (0..n).map(|i| format!("axis{i}")).collect(),
    }
}

/// The names of the axes of a window.
pub fn inner(count: usize) -> Vec<String> {
    match count {
        1 => vec!["j".into()],
        2 => vec!["i".into(), "j".into()],
        3 => vec!["h".into(), "i".into(), "j".into()],
        n => (0..n).map(|i| format!("step{i}")).collect(),
    }
}

/// Reads the attributes of a window over axes of these extents.
pub fn window(node: &Node<'_>, extents: &[Dim], kernel: Vec<i64>) -> Done<Window> {
    let n = extents.len();
    let list = |name: &str| -> Done<Vec<i64>> {
        let list = node.ints(name).filter(|it| !it.is_empty()).unwrap_or_else(|| vec![1; n]);
        if list.len() != n || list.iter().any(|it| !(1..=1 << 30).contains(it)) {
            return refuse_at(name, "does not say a positive number for each axis");
        }
        Ok(list)
    };
    let (strides, dilations) = (list("strides")?, list("dilations")?);
    if kernel.len() != n || kernel.iter().any(|it| !(1..=1 << 30).contains(it)) {
        return refuse_at("kernel_shape", "does not say a positive number for each axis");
    }
    let pads = node.ints("pads").filter(|it| !it.is_empty()).unwrap_or_else(|| vec![0; 2 * n]);
    if pads.len() != 2 * n || pads.iter().any(|it| !(-(1 << 30)..=1 << 30).contains(it)) {
        return refuse_at("pads", "does not say two numbers for each axis");
    }
    let auto = node.string("auto_pad", "NOTSET");
    let ceil = node.int("ceil_mode", 0) != 0;
    let mut result = Window {
        kernel: kernel.clone(),
        strides: strides.clone(),
        dilations: dilations.clone(),
        before: Vec::new(),
        out: Vec::new(),
        beyond: Vec::new(),
        after: Vec::new(),
    };
    for i in 0..n {
        let reach = (kernel[i] - 1) * dilations[i] + 1;
        let (stride, extent) = (Dim::from(strides[i]), &extents[i]);
        let (before, after, out) = match auto.as_str() {
            "SAME_UPPER" | "SAME_LOWER" => {
                let out = extent.plus_int(strides[i] - 1).over(&stride);
                let total = out.plus_int(-1).times(&stride).plus_int(reach).minus(extent);
                let total = total.larger(&Dim::from(0));
                let half = total.over(&Dim::from(2));
                let rest = total.minus(&half);
                if auto == "SAME_UPPER" { (half, rest, out) } else { (rest, half, out) }
            }
            "VALID" | "NOTSET" | "" => {
                let (before, after) = if auto == "VALID" { (0, 0) } else { (pads[i], pads[n + i]) };
                let span = extent.plus_int(before + after - reach);
                let mut out = if ceil {
                    span.plus_int(strides[i] - 1).over(&stride).plus_int(1)
                } else {
                    span.over(&stride).plus_int(1)
                };
                // A last window that lies in the padding behind alone is left out.
                if ceil
                    && let (Some(count), Some(size)) = (out.known(), extent.known())
                    && (count - 1) * strides[i] >= size + before
                {
                    out = Dim::from(count - 1);
                }
                (Dim::from(before), Dim::from(after), out)
            }
            _ => return refuse_at("auto_pad", format!("`{auto}` is not known")),
        };
        if out.known().is_some_and(|n| n < 0) {
            return refuse("the window is larger than what it moves over");
        }
        let end = out.plus_int(-1).times(&stride).plus_int(reach).minus(&before);
        let inside = before.known() == Some(0)
            && end.minus(extent).known().map_or(strides[i] == 1 || !ceil, |n| n <= 0)
            && (after.known() == Some(0) || end.minus(extent).known().is_some_and(|n| n <= 0));
        result.before.push(before);
        result.after.push(after);
        result.out.push(out);
        result.beyond.push(!inside);
    }
    Ok(result)
}

impl Window {
    /// The place that a point of the window is at along an axis.
    pub fn place(&self, i: usize, out: &str, step: &str) -> String {
        let mut text = scaled(self.strides[i], out);
        if self.kernel[i] > 1 {
            text = format!("{text} + {}", scaled(self.dilations[i], step));
        }
        match self.before[i].known() {
            Some(0) => text,
            Some(n) => shifted(&text, &Dim::from(-n)),
            None => format!("{text} - ({})", self.before[i]),
        }
    }

    /// The places, and the conditions under which they are inside.
    pub fn places(
        &self,
        outs: &[String],
        steps: &[String],
        extents: &[Dim],
    ) -> (Vec<String>, Vec<String>) {
        let mut guards = Vec::new();
        let mut places = Vec::new();
        for i in 0..outs.len() {
            let place = self.place(i, &outs[i], &steps[i]);
            if self.beyond[i] {
                guards.push(format!("{place} in 0..{}", extents[i]));
            }
            places.push(place);
        }
        (places, guards)
    }

    /// The indices of a reduction over the window; those of extent one are left out.
    pub fn steps(&self, steps: &[String]) -> Vec<String> {
        steps
            .iter()
            .zip(&self.kernel)
            .filter(|(_, k)| **k > 1)
            .map(|(s, k)| format!("{s} in 0..{k}"))
            .collect()
    }
}

fn conv(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let (x, w) = (node.input(0)?, node.input(1)?);
    let bias = node.optional(2);
    let elem = x.elem;
    convolve(cx, node, node.out(0), &x, &w, elem, bias.as_ref(), |x, w| format!("{x} * {w}"))
        .map(drop)
}

/// A convolution; `term` says what is summed.
#[allow(clippy::too_many_arguments, reason = "the operands of a convolution")]
pub fn convolve(
    cx: &mut Cx<'_>,
    node: &Node<'_>,
    out: &str,
    x: &Value,
    w: &Value,
    elem: Elem,
    bias: Option<&Value>,
    term: impl FnOnce(&str, &str) -> String,
) -> Done<Value> {
    let n = x.rank().saturating_sub(2);
    if n == 0 || w.rank() != x.rank() {
        return refuse("its operands do not have a batch, channels and the same spatial axes");
    }
    let Some(kernel) = crate::dims::known(&w.shape[2..]) else {
        return refuse_at("W", "has an extent that is not known");
    };
    let way = window(node, &x.shape[2..], kernel)?;
    let groups = node.int("group", 1);
    let (outer, within) = (w.shape[0].clone(), w.shape[1].clone());
    if groups < 1 || outer.known().is_some_and(|m| m % groups != 0) {
        return refuse_at("group", "does not divide the channels");
    }
    if let (Some(all), Some(own)) = (x.shape[1].known(), within.known())
        && all != own.saturating_mul(groups)
    {
        return refuse("the channels of its operands do not agree");
    }
    let (outs, steps) = (spatial(n), inner(n));
    // Zeros around the array once, and not a question at every term of the sum.
    let (framed, way) = match way.beyond.contains(&true) && x.elem.is_float() {
        true => framed(cx, x, way),
        false => (x.clone(), way),
    };
    let x = &framed;
    let (places, guards) = way.places(&outs, &steps, &x.shape[2..]);
    let one = within.is(1);
    let per = outer.over(&Dim::from(groups));
    let k = if one { "0" } else { "k" };
    // A group is an axis of its own: its convolution is a product like any other.
    let grouped = groups > 1 && !per.is(1) && !one;
    let (channel, own) = if groups == 1 {
        (k.to_owned(), "channel".to_owned())
    } else if grouped {
        let own = format!("group * {} + channel", per.factor_text());
        (format!("group * {} + k", within.factor_text()), own)
    } else {
        let group = if per.is(1) {
            "channel".to_owned()
        } else {
            format!("channel / {}", per.factor_text())
        };
        let channel = if one { group } else { format!("{group} * {} + k", within.factor_text()) };
        (channel, "channel".to_owned())
    };
    let mut over = Vec::new();
    if !one {
        over.push("k".to_owned());
    }
    // Ranges that a read of the kernel says need not be written.
    over.extend(steps.iter().zip(&way.kernel).filter(|(_, k)| **k > 1).map(|(s, _)| s.clone()));
    let at_w: Vec<String> = [own.clone(), k.to_owned()]
        .into_iter()
        .chain(
            steps.iter().zip(&way.kernel).map(|(s, k)| if *k > 1 { s.clone() } else { "0".into() }),
        )
        .collect();
    let (x_name, w_name) = (cx.name_of(x), cx.name_of(w));
    let read_x = format!("{x_name}[batch, {channel}, {}]", places.join(", "));
    let read_w = format!("{w_name}[{}]", at_w.join(", "));
    let guard =
        if guards.is_empty() { String::new() } else { format!(" where {}", guards.join(" && ")) };
    let product = term(&read_x, &read_w);
    let sum = if over.is_empty() {
        if guards.is_empty() { product } else { format!("sum[one in 0..1]({product}{guard})") }
    } else {
        format!("sum[{}]({product}{guard})", over.join(", "))
    };
    let body = match bias {
        Some(bias) => format!("{sum} + {}", cx.read(bias, &[own])),
        None => sum,
    };
    let names = if grouped { &["batch", "group", "channel"][..] } else { &["batch", "channel"] };
    let axes: Vec<String> = names.iter().map(|name| (*name).to_owned()).chain(outs).collect();
    let shape: Vec<Dim> = [x.shape[0].clone(), outer].into_iter().chain(way.out.clone()).collect();
    if !grouped {
        return Ok(cx.define(out, elem, shape, &axes, &[true, true], &body));
    }
    let mut parted = shape.clone();
    parted.splice(1..2, [Dim::from(groups), per]);
    let parts = cx.temp("groups", elem, parted, &axes, &[true], &body);
    Ok(super::shape::reshape_to(cx, out, &parts, shape))
}

/// An array with the zeros that a window reaches around it, and the window, which then stays inside.
fn framed(cx: &mut Cx<'_>, x: &Value, mut way: Window) -> (Value, Window) {
    let axes: Vec<String> = ["batch".to_owned(), "channel".to_owned()]
        .into_iter()
        .chain(spatial(way.out.len()))
        .collect();
    let (mut shape, mut places) = (x.shape.clone(), axes.clone());
    let (mut covered, mut guards) = (vec![true; axes.len()], Vec::new());
    for i in (0..way.out.len()).filter(|i| way.beyond[*i]) {
        let (reach, stride) = ((way.kernel[i] - 1) * way.dilations[i] + 1, way.strides[i]);
        shape[2 + i] = way.out[i].plus_int(-1).times(&Dim::from(stride)).plus_int(reach);
        let place = match way.before[i].known() {
            Some(0) => axes[2 + i].clone(),
            Some(n) => shifted(&axes[2 + i], &Dim::from(-n)),
            None => format!("{} - ({})", axes[2 + i], way.before[i]),
        };
        guards.push(format!("{place} in 0..{}", x.shape[2 + i]));
        (places[2 + i], covered[2 + i]) = (place, false);
    }
    for i in 0..way.out.len() {
        if way.beyond[i] {
            (way.before[i], way.after[i], way.beyond[i]) = (Dim::from(0), Dim::from(0), false);
        }
    }
    let read = cx.read(x, &places);
    let body = format!("if {} {{ {read} }} else {{ 0.0 }}", guards.join(" && "));
    (cx.temp("framed", x.elem, shape, &axes, &covered, &body), way)
}

fn transposed(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let (x, w) = (node.input(0)?, node.input(1)?);
    let n = x.rank().saturating_sub(2);
    if n == 0 || w.rank() != x.rank() {
        return refuse("its operands do not have a batch, channels and the same spatial axes");
    }
    let Some(kernel) = crate::dims::known(&w.shape[2..]) else {
        return refuse_at("W", "has an extent that is not known");
    };
    let list = |name: &str, default: i64, count: usize| -> Done<Vec<i64>> {
        let list =
            node.ints(name).filter(|it| !it.is_empty()).unwrap_or_else(|| vec![default; count]);
        if list.len() != count || list.iter().any(|it| !(-(1 << 30)..=1 << 30).contains(it)) {
            return refuse_at(name, "does not say a number for each axis");
        }
        Ok(list)
    };
    let (strides, dilations) = (list("strides", 1, n)?, list("dilations", 1, n)?);
    if strides.iter().chain(&dilations).any(|it| *it < 1) {
        return refuse_at("strides", "is not positive");
    }
    let (extra, pads) = (list("output_padding", 0, n)?, list("pads", 0, 2 * n)?);
    let groups = node.int("group", 1).max(1);
    let auto = node.string("auto_pad", "NOTSET");
    let wanted = node.ints("output_shape").filter(|it| it.len() >= n);
    let mut ways = Vec::new();
    for i in 0..n {
        let extent = x.shape[2 + i].clone();
        let reach = (kernel[i] - 1) * dilations[i] + 1;
        let full = extent.plus_int(-1).times(&Dim::from(strides[i])).plus_int(extra[i] + reach);
        let (before, out) = if let Some(wanted) = &wanted {
            let out = Dim::from(wanted[wanted.len() - n + i]);
            let total = full.minus(&out).larger(&Dim::from(0));
            let half = total.over(&Dim::from(2));
            (if auto == "SAME_UPPER" { half } else { total.minus(&half) }, out)
        } else if auto == "SAME_UPPER" || auto == "SAME_LOWER" {
            let out = extent.times(&Dim::from(strides[i]));
            let total = full.minus(&out).larger(&Dim::from(0));
            let half = total.over(&Dim::from(2));
            (if auto == "SAME_UPPER" { half } else { total.minus(&half) }, out)
        } else {
            (Dim::from(pads[i]), full.plus_int(-pads[i] - pads[n + i]))
        };
        let (stride, dilation) = (strides[i], dilations[i]);
        ways.push(Spread { kernel: kernel[i], stride, dilation, before, extent, out });
    }
    spread(cx, node, &x, &w, groups, &ways);
    Ok(())
}

/// How the points of an axis spread over that of the result.
struct Spread {
    kernel: i64,
    stride: i64,
    dilation: i64,
    /// The points that are cut off before.
    before: Dim,
    /// The extent of the operand and of the result.
    extent: Dim,
    out: Dim,
}

impl Spread {
    /// What reaches a point of the result: a step of the sum if there are several, the points of the
    /// kernel and of the operand, and the conditions under which they are there.
    fn source(&self, out: &str, step: &str) -> (Option<String>, String, String, Vec<String>) {
        let Spread { kernel, stride, dilation, extent, .. } = self;
        let from = shifted(out, &self.before);
        let whole = if self.before.is(0) { from.clone() } else { format!("({from})") };
        if *dilation == 1 && *stride > 1 && self.before.known().is_none_or(|n| n >= 0) {
            // Only every so many points of the kernel can have been there.
            let (rest, place) = (format!("{whole} % {stride}"), format!("{whole} / {stride}"));
            if kernel <= stride {
                let end = extent.times(&Dim::from(*stride)).minus(&self.before);
                let inside = self.out.minus(&end).known().is_some_and(|n| n <= 0);
                let mut guards = Vec::new();
                guards.extend((kernel < stride).then(|| format!("{rest} < {kernel}")));
                guards.extend((!inside).then(|| format!("{place} < {extent}")));
                return (None, rest, place, guards);
            }
            let (at, place) = (format!("{stride} * {step} + {rest}"), format!("{place} - {step}"));
            let guards = vec![format!("{at} < {kernel}"), format!("{place} in 0..{extent}")];
            let steps = (kernel + stride - 1) / stride;
            return (Some(format!("{step} in 0..{steps}")), at, place, guards);
        }
        let several = *kernel > 1;
        let at = if several { step.to_owned() } else { "0".to_owned() };
        let from = if several { format!("{from} - {}", scaled(*dilation, step)) } else { from };
        let over = several.then(|| format!("{step} in 0..{kernel}"));
        if *stride == 1 {
            return (over, at, from.clone(), vec![format!("{from} in 0..{extent}")]);
        }
        let place = format!("({from}) / {stride}");
        let guards = vec![
            format!("({from}) % {stride} == 0"),
            format!("{from} >= 0"),
            format!("{place} < {extent}"),
        ];
        (over, at, place, guards)
    }
}

/// A product of every point with the kernel, and the sum of what reaches each point of the result.
fn spread(cx: &mut Cx<'_>, node: &Node<'_>, x: &Value, w: &Value, groups: i64, ways: &[Spread]) {
    let (outs, steps) = (spatial(ways.len()), inner(ways.len()));
    let (per, within) = (w.shape[1].clone(), x.shape[1].over(&Dim::from(groups)));
    let grouped = groups > 1;
    let source = match grouped {
        true => format!("group * {} + k", within.factor_text()),
        false => "k".to_owned(),
    };
    let (x_name, w_name) = (cx.name_of(x), cx.name_of(w));
    let product = format!(
        "sum[k in 0..{within}]({x_name}[batch, {source}, {}] * {w_name}[{source}, channel, {}])",
        outs.join(", "),
        steps.join(", ")
    );
    let mut axes = vec!["batch".to_owned()];
    let mut shape = vec![x.shape[0].clone()];
    if grouped {
        axes.push("group".to_owned());
        shape.push(Dim::from(groups));
    }
    axes.push("channel".to_owned());
    shape.push(per.clone());
    let result: Vec<Dim> = [x.shape[0].clone(), per.times(&Dim::from(groups))]
        .into_iter()
        .chain(ways.iter().map(|way| way.out.clone()))
        .collect();
    axes.extend(steps.iter().cloned().chain(outs.iter().cloned()));
    shape.extend(ways.iter().map(|way| Dim::from(way.kernel)));
    shape.extend(ways.iter().map(|way| way.extent.clone()));
    let covered = vec![false; axes.len()];
    let all = cx.temp("spread", x.elem, shape, &axes, &covered, &product);
    let mut at = vec!["batch".to_owned()];
    match grouped {
        true => at.extend([
            format!("channel / {}", per.factor_text()),
            format!("channel % {}", per.factor_text()),
        ]),
        false => at.push("channel".to_owned()),
    }
    let (mut over, mut guards, mut places) = (Vec::new(), Vec::new(), Vec::new());
    for (way, (out, step)) in ways.iter().zip(outs.iter().zip(&steps)) {
        let (step, kernel, place, conditions) = way.source(out, step);
        over.extend(step);
        at.push(kernel);
        places.push(place);
        guards.extend(conditions);
    }
    at.extend(places);
    let (read, guards) = (cx.read(&all, &at), guards.join(" && "));
    let mut body = match over.is_empty() {
        true if guards.is_empty() => read,
        true => format!("(if {guards} {{ {read} }} else {{ 0.0 }})"),
        false => format!("sum[{}]({read} where {guards})", over.join(", ")),
    };
    if let Some(bias) = node.optional(2) {
        body = format!("{body} + {}", cx.read(&bias, &["channel".to_owned()]));
    }
    let axes: Vec<String> =
        ["batch".to_owned(), "channel".to_owned()].into_iter().chain(outs).collect();
    let covered = vec![false; axes.len()];
    cx.define(node.out(0), x.elem, result, &axes, &covered, &body);
}
