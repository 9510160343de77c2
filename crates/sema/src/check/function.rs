//! Function bodies: checked once for all sizes, or once for each way an unannotated one is used.

use super::instance::{Instance, Key, LIMIT, Over, SizeKey, Source};
use super::{Binding, Cx, FnState, error};
use crate::hir::{self, DefId, DefKind, DimKind, Function, Param, TypeKind};
use ein_base::{Code, Diagnostic, Name, Span, Stage, Symbol};
use ein_ir::size;
use ein_ir::tensor::{ArrayType, AtomDef, Axis, Expr, ExprKind, Func, Type, VarId};
use ein_scalar::ScalarType;
use std::sync::Arc;

impl<'a> Cx<'a> {
    pub(super) fn function(&self, def: DefId) -> Option<&'a Function> {
        match &self.hir.defs[def].kind {
            DefKind::Fn(function) => Some(function),
            DefKind::Const(_) | DefKind::Struct(_) | DefKind::Enum(_) | DefKind::Error => None,
        }
    }

    /// Checks a function that nobody called yet, if its signature says enough: for all sizes, with
    /// one axis for each pack, and for the first element type that its body can take.
    pub(super) fn check_uncalled(&mut self, def: DefId) {
        let Some(function) = self.function(def) else { return };
        let known = self.instances.counts.get(&Source::Def(def)).is_some_and(|count| *count > 0);
        let says = |param: &Param| {
            param.ty.as_deref().is_some_and(|ty| !matches!(ty.kind, TypeKind::AnyRank(_)))
        };
        let annotated = function.params.iter().all(says) && function.captures.is_empty();
        if known || !annotated {
            return;
        }
        if function.generics.is_empty() {
            self.instance_uncalled(def, function, Vec::new());
            return;
        }
        let mut nearest: Option<(usize, Type)> = None;
        for elem in [Type::F32, Type::I32, Type::BOOL] {
            let Err(wrong) = self.try_uncalled(def, function, elem.clone()) else { return };
            if nearest.as_ref().is_none_or(|(least, _)| wrong < *least) {
                nearest = Some((wrong, elem));
            }
        }
        // None fits, so the mistake is another one: it is told of the type that is nearest.
        if let Some((_, elem)) = nearest {
            self.instance_uncalled(def, function, vec![elem; function.generics.len()]);
        }
    }

    fn instance_uncalled(&mut self, def: DefId, function: &Function, types: Vec<Type>) {
        let packs = vec![1; function.packs.len()];
        let params = vec![None; function.params.len()];
        let name = self.hir.defs[def].name;
        self.instance_of(def, params, packs, types, (name.sym, name.span), false);
    }

    /// The same for one element type. What is wrong with coordinates and shapes is wrong for every
    /// type; any other error only says that this type does not fit, and leaves nothing behind but
    /// their number.
    fn try_uncalled(&mut self, def: DefId, function: &Function, elem: Type) -> Result<(), usize> {
        let before = self.mark();
        self.instance_uncalled(def, function, vec![elem; function.generics.len()]);
        let of_every_type = |d: &Diagnostic| {
            !d.is_error() || matches!(d.code.stage(), Stage::Coordinates | Stage::Ranges)
        };
        let found = self.diagnostics.get(before.diagnostics..).unwrap_or_default();
        match found.iter().filter(|d| !of_every_type(d)).count() {
            0 => Ok(()),
            wrong => {
                self.roll_back(&before);
                Err(wrong)
            }
        }
    }

    /// The instance of a function for the given argument types (of unannotated parameters), pack
    /// lengths and type arguments.
    pub(super) fn instance_of(
        &mut self,
        def: DefId,
        params: Vec<Option<Type>>,
        packs: Vec<usize>,
        types: Vec<Type>,
        call: (Symbol, Span),
        at_call: bool,
    ) -> Option<usize> {
        let function = self.function(def)?;
        let erased = params.iter().map(|ty| ty.clone().map(erase)).collect();
        let captures = std::mem::take(&mut self.f.captures);
        let key = Key {
            source: Source::Def(def),
            captures: captures.iter().cloned().map(erase).collect(),
            params: erased,
            packs: packs.clone(),
            types: types.iter().cloned().map(erase).collect(),
        };
        if let Some(at) = self.instances.table.get(&key) {
            let at = *at;
            self.report_again(at, call);
            let through_others = self.filling.last() != Some(&at);
            let instance = &mut self.instances.items[at];
            instance.recursive |= !instance.done;
            let open = !instance.done && instance.ret.is_none() && function.ret.is_none();
            instance.called_itself |= open;
            instance.called_back |= open && through_others;
            return Some(at);
        }
        if !self.count_instance(&key, call) {
            return None;
        }
        let at = self.new_instance(key, self.hir.defs[def].name);
        self.fill_instance(at, |cx| {
            let own = cx.enter_captures(&function.captures, &captures);
            cx.instances.items[at].captures = own;
            cx.enter_signature(at, function, &params, &packs, &types);
            if at_call && (params.iter().any(Option::is_some) || !types.is_empty()) {
                cx.f.instantiated_at.push(call);
            }
            cx.function_result(function, cx.hir.defs[def].name.sym)
        });
        if function.rule.is_some() {
            let params: Vec<Type> = self.instances.items[at]
                .params
                .iter()
                .map(|param| self.out.vars[*param].ty.clone())
                .collect();
            let func = self.instances.items[at].func;
            let result = self.out.funcs[func].ret.clone();
            let rule = self.rule_of(def, &params, &result);
            self.out.funcs[func].rule = rule;
        }
        Some(at)
    }

    /// Another call of a function of the library that does not take such arguments.
    fn report_again(&mut self, at: usize, call: (Symbol, Span)) {
        let Some(broken) = self.instances.items[at].broken.clone() else { return };
        let (name, span) = call;
        if self.in_library(span) || broken.primary.span == span {
            return;
        }
        let mut again = *broken;
        again.primary.span = span;
        again.primary.text = format!("in this call of `{name}`");
        self.report_at(again);
    }

    /// One more instance of a function, unless there are too many, or its types grow without end.
    pub(super) fn count_instance(&mut self, key: &Key, call: (Symbol, Span)) -> bool {
        let count = self.instances.counts.entry(key.source).or_insert(0);
        *count += 1;
        let large = key.is_large();
        if *count <= LIMIT && !large {
            return true;
        }
        let (name, span) = call;
        let message = match large {
            true => format!("`{name}` would need an instance for a type of too many parts"),
            false => format!("`{name}` would need more than {LIMIT} different instances"),
        };
        let d = error(Code::E0518, span, message)
            .here("each call needs another type or rank")
            .help("declare the types of its parameters, so that calls of itself agree");
        self.report_at(d);
        false
    }

    pub(super) fn new_instance(&mut self, key: Key, name: Name) -> usize {
        let func = self.out.funcs.push(Func {
            name: name.sym,
            span: name.span,
            sizes: Vec::new(),
            captures: Vec::new(),
            params: Vec::new(),
            ret: Type::Error,
            body: Expr::error(name.span),
            slots: 0,
            rule: None,
        });
        let at = self.instances.items.len();
        self.instances.items.push(Instance {
            func,
            ret: None,
            over: None,
            params: Vec::new(),
            captures: Vec::new(),
            sizes: Vec::new(),
            assumed: Vec::new(),
            called_itself: false,
            called_back: false,
            broken: None,
            recursive: false,
            done: false,
        });
        self.instances.table.insert(key, at);
        at
    }

    /// Checks a body in a frame of its own, twice if it called itself before its type was known.
    pub(super) fn fill_instance(&mut self, at: usize, check: impl Fn(&mut Self) -> Expr) {
        self.lasting(|cx| cx.fill(at, check));
    }

    fn fill(&mut self, at: usize, check: impl Fn(&mut Self) -> Expr) {
        let reported = self.diagnostics.len();
        let before = self.mark();
        self.filling.push(at);
        let body = self.in_frame(at, &check);
        let again = self.instances.items[at].called_itself;
        if again && !body.ty.has_error() {
            self.settle_result(at, body.ty, &before, check);
        } else if again && self.diagnostics.len() == reported {
            let func = &self.out.funcs[self.instances.items[at].func];
            let (name, span) = (func.name, func.span);
            let d = error(
                Code::E0516,
                span,
                format!("the result of `{name}` cannot be inferred: every branch calls `{name}`"),
            )
            .here("which type does it return?")
            .help("declare the result: `-> f32`");
            self.report_at(d);
        }
        self.filling.pop();
        // What is left of the errors, now that nothing is tried any more, holds for every call.
        if self.in_library(self.out.funcs[self.instances.items[at].func].span) {
            let inside = |d: &Diagnostic| {
                d.is_error()
                    && !self.in_library(d.primary.span)
                    && d.labels.iter().any(|label| self.in_library(label.span))
            };
            let own = self.diagnostics.get(reported..).unwrap_or_default();
            let broken = own.iter().find(|d| inside(d)).cloned().map(Box::new);
            self.instances.items[at].broken = broken;
        }
        self.instances.items[at].done = true;
    }

    /// Finds the result of a function that calls itself: the paths that do not say what it is, and
    /// their extents hold where the others give the same under them. What differs is left open.
    fn settle_result(
        &mut self,
        at: usize,
        found: Type,
        before: &super::tries::Mark,
        check: impl Fn(&mut Self) -> Expr,
    ) {
        let mut ret = found;
        loop {
            let over = self.written_over(at);
            if self.instances.items[at].called_back {
                // Functions that call this one back did not know its type: all of them again.
                self.roll_back(before);
            } else {
                self.take_back(before.diagnostics);
            }
            self.instances.items[at].ret = Some(ret.clone());
            self.instances.items[at].over = Some(over.clone());
            let found = self.in_frame(at, &check).ty;
            let own = self.written_over(at);
            let assumed = self.rewritten(ret, &over, &own);
            let open = self.open_where_unequal(&assumed, &found);
            let holds = open == assumed;
            ret = open;
            if holds {
                break;
            }
        }
        let instance = &mut self.instances.items[at];
        instance.ret = Some(ret);
        instance.over = None;
    }

    /// The variables of a frame that a type may be written over.
    pub(super) fn written_over(&self, at: usize) -> Over {
        let instance = &self.instances.items[at];
        let values = instance.captures.iter().chain(&instance.params).copied().collect();
        Over { values, sizes: self.out.funcs[instance.func].sizes.clone() }
    }

    /// A type over the variables of one frame, over those of another one of the same function.
    pub(super) fn rewritten(&mut self, ty: Type, from: &Over, to: &Over) -> Type {
        self.map_sizes(ty, &mut |cx, size| {
            size.substitute(&|atom| match cx.out.atoms[atom].def {
                AtomDef::Extent(var, axis) => {
                    let at = from.values.iter().position(|value| *value == var)?;
                    let axes = cx.out.vars[*to.values.get(at)?].ty.axes();
                    axes.get(axis).map(|axis| axis.size.clone())
                }
                AtomDef::Var(var) => {
                    let same = |from: &[VarId], to: &[VarId]| {
                        let at = from.iter().position(|own| *own == var)?;
                        to.get(at).copied()
                    };
                    let own = same(&from.sizes, &to.sizes);
                    let own = own.or_else(|| same(&from.values, &to.values))?;
                    cx.var_sizes.get(&own).cloned()
                }
                AtomDef::Length(_) | AtomDef::Unknown => None,
            })
        })
    }

    /// A type with its extents open where another one has others, as far as they were not open.
    fn open_where_unequal(&mut self, ty: &Type, other: &Type) -> Type {
        match (ty, other) {
            (Type::Array(own), Type::Array(found)) if own.axes.len() == found.axes.len() => {
                let mut axes = own.axes.clone();
                for (axis, found) in axes.iter_mut().zip(&found.axes) {
                    if axis.size != found.size && self.unsettled(&axis.size).is_none() {
                        axis.size = self.unknown_size(true);
                    }
                }
                Type::array(self.open_where_unequal(&own.elem, &found.elem), axes)
            }
            (Type::Tuple(own), Type::Tuple(found)) if own.len() == found.len() => Type::Tuple(
                own.iter().zip(found).map(|(a, b)| self.open_where_unequal(a, b)).collect(),
            ),
            (Type::Data(id, own), Type::Data(other, found)) if id == other => Type::Data(
                *id,
                own.iter().zip(found).map(|(a, b)| self.open_where_unequal(a, b)).collect(),
            ),
            (own, _) => own.clone(),
        }
    }

    fn in_frame(&mut self, at: usize, check: &impl Fn(&mut Self) -> Expr) -> Expr {
        let outer = std::mem::take(&mut self.f);
        self.f = FnState {
            pending: vec![Vec::new()],
            instantiated_at: outer.instantiated_at.clone(),
            ..FnState::default()
        };
        let value = check(self);
        let stmts = self.f.pending.pop().unwrap_or_default();
        // Statements of the frame itself keep their variables: the sizes stay meaningful to the
        // caller, who maps them.
        let ty = value.ty.clone();
        let span = value.span;
        let body = if stmts.is_empty() {
            value
        } else {
            Expr::new(ExprKind::Block { stmts, value }, ty.clone(), span)
        };
        let frame = std::mem::replace(&mut self.f, outer);
        let instance = &mut self.instances.items[at];
        if instance.ret.is_none() || !instance.called_itself {
            instance.ret = Some(ty.clone());
        }
        instance.assumed = frame.assumed;
        let func = &mut self.out.funcs[instance.func];
        func.params = instance.params.clone();
        func.captures = instance.captures.clone();
        func.ret = ty;
        func.slots = frame.slots;
        func.body = body.clone();
        body
    }

    /// Binds the sizes, packs and parameters of a signature.
    fn enter_signature(
        &mut self,
        at: usize,
        function: &Function,
        params: &[Option<Type>],
        packs: &[usize],
        types: &[Type],
    ) {
        let mut keys = Vec::new();
        let mut vars = Vec::new();
        for (generic, ty) in function.generics.iter().zip(types) {
            // Extents inside of it are the caller's: here they are known at run time only.
            let ty = self.map_sizes(ty.clone(), &mut |cx, _| cx.unknown_size(true));
            self.f.type_params.insert(*generic, ty);
        }
        for local in &function.sizes {
            let name = self.hir.locals[*local].name;
            let size = self.size_parameter(name, &mut vars);
            keys.push(SizeKey::Name(*local));
            self.f.sizes.insert(*local, size);
        }
        for name in unstated_coords(function) {
            let size = self.size_parameter(name, &mut vars);
            keys.push(SizeKey::Coord(name.sym));
            self.f.coord_sizes.insert(name.sym, size);
        }
        for (local, count) in function.packs.iter().zip(packs) {
            let name = self.hir.locals[*local].name;
            let mut axes = Vec::new();
            for position in 0..*count {
                let sym = pack_coord(name, position);
                let size = self.size_parameter(Name { sym, span: name.span }, &mut vars);
                keys.push(SizeKey::Pack(*local, position));
                axes.push(Axis { coord: Some(super::types::contract(sym, None)), size });
            }
            self.f.signature_packs.insert(*local, axes);
        }
        let func = self.instances.items[at].func;
        self.out.funcs[func].sizes = vars;
        self.instances.items[at].sizes = keys;
        let vars = function
            .params
            .iter()
            .zip(params)
            .map(|(param, given)| self.enter_parameter(param, given.as_ref()))
            .collect();
        self.instances.items[at].params = vars;
    }

    fn size_parameter(&mut self, name: Name, vars: &mut Vec<VarId>) -> size::Expr {
        let var = self.new_var(name.sym, name.span, Type::Scalar(ScalarType::I64));
        let atom = self.new_atom(name.sym, AtomDef::Var(var), false);
        let size = size::Expr::atom(atom);
        self.var_sizes.insert(var, size.clone());
        self.f.facts.ge0(size.clone());
        vars.push(var);
        size
    }

    /// Binds one parameter; without an annotation it takes the type of the argument, with extents
    /// of its own.
    pub(super) fn enter_parameter(&mut self, param: &Param, given: Option<&Type>) -> VarId {
        let ty = match (&param.ty, given) {
            // Any rank: the argument says which.
            (Some(ty), Some(given)) if matches!(ty.kind, TypeKind::AnyRank(_)) => {
                self.map_sizes(given.clone(), &mut |cx, _| cx.unknown_size(true))
            }
            (Some(ty), _) => {
                self.renew_type_params();
                self.lower_type(ty)
            }
            (None, Some(given)) if is_short_list(given) => given.clone(),
            (None, Some(given)) => {
                self.map_sizes(given.clone(), &mut |cx, _| cx.unknown_size(true))
            }
            (None, None) => Type::Error,
        };
        let name =
            param.name.unwrap_or(Name { sym: Symbol::intern("parameter"), span: param.span });
        let var = self.new_var(name.sym, name.span, ty.clone());
        let ty = self.settle_type(var, ty);
        self.size_variable(var, None, true);
        if let Some(hir::Type { kind: TypeKind::Array { no_broadcast: true, .. }, .. }) =
            param.ty.as_deref()
        {
            self.no_broadcast.insert(var);
        }
        match &param.pat.kind {
            hir::PatKind::Bind(local, _) => {
                self.f.env.insert(*local, Binding::Var(var));
                self.declare_extents(name.sym, name.span, &ty);
            }
            _ => {
                let pattern = self.pattern(&param.pat, &ty);
                let value = self.var_expr(var, param.span);
                self.emit(ein_ir::tensor::Stmt {
                    kind: ein_ir::tensor::StmtKind::Destructure(pattern, value),
                    span: param.span,
                });
            }
        }
        var
    }

    /// Gives type arguments extents of their own: two parameters of one type may differ in them.
    fn renew_type_params(&mut self) {
        for (generic, ty) in self.f.type_params.clone() {
            let ty = self.map_sizes(ty, &mut |cx, _| cx.unknown_size(true));
            self.f.type_params.insert(generic, ty);
        }
    }
}

/// What a function calls the coordinate of one axis of a pack.
pub(super) fn pack_coord(pack: Name, position: usize) -> Symbol {
    Symbol::intern(&format!("{}.{position}", pack.sym))
}

/// The coordinates of a signature whose extents it does not state, in order.
pub(super) fn unstated_coords(function: &Function) -> Vec<Name> {
    let mut names: Vec<Name> = Vec::new();
    for param in &function.params {
        let Some(hir::Type { kind: TypeKind::Array { dims, .. }, .. }) = param.ty.as_deref() else {
            continue;
        };
        for dim in dims {
            let DimKind::Coord { name, extent: None, over } = &dim.kind else { continue };
            // Roles of one coordinate have one extent.
            let name = over.unwrap_or(*name);
            if !names.iter().any(|known| known.sym == name.sym) {
                names.push(name);
            }
        }
    }
    names
}

/// A few integers in a row of known length, such as a shape, strides or a list of axes. The rank of
/// what a function makes of them is their number, so it is part of what an instance is for. Longer
/// rows are data.
fn is_short_list(ty: &Type) -> bool {
    const LONGEST: i64 = 8;
    let Type::Array(array) = ty else { return false };
    matches!(array.elem, Type::Scalar(ScalarType::I32))
        && array.axes.len() == 1
        && array.axes[0].size.as_constant().is_some_and(|length| length <= LONGEST)
}

/// A type without its sizes.
pub(super) fn erase(ty: Type) -> Type {
    match ty {
        _ if is_short_list(&ty) => ty,
        Type::Array(array) => {
            let ArrayType { elem, mut axes } = Arc::unwrap_or_clone(array);
            for axis in &mut axes {
                axis.size = size::Expr::zero();
            }
            Type::Array(Arc::new(ArrayType { elem: erase(elem), axes }))
        }
        Type::AnyRank(elem) => Type::AnyRank(Box::new(erase(*elem))),
        Type::Jagged(elem, depth) => Type::Jagged(Box::new(erase(*elem)), depth),
        Type::Tuple(items) => Type::Tuple(items.into_iter().map(erase).collect()),
        Type::Data(id, args) => Type::Data(id, args.into_iter().map(erase).collect()),
        Type::Template(id, captures) => {
            Type::Template(id, captures.into_iter().map(erase).collect())
        }
        Type::Signature(of) => {
            let params = of.params.iter().cloned().map(erase).collect();
            Type::signature(params, erase(of.ret.clone()))
        }
        Type::Unit | Type::Scalar(_) | Type::Str | Type::Range | Type::Error => ty,
    }
}
