//! Templates where a signature asks for a function: their code is chosen, and what they give is held
//! to what is wanted.

use super::Template;
use crate::check::instance::{Key, Source};
use crate::check::{Cx, error};
use crate::hir::ExprKind as H;
use ein_base::{Code, Name, Span, Symbol};
use ein_ir::tensor::{Axis, Expr, ExprKind, Type};

impl Cx<'_> {
    /// A template as a value of a fixed signature.
    pub(in crate::check) fn specialise_value(
        &mut self,
        value: Expr,
        params: Vec<Type>,
        ret: Type,
    ) -> Expr {
        let span = value.span;
        let Type::Template(id, captures) = value.ty.clone() else { return value };
        let at = match self.templates.get(id as usize).cloned() {
            Some(Template::Closure(closure)) => {
                let count = match &self.hir.exprs[closure].kind {
                    H::Closure { params, .. } => params.len(),
                    _ => 0,
                };
                if count != params.len() {
                    let d = error(
                        Code::E0508,
                        span,
                        format!(
                            "a function of {} arguments is wanted, this closure takes {count}",
                            params.len()
                        ),
                    )
                    .here("the closure")
                    .help("give the closure that many parameters");
                    return self.fail(d);
                }
                self.closure_instance(closure, captures.to_vec(), params.clone(), span)
            }
            Some(Template::Choice(ids)) => {
                self.choice_instance(id, &ids, captures.to_vec(), params.clone(), span)
            }
            Some(_) => self.adapter(id, &params, span),
            None => None,
        };
        let Some(at) = at else { return Expr::error(span) };
        let instance = self.instances.items[at].clone();
        let have = instance.ret.clone().unwrap_or(Type::Error);
        if !self.same_kind(&have, &ret) && !ret.has_error() {
            let (have, want) = (self.show(&have), self.show(&ret));
            let d = error(
                Code::E0501,
                span,
                format!("a function that gives `{want}` is wanted, but this one gives `{have}`"),
            )
            .here(format!("gives `{have}`"))
            .help(format!("pass a function whose result is `{want}`"));
            return self.fail(d);
        }
        // What the extents of its result are for arguments of the wanted types.
        let args: Vec<Expr> =
            params.iter().map(|ty| Expr::new(ExprKind::Error, ty.clone(), span)).collect();
        let given = self.map_result(have.clone(), &instance, &[], &args);
        if differs(&given, &ret) {
            let (have, want) = (self.show(&given), self.show(&ret));
            let message =
                format!("a function that gives `{want}` is wanted, but this one gives `{have}`");
            let d = error(Code::E0405, span, message)
                .here(format!("gives `{have}`"))
                .help(format!("pass a function whose result is `{want}`"));
            return self.fail(d);
        }
        // A type parameter may still be open in what is wanted: then the function says it.
        let ty = Type::signature(params, if ret.has_error() { have } else { ret });
        Expr::new(ExprKind::Specialise { value, func: instance.func }, ty, span)
    }

    /// A function of fixed parameter types that calls a template.
    fn adapter(&mut self, id: u32, params: &[Type], span: Span) -> Option<usize> {
        let erase = crate::check::function::erase;
        let key = Key {
            source: Source::Adapter(id),
            captures: Vec::new(),
            params: params.iter().cloned().map(|ty| Some(erase(ty))).collect(),
            packs: Vec::new(),
            types: Vec::new(),
        };
        if let Some(at) = self.instances.table.get(&key) {
            return Some(*at);
        }
        let name = match self.templates.get(id as usize) {
            Some(Template::Fn(def)) => self.hir.defs[*def].name.sym,
            _ => Symbol::intern("function"),
        };
        let at = self.new_instance(key, Name { sym: name, span });
        self.fill_instance(at, |cx| {
            let vars: Vec<_> = params
                .iter()
                .map(|ty| {
                    let ty = cx.map_sizes(ty.clone(), &mut |cx, _| cx.unknown_size(true));
                    let var = cx.new_var(Symbol::intern("argument"), span, ty.clone());
                    cx.settle_type(var, ty);
                    cx.size_variable(var, None, true);
                    var
                })
                .collect();
            cx.instances.items[at].params = vars.clone();
            let args = vars.into_iter().map(|var| cx.var_expr(var, span)).collect();
            let callee = Expr::new(ExprKind::Unit, Type::Unit, span);
            cx.apply_template(id, callee, args, span)
        });
        Some(at)
    }
}

/// Whether an extent in one type is certainly another one than in the other.
fn differs(a: &Type, b: &Type) -> bool {
    match (a, b) {
        (Type::Array(x), Type::Array(y)) => {
            let certain = |(p, q): (&Axis, &Axis)| {
                p.size.sub(&q.size).as_constant().is_some_and(|difference| difference != 0)
            };
            x.axes.iter().zip(&y.axes).any(certain) || differs(&x.elem, &y.elem)
        }
        (Type::Tuple(x), Type::Tuple(y)) => x.iter().zip(y).any(|(p, q)| differs(p, q)),
        (Type::Data(m, x), Type::Data(n, y)) if m == n => {
            x.iter().zip(y).any(|(p, q)| differs(p, q))
        }
        _ => false,
    }
}
