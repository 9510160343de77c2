//! Signatures over sizes, and what the rules of frames and cells say of a call.
//!
//! The rules are written down here a second time, on plain numbers: each argument is a frame of
//! cells, every frame is a prefix of the longest, and sizes of one name are equal.

use super::super::rng::Rng;

/// The names of sizes.
pub(super) const SIZES: [&str; 3] = ["n", "m", "k"];

/// A dimension of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dim {
    /// `?n + 1`: the number of a name, and what is added.
    Size(usize, usize),
    /// `..s`, the last one
    Pack,
}

/// A dimension of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Out {
    /// The sum of these sizes.
    Sum(Vec<usize>),
    /// `..s`
    Pack,
}

/// A function as its callers see it.
#[derive(Clone, Debug)]
pub(super) struct Signature {
    pub(super) name: String,
    pub(super) params: Vec<Vec<Dim>>,
    pub(super) result: Vec<Out>,
}

impl Signature {
    /// Whether arguments are taken whole.
    pub(super) fn has_packs(&self) -> bool {
        self.params.iter().any(|dims| dims.contains(&Dim::Pack))
    }

    /// The shape that a call gives, if the call is right; `own` is the frame of the functions.
    pub(super) fn call(&self, own: &[usize], args: &[Vec<usize>]) -> Option<Vec<usize>> {
        let mut sizes = [None; SIZES.len()];
        let mut pack: Option<&[usize]> = None;
        let mut frames = vec![own];
        for (dims, shape) in self.params.iter().zip(args) {
            let fixed = dims.iter().filter(|dim| **dim != Dim::Pack).count();
            let at = if fixed < dims.len() { 0 } else { shape.len().checked_sub(fixed)? };
            let (frame, cell) = shape.split_at(at);
            frames.push(frame);
            if cell.len() < fixed {
                return None;
            }
            let (cell, rest) = cell.split_at(fixed);
            for (dim, extent) in dims.iter().zip(cell) {
                let Dim::Size(name, more) = dim else { continue };
                let size = extent.checked_sub(*more)?;
                if *sizes[*name].get_or_insert(size) != size {
                    return None;
                }
            }
            if fixed < dims.len() && *pack.get_or_insert(rest) != rest {
                return None;
            }
        }
        let mut shape = common(&frames)?;
        for out in &self.result {
            match out {
                Out::Sum(names) => {
                    shape.push(names.iter().map(|name| sizes[*name].unwrap_or(0)).sum());
                }
                Out::Pack => shape.extend(pack.unwrap_or_default()),
            }
        }
        Some(shape)
    }

    /// The shape that a call of `rerank(f, ranks)` gives, if it is right.
    pub(super) fn reranked(&self, ranks: &[usize], args: &[Vec<usize>]) -> Option<Vec<usize>> {
        let mut frames: Vec<&[usize]> = Vec::new();
        let mut cells = Vec::new();
        for (rank, shape) in ranks.iter().zip(args) {
            let (frame, cell) = shape.split_at(shape.len().checked_sub(*rank)?);
            frames.push(frame);
            cells.push(cell.to_vec());
        }
        let mut shape = common(&frames)?;
        shape.extend(self.call(&[], &cells)?);
        Some(shape)
    }
}

/// The frame of which all others are prefixes.
fn common(frames: &[&[usize]]) -> Option<Vec<usize>> {
    let longest = frames.iter().max_by_key(|frame| frame.len())?;
    frames.iter().all(|frame| longest.starts_with(frame)).then(|| longest.to_vec())
}

/// Parameters, result, and the text after the name.
type Written = (Vec<Vec<Dim>>, Vec<Out>, &'static str);

/// Functions whose signatures say something special.
pub(super) fn known(rng: &mut Rng, name: &str) -> (Signature, String) {
    use Dim::{Pack, Size};
    let n = || Out::Sum(vec![0]);
    let cases: [Written; 8] = [
        (
            vec![vec![Size(0, 0)], vec![Size(0, 0)]],
            vec![],
            "(u: [f64; ?n], v: [f64; ?n]) -> f64 { sum[i](u[i] * v[i]) }",
        ),
        (
            vec![vec![Size(1, 0), Pack], vec![Size(0, 0), Pack]],
            vec![Out::Sum(vec![1, 0]), Out::Pack],
            "(a: [f64; ?m, ..s], b: [f64; ?n, ..s]) -> [f64; ?m + ?n, ..s] { join[#0](a, b) }",
        ),
        (
            vec![vec![Size(0, 1), Pack]],
            vec![n(), Out::Pack],
            "(v: [f64; ?n + 1, ..s]) -> [f64; ?n, ..s] { rest[#0](v) }",
        ),
        (vec![vec![Pack]], vec![], "(v: [f64; ..s]) -> f64 { sum[..s](v[..s]) }"),
        (
            vec![vec![Size(0, 0)]],
            vec![Out::Sum(vec![0, 0])],
            "(a: [f64; ?n]) -> [f64; ?n + ?n] { join[#0](a, a) }",
        ),
        (
            vec![vec![Size(0, 0), Size(1, 0)], vec![Size(1, 0), Size(2, 0)]],
            vec![n(), Out::Sum(vec![2])],
            "(a: [f64; ?n, ?m], b: [f64; ?m, ?k]) -> [f64; ?n, ?k] { let c[i, j] = sum[q](a[i, q] * b[q, j]); c }",
        ),
        (
            vec![vec![Size(0, 0)], vec![Size(1, 0)]],
            vec![Out::Sum(vec![0, 1])],
            "(a: [f64; ?n], b: [f64; ?m]) -> [f64; ?n + ?m] { join[#0](a, b) }",
        ),
        (vec![vec![Size(0, 2)]], vec![], "(v: [f64; ?n + 2]) -> f64 { v[1] - v[0] }"),
    ];
    let (params, result, text) = cases[rng.below(cases.len())].clone();
    (Signature { name: name.into(), params, result }, format!("fn {name}{text}"))
}

/// A signature of plain sizes, and as many functions of it as there are names.
pub(super) fn random(rng: &mut Rng, names: &[String]) -> (Signature, Vec<String>) {
    let params: Vec<Vec<Dim>> = (0..1 + rng.below(3))
        .map(|_| {
            let more = |rng: &mut Rng| if rng.one_in(4) { 1 + rng.below(2) } else { 0 };
            (0..rng.below(3)).map(|_| Dim::Size(rng.below(SIZES.len()), more(rng))).collect()
        })
        .collect();
    let mut used: Vec<usize> = Vec::new();
    for dim in params.iter().flatten() {
        if let Dim::Size(name, _) = dim
            && !used.contains(name)
        {
            used.push(*name);
        }
    }
    let first = rng.below(used.len().max(1));
    if !used.is_empty() {
        used.rotate_left(first);
    }
    used.truncate(rng.below(3));
    let functions = names.iter().enumerate().map(|(at, name)| {
        let signature: Vec<String> = params
            .iter()
            .enumerate()
            .map(|(at, dims)| format!("p{at}: {}", array_type(dims)))
            .collect();
        let terms: Vec<String> =
            params.iter().enumerate().map(|(at, dims)| term(at, dims, &used)).collect();
        let value = format!("{}.5 * ({})", at, terms.join(" + "));
        let (result, body) = match used.as_slice() {
            [] => ("f64".to_owned(), value),
            used => {
                let dims: Vec<Dim> = used.iter().map(|name| Dim::Size(*name, 0)).collect();
                let indices: Vec<String> =
                    used.iter().map(|name| format!("i{name} in 0..?{}", SIZES[*name])).collect();
                (array_type(&dims), format!("let r[{}] = {value}; r", indices.join(", ")))
            }
        };
        format!("fn {name}({}) -> {result} {{ {body} }}", signature.join(", "))
    });
    let functions = functions.collect();
    let result = used.iter().map(|name| Out::Sum(vec![*name])).collect();
    (Signature { name: names.first().cloned().unwrap_or_default(), params, result }, functions)
}

/// What a function computes of one parameter: read where the result has its sizes, summed over
/// the others.
fn term(at: usize, dims: &[Dim], used: &[usize]) -> String {
    let mut indices = Vec::new();
    let mut bound = Vec::new();
    for (axis, dim) in dims.iter().enumerate() {
        let Dim::Size(name, _) = dim else { continue };
        if used.contains(name) {
            indices.push(format!("i{name}"));
        } else {
            bound.push(format!("q{axis} in 0..?{}", SIZES[*name]));
            indices.push(format!("q{axis}"));
        }
    }
    let read = match indices.as_slice() {
        [] => format!("p{at}"),
        indices => format!("p{at}[{}]", indices.join(", ")),
    };
    match bound.as_slice() {
        [] => read,
        bound => format!("sum[{}]({read})", bound.join(", ")),
    }
}

/// A type as it is written.
fn array_type(dims: &[Dim]) -> String {
    let dims: Vec<String> = dims
        .iter()
        .map(|dim| match dim {
            Dim::Size(name, 0) => format!("?{}", SIZES[*name]),
            Dim::Size(name, more) => format!("?{} + {more}", SIZES[*name]),
            Dim::Pack => "..s".into(),
        })
        .collect();
    if dims.is_empty() { "f64".into() } else { format!("[f64; {}]", dims.join(", ")) }
}
