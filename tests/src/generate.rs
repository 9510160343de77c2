//! Random programs that are well typed, stay in bounds and do not overflow: what the evaluators
//! must agree on.
//!
//! The generator knows the type, the shape and an interval of the values of everything it has
//! written, and writes only what these allow. Index variables and bindings have names that occur
//! nowhere else in the program.

mod bodies;
mod call;
mod data;
mod define;
mod edges;
mod expr;
mod history;
mod index;
mod large;
mod late;
mod ranked;
mod recur;
mod recursive;
mod rng;
mod sound;
mod system;
mod turns;
mod within;

pub use bodies::bodies;
pub use edges::edges;
use ein_scalar::ScalarType as S;
pub use history::history;
pub use late::late;
pub use ranked::{Ranked, ranked};
pub use recursive::recursive;
use rng::Rng;
pub use sound::{Sound, sound};
pub use system::{Form, Several, several};
pub use turns::turns;
pub use within::within;

/// A value that a program has a name for.
#[derive(Clone, Debug)]
struct Var {
    /// How it is written: a name, or a path to a part (`t.0`, `p.x`).
    text: String,
    ty: S,
    shape: Vec<usize>,
    /// No element is smaller,
    lo: f64,
    /// or larger.
    hi: f64,
    /// Whether its extents are names of sizes: equal to no other.
    symbolic: bool,
}

/// An index variable.
#[derive(Clone, Debug)]
struct Index {
    name: String,
    lo: i64,
    /// One past the last.
    hi: i64,
    /// Whether its range is left to inference, so that what reads it bare decides it.
    inferred: bool,
    /// Whether that range is a size with a name, so that it must stand bare nowhere else.
    lonely: bool,
}

/// An expression with what is known of its value.
#[derive(Clone, Debug)]
struct E {
    text: String,
    lo: f64,
    hi: f64,
}

/// What an expression may use besides the bindings.
#[derive(Clone, Default)]
struct Ctx {
    indices: Vec<Index>,
    /// Reads of the tensor that is being defined.
    own: Vec<(S, E)>,
}

/// A function that was written.
#[derive(Clone, Debug)]
struct Func {
    name: String,
    /// Type, shape and interval of each parameter.
    params: Vec<Var>,
    /// Whether parameters have types: the function is lifted.
    annotated: bool,
    ty: S,
    shape: Vec<usize>,
    lo: f64,
    hi: f64,
}

/// A program under way.
struct Gen {
    rng: Rng,
    vars: Vec<Var>,
    funcs: Vec<Func>,
    statements: Vec<String>,
    next: usize,
    /// Whether extents are such that loops in vectors, tiles and threads have work.
    large: bool,
}

/// The statements of the program with this number.
pub fn program(seed: u64) -> Vec<String> {
    let mut it = Gen::new(seed, false);
    it.literal_tensor();
    it.literal_tensor();
    for _ in 0..3 + it.rng.below(8) {
        it.statement();
    }
    it.statements
}

/// The statements of a program that engines have work with: larger arrays, and constructs that
/// brute force does not know. Some of them fail on purpose.
pub fn kernels(seed: u64) -> Vec<String> {
    let mut it = Gen::new(seed ^ 0x6b65_726e, true);
    it.formula();
    it.formula();
    it.formula();
    for _ in 0..3 + it.rng.below(7) {
        match it.rng.below(2) {
            0 => it.statement(),
            _ => it.large_statement(),
        }
    }
    it.statements
}

impl Gen {
    fn new(seed: u64, large: bool) -> Gen {
        Gen {
            rng: Rng::new(seed),
            vars: Vec::new(),
            funcs: Vec::new(),
            statements: Vec::new(),
            next: 0,
            large,
        }
    }

    fn fresh(&mut self, prefix: &str) -> String {
        self.next += 1;
        format!("{prefix}{}", self.next)
    }

    fn bind(&mut self, text: String, ty: S, shape: Vec<usize>, lo: f64, hi: f64) {
        self.vars.push(Var { text, ty, shape, lo, hi, symbolic: false });
    }

    fn statement(&mut self) {
        match self.rng.below(28) {
            0 => self.literal_tensor(),
            1 | 2 => self.scalar_let(),
            3..=5 => self.explicit(),
            6..=8 => self.direct(),
            9 => self.narrowed(),
            10 => self.convolution(),
            11 => self.piecewise(),
            12 => self.triangle(),
            13 => self.recurrence(),
            14 => self.dynamic_program(),
            15 => self.reverse(),
            16 => self.same_step(),
            17 => self.pack(),
            18 | 19 => self.function(),
            20 => self.lifted_call(),
            21 => self.tensor_function(),
            22 => self.comprehension(),
            23 => self.tuple(),
            24 => self.data(),
            25 => self.whole_arrays(),
            26 => self.slices(),
            _ => self.closure_or_text(),
        }
    }

    /// A numeric type, the usual ones more often.
    fn number_type(&mut self) -> S {
        match self.rng.below(16) {
            0..=4 => S::I32,
            5 => S::I64,
            6 => S::I16,
            7 => S::U8,
            8 => S::U32,
            9..=12 => S::F32,
            13 => S::I8,
            _ => S::F64,
        }
    }
}

/// How far values of a type may go.
fn limit(ty: S) -> f64 {
    match ty {
        S::I8 => 60.0,
        S::U8 => 120.0,
        S::I16 => 3e3,
        S::I64 => 1e9,
        S::F32 => 1e4,
        _ => 1e6,
    }
}

/// The largest value of a type that intermediate results may have.
fn ceiling(ty: S) -> f64 {
    match ty {
        S::I8 => 127.0,
        S::U8 => 255.0,
        S::I16 => 32767.0,
        S::I32 => 2147483647.0,
        S::U32 => 4294967295.0,
        _ => 1e15,
    }
}
