//! Calls of functions with sizes in their types, right and wrong ones, with what the rules say.
//!
//! A program binds arrays, some of them empty, and calls functions on them: lifted over frames,
//! reranked, in arrays of functions, on rows of unequal lengths, and inside a function whose own
//! sizes are names. At most one call of a program is wrong.

mod branches;
mod signature;

use super::rng::Rng;
use signature::{Dim, SIZES, Signature, known, random};

/// A program, and what must come of it.
#[derive(Clone, Debug)]
pub struct Ranked {
    /// Its statements.
    pub statements: Vec<String>,
    /// The shapes of its results, where the rules give them.
    pub shapes: Vec<(String, Vec<usize>)>,
    /// Whether the last call is one that must be rejected.
    pub wrong: bool,
}

/// The program with this number.
pub fn ranked(seed: u64) -> Ranked {
    let mut it = Gen {
        rng: Rng::new(seed ^ 0x7261_6e6b),
        out: Ranked { statements: Vec::new(), shapes: Vec::new(), wrong: false },
        next: 0,
    };
    for _ in 0..2 + it.rng.below(4) {
        match it.rng.below(8) {
            0 => it.rows(),
            1 => it.branches(),
            _ => it.call(),
        }
        if it.out.wrong {
            break;
        }
    }
    it.out
}

/// An extent: a number, or a name of a size and a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Extent {
    name: Option<usize>,
    number: usize,
}

/// How a function is called.
enum Way {
    Plain,
    Rerank(Vec<usize>),
    /// By the names of several functions.
    Several(Vec<String>),
}

struct Gen {
    rng: Rng,
    out: Ranked,
    next: usize,
}

/// What names of sizes stand for while a call is judged: nothing else is as large, and no two are
/// near each other, so that extents are equal only if they are for all sizes.
const SYMBOLIC: [usize; 3] = [1000, 2000, 4000];

impl Gen {
    fn fresh(&mut self, prefix: &str) -> String {
        self.next += 1;
        format!("{prefix}{}", self.next)
    }

    /// A call of a function that is made for it.
    fn call(&mut self) {
        let (signature, names) = self.function();
        let symbolic = self.rng.one_in(3);
        let mut args = self.arguments(&signature, symbolic);
        let way = self.way(&signature, names, &mut args);
        if self.rng.one_in(9) {
            self.damage(&mut args);
        }
        // Numbers for names: those of the judgement, and small ones for the run.
        let small: Vec<usize> = SIZES.iter().map(|_| self.rng.below(4)).collect();
        let judged = shape_of(&way, &signature, &numbers(&args, &SYMBOLIC));
        let shape = shape_of(&way, &signature, &numbers(&args, &small));
        let arrays: Vec<String> =
            numbers(&args, &small).iter().map(|shape| self.array(shape)).collect();
        let callee = match &way {
            Way::Plain => signature.name.clone(),
            Way::Rerank(ranks) => {
                let ranks: Vec<String> = ranks.iter().map(usize::to_string).collect();
                format!("rerank({}, {})", signature.name, ranks.join(", "))
            }
            Way::Several(names) => format!("[{}]", names.join(", ")),
        };
        let call = match symbolic {
            false => format!("{callee}({})", arrays.join(", ")),
            true => self.wrapped(&callee, &args, &arrays),
        };
        let result = self.fresh("r");
        self.out.statements.push(format!("let {result} = {call};"));
        let empty = shape_of(&way, &signature, &numbers(&args, &[0; SIZES.len()]));
        self.out.wrong = judged.is_none() || empty.is_none();
        if let (false, Some(shape)) = (self.out.wrong, shape) {
            self.out.shapes.push((result, shape));
        }
    }

    /// One of the known functions, or some of a random signature.
    fn function(&mut self) -> (Signature, Vec<String>) {
        if self.rng.one_in(3) {
            let name = self.fresh("f");
            let (signature, text) = known(&mut self.rng, &name);
            self.out.statements.push(text);
            return (signature, vec![name]);
        }
        let names: Vec<String> = (0..1 + self.rng.below(2)).map(|_| self.fresh("f")).collect();
        let (signature, texts) = random(&mut self.rng, &names);
        self.out.statements.extend(texts);
        (signature, names)
    }

    /// Shapes that fit: a common frame, of which each argument has a part, before each cell.
    fn arguments(&mut self, signature: &Signature, symbolic: bool) -> Vec<Vec<Extent>> {
        let sizes: Vec<Extent> =
            (0..SIZES.len()).map(|at| self.extent(symbolic.then_some(at))).collect();
        let frame: Vec<Extent> = (0..self.rng.below(3)).map(|_| self.extent(None)).collect();
        let pack: Vec<Extent> = (0..self.rng.below(3)).map(|_| self.extent(None)).collect();
        signature
            .params
            .iter()
            .map(|dims| {
                let whole = dims.contains(&Dim::Pack);
                let part = if whole { 0 } else { self.rng.below(frame.len() + 1) };
                let mut shape = frame[..part].to_vec();
                for dim in dims {
                    match dim {
                        Dim::Size(name, more) => {
                            let Extent { name, number } = sizes[*name];
                            shape.push(Extent { name, number: number + more });
                        }
                        Dim::Pack => shape.extend(&pack),
                    }
                }
                shape
            })
            .collect()
    }

    fn extent(&mut self, name: Option<usize>) -> Extent {
        let name = name.filter(|_| !self.rng.one_in(3));
        let number = if name.is_some() { 0 } else { self.rng.below(5) };
        Extent { name, number }
    }

    /// How to call it, with a frame of the arguments for an array of functions.
    fn way(&mut self, signature: &Signature, names: Vec<String>, args: &mut [Vec<Extent>]) -> Way {
        if names.len() > 1 {
            for (arg, dims) in args.iter_mut().zip(&signature.params) {
                if let Some(first) = arg.first_mut().filter(|_| dims.is_empty()) {
                    *first = Extent { name: None, number: names.len() };
                }
            }
            let fits = shape_of(&Way::Several(names.clone()), signature, &numbers(args, &SYMBOLIC));
            if fits.is_some() {
                return Way::Several(names);
            }
        }
        if signature.has_packs() || !self.rng.one_in(3) {
            return Way::Plain;
        }
        let ranks = args
            .iter()
            .zip(&signature.params)
            .map(|(arg, dims)| dims.len() + self.rng.below(arg.len() - dims.len() + 1))
            .collect();
        Way::Rerank(ranks)
    }

    /// Changes one extent, or takes an axis away; what was right may stay so.
    fn damage(&mut self, args: &mut [Vec<Extent>]) {
        let at = self.rng.below(args.len());
        let axis = self.rng.below(args[at].len().max(1));
        if args[at].is_empty() {
            return;
        }
        match self.rng.below(3) {
            0 => _ = args[at].remove(axis),
            _ => args[at][axis].number += 1,
        }
    }

    /// An array of this shape.
    fn array(&mut self, shape: &[usize]) -> String {
        let name = self.fresh("a");
        let indices: Vec<String> =
            shape.iter().enumerate().map(|(at, extent)| format!("i{at} in 0..{extent}")).collect();
        let terms: Vec<String> =
            (0..shape.len()).map(|at| format!("i{at} * {}", 2 * at + 1)).collect();
        self.out.statements.push(match shape {
            [] => format!("let {name} = 0.75 as f64;"),
            _ => format!(
                "let {name}[{}] = (({}) % 5) as f64 * 0.5 - 0.25;",
                indices.join(", "),
                terms.join(" + ")
            ),
        });
        name
    }

    /// The call inside a function for which some extents are names.
    fn wrapped(&mut self, callee: &str, args: &[Vec<Extent>], arrays: &[String]) -> String {
        let name = self.fresh("w");
        let params: Vec<String> = args
            .iter()
            .enumerate()
            .map(|(at, shape)| {
                let dims: Vec<String> = shape.iter().map(Extent::text).collect();
                match dims.as_slice() {
                    [] => format!("x{at}: f64"),
                    dims => format!("x{at}: [f64; {}]", dims.join(", ")),
                }
            })
            .collect();
        let inner: Vec<String> = (0..args.len()).map(|at| format!("x{at}")).collect();
        let (params, inner) = (params.join(", "), inner.join(", "));
        self.out.statements.push(format!("fn {name}({params}) {{ {callee}({inner}) }}"));
        format!("{name}({})", arrays.join(", "))
    }

    /// Rows of unequal lengths: made by lifting, opened, read, and used wrongly.
    fn rows(&mut self) {
        let (rows, len) = (self.rng.below(4), self.rng.below(5));
        let m = self.array(&[rows, len]);
        let v = self.array(&[len]);
        let (keep, dot, r) = (self.fresh("keep"), self.fresh("dot"), self.fresh("r"));
        let hidden = if self.rng.one_in(2) { " -> some k. [f64; k]" } else { "" };
        self.out
            .statements
            .push(format!("fn {keep}(v: [f64; ?n]){hidden} {{ filter(|x| x > 0.5, v) }}"));
        self.out
            .statements
            .push(format!("fn {dot}(u: [f64; ?n], v: [f64; ?n]) -> f64 {{ sum[i](u[i] * v[i]) }}"));
        let total = self.fresh("total");
        let function = format!("fn {total}(v: [f64; ?n]) -> f64 {{ sum[i](v[i]) }}");
        self.out.statements.push(function);
        let (text, shape) = match self.rng.below(7) {
            0 => (format!("let {r} = {total}({keep}({m}));"), Some(vec![rows])),
            1 => (format!("let o{r} = {keep}({v}); let {r} = {dot}(o{r}, o{r});"), Some(vec![])),
            2 => {
                let open = format!("let o{r}: [f64; ?k{r}] = {keep}({v});");
                (format!("{open} let {r} = {dot}(o{r}, o{r}) + {total}(o{r});"), Some(vec![]))
            }
            3 => (format!("let {r} = {keep}({keep}({m}));"), None),
            4 => {
                let body = format!("{{ let u = {keep}({m}[i]); {dot}(u, u) }}");
                (format!("let {r}[i] = {body};"), Some(vec![rows]))
            }
            wrong => {
                self.out.wrong = true;
                match wrong {
                    5 => (format!("let {r} = {dot}({keep}({v}), {v});"), None),
                    _ => (format!("let {r}[i] = {keep}({m}[i]);"), None),
                }
            }
        };
        self.out.statements.push(text);
        self.out.shapes.extend(shape.map(|shape| (r, shape)));
    }
}

impl Extent {
    /// As a parameter's type says it; what is added keeps every piece of it provable.
    fn text(&self) -> String {
        match self.name {
            None => self.number.to_string(),
            Some(name) => format!("?{} + {}", SIZES[name], self.number),
        }
    }
}

/// The shapes with numbers for names.
fn numbers(args: &[Vec<Extent>], names: &[usize]) -> Vec<Vec<usize>> {
    let number = |it: &Extent| it.name.map_or(0, |name| names[name]) + it.number;
    args.iter().map(|shape| shape.iter().map(number).collect()).collect()
}

fn shape_of(way: &Way, signature: &Signature, args: &[Vec<usize>]) -> Option<Vec<usize>> {
    match way {
        Way::Plain => signature.call(&[], args),
        Way::Rerank(ranks) => signature.reranked(ranks, args),
        Way::Several(names) => signature.call(&[names.len()], args),
    }
}
