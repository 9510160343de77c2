//! Remora (`.rem`): a rank-polymorphic notation of s-expressions, read as Einlang.
//!
//! Before:  `(define (dot (xs 1) (ys 1)) (reduce + 0 (* xs ys)))`
//! After:   `fn dot(xs: [i32; ?n], ys: [i32; ?n]) -> i32 { reduce(add, 0, mul(xs, ys)) }`
//!
//! Three steps: [`read`] gives s-expressions, [`tree`] what they mean as forms, [`translate`] an
//! Einlang tree. Functions are translated once for each combination of element types and ranks
//! they are used with, since a Remora parameter states its rank only; functions given to functions
//! disappear on the way.
//!
//! Limits: an array of functions must be written where it is called or bound; a function that
//! returns a function must do nothing else.

mod call;
mod fold;
mod free;
mod instance;
mod prim;
mod read;
mod translate;
mod tree;
mod types;

pub(crate) use tree::decimal;

use crate::{Comment, MAX_DIAGNOSTICS, Parsed};
use ein_base::FileId;

/// Parses a program in Remora.
pub(crate) fn parse(file: FileId, text: &str) -> Parsed {
    let mut diagnostics = Vec::new();
    let forms = read::read(file, text, &mut diagnostics);
    let program = tree::program(&forms, &mut diagnostics);
    let ast = translate::translate(file, &program, &mut diagnostics);
    diagnostics.sort_by_key(|it| (it.primary.span.lo(), it.primary.span.hi(), it.message.clone()));
    diagnostics.dedup();
    diagnostics.truncate(MAX_DIAGNOSTICS);
    Parsed { ast, comments: Vec::<Comment>::new(), diagnostics }
}
