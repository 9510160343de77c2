//! How programs at the edges are written.

use super::{Array, Def, Edges, Red, X};
use ein_scalar::{BinaryOp as B, Scalar, ScalarType as S, UnaryOp as U};

impl Edges {
    /// The text.
    pub fn text(&self) -> String {
        let mut lines = vec!["use std::math::abs;".to_owned()];
        lines.push("struct Both<A, B> { a: A, b: B }".to_owned());
        lines.push("fn first(x, _y) { x }".to_owned());
        for (at, array) in self.given.iter().enumerate() {
            let cells: Vec<String> = array.cells.iter().map(|cell| literal(*cell)).collect();
            let ty = array.ty.name();
            lines.push(format!("let a{at}: [{ty}] = [{}];", cells.join(", ")));
        }
        let def = |at: usize, def: &Def| {
            format!(
                "let d{at}[i0 in 0..{}] = {};",
                def.extent,
                clause(&def.value, at.is_multiple_of(2))
            )
        };
        let defs = self.defs.iter().enumerate().map(|(at, it)| def(at, it));
        let Some(extent) = self.sized else {
            lines.extend(defs);
            return lines.join("\n");
        };
        let typed = |(at, array): (usize, &Array)| format!("a{at}: [{}; *]", array.ty.name());
        let parameters: Vec<String> = self.given.iter().enumerate().map(typed).collect();
        let names = |letter: &str, count: usize| -> String {
            (0..count).map(|at| format!("{letter}{at}")).collect::<Vec<_>>().join(", ")
        };
        let results = names("d", self.defs.len());
        lines.push(format!("fn sized(_z: [i8; ?n], {}) {{", parameters.join(", ")));
        lines.extend(defs.map(|it| format!("    {it}")));
        lines.push(format!("    ({results},)\n}}"));
        lines.push(format!("let z[i in 0..{extent}] = 0i8;"));
        lines.push(format!("let ({results},) = sized(z, {});", names("a", self.given.len())));
        lines.join("\n")
    }
}

fn literal(value: Scalar) -> String {
    let ty = value.ty();
    let suffix = if matches!(ty, S::I32 | S::F32) { "" } else { ty.name() };
    if ty.is_float() {
        let number = value.as_f64();
        let name = ty.name();
        return match number {
            _ if number.is_nan() => format!("((0.0 / 0.0) as {name})"),
            _ if number.is_infinite() => format!("((1.0 / 0.0) as {name})"),
            _ if number.is_sign_negative() => format!("(-{:?}{suffix})", -number),
            _ => format!("{number:?}{suffix}"),
        };
    }
    match (value.as_i128(), ty.int_range()) {
        (Some(number), Some((least, _))) if number == least && least < 0 => {
            format!("(-{}{suffix} - 1{suffix})", -(least + 1))
        }
        (Some(number), _) if number < 0 => format!("(-{}{suffix})", -number),
        (Some(number), _) => format!("{number}{suffix}"),
        (None, _) => value.to_string(),
    }
}

/// How the cells of a definition are written: a choice perhaps with `where` and `else`, also inside.
fn clause(x: &X, guarded: bool) -> String {
    match x {
        X::If(cond, a, b) if guarded => {
            let inner = matches!(&**a, X::If(..));
            let value = if inner { format!("({})", clause(a, true)) } else { text(a, 1) };
            format!("{value} where {} else {}", text(cond, 1), text(b, 1))
        }
        _ => text(x, 1),
    }
}

/// How an expression is written, inside so many indices.
fn text(x: &X, depth: usize) -> String {
    let t = |x: &X| text(x, depth);
    match x {
        X::Literal(value) => literal(*value),
        X::Index(at) => format!("i{at}"),
        X::Size => "?n".to_owned(),
        X::Count(count, Some(at)) => format!("iota({})[{}]", t(count), t(at)),
        X::Count(count, None) => {
            format!("{{ let _c{depth} = iota({}); {} }}", t(count), t(count))
        }
        X::Read(array, at) => format!("a{array}[{}]", t(at)),
        X::Unary(U::Neg, a) => format!("(-{})", t(a)),
        X::Unary(op, a) => format!("{}({})", format!("{op:?}").to_lowercase(), t(a)),
        X::Binary(op, a, b) => {
            let sign = match op {
                B::Add => "+",
                B::Sub => "-",
                B::Mul => "*",
                B::Div => "/",
                B::Rem => "%",
                B::Lt => "<",
                B::Le => "<=",
                B::Gt => ">",
                B::Ge => ">=",
                B::Eq => "==",
                B::Ne => "!=",
                B::Min => return format!("min({}, {})", t(a), t(b)),
                _ => return format!("max({}, {})", t(a), t(b)),
            };
            format!("({} {sign} {})", t(a), t(b))
        }
        X::Cast(ty, a) => format!("({} as {})", t(a), ty.name()),
        X::And(a, b) => format!("({} && {})", t(a), t(b)),
        X::Or(a, b) => format!("({} || {})", t(a), t(b)),
        X::If(cond, a, b) => format!("(if {} {{ {} }} else {{ {} }})", t(cond), t(a), t(b)),
        X::First(way, a, b) => match way {
            0 => format!("{{ let u{depth} = {}; let _v{depth} = {}; u{depth} }}", t(a), t(b)),
            1 => format!("({}, {}).0", t(a), t(b)),
            2 => format!("Both {{ a: {}, b: {} }}.a", t(a), t(b)),
            3 => format!("first({}, {})", t(a), t(b)),
            4 => format!("(|p{depth}, _q{depth}| p{depth})({}, {})", t(a), t(b)),
            _ => format!("{{ let (u{depth}, _v{depth}) = ({}, {}); u{depth} }}", t(a), t(b)),
        },
        X::Shaped(way, a) => {
            let pair = format!("let u{depth} = {}; let v{depth} = [u{depth}, u{depth}];", t(a));
            match way {
                0 => format!("{{ {pair} reshape(v{depth}, [2, 1])[1, 0] }}"),
                1 => format!("{{ {pair} reshape(v{depth}, [1, 2])[0, 1] }}"),
                2 => format!("{{ {pair} reshape(v{depth}, [1, 2, 1])[0, 0, 0] }}"),
                3 => format!("{{ {pair} let _s{depth} = reshape(v{depth}, [3]); u{depth} }}"),
                5 => format!("{{ {pair} let _s{depth}[2147483647] = v{depth}[0]; u{depth} }}"),
                _ => format!("{{ {pair} let _s{depth} = reshape(v{depth}, [[1, 2]]); u{depth} }}"),
            }
        }
        X::Reduce(op, bounds, guard, body) => {
            let name = match op {
                Red::Sum => "sum",
                Red::Prod => "prod",
                Red::Max => "max",
                Red::Min => "min",
            };
            let inner = depth + usize::from(bounds.is_some());
            let domain = match bounds {
                None => String::new(),
                Some((lo, hi)) => format!("i{depth} in {}..{}", t(lo), t(hi)),
            };
            let guard = match guard {
                Some(guard) => format!(" where {}", text(guard, inner)),
                None => String::new(),
            };
            format!("{name}[{domain}]({}{guard})", text(body, inner))
        }
    }
}
