//! Whether the arms of a `match` cover every value, and whether each of them can be reached.
//!
//! Beyond a bound on the work a match needs a catch-all arm, and every arm counts as reachable.

use super::matrix::{Check, Con, Pat, Row};
use super::pattern::Matched;
use super::state::Report;
use super::{Cx, data, error, pattern};
use crate::hir;
use ein_base::{Code, Span};
use ein_ir::tensor::{Pattern, Type};
use ein_scalar::{Scalar, ScalarType};

/// How many missing cases a message names.
const NAMED: usize = 3;
/// How many bytes the names of several missing cases may take.
const WIDEST: usize = 100;

/// Reports what no arm matches, and arms that nothing reaches. `at` is the start of the match.
pub(super) fn check_exhaustive(
    cx: &mut Cx,
    ty: &Type,
    arms: &[hir::Arm],
    matched: &[Matched],
    at: Span,
) {
    let pats: Vec<Pat> = matched.iter().map(|arm| simplify(cx, &arm.pattern, ty)).collect();
    let mut check = Check::new(&cx.ix.data);
    let mut unreachable = Vec::new();
    let mut rows: Vec<Row<'_>> = Vec::new();
    for (position, (arm, pat)) in arms.iter().zip(&pats).enumerate() {
        if check.adds_nothing(&rows, pat) {
            unreachable.push(position);
        }
        if arm.guard.is_none() {
            rows.push(vec![pat]);
        }
    }
    let mut check = Check::new(&cx.ix.data);
    let missing = check.all_missing(&rows, NAMED + 1);
    let shown: Vec<String> = missing.iter().map(|pat| check.show(pat)).collect();
    for position in unreachable {
        let d = error(Code::W0203, arms[position].pat.span, "this arm is never reached")
            .here("the arms above match all of this")
            .help("remove it, or move it above the arm that is more general");
        cx.report.report_at(d);
    }
    if !shown.is_empty() {
        cx.report.report_missing(&shown, ty, arms, at);
    }
}

impl Report {
    fn report_missing(&mut self, shown: &[String], ty: &Type, arms: &[hir::Arm], at: Span) {
        let mut named = shown.len().min(NAMED);
        while named > 1 && shown[..named].iter().map(String::len).sum::<usize>() > WIDEST {
            named -= 1;
        }
        let more = shown.len() > named;
        let shown = &shown[..named];
        let quoted: Vec<_> = shown.iter().map(|case| format!("`{case}`")).collect();
        let list = match quoted.as_slice() {
            [all @ .., last] if !all.is_empty() && !more => {
                format!("{} and {last}", all.join(", "))
            }
            all if more => format!("{} and others", all.join(", ")),
            all => all.join(", "),
        };
        let mut d = error(Code::E0513, at, format!("this `match` misses {list}"))
            .here("not every value has an arm");
        if arms.iter().any(|arm| arm.guard.is_some()) {
            d = d.note("an arm with a guard covers nothing: the guard may fail");
        }
        if ty.is_array() || matches!(ty, Type::Jagged(..)) {
            d = d.note("patterns of arrays need a final catch-all");
        }
        let help = match shown {
            [only] if !more => format!("add an arm: `{only} => …`"),
            _ => "add an arm for each, or one for all of them: `_ => …`".into(),
        };
        self.report_at(d.help(help));
    }
}

fn simplify(cx: &mut Cx, pattern: &Pattern, ty: &Type) -> Pat {
    match pattern {
        Pattern::Wild | Pattern::Bind(_) => Pat::Any,
        Pattern::At(_, inner) => simplify(cx, inner, ty),
        Pattern::Literal(scalar) => Pat::Con(literal(*scalar), Vec::new()),
        Pattern::Str(text) => Pat::Con(Con::Str(*text), Vec::new()),
        Pattern::Range { lo, hi, inclusive } => {
            Pat::Con(range(*lo, *hi, *inclusive, ty), Vec::new())
        }
        Pattern::Tuple(items) => {
            let types: &[Type] = if let Type::Tuple(types) = ty { types } else { &[] };
            let items = items.iter().zip(types.iter().chain(std::iter::repeat(&Type::Error)));
            Pat::Con(Con::Tuple, items.map(|(item, ty)| simplify(cx, item, ty)).collect())
        }
        Pattern::Array { before, rest: Some(_), after }
            if before.is_empty() && after.is_empty() =>
        {
            Pat::Any
        }
        Pattern::Array { before, rest, after } => {
            let row = pattern::row_type(&mut cx.ix, ty).unwrap_or(Type::Error);
            let items = before.iter().chain(after);
            let items = items.map(|item| simplify(cx, item, &row)).collect();
            Pat::Con(Con::Array(before.len(), after.len(), rest.is_some()), items)
        }
        Pattern::Data { variant, fields } => match ty {
            Type::Data(id, args) => {
                let types = match cx.infer.data_def(*id) {
                    // Only what is inside of fields needs their types.
                    Some(def) if !fields.iter().all(plain) => {
                        data::field_types(cx, def, *variant, args)
                    }
                    _ => Vec::new(),
                };
                let types = types.iter().chain(std::iter::repeat(&Type::Error));
                let fields = fields.iter().zip(types).map(|(item, ty)| simplify(cx, item, ty));
                Pat::Con(Con::Variant(*id, *variant), fields.collect())
            }
            _ => Pat::Any,
        },
        Pattern::Or(items) => Pat::Or(items.iter().map(|item| simplify(cx, item, ty)).collect()),
    }
}

/// Whether a pattern matches everything and is not taken apart.
fn plain(pattern: &Pattern) -> bool {
    matches!(pattern, Pattern::Wild | Pattern::Bind(_))
}

fn literal(scalar: Scalar) -> Con {
    match (scalar, scalar.as_i128()) {
        (Scalar::Bool(value), _) => {
            Con::Int(i128::from(value), i128::from(value), ScalarType::Bool)
        }
        (_, Some(value)) => Con::Int(value, value, scalar.ty()),
        (_, None) => Con::Float(Some(scalar), Some(scalar), true),
    }
}

fn range(lo: Option<Scalar>, hi: Option<Scalar>, inclusive: bool, ty: &Type) -> Con {
    let Some((scalar, (min, max))) = ty.scalar().and_then(|ty| Some((ty, ty.int_range()?))) else {
        return Con::Float(lo, hi, inclusive);
    };
    let lo = lo.and_then(Scalar::as_i128).unwrap_or(min);
    let hi = match hi.and_then(Scalar::as_i128) {
        Some(hi) => hi - i128::from(!inclusive),
        None => max,
    };
    Con::Int(lo, hi, scalar)
}
