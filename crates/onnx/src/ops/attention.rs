//! Attention and the layers around it.

use super::number;
use crate::cx::Cx;
use crate::dims::Dim;
use crate::elem::Elem;
use crate::node::{Done, Node, refuse, refuse_at};
use crate::value::Value;

/// Writes a node of this family.
pub fn write(cx: &mut Cx<'_>, node: &Node<'_>) -> Option<Done> {
    Some(match node.op {
        "Attention" => attention(cx, node),
        "RotaryEmbedding" => rotary(cx, node),
        "LinearAttention" => linear(cx, node),
        "CausalConvWithState" => causal_conv(cx, node),
        _ => return None,
    })
}

fn names(list: &[&str]) -> Vec<String> {
    list.iter().map(|it| (*it).to_owned()).collect()
}

/// An operand as batch, head, position and feature, whatever its form.
fn heads(cx: &mut Cx<'_>, x: &Value, heads: i64, hint: &str) -> Done<Value> {
    match x.rank() {
        4 => Ok(x.clone()),
        3 if heads > 0 => {
            let size = x.shape[2].over(&Dim::from(heads));
            let name = cx.name_of(x);
            let shape =
                vec![x.shape[0].clone(), Dim::from(heads), x.shape[1].clone(), size.clone()];
            let axes = names(&["batch", "head", "place", "feature"]);
            let body = format!("{name}[batch, place, head * {} + feature]", size.factor_text());
            Ok(cx.temp(hint, x.elem, shape, &axes, &[true, false, true, false], &body))
        }
        _ => refuse("its inputs have neither four axes nor three and a number of heads"),
    }
}

fn attention(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let (q, k, v) = (node.input(0)?, node.input(1)?, node.input(2)?);
    let elem = q.elem;
    let flat = q.rank() == 3;
    let (q_heads, kv_heads) = (node.int("q_num_heads", 0), node.int("kv_num_heads", 0));
    let q = heads(cx, &q, q_heads, "queries")?;
    let mut k = heads(cx, &k, kv_heads, "keys")?;
    let mut v = heads(cx, &v, kv_heads, "contents")?;
    let mut past = Dim::from(0);
    for (slot, input, output) in [(&mut k, 4, 1), (&mut v, 5, 2)] {
        if let Some(old) = node.optional(input) {
            if old.rank() != 4 {
                return refuse("its past does not have four axes");
            }
            past = old.shape[2].clone();
            let mut shape = slot.shape.clone();
            shape[2] = shape[2].plus(&old.shape[2]);
            let out = if node.has_out(output) {
                node.out(output).to_owned()
            } else {
                format!("present{output}")
            };
            super::shape::join(cx, &out, &[old, slot.clone()], 2, shape);
            if let Some(Some(joined)) = cx.values.get(&out) {
                *slot = joined.clone();
            }
        } else if node.has_out(output) {
            cx.set(node.out(output), slot.clone());
        }
    }
    let head_size = q.shape[3].clone();
    let scale = match node.attribute("scale") {
        Some(scale) => f64::from(scale.f).sqrt(),
        None => match head_size.known() {
            Some(size) => (1.0 / (size as f64).sqrt()).sqrt(),
            None => return refuse("the size of its heads is not known"),
        },
    };
    let scale = number(scale, elem);
    let group = match (q.shape[1].known(), k.shape[1].known()) {
        (Some(a), Some(b)) if b > 0 && a % b == 0 => a / b,
        _ => return refuse("its numbers of heads do not fit"),
    };
    let kv_head = if group == 1 { "head".to_owned() } else { format!("head / {group}") };
    let (qn, kn, vn) = (cx.name_of(&q), cx.name_of(&k), cx.name_of(&v));
    let axes = names(&["batch", "head", "query", "key"]);
    let shape =
        vec![q.shape[0].clone(), q.shape[1].clone(), q.shape[2].clone(), k.shape[2].clone()];
    let whole = vec![true; 4];
    let body = format!(
        "sum[feature](({qn}[batch, head, query, feature] * {scale}) * ({kn}[batch, {kv_head}, key, feature] * {scale}))"
    );
    let mut covered = whole.clone();
    covered[3] = true;
    let mut score = cx.temp("score", elem, shape.clone(), &axes, &covered, &body);
    let cap = node.float("softcap", 0.0);
    if cap != 0.0 {
        let cap = number(cap, elem);
        let at = cx.read(&score, &axes);
        score = cx.temp(
            "capped",
            elem,
            shape.clone(),
            &axes,
            &whole,
            &format!("{cap} * tanh({at} / {cap})"),
        );
    }
    // Where a query may look, and what is added there.
    let mut allowed = Vec::new();
    let mut bias = String::new();
    let nonpad = node.optional(6);
    let nonpad_at =
        nonpad.as_ref().map(|it| format!("({} as i32)", cx.read(it, &names(&["batch"]))));
    let place = match (&nonpad_at, past.is(0)) {
        (_, false) => format!("query + {past}"),
        (Some(length), true) => format!("query + {length} - {}", q.shape[2].factor_text()),
        (None, true) => "query".to_owned(),
    };
    if node.int("is_causal", 0) != 0 {
        allowed.push(format!("key <= {place}"));
    }
    let (left, right) = (node.int("left_window_size", -1), node.int("right_window_size", -1));
    if left >= 0 {
        allowed.push(format!("key >= {place} - {left}"));
    }
    if right >= 0 {
        allowed.push(format!("key <= {place} + {right}"));
    }
    if let Some(length) = &nonpad_at {
        allowed.push(format!("key < {length}"));
    }
    if let Some(mask) = node.optional(3) {
        let lead = 4usize.saturating_sub(mask.rank());
        if mask.rank() > 4 {
            return refuse_at("attn_mask", "has more than four axes");
        }
        let at: Vec<String> = mask
            .shape
            .iter()
            .enumerate()
            .map(|(i, dim)| {
                if dim.is(1) && !shape[lead + i].is(1) {
                    "0".into()
                } else {
                    axes[lead + i].clone()
                }
            })
            .collect();
        if let Some(last) = mask.shape.last()
            && *last != shape[3]
            && !last.is(1)
        {
            // A mask that ends early ends the keys, too.
            let mut at = at.clone();
            at[mask.rank() - 1] = format!("min(key, {})", last.plus_int(-1));
            allowed.push(format!("key < {last}"));
            let text = cx.read(&mask, &at);
            if mask.elem == Elem::Bool { allowed.push(text) } else { bias = format!(" + {text}") }
        } else {
            let text = cx.read(&mask, &at);
            if mask.elem == Elem::Bool { allowed.push(text) } else { bias = format!(" + {text}") }
        }
    }
    let at = cx.read(&score, &axes);
    let mut biased = score.clone();
    if !allowed.is_empty() || !bias.is_empty() {
        let sum = format!("{at}{bias}");
        let body = if allowed.is_empty() {
            sum
        } else {
            format!("if {} {{ {sum} }} else {{ -1.0 / 0.0 }}", allowed.join(" && "))
        };
        biased = cx.temp("masked", elem, shape.clone(), &axes, &whole, &body);
    }
    let precision = node
        .attribute("softmax_precision")
        .and_then(|it| Elem::of(i32::try_from(it.i).ok()?))
        .unwrap_or(elem);
    let ty = precision.lang();
    let at = cx.read(&biased, &axes);
    let at = if precision == elem { at } else { format!("({at} as {ty})") };
    let rows = names(&["batch", "head", "query"]);
    let row_shape = shape[..3].to_vec();
    let top = cx.temp(
        "top",
        precision,
        row_shape.clone(),
        &rows,
        &whole[..3],
        &format!("max[key]({at})"),
    );
    let top = cx.read(&top, &rows);
    // A query that may look nowhere gives zeros.
    let power = cx.temp(
        "power",
        precision,
        shape.clone(),
        &axes,
        &whole,
        &format!("if {top} == -1.0 / 0.0 {{ 0.0 }} else {{ exp({at} - {top}) }}"),
    );
    let power = cx.read(&power, &axes);
    let total =
        cx.temp("total", precision, row_shape, &rows, &whole[..3], &format!("sum[key]({power})"));
    let total = cx.read(&total, &rows);
    let body = format!("if {total} == 0.0 {{ 0.0 }} else {{ {power} / {total} }}");
    let body = if precision == elem { body } else { format!("({body}) as {}", elem.lang()) };
    let weight = cx.temp("attention_weight", elem, shape.clone(), &axes, &whole, &body);
    if node.has_out(3) {
        let value = match node.int("qk_matmul_output_mode", 0) {
            2 => biased,
            3 => weight.clone(),
            _ => score,
        };
        cx.set(node.out(3), value);
    }
    let weight = cx.name_of(&weight);
    let size = v.shape[3].clone();
    if flat {
        let wide = size.times(&q.shape[1]);
        let (head, feature) =
            (format!("place / {}", size.factor_text()), format!("place % {}", size.factor_text()));
        let kv = if group == 1 { head.clone() } else { format!("{head} / {group}") };
        let body = format!(
            "sum[key]({weight}[batch, {head}, query, key] * {vn}[batch, {kv}, key, {feature}])"
        );
        let out_shape = vec![q.shape[0].clone(), q.shape[2].clone(), wide];
        cx.define(
            node.out(0),
            elem,
            out_shape,
            &names(&["batch", "query", "place"]),
            &[true, true],
            &body,
        );
    } else {
        let body = format!(
            "sum[key]({weight}[batch, head, query, key] * {vn}[batch, {kv_head}, key, feature])"
        );
        let out_shape = vec![q.shape[0].clone(), q.shape[1].clone(), q.shape[2].clone(), size];
        cx.define(
            node.out(0),
            elem,
            out_shape,
            &names(&["batch", "head", "query", "feature"]),
            &whole,
            &body,
        );
    }
    Ok(())
}

fn rotary(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let (x, cos, sin) = (node.input(0)?, node.input(1)?, node.input(2)?);
    let places = node.optional(3);
    let flat = x.rank() == 3;
    let elem = x.elem;
    let number_of_heads = node.int("num_heads", 0);
    let x = heads(cx, &x, number_of_heads, "heads")?;
    let Some(size) = x.shape[3].known() else {
        return refuse("the size of its heads is not known");
    };
    let turned = match node.int("rotary_embedding_dim", 0) {
        0 => size,
        n => n,
    };
    let half = turned / 2;
    let interleaved = node.int("interleaved", 0) != 0;
    let (xn, cn, sn) = (cx.name_of(&x), cx.name_of(&cos), cx.name_of(&sin));
    let at = |name: &str, which: &str| match &places {
        Some(_) => format!("{name}[PLACE, {which}]"),
        None => format!("{name}[batch, query, {which}]"),
    };
    let place = match &places {
        Some(places) => cx.read(places, &names(&["batch", "query"])),
        None => String::new(),
    };
    let (which, partner) = if interleaved {
        (
            "feature / 2".to_owned(),
            "if feature % 2 == 0 { feature + 1 } else { feature - 1 }".to_owned(),
        )
    } else {
        (
            format!("feature % {half}"),
            format!("if feature < {half} {{ feature + {half} }} else {{ feature - {half} }}"),
        )
    };
    let first =
        if interleaved { "feature % 2 == 0".to_owned() } else { format!("feature < {half}") };
    let own = format!("{xn}[batch, head, query, feature]");
    let other = format!("{xn}[batch, head, query, {partner}]");
    let (c, s) =
        (at(&cn, &which).replace("PLACE", &place), at(&sn, &which).replace("PLACE", &place));
    let body = format!(
        "if {first} {{ {c} * {own} - {s} * {other} }} else {{ {c} * {own} + {s} * {other} }}"
    );
    let body = if turned < size {
        format!("if feature < {turned} {{ {body} }} else {{ {own} }}")
    } else {
        body
    };
    let axes = names(&["batch", "head", "query", "feature"]);
    let out = if flat { "" } else { node.out(0) };
    let value = cx.define(out, elem, x.shape.clone(), &axes, &[], &body);
    if flat {
        let name = cx.name_of(&value);
        let wide = x.shape[3].times(&x.shape[1]);
        let shape = vec![x.shape[0].clone(), x.shape[2].clone(), wide];
        let body = format!("{name}[batch, place / {size}, query, place % {size}]");
        cx.define(
            node.out(0),
            elem,
            shape,
            &names(&["batch", "query", "place"]),
            &[true, true],
            &body,
        );
    }
    Ok(())
}

fn causal_conv(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let (x, w) = (node.input(0)?, node.input(1)?);
    let (bias, state) = (node.optional(2), node.optional(3));
    if x.rank() != 3 || w.rank() != 3 {
        return refuse("its inputs do not have three axes");
    }
    let elem = x.elem;
    let Some(size) = w.shape[2].known() else {
        return refuse("the size of its kernel is not known");
    };
    let before = Dim::from(size - 1);
    let (xn, wn) = (cx.name_of(&x), cx.name_of(&w));
    let axes = names(&["batch", "channel", "time"]);
    let long = vec![x.shape[0].clone(), x.shape[1].clone(), x.shape[2].plus(&before)];
    let old = match &state {
        Some(state) => format!("{}[batch, channel, time]", cx.name_of(state)),
        None => "0.0".into(),
    };
    let body =
        format!("if time < {before} {{ {old} }} else {{ {xn}[batch, channel, time - {before}] }}");
    let all = cx.temp("history", elem, long, &axes, &[true, true], &body);
    let all = cx.name_of(&all);
    let mut body = format!("sum[k]({all}[batch, channel, time + k] * {wn}[channel, 0, k])");
    if let Some(bias) = &bias {
        body = format!("{body} + {}", cx.read(bias, &names(&["channel"])));
    }
    let activation = node.string("activation", "none");
    let out = if activation == "none" { node.out(0) } else { "" };
    let shape = x.shape.clone();
    let value = cx.define(out, elem, shape.clone(), &axes, &[true, true], &body);
    if activation == "silu" || activation == "swish" {
        let at = cx.read(&value, &axes);
        cx.define(
            node.out(0),
            elem,
            shape,
            &axes,
            &[true; 3],
            &format!("{at} / (1.0 + exp(-{at}))"),
        );
    } else if activation != "none" {
        return refuse_at("activation", format!("`{activation}` is not known"));
    }
    if node.has_out(1) {
        let tail = vec![x.shape[0].clone(), x.shape[1].clone(), before.clone()];
        cx.define(
            node.out(1),
            elem,
            tail,
            &axes,
            &[true, true],
            &format!("{all}[batch, channel, time + {}]", x.shape[2].factor_text()),
        );
    }
    Ok(())
}

fn linear(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let (q, k, v) = (node.input(0)?, node.input(1)?, node.input(2)?);
    let (past, decay, beta) = (node.optional(3), node.optional(4), node.optional(5));
    let (q_heads, kv_heads) = (node.int("q_num_heads", 0), node.int("kv_num_heads", 0));
    if q.rank() != 3
        || k.rank() != 3
        || v.rank() != 3
        || q_heads < 1
        || kv_heads < 1
        || q_heads % kv_heads != 0
    {
        return refuse("its inputs do not have three axes and a number of heads");
    }
    let elem = q.elem;
    let steps = q.shape[1].clone();
    let (Some(dk), Some(dv)) = (
        q.shape[2].over(&Dim::from(q_heads)).known(),
        v.shape[2].over(&Dim::from(kv_heads)).known(),
    ) else {
        return refuse("the size of its heads is not known");
    };
    let scale = match node.float("scale", 0.0) {
        0.0 => 1.0 / (dk as f64).sqrt(),
        given => given,
    };
    let (qn, kn, vn) = (cx.name_of(&q), cx.name_of(&k), cx.name_of(&v));
    let wide = |text: String| if elem == Elem::F32 { text } else { format!("({text} as f32)") };
    let axes = names(&["time", "batch", "head", "row"]);
    let batch = q.shape[0].clone();
    let key_shape = vec![steps.clone(), batch.clone(), Dim::from(kv_heads), Dim::from(dk)];
    let content_shape = vec![steps.clone(), batch.clone(), Dim::from(kv_heads), Dim::from(dv)];
    let keys = cx.temp(
        "keys",
        Elem::F32,
        key_shape.clone(),
        &axes,
        &[],
        &wide(format!("{kn}[batch, time, head * {dk} + row]")),
    );
    let contents = cx.temp(
        "contents",
        Elem::F32,
        content_shape,
        &axes,
        &[],
        &wide(format!("{vn}[batch, time, head * {dv} + row]")),
    );
    let keep = match &decay {
        None => "1.0".to_owned(),
        Some(decay) => {
            let name = cx.name_of(decay);
            let text = if decay.shape[2].is(kv_heads) {
                format!("{name}[batch, time, head]")
            } else {
                format!("{name}[batch, time, head * {dk} + row]")
            };
            format!(
                "exp({})",
                if decay.elem == Elem::F32 { text } else { format!("({text} as f32)") }
            )
        }
    };
    let rule = node.string("update_rule", "gated_delta");
    let keep = cx.temp("keep", Elem::F32, key_shape, &axes, &[], &keep);
    let strength = match &beta {
        None => "1.0".to_owned(),
        Some(beta) => {
            let name = cx.name_of(beta);
            let text = if beta.shape[2].is(1) {
                format!("{name}[batch, time, 0]")
            } else {
                format!("{name}[batch, time, head]")
            };
            if beta.elem == Elem::F32 { text } else { format!("({text} as f32)") }
        }
    };
    let strength = cx.temp(
        "strength",
        Elem::F32,
        vec![steps.clone(), batch.clone(), Dim::from(kv_heads)],
        &names(&["time", "batch", "head"]),
        &[],
        &strength,
    );
    let delta = rule.ends_with("delta");
    let correction = if delta { " - sum[d](old[b, h, d, m] * k[b, h, d])" } else { "" };
    cx.helper(if delta { "delta_step" } else { "linear_step" }, format!(
        "/// One step of the layer: what is kept of the memory, and what is written into it.\n\
         fn {}(state: [f32; ?b, ?h, ?d, ?m], k: [f32; ?b, ?h, ?d], v: [f32; ?b, ?h, ?m], keep: [f32; ?b, ?h, ?d], strength: [f32; ?b, ?h]) -> [f32; ?b, ?h, ?d, ?m] {{\n\
         let old[b, h, d, m] = state[b, h, d, m] * keep[b, h, d];\n\
         let new[b, h, m] = strength[b, h] * (v[b, h, m]{correction});\n\
         let next[b, h, d, m] = old[b, h, d, m] + k[b, h, d] * new[b, h, m];\n\
         next\n}}\n",
        if delta { "delta_step" } else { "linear_step" }
    ));
    let start = match &past {
        None => "0.0".to_owned(),
        Some(past) => {
            let name = cx.name_of(past);
            let text = format!("{name}[batch, head, row, col]");
            if past.elem == Elem::F32 { text } else { format!("({text} as f32)") }
        }
    };
    let cube = vec![batch.clone(), Dim::from(kv_heads), Dim::from(dk), Dim::from(dv)];
    let start = cx.temp(
        "start",
        Elem::F32,
        cube.clone(),
        &names(&["batch", "head", "row", "col"]),
        &[],
        &start,
    );
    let start = cx.name_of(&start);
    let memory = cx.names.fresh("memory");
    let parts: Vec<String> = [&keys, &contents, &keep, &strength]
        .iter()
        .map(|it| format!("{}[time - 1]", cx.name_of(it)))
        .collect();
    let step = if delta { "delta_step" } else { "linear_step" };
    cx.line(&[&memory], format!(
        "let {memory}[0] = {start};\nlet {memory}[time in 1..{}] = {step}({memory}[time - 1], {});",
        steps.plus_int(1), parts.join(", ")
    ));
    let group = q_heads / kv_heads;
    let head = if group == 1 { format!("place / {dv}") } else { format!("place / {dv} / {group}") };
    let read = wide(format!("{qn}[batch, time, place / {dv} * {dk} + k]"));
    let sum = format!(
        "{} * sum[k in 0..{dk}]({read} * {memory}[time + 1, batch, {head}, k, place % {dv}])",
        number(scale, Elem::F32)
    );
    let body = if elem == Elem::F32 { sum } else { format!("({sum}) as {}", elem.lang()) };
    let shape = vec![batch, steps.clone(), Dim::from(q_heads * dv)];
    cx.define(node.out(0), elem, shape, &names(&["batch", "time", "place"]), &[], &body);
    if node.has_out(1) {
        let to = past.map_or(elem, |it| it.elem);
        let text = format!("{memory}[{steps}, batch, head, row, col]");
        let body = if to == Elem::F32 { text } else { format!("{text} as {}", to.lang()) };
        cx.define(node.out(1), to, cube, &names(&["batch", "head", "row", "col"]), &[], &body);
    }
    Ok(())
}
