//! Types that are too large: every part of a value has its place wherever the value is, and parts of parts
//! double with every line.
//!
//! What is named keeps a type short, but not what is made of it: a struct counts as the fields that are
//! in it, to the last.

use super::error;
use super::state::{Infer, Report};
use crate::hir::{self, DefId, LocalId, TypeKind};
use ein_base::{Code, Span};
use ein_ir::tensor::{Expr, Type};
use rustc_hash::FxHashMap;

/// A type of more parts is an error.
const MOST_PARTS: usize = 10_000;

/// How many parts may still be counted, and the structs and enums that are being counted: what contains
/// itself is as large as its value.
struct Count {
    left: usize,
    inside: Vec<DefId>,
}

impl Count {
    /// Counts so many parts; whether more may be counted.
    fn take(&mut self, parts: usize) -> bool {
        self.left = self.left.saturating_sub(parts);
        self.left > 0
    }
}

impl Infer<'_> {
    /// Whether a type, or a value of it, has too many parts.
    pub(super) fn is_large(&self, ty: &Type) -> bool {
        self.has_more_parts(ty, MOST_PARTS)
    }

    /// Whether it has as many parts as that.
    pub(super) fn has_more_parts(&self, ty: &Type, most: usize) -> bool {
        // What is written first: the arguments of a type are counted one by one.
        [false, true].into_iter().any(|values| {
            let mut count = Count { left: most, inside: Vec::new() };
            self.count_type(ty, values, &mut count);
            count.left == 0
        })
    }
}

impl Report {
    /// Says that something is too large.
    pub(super) fn too_large(&mut self, what: &str, span: Span) -> Expr {
        let d = error(Code::E0521, span, format!("{what} is too large"))
            .here(format!("it has more than {MOST_PARTS} parts"))
            .help("make it of arrays of equal elements instead of parts in parts");
        self.fail(d)
    }
}

impl Infer<'_> {
    /// Counts the parts of a type as it is written, or those of its values.
    fn count_type(&self, ty: &Type, values: bool, count: &mut Count) {
        if !count.take(1) {
            return;
        }
        let parts: &[Type] = match ty {
            Type::Data(id, args) => match self.data_def(*id).filter(|_| values) {
                Some(def) => {
                    let given = args.iter().map(|arg| self.parts_of_type(arg, &count.inside));
                    return count_fields(self.hir, def, &given.collect::<Vec<_>>(), count);
                }
                None => args,
            },
            Type::Tuple(items) => items,
            Type::Array(array) => std::slice::from_ref(&array.elem),
            Type::Template(_, captures) => captures,
            Type::Unit
            | Type::Scalar(_)
            | Type::Str
            | Type::AnyRank(_)
            | Type::Jagged(..)
            | Type::Signature(_)
            | Type::Range
            | Type::Error => &[],
        };
        parts.iter().for_each(|part| self.count_type(part, values, count));
    }

    /// The parts of the values of a type that stands where these are being counted.
    fn parts_of_type(&self, ty: &Type, inside: &[DefId]) -> usize {
        let mut count = Count { left: MOST_PARTS, inside: inside.to_vec() };
        self.count_type(ty, true, &mut count);
        MOST_PARTS - count.left
    }
}

/// Counts the fields of a struct or enum whose type arguments have so many parts.
fn count_fields(hir: &hir::Program, def: DefId, args: &[usize], count: &mut Count) {
    if count.inside.contains(&def) {
        args.iter().for_each(|parts| _ = count.take(*parts));
        return;
    }
    let given = hir.defs[def].kind.generics().iter().copied().zip(args.iter().copied()).collect();
    count.inside.push(def);
    for field in hir.defs[def].kind.forms().into_iter().flatten() {
        count_written(hir, &field.ty, &given, count);
    }
    count.inside.pop();
}

/// The same for a type as it stands in a declaration.
fn count_written(
    hir: &hir::Program,
    ty: &hir::Type,
    given: &FxHashMap<LocalId, usize>,
    count: &mut Count,
) {
    if !count.take(1) {
        return;
    }
    match &ty.kind {
        TypeKind::Param(local) => {
            count.take(given.get(local).copied().unwrap_or(1).saturating_sub(1));
        }
        TypeKind::Data(def, args) => {
            let parts = |arg: &hir::Type| {
                let mut own = Count { left: MOST_PARTS, inside: count.inside.clone() };
                count_written(hir, arg, given, &mut own);
                MOST_PARTS - own.left
            };
            let args: Vec<usize> = args.iter().map(parts).collect();
            count_fields(hir, *def, &args, count);
        }
        TypeKind::Array { elem, .. } | TypeKind::Some(_, elem) => {
            count_written(hir, elem, given, count);
        }
        TypeKind::Tuple(items) => {
            items.iter().for_each(|item| count_written(hir, item, given, count));
        }
        TypeKind::Scalar(_)
        | TypeKind::Str
        | TypeKind::AnyRank(_)
        | TypeKind::Jagged(..)
        | TypeKind::Function(..)
        | TypeKind::Error => {}
    }
}
