//! Types by themselves, and two of them side by side.

use super::Verifier;
use crate::tensor::Type;
use ein_base::Idx;

impl Verifier<'_> {
    /// A type: ids in range, no error, no arrays of arrays.
    pub(super) fn ty(&mut self, ty: &Type) {
        match ty {
            Type::Unit | Type::Scalar(_) | Type::Str | Type::Range => {}
            Type::Error => self.report("an error type is left".into()),
            Type::Array(array) => {
                let flat = !array.elem.is_array();
                self.check(flat, || "the elements of an array are arrays".into());
                let axes = !array.axes.is_empty();
                self.check(axes, || "an array type has no axes".into());
                self.ty(&array.elem);
                for axis in &array.axes {
                    for atom in axis.size.atoms() {
                        let known = atom.index() < self.program.atoms.len();
                        self.check(known, || format!("there is no atom {atom}"));
                    }
                }
            }
            Type::AnyRank(elem) | Type::Jagged(elem, _) => self.ty(elem),
            Type::Tuple(items) => items.iter().for_each(|item| self.ty(item)),
            Type::Data(data, args) => {
                let known = data.index() < self.program.data.len();
                self.check(known, || format!("there is no struct or enum {data}"));
                // An argument that no value decides is left open: `None` is an option of anything.
                args.iter().filter(|arg| **arg != Type::Error).for_each(|arg| self.ty(arg));
            }
            Type::Template(_, captures) => {
                captures.iter().for_each(|capture| self.ty(capture));
            }
            Type::Signature(of) => {
                of.params.iter().for_each(|param| self.ty(param));
                self.ty(&of.ret);
            }
        }
    }

    /// Reports types that do not agree.
    pub(super) fn agrees(&mut self, expected: &Type, found: &Type, what: &str) {
        // Errors are reported where they stand.
        if !agree(expected, found) && *expected != Type::Error && *found != Type::Error {
            self.report(format!("{what} is {}, expected {}", show(found), show(expected)));
        }
    }
}

/// Whether two types differ at most in coordinates and sizes.
pub(super) fn agree(a: &Type, b: &Type) -> bool {
    let all =
        |a: &[Type], b: &[Type]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| agree(a, b));
    match (a, b) {
        (Type::Array(a), Type::Array(b)) => a.axes.len() == b.axes.len() && agree(&a.elem, &b.elem),
        (Type::AnyRank(a), Type::AnyRank(b)) => agree(a, b),
        (Type::AnyRank(a), Type::Array(b)) | (Type::Array(b), Type::AnyRank(a)) => {
            agree(a, &b.elem)
        }
        (Type::Jagged(a, m), Type::Jagged(b, n)) => m == n && agree(a, b),
        (Type::Tuple(a), Type::Tuple(b)) => all(a, b),
        (Type::Data(a, x), Type::Data(b, y)) => {
            let open = |a: &Type, b: &Type| *a == Type::Error || *b == Type::Error;
            a == b
                && x.len() == y.len()
                && x.iter().zip(y.iter()).all(|(a, b)| open(a, b) || agree(a, b))
        }
        (Type::Template(..) | Type::Signature(_), Type::Template(..) | Type::Signature(_)) => true,
        (a, b) => a == b,
    }
}

/// A type in a few words.
pub(super) fn show(ty: &Type) -> String {
    match ty {
        Type::Unit => "()".into(),
        Type::Scalar(scalar) => scalar.name().into(),
        Type::Str => "str".into(),
        Type::Array(array) => format!("{} of rank {}", show(&array.elem), array.axes.len()),
        Type::AnyRank(elem) => format!("{} of any rank", show(elem)),
        Type::Jagged(elem, levels) => format!("jagged {} of {levels} levels", show(elem)),
        Type::Tuple(items) => {
            let items: Vec<String> = items.iter().map(show).collect();
            format!("({})", items.join(", "))
        }
        Type::Data(data, args) => {
            let args: Vec<String> = args.iter().map(show).collect();
            format!("{data}<{}>", args.join(", "))
        }
        Type::Template(..) | Type::Signature(_) => "a function".into(),
        Type::Range => "a range".into(),
        Type::Error => "an error".into(),
    }
}
