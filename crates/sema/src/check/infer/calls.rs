//! What calls say of the numbers that they give.

use super::{DEPTH, Number, Numbers};
use crate::check::function;
use crate::check::template::Template;
use crate::hir::{self, Builtin, ExprId, ExprKind as H, LocalId, TypeKind};
use ein_ir::tensor::{ReduceOp, Type};
use ein_scalar::ScalarType as S;
use rustc_hash::FxHashMap;

pub(super) fn call_number(callee: ExprId, args: &[hir::Arg], numbers: &mut Numbers) -> Number {
    let given: Vec<Number> = args.iter().map(|arg| super::number(arg.value, numbers)).collect();
    let hir = numbers.infer.hir;
    let (params, body, ret) = match &hir.exprs[callee].kind {
        H::Builtin(builtin) => return builtin_number(*builtin, &given, numbers),
        H::Fn(def) if numbers.own == Some(*def) => {
            return Number { open: 1, ..Number::default() };
        }
        H::Fn(def) => match function::function(numbers.infer.hir, *def) {
            Some(function) => (&function.params[..], function.body, function.ret.as_ref()),
            None => return Number::default(),
        },
        H::Closure { params, body, .. } => (&params[..], *body, None),
        H::Local(local) => match super::type_of_local(numbers.ix, *local) {
            Some(Type::Template(id, _)) => match numbers.infer.templates.get(*id as usize) {
                Some(Template::Closure(closure)) => match &hir.exprs[*closure].kind {
                    H::Closure { params, body, .. } => (&params[..], *body, None),
                    _ => return Number::default(),
                },
                _ => return Number::default(),
            },
            Some(Type::Signature(signature)) => {
                return signature.ret.scalar().map(Number::of).unwrap_or_default();
            }
            _ => return Number::default(),
        },
        _ => return Number::default(),
    };
    let mut generics: FxHashMap<LocalId, Number> = FxHashMap::default();
    for (position, (arg, value)) in args.iter().zip(&given).enumerate() {
        let param = match arg.name {
            Some(name) => params.iter().find(|it| it.name.is_some_and(|it| it.sym == name.sym)),
            None => params.get(position),
        };
        let Some(param) = param else { continue };
        let hir::PatKind::Bind(local, _) = &param.pat.kind else { continue };
        numbers.locals.insert(*local, *value);
        match param.ty.as_deref().map(generic_or_declared) {
            Some(Ok(generic)) => {
                let known = generics.get(&generic).copied().unwrap_or_default();
                let both = numbers.meet(known, *value);
                generics.insert(generic, both);
                numbers.params.insert(generic, both);
            }
            Some(Err(ty)) => {
                let wanted = numbers.declared_number(ty);
                numbers.meet(wanted, *value);
                numbers.locals.insert(*local, wanted);
            }
            None => {}
        }
    }
    // What takes a type parameter may not take every type.
    if !numbers.fits.is_empty()
        && !generics.is_empty()
        && given.iter().any(|value| value.open != 0)
        && numbers.depth < DEPTH
    {
        numbers.depth += 1;
        super::number(body, numbers);
        numbers.depth -= 1;
    }
    match ret.map(|ret| generic_or_declared(ret)) {
        Some(Ok(generic)) => generics.get(&generic).copied().unwrap_or_default(),
        Some(Err(ty)) => numbers.declared_number(ty),
        None if numbers.depth < DEPTH => {
            numbers.depth += 1;
            let value = super::number(body, numbers);
            numbers.depth -= 1;
            value
        }
        None => Number::default(),
    }
}

/// The type parameter that an array or number is of, or the type as it is declared.
pub(in crate::check) fn generic_or_declared(ty: &hir::Type) -> Result<LocalId, &hir::Type> {
    match &ty.kind {
        TypeKind::Param(local) => Ok(*local),
        TypeKind::Array { elem, .. } | TypeKind::AnyRank(elem) => match &elem.kind {
            TypeKind::Param(local) => Ok(*local),
            _ => Err(ty),
        },
        _ => Err(ty),
    }
}

pub(super) fn reduced(op: ReduceOp, value: Number, numbers: &mut Numbers) -> Number {
    match op {
        ReduceOp::Any | ReduceOp::All | ReduceOp::Count => numbers.takes(value, S::is_bool),
        ReduceOp::Sum | ReduceOp::Prod => numbers.takes(value, S::is_numeric),
        ReduceOp::Mean => {
            numbers.takes(value, S::is_float);
            numbers.floats |= value.open;
        }
        ReduceOp::Max | ReduceOp::Min | ReduceOp::Argmax | ReduceOp::Argmin => {}
    }
    match op {
        ReduceOp::Sum | ReduceOp::Prod | ReduceOp::Max | ReduceOp::Min | ReduceOp::Mean => value,
        ReduceOp::Any | ReduceOp::All => Number::of(S::Bool),
        ReduceOp::Argmax | ReduceOp::Argmin | ReduceOp::Count => Number::of(S::I32),
    }
}

fn builtin_number(builtin: Builtin, given: &[Number], numbers: &mut Numbers) -> Number {
    let all =
        |numbers: &mut Numbers| given.iter().fold(Number::default(), |a, b| numbers.meet(a, *b));
    match builtin {
        Builtin::Unary(op) => {
            let value = all(numbers);
            numbers.takes(value, |ty| op.result_type(ty).is_some());
            if op.result_type(S::I32).is_none() {
                numbers.floats |= value.open;
            }
            value
        }
        Builtin::Reduction(op) => {
            let value = all(numbers);
            reduced(op, value, numbers)
        }
        Builtin::Total => all(numbers),
        Builtin::Binary(op) => {
            let value = all(numbers);
            numbers.takes(value, |ty| op.result_type(ty, ty).is_some());
            value
        }
        Builtin::Join | Builtin::Append | Builtin::ArrayAppend => all(numbers),
        Builtin::Reduce | Builtin::Scan => {
            all(numbers);
            Number::default()
        }
        Builtin::First
        | Builtin::Last
        | Builtin::Rest
        | Builtin::Init
        | Builtin::Take
        | Builtin::Drop
        | Builtin::Reverse
        | Builtin::Reshape
        | Builtin::Rotate => {
            let of = given.iter().find(|it| it.open != 0).or(given.first());
            of.copied().unwrap_or_default()
        }
        Builtin::Len => Number::of(S::I32),
        Builtin::Print
        | Builtin::Assert
        | Builtin::Shape
        | Builtin::Typeof
        | Builtin::Input
        | Builtin::Rerank
        | Builtin::Filter
        | Builtin::Iota
        | Builtin::Blocks
        | Builtin::Unblocks
        | Builtin::Einsum
        | Builtin::Jvp
        | Builtin::Vjp
        | Builtin::Hessian
        | Builtin::Io(_)
        | Builtin::Plain(_)
        | Builtin::By(_)
        | Builtin::Python(_) => Number::default(),
    }
}
