//! The codes of all diagnostics, each with its title and its page: one enum, one list.
//!
//! A page is a Markdown file under `pages/`: a paragraph that explains, an example marked
//! `einlang fails` that fails with exactly this code, and one marked `einlang fixed` that passes.

use crate::Severity;
use std::fmt;
use std::str::FromStr;

/// The part of the compiler that reports a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// E01xx.
    Syntax,
    /// E02xx.
    Names,
    /// E03xx.
    Coordinates,
    /// E04xx.
    Ranges,
    /// E05xx.
    Types,
    /// E06xx.
    Recurrences,
    /// E07xx.
    Derivatives,
    /// E08xx.
    RunTime,
    /// E09xx.
    InputOutput,
    /// W0xxx.
    Warning,
}

macro_rules! codes {
    ($($code:ident $title:literal)*) => {
        /// The code of a diagnostic.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $(#[doc = $title] $code,)*
        }

        impl Code {
            /// Every code, in order.
            pub const ALL: &[Code] = &[$(Code::$code),*];

            /// The code as users write it: `E0301`.
            pub fn as_str(self) -> &'static str {
                match self { $(Code::$code => stringify!($code),)* }
            }

            /// What it is about, in a few words.
            pub fn title(self) -> &'static str {
                match self { $(Code::$code => $title,)* }
            }

            /// The page about it, in Markdown.
            pub fn page(self) -> &'static str {
                match self {
                    $(Code::$code => include_str!(concat!("../pages/", stringify!($code), ".md")),)*
                }
            }
        }
    };
}

codes! {
    E0101 "unexpected token"
    E0102 "a string is not closed"
    E0103 "a comment is not closed"
    E0104 "a bracket is not closed"
    E0105 "a closing bracket without its opening one"
    E0106 "a word of another language"
    E0107 "a keyword used as a name"
    E0108 "a malformed number"
    E0109 "a malformed escape"
    E0110 "a character that means nothing here"
    E0111 "chained comparison"
    E0112 "a sign before a power"
    E0113 "an expression on the left of a definition"
    E0114 "a malformed format specification"
    E0115 "nesting too deep"

    E0201 "unknown name"
    E0202 "used before it is bound"
    E0203 "unknown module"
    E0204 "unknown item in a module"
    E0205 "a private item"
    E0206 "a name imported twice"
    E0207 "a name defined twice"
    E0208 "two files for one module"
    E0209 "modules that import each other"
    E0210 "a source that cannot be read"
    E0211 "a constant that depends on itself"
    E0212 "a name of another kind"
    E0213 "Python is not available here"

    E0301 "a coordinate that the tensor does not have"
    E0302 "a coordinate argument that fits no parameter"
    E0303 "an index at the axis of another coordinate"
    E0304 "a computed index from another axis"
    E0305 "an address of another coordinate"
    E0306 "a reduced coordinate that the body does not mention"
    E0307 "one index over two different coordinates"
    E0308 "a broadcast that was forbidden"
    E0309 "a coordinate is missing"
    E0310 "a coordinate too many"
    E0311 "coordinates in another order"
    E0312 "one coordinate on two axes"
    E0313 "a free coordinate that nothing binds"
    E0314 "a coordinate with two extents"
    E0315 "a coordinate call that can be read in two ways"

    E0401 "a range that cannot be inferred"
    E0402 "one index over two extents"
    E0403 "a read outside its array"
    E0404 "more indices than axes"
    E0405 "a shape that does not fit"
    E0406 "packs that can be split in two ways"
    E0407 "an iteration range in `where`"
    E0408 "an operator on arrays of different shapes"
    E0409 "frames that do not agree"
    E0410 "a size that cannot be inferred"
    E0411 "sizes that must be equal"
    E0412 "a hidden size that escapes"
    E0413 "a piece beyond the end"
    E0414 "an axis that is not there"
    E0415 "pieces that do not fit together"
    E0416 "rows of unequal lengths"
    E0417 "clauses of different rank"
    E0418 "a domain that is not a range"

    E0501 "a value of another type"
    E0502 "an operator that its operands do not have"
    E0503 "numbers of different types"
    E0504 "a condition that is not `bool`"
    E0505 "branches of different types"
    E0506 "an index that is not an integer"
    E0507 "a cast that is not possible"
    E0508 "a wrong number of arguments"
    E0509 "a named argument that does not fit"
    E0510 "a call of something that is not a function"
    E0511 "no such field"
    E0512 "a tuple in index brackets"
    E0513 "a match that misses a case"
    E0514 "a pattern that cannot match"
    E0515 "a literal outside its type"
    E0516 "a type that cannot be inferred"
    E0517 "unknown type"
    E0518 "too many instances of one function"
    E0519 "a pipeline on a value that is not optional"
    E0520 "a value that cannot be iterated"
    E0521 "a type that is too large"

    E0601 "a clause that reads the point it defines"
    E0602 "a clause that reads a later point"
    E0603 "a recurrence in two directions"
    E0604 "a recurrence at a point that only the data knows"
    E0605 "recurrences that wait for each other"
    E0606 "steps that cannot end early"

    E0701 "a derivative of something without a name"
    E0702 "a derivative of a constant"
    E0703 "an operation without a derivative"
    E0704 "a tangent rule that is not linear"

    E0801 "an index out of bounds"
    E0802 "integer overflow"
    E0803 "division by zero"
    E0804 "a shape that does not fit at run time"
    E0805 "the memory limit"
    E0806 "a failed assertion"
    E0807 "a reduction of nothing"
    E0808 "recursion too deep"
    E0809 "a value outside what the operation takes"
    E0810 "an engine that cannot work"
    E0811 "a program that cannot be built ahead of time"
    E0812 "the time limit"

    E0901 "a missing input"
    E0902 "a file that cannot be read"
    E0903 "a malformed file"
    E0904 "an input of another element type"
    E0905 "an input of another shape"
    E0906 "file access that was not allowed"
    E0907 "a file that cannot be written"

    W0101 "unused binding"
    W0102 "unused import"
    W0201 "clauses that overlap"
    W0202 "a region that no clause covers"
    W0203 "an arm that is never reached"
    W0204 "a recursion that never ends"
    W0301 "a term repeated by the sum around it"
    W0302 "a value that hides a coordinate"
    W0401 "a derivative that is always zero"
    W0501 "much work that is evaluated"
}

impl Code {
    /// Errors reject a program, warnings do not.
    pub fn severity(self) -> Severity {
        if self.stage() == Stage::Warning { Severity::Warning } else { Severity::Error }
    }

    /// The part of the compiler that reports it.
    pub fn stage(self) -> Stage {
        match &self.as_str().as_bytes()[..3] {
            b"E01" => Stage::Syntax,
            b"E02" => Stage::Names,
            b"E03" => Stage::Coordinates,
            b"E04" => Stage::Ranges,
            b"E05" => Stage::Types,
            b"E06" => Stage::Recurrences,
            b"E07" => Stage::Derivatives,
            b"E08" => Stage::RunTime,
            b"E09" => Stage::InputOutput,
            _ => Stage::Warning,
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Code {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        let wanted = text.trim().to_ascii_uppercase();
        Code::ALL.iter().copied().find(|code| code.as_str() == wanted).ok_or(())
    }
}
