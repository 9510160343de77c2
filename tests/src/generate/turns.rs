//! Functions whose last action is to call themselves, and what they compute.
//!
//! A function carries numbers of several types, perhaps a row and a tuple, and goes on in one of two ways
//! until it has gone on often enough or a number says so. It is called by itself, for each point of a
//! definition, under a condition without which it would not end, or for each term of a sum. What a
//! program prints is computed here as well.

use super::rng::Rng;
use super::system::Several;
use std::fmt::Write;

/// Numbers stay below this.
const MODULUS: i64 = 997;

/// How a row becomes the next one.
#[derive(Clone, Copy)]
enum Row {
    /// There is none.
    None,
    /// Each cell from itself.
    Own,
    /// Each cell from its neighbour.
    Turned,
    /// Each cell from all cells.
    Summed,
}

struct Function {
    /// The type of the number that decides.
    ty: &'static str,
    row: Row,
    width: i64,
    /// Whether two numbers are passed as a tuple.
    tuple: bool,
    /// Whether the branches are arms.
    arms: bool,
    factors: (i64, i64, i64),
    /// The number that ends it.
    stop: i64,
}

/// The program with this number.
pub fn turns(seed: u64) -> Several {
    let mut rng = Rng::new(seed);
    let row = match rng.below(5) {
        0 | 1 => Row::None,
        2 => Row::Own,
        3 => Row::Turned,
        _ => Row::Summed,
    };
    let function = Function {
        ty: ["i32", "i64", "f32", "f64"][rng.below(4)],
        row,
        width: rng.between(1, 5),
        tuple: rng.one_in(2),
        arms: rng.one_in(3),
        factors: (rng.between(0, 9), rng.between(1, 9), rng.between(0, 5)),
        // Sometimes it never comes.
        stop: rng.between(0, 2 * MODULUS),
    };
    // Long enough to be compiled while it runs.
    let long = rng.between(1000, 6000);
    let (points, few) = (rng.between(1, 9), rng.between(0, 30));
    let mut text = function.text();
    let row = match function.row {
        Row::None => String::new(),
        Row::Own | Row::Turned | Row::Summed => {
            let _ = writeln!(text, "let r[i in 0..{}] = (i as i64) + 2i64;", function.width);
            ", r".to_owned()
        }
    };
    let call = |n: &str, x: &str| match function.tuple {
        true => format!("go({n}, (({x}) as {}, 5i64){row}, 3i64)", function.ty),
        false => format!("go({n}, ({x}) as {}, 5i64{row}, 3i64)", function.ty),
    };
    let _ = writeln!(text, "print({});", call(&long.to_string(), "7"));
    let each = call(&format!("p + {few}"), "p");
    let _ = writeln!(text, "let a[p in 0..{points}] = {each};\nprint(sum[p](a[p]));");
    // Below zero it would never end.
    let (below, each) = (points / 2, call(&format!("p - {}", points / 2), "p"));
    let _ = writeln!(
        text,
        "let b[p in 0..{points}] = if p >= {below} {{ {each} }} else {{ 1i64 }};
print(sum[p](b[p]));
print(sum[p in 0..{points}]({each} where p >= {below}));"
    );
    let sum = |from: i64, n: &dyn Fn(i64) -> i64| -> i64 {
        (from..points).map(|p| function.value(n(p), p)).sum()
    };
    let guarded = sum(below, &|p| p - below);
    let printed =
        [function.value(long, 7), sum(0, &|p| p + few), guarded + below.min(points), guarded];
    Several { text, printed: printed.iter().map(i64::to_string).collect() }
}

impl Function {
    fn value(&self, mut n: i64, x: i64) -> i64 {
        let (f, g, h) = self.factors;
        let (mut x, mut y, c) = (x, 5, 3);
        let mut row: Vec<i64> = (0..self.width).map(|i| i + 2).collect();
        loop {
            let z = (f * x + g * y + h) % MODULUS;
            if n == 0 || z == self.stop {
                return x + 2 * y + row.iter().sum::<i64>() * i64::from(self.has_row());
            }
            row = self.next_row(&row, z);
            (x, y) = match z % 2 {
                0 => ((z + n) % MODULUS, x),
                _ => ((y + c + row[0] * i64::from(self.has_row())) % MODULUS, z),
            };
            n -= 1;
        }
    }

    fn has_row(&self) -> bool {
        !matches!(self.row, Row::None)
    }

    fn next_row(&self, row: &[i64], z: i64) -> Vec<i64> {
        let all: i64 = row.iter().sum();
        let next = |i: usize| match self.row {
            Row::None => row[i],
            Row::Own => (row[i] * 2 + z) % MODULUS,
            Row::Turned => (row[(i + 1) % row.len()] + z) % MODULUS,
            Row::Summed => (row[i] + all + z) % MODULUS,
        };
        (0..row.len()).map(next).collect()
    }

    fn text(&self) -> String {
        let (f, g, h) = self.factors;
        let (ty, stop) = (self.ty, self.stop);
        let row = if self.has_row() { ", r: [i64; ?w]" } else { "" };
        let (state, names) = match self.tuple {
            true => (format!("s: ({ty}, i64)"), "    let (x, y) = s;\n"),
            false => (format!("x: {ty}, y: i64"), ""),
        };
        let mut text = format!(
            "fn go(n: i32, {state}{row}, c: i64) -> i64 {{
{names}    let z = ({f}i64 * (x as i64) + {g}i64 * y + {h}i64) % {MODULUS}i64;\n"
        );
        let next = match self.row {
            Row::None => "",
            Row::Own => "(r[i] * 2i64 + z)",
            Row::Turned => "(r[(i + 1) % ?w] + z)",
            Row::Summed => "(r[i] + sum[j](r[j]) + z)",
        };
        if self.has_row() {
            let _ = writeln!(text, "    let q[i in 0..?w] = {next} % {MODULUS}i64;");
        }
        let (passed, first, sum) = match self.has_row() {
            true => (", q", " + q[0]", " + sum[i](r[i])"),
            false => ("", "", ""),
        };
        let call = |x: &str, y: &str| match self.tuple {
            true => format!("go(n - 1, ((({x}) % {MODULUS}i64) as {ty}, {y}){passed}, c)"),
            false => format!("go(n - 1, (({x}) % {MODULUS}i64) as {ty}, {y}{passed}, c)"),
        };
        let even = call("z + (n as i64)", "x as i64");
        let odd = call(&format!("y + c{first}"), "z");
        let ends = format!("n == 0 || z == {stop}i64");
        let value = format!("(x as i64) + 2i64 * y{sum}");
        let _ = match self.arms {
            true => writeln!(
                text,
                "    match z % 2i64 {{
        _ where {ends} => {value},
        0 => {even},
        _ => {odd},
    }}\n}}"
            ),
            false => writeln!(
                text,
                "    if {ends} {{ {value} }} else if z % 2i64 == 0i64 {{ {even} }} else {{ {odd} }}\n}}"
            ),
        };
        text
    }
}
