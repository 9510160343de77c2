//! What calls say of the numbers that they give.

use super::{DEPTH, Infer, Number};
use crate::check::Cx;
use crate::check::template::Template;
use crate::hir::{self, Builtin, ExprId, ExprKind as H, LocalId, TypeKind};
use ein_ir::tensor::{ReduceOp, Type};
use ein_scalar::ScalarType as S;
use rustc_hash::FxHashMap;

impl Cx<'_> {
    pub(super) fn call_number(
        &mut self,
        callee: ExprId,
        args: &[hir::Arg],
        infer: &mut Infer,
    ) -> Number {
        let given: Vec<Number> = args.iter().map(|arg| self.number(arg.value, infer)).collect();
        let hir = self.hir;
        let (params, body, ret) = match &hir.exprs[callee].kind {
            H::Builtin(builtin) => return builtin_number(*builtin, &given, infer),
            H::Fn(def) => match self.function(*def) {
                Some(function) => (&function.params[..], function.body, function.ret.as_ref()),
                None => return Number::default(),
            },
            H::Closure { params, body, .. } => (&params[..], *body, None),
            H::Local(local) => match self.type_of_local(*local) {
                Some(Type::Template(id, _)) => match self.templates.get(*id as usize) {
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
            match param.ty.as_deref().map(generic_or_declared) {
                Some(Ok(generic)) => {
                    let known = generics.get(&generic).copied().unwrap_or_default();
                    let both = infer.meet(known, *value);
                    generics.insert(generic, both);
                }
                Some(Err(ty)) => {
                    let wanted = self.declared_number(ty);
                    infer.meet(wanted, *value);
                    infer.locals.insert(*local, wanted);
                }
                None => {
                    infer.locals.insert(*local, *value);
                }
            }
        }
        match ret.map(|ret| generic_or_declared(ret)) {
            Some(Ok(generic)) => generics.get(&generic).copied().unwrap_or_default(),
            Some(Err(ty)) => self.declared_number(ty),
            None if infer.depth < DEPTH => {
                infer.depth += 1;
                let value = self.number(body, infer);
                infer.depth -= 1;
                value
            }
            None => Number::default(),
        }
    }

    /// The type of a part of a value that is bound outside.
    pub(super) fn part_type(&mut self, id: ExprId, infer: &Infer) -> Option<Type> {
        let hir = self.hir;
        match &hir.exprs[id].kind {
            H::Local(local) if !infer.locals.contains_key(local) => {
                self.type_of_local(*local).cloned()
            }
            H::Index { base, .. } => Some(self.part_type(*base, infer)?.elem().clone()),
            H::TupleField(base, at, _) => match self.part_type(*base, infer)? {
                Type::Tuple(items) => items.get(*at as usize).cloned(),
                _ => None,
            },
            H::Field(base, name) => {
                let ty = self.part_type(*base, infer)?;
                let Type::Data(data, _) = ty.elem() else { return None };
                let at = self.out.data[*data].variants.first()?.fields.iter();
                let at = at.clone().position(|field| *field == name.sym)?;
                self.part_types(ty.elem()).into_iter().nth(at)
            }
            _ => None,
        }
    }
}

/// The type parameter that an array or number is of, or the type as it is declared.
fn generic_or_declared(ty: &hir::Type) -> Result<LocalId, &hir::Type> {
    match &ty.kind {
        TypeKind::Param(local) => Ok(*local),
        TypeKind::Array { elem, .. } | TypeKind::AnyRank(elem) => match &elem.kind {
            TypeKind::Param(local) => Ok(*local),
            _ => Err(ty),
        },
        _ => Err(ty),
    }
}

pub(super) fn reduced(op: ReduceOp, value: Number) -> Number {
    match op {
        ReduceOp::Sum | ReduceOp::Prod | ReduceOp::Max | ReduceOp::Min | ReduceOp::Mean => value,
        ReduceOp::Any | ReduceOp::All => Number::of(S::Bool),
        ReduceOp::Argmax | ReduceOp::Argmin | ReduceOp::Count => Number::of(S::I32),
    }
}

fn builtin_number(builtin: Builtin, given: &[Number], infer: &mut Infer) -> Number {
    let all = |infer: &mut Infer| given.iter().fold(Number::default(), |a, b| infer.meet(a, *b));
    match builtin {
        Builtin::Unary(op) => {
            let value = all(infer);
            if op.result_type(S::I32).is_none() {
                infer.floats |= value.open;
            }
            value
        }
        Builtin::Reduction(op) => {
            let value = all(infer);
            reduced(op, value)
        }
        Builtin::Binary(_) | Builtin::Join | Builtin::Append => all(infer),
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
        | Builtin::ArrayAppend
        | Builtin::Input
        | Builtin::Rerank
        | Builtin::Reduce
        | Builtin::Scan
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
        | Builtin::Python(_) => Number::default(),
    }
}
