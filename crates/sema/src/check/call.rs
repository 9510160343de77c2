//! Calls: arguments to parameters, coordinate arguments, and what the call gives.

mod args;
mod coords;
mod functions;
mod generics;

use super::instance::{Instance, SizeKey};
use super::matching::{Cell, Match};
use super::{Binding, Cx, error};
use crate::hir::{self, Arg, CoordArg, DefId, ExprId, ExprKind as H, Function, TypeKind};
use crate::resolve::builtins::builtin_name;
use ein_base::{Code, Span, Symbol};
use ein_ir::size;
use ein_ir::tensor::{AtomDef, Expr, ExprKind, Place, Require, Signature, Type};

impl Cx<'_> {
    pub(super) fn call(
        &mut self,
        callee: ExprId,
        coords: &[CoordArg],
        args: &[Arg],
        want: Option<&Type>,
        span: Span,
    ) -> Expr {
        let hir = self.hir;
        if !coords.is_empty() && !self.takes_coordinates(callee) {
            return self.no_coordinates(callee, coords.len(), span);
        }
        match &hir.exprs[callee].kind {
            H::Fn(_) if args.is_empty() && self.literal_function(callee).is_some() => {
                match self.literal_function(callee) {
                    Some(body) => Expr { span, ..self.expr(body, want) },
                    None => Expr::error(span),
                }
            }
            H::Fn(def) => self.call_with(*def, coords, args, want, span),
            H::Builtin(builtin) => self.builtin_call(*builtin, coords, args, want, span),
            H::Variant(def, index) => self.make_variant(*def, *index, args, want, span),
            H::Array(items) if self.are_functions(items) => {
                self.call_functions(items, coords, args, want, span)
            }
            _ => {
                let value = self.expr(callee, None);
                self.call_value(value, args, want, span)
            }
        }
    }

    /// Whether a bracket before the arguments can mean coordinates.
    fn takes_coordinates(&self, callee: ExprId) -> bool {
        match &self.hir.exprs[callee].kind {
            H::Fn(_) => true,
            H::Builtin(builtin) => builtin.takes_coordinates(),
            H::Array(items) => self.are_functions(items),
            H::Error => true,
            _ => false,
        }
    }

    fn no_coordinates(&mut self, callee: ExprId, count: usize, span: Span) -> Expr {
        let name = match &self.hir.exprs[callee].kind {
            H::Builtin(builtin) => format!("`{}`", builtin_name(*builtin)),
            H::Local(local) => format!("`{}`", self.local_name(*local)),
            _ => "this function value".into(),
        };
        let d = error(Code::E0302, span, format!("{name} takes no coordinates"))
            .here(format!("{count} in brackets"))
            .help("leave the bracket out; a function of your own can take coordinates");
        self.fail(d)
    }

    /// Results of several functions as one array.
    fn stack(&mut self, items: Vec<Expr>, span: Span) -> Expr {
        let mut items = items;
        self.widen_all(&mut items);
        let Some(first) = items.first() else { return Expr::error(span) };
        let mut ty = first.ty.clone();
        for item in &items[1..] {
            match self.join_types(&ty, &item.ty) {
                Some(joined) => ty = joined,
                None => {
                    let (a, b) = (self.show(&ty), self.show(&item.ty));
                    let d = error(
                        Code::E0505,
                        span,
                        format!(
                            "the functions of this array give different types: `{a}` and `{b}`"
                        ),
                    )
                    .here("one array, one type")
                    .help("call the functions one by one");
                    return self.fail(d);
                }
            }
        }
        if ty.is_broken() {
            return Expr::error(span);
        }
        let count = size::Expr::constant(items.len() as i64);
        let ty = Type::array(ty, vec![super::anonymous(count)]);
        Expr::new(ExprKind::Array(items), ty, span)
    }

    /// A call of a function value.
    fn call_value(&mut self, callee: Expr, args: &[Arg], want: Option<&Type>, span: Span) -> Expr {
        match callee.ty.clone() {
            Type::Template(template, _) => self.call_template(template, callee, args, want, span),
            Type::Signature(of) => {
                let args = self.signature_args(&of.params, args, span);
                self.call_signature(callee, Vec::new(), &of, args, span)
            }
            Type::Array(array) => match &array.elem {
                Type::Signature(of) => {
                    let args = self.signature_args(&of.params, args, span);
                    let frame = (0..array.axes.len()).collect();
                    self.call_signature(callee, frame, of, args, span)
                }
                _ => self.not_callable(&callee, span),
            },
            ty if ty.has_error() => {
                // Arguments may hold mistakes of their own.
                for arg in args {
                    self.expr(arg.value, None);
                }
                Expr::error(span)
            }
            _ => self.not_callable(&callee, span),
        }
    }

    fn not_callable(&mut self, callee: &Expr, span: Span) -> Expr {
        let have = self.show(&callee.ty);
        let d = error(Code::E0510, span, format!("{} is not a function", self.quote(callee)))
            .here("called like a function")
            .label(callee.span, format!("this is `{have}`"))
            .help(match callee.ty {
                Type::Array(_) => "index an array with brackets: `a[0]`",
                _ => "take the arguments away, or call a function or a closure",
            });
        self.fail(d)
    }

    fn signature_args(&mut self, params: &[Type], args: &[Arg], span: Span) -> Vec<Expr> {
        if args.len() != params.len() {
            let d = error(
                Code::E0508,
                span,
                format!("this function takes {} arguments, but gets {}", params.len(), args.len()),
            )
            .here(format!("{} arguments", args.len()))
            .help("pass one argument for each parameter");
            self.report_at(d);
            return Vec::new();
        }
        let pass = |(arg, ty): (&Arg, &Type)| {
            let value = self.expr(arg.value, Some(ty));
            match ty.scalar() {
                Some(to) if value.ty.scalar().is_some_and(|s| super::widen::holds(to, s)) => {
                    self.widen(value, to)
                }
                _ => value,
            }
        };
        args.iter().zip(params).map(pass).collect()
    }

    pub(super) fn call_signature(
        &mut self,
        callee: Expr,
        frame: Vec<usize>,
        of: &Signature,
        args: Vec<Expr>,
        span: Span,
    ) -> Expr {
        let Signature { params, ret } = of;
        if args.len() != params.len() || args.iter().any(|arg| arg.ty.is_broken()) {
            return Expr::error(span);
        }
        let mut cells = vec![Cell { frame, cell: Vec::new() }];
        for (arg, param) in args.iter().zip(params) {
            if !self.same_kind(arg.ty.elem(), param.elem()) || arg.ty.rank() < param.rank() {
                let d = self.mismatch(arg, param, "the parameter");
                return self.fail(d);
            }
            let split = arg.ty.rank() - param.rank();
            let mut cell = arg.clone();
            cell.ty = self.without_axes(&arg.ty, split);
            if param.is_array() && self.adopt_type(&cell, param, "the parameter").is_none() {
                return Expr::error(span);
            }
            cells
                .push(Cell { frame: (0..split).collect(), cell: (split..arg.ty.rank()).collect() });
        }
        let mut all = vec![callee];
        all.extend(args);
        let name = Symbol::intern("the function value");
        let ret = self.map_sizes(ret.clone(), &mut |cx, size| {
            if size.as_constant().is_some() { size } else { cx.unknown_size(true) }
        });
        self.lift(name, all, &cells, span, |_, mut cells| {
            let callee = cells.remove(0);
            Expr::new(ExprKind::CallValue { callee, args: cells }, ret, span)
        })
    }

    // ---------------------------------------------------------------- functions

    /// A call of a function by name.
    pub(super) fn call_fn(
        &mut self,
        def: DefId,
        coords: &[CoordArg],
        args: &[Arg],
        span: Span,
    ) -> Expr {
        self.call_with(def, coords, args, None, span)
    }

    fn call_with(
        &mut self,
        def: DefId,
        coords: &[CoordArg],
        args: &[Arg],
        want: Option<&Type>,
        span: Span,
    ) -> Expr {
        let Some(function) = self.function(def) else { return Expr::error(span) };
        let name = self.hir.defs[def].name;
        let Some(values) = self.assign_args(function, name, args, span) else {
            for arg in args {
                self.expr(arg.value, None);
            }
            return Expr::error(span);
        };
        let mapped = self.enter_coords(coords);
        let outer = std::mem::take(&mut self.f.indexed);
        let exprs = self.arguments(function, &values, &mapped, want);
        let indexed = std::mem::replace(&mut self.f.indexed, outer);
        self.leave_coords(&mapped);
        let result = self.apply(def, function, coords, exprs, span);
        // With whole arguments it is an array, wherever it stands.
        if indexed { self.at_point(result, coords, span) } else { result }
    }

    /// Applies a function to checked arguments.
    pub(super) fn apply(
        &mut self,
        def: DefId,
        function: &Function,
        coords: &[CoordArg],
        args: Vec<Expr>,
        span: Span,
    ) -> Expr {
        if args.iter().any(|arg| arg.ty.is_broken()) {
            return Expr::error(span);
        }
        if let Some(value) = self.apply_to_rows(def, function, coords, &args, span) {
            return value;
        }
        let args: Vec<Expr> = args.into_iter().map(|arg| self.settle_expr(arg)).collect();
        let args = self.widen_args(&function.params, args);
        let (args, outer) = self.bind_values(function, args);
        let result = self.apply_bound(def, function, coords, args, span);
        for (local, binding) in outer {
            match binding {
                Some(binding) => self.f.env.insert(local, binding),
                None => self.f.env.remove(&local),
            };
        }
        result
    }

    /// Makes the values of integer parameters known to the extents of the signature that mention
    /// them. Gives what these names meant before.
    #[allow(clippy::type_complexity, reason = "used once, above")]
    fn bind_values(
        &mut self,
        function: &Function,
        args: Vec<Expr>,
    ) -> (Vec<Expr>, Vec<(hir::LocalId, Option<Binding>)>) {
        let mut outer = Vec::new();
        let mut params = function.params.iter();
        let mut values = Vec::with_capacity(args.len());
        for arg in args {
            let local = params.next().and_then(|param| match (&param.pat.kind, &param.ty) {
                (hir::PatKind::Bind(local, _), Some(ty)) => match ty.kind {
                    TypeKind::Scalar(scalar) if scalar.is_int() => Some(*local),
                    _ => None,
                },
                _ => None,
            });
            let Some(local) = local.filter(|_| arg.ty.rank() == 0 && !arg.ty.has_error()) else {
                values.push(arg);
                continue;
            };
            let arg = self.atomise(arg);
            if let Some(size) = self.to_size(&arg) {
                let name = self.hir.locals[local].name;
                let var = self.new_var(name.sym, name.span, arg.ty.clone());
                self.var_sizes.insert(var, size);
                outer.push((local, self.f.env.insert(local, Binding::Var(var))));
            }
            values.push(arg);
        }
        (values, outer)
    }

    /// The same, once the values of integer parameters are known.
    fn apply_bound(
        &mut self,
        def: DefId,
        function: &Function,
        coords: &[CoordArg],
        args: Vec<Expr>,
        span: Span,
    ) -> Expr {
        let name = self.hir.defs[def].name.sym;
        let mut m = Match::of(name);
        if !self.bracket(&mut m, function, coords, span) {
            return Expr::error(span);
        }
        self.infer_from_parts(&mut m, function, &args);
        let Some(cells) = self.match_args(&mut m, function, &args) else {
            return Expr::error(span);
        };
        let Some(args) = self.infer_from_functions(&mut m, function, args, span) else {
            return Expr::error(span);
        };
        if self.solve_sizes(&mut m, function, span).is_none() {
            return Expr::error(span);
        }
        let given: Vec<Option<Type>> = function
            .params
            .iter()
            .zip(&args)
            .map(|(param, arg)| {
                leaves_type(param, &arg.ty).then(|| self.as_declared(&m, function, &arg.ty))
            })
            .collect();
        let packs: Vec<usize> =
            function.packs.iter().map(|pack| m.packs.get(pack).map_or(0, Vec::len)).collect();
        let types: Vec<Type> = function
            .generics
            .iter()
            .map(|generic| m.types.get(generic).cloned().unwrap_or(Type::Error))
            .collect();
        let args = self.adapt_functions(function, &m, args);
        let closure = self.captured_by(def, span);
        if let Some(closure) = &closure {
            if closure.ty.is_broken() {
                return Expr::error(span);
            }
            if let Type::Template(_, types) = &closure.ty {
                self.f.captures = types.to_vec();
            }
        }
        let Some(at) = self.instance_of(def, given, packs, types, (name, span), true) else {
            return Expr::error(span);
        };
        self.lift(name, args, &cells, span, |cx, args| {
            let mut call = cx.call_instance(at, &m, function, args, span);
            if let ExprKind::Call { closure: through, .. } = &mut *call.kind {
                *through = closure;
            }
            call
        })
    }

    /// A call of an instance on cells.
    fn call_instance(
        &mut self,
        at: usize,
        m: &Match,
        function: &Function,
        args: Vec<Expr>,
        span: Span,
    ) -> Expr {
        let instance = self.instances.items[at].clone();
        let sizes: Vec<size::Expr> =
            instance.sizes.iter().map(|key| self.size_argument(m, *key)).collect();
        self.check_assumed(&instance, &sizes, &args, span);
        let ty = match &function.ret {
            Some(ret) => {
                let declared = self.result_type(m, ret);
                match &instance.ret {
                    Some(own) => self.as_far_as_held(declared, own),
                    None => declared,
                }
            }
            None => match &instance.ret {
                Some(ret) => {
                    let ret = match &instance.over {
                        Some(over) => {
                            let own = self.written_over(at);
                            self.rewritten(ret.clone(), over, &own)
                        }
                        None => ret.clone(),
                    };
                    self.map_result(ret, &instance, &sizes, &args)
                }
                None => Type::Error,
            },
        };
        let kind = ExprKind::Call { func: instance.func, sizes, closure: None, args };
        Expr::new(kind, ty, span)
    }

    /// A declared result, without the extents in it that the body is not held to: those of what an
    /// enum may carry are compared where it is taken apart.
    fn as_far_as_held(&mut self, declared: Type, own: &Type) -> Type {
        match (declared, own) {
            (Type::Data(id, args), Type::Data(_, own)) => {
                let args = args.iter().zip(own).map(|(arg, own)| match self.open_inside(own) {
                    true => self.map_sizes(arg.clone(), &mut |cx, _| cx.unknown_size(true)),
                    false => arg.clone(),
                });
                Type::Data(id, args.collect())
            }
            (Type::Tuple(items), Type::Tuple(own)) => {
                let items = items.iter().zip(own);
                Type::Tuple(
                    items.map(|(item, own)| self.as_far_as_held(item.clone(), own)).collect(),
                )
            }
            (declared, _) => declared,
        }
    }

    /// Sizes that an unannotated function or closure compares at run time, where this call decides
    /// them; what it does not decide is up to the calls of the function around it.
    pub(super) fn check_assumed(
        &mut self,
        instance: &Instance,
        sizes: &[size::Expr],
        args: &[Expr],
        span: Span,
    ) {
        for require in &instance.assumed {
            let left = self.in_caller(&require.left, instance, sizes, args);
            let right = self.in_caller(&require.right, instance, sizes, args);
            let difference = left.sub(&right).as_constant();
            if difference.is_some_and(|difference| difference != 0) {
                let name = self.out.funcs[instance.func].name;
                let (p, q) = (self.show_size(&left), self.show_size(&right));
                let d = error(
                    Code::E0411,
                    span,
                    format!(
                        "`{name}` compares extents that differ in this call, {p} and {q}: {}",
                        require.what
                    ),
                )
                .here("these arguments do not fit together")
                .label(require.span, "compared here")
                .help("pass arrays whose extents agree");
                self.report_at(d);
                return;
            }
            let known = |size: &size::Expr| {
                let mut atoms = size.atoms().into_iter();
                atoms.all(|atom| self.caller_size(atom, instance, sizes, args).is_some())
            };
            if difference.is_none() && known(&require.left) && known(&require.right) {
                let (what, span) = (require.what.clone(), require.span);
                self.f.assumed.push(Require { left, right, what, span });
            }
        }
    }

    /// A size of an instance in the terms of one call, as far as the call decides it.
    fn in_caller(
        &self,
        size: &size::Expr,
        instance: &Instance,
        sizes: &[size::Expr],
        args: &[Expr],
    ) -> size::Expr {
        size.substitute(&|atom| self.caller_size(atom, instance, sizes, args))
    }

    /// What a hidden size, or a parameter's extent or value, is in a call.
    fn caller_size(
        &self,
        atom: size::Atom,
        instance: &Instance,
        sizes: &[size::Expr],
        args: &[Expr],
    ) -> Option<size::Expr> {
        match self.out.atoms[atom].def {
            AtomDef::Extent(var, axis) => {
                let at = instance.params.iter().position(|param| *param == var)?;
                Some(args.get(at)?.ty.axes().get(axis)?.size.clone())
            }
            AtomDef::Var(var) => {
                let hidden = &self.out.funcs[instance.func].sizes;
                if let Some(at) = hidden.iter().position(|size| *size == var) {
                    return sizes.get(at).cloned();
                }
                let at = instance.params.iter().position(|param| *param == var)?;
                self.to_size(args.get(at)?)
            }
            AtomDef::Length(_) | AtomDef::Unknown => None,
        }
    }

    fn size_argument(&mut self, m: &Match, key: SizeKey) -> size::Expr {
        match key {
            SizeKey::Name(local) => m.sizes.get(&local).cloned(),
            SizeKey::Coord(name) => m.coord_sizes.get(&name).cloned(),
            SizeKey::Pack(local, position) => m
                .packs
                .get(&local)
                .and_then(|axes| axes.get(position))
                .map(|axis| axis.size.clone()),
        }
        .unwrap_or_else(size::Expr::zero)
    }

    /// The result of an unannotated function in the caller's terms.
    pub(super) fn map_result(
        &mut self,
        ret: Type,
        instance: &Instance,
        sizes: &[size::Expr],
        args: &[Expr],
    ) -> Type {
        self.map_sizes(ret.clone(), &mut |cx, size| {
            let mapped = cx.in_caller(&size, instance, sizes, args);
            let foreign = mapped.atoms().into_iter().find(|atom| {
                let mine =
                    size.mentions(*atom) && cx.caller_size(*atom, instance, sizes, args).is_none();
                mine && match cx.out.atoms[*atom].def {
                    AtomDef::Extent(var, _) | AtomDef::Var(var) | AtomDef::Length(var) => {
                        matches!(cx.out.vars[var].place, Place::Local(_))
                    }
                    AtomDef::Unknown => false,
                }
            });
            match foreign {
                Some(atom) => {
                    let external = cx.out.atoms[atom].external;
                    let external = external && !cx.chosen_by_index(atom, instance, args);
                    cx.unknown_size(external)
                }
                None => mapped,
            }
        })
    }

    /// Whether a size is the value of an argument that differs from one step of a loop to the next.
    fn chosen_by_index(&self, atom: size::Atom, instance: &Instance, args: &[Expr]) -> bool {
        let AtomDef::Var(var) = self.out.atoms[atom].def else { return false };
        let at = instance.params.iter().position(|param| *param == var);
        at.and_then(|at| args.get(at)).is_some_and(|arg| !self.index_deps(arg).is_empty())
    }

    fn match_args(
        &mut self,
        m: &mut Match,
        function: &Function,
        args: &[Expr],
    ) -> Option<Vec<Cell>> {
        let mut cells: Vec<Option<Cell>> = vec![None; args.len()];
        // Arguments without packs first: they may settle coordinates that split the others.
        let mut order: Vec<usize> = (0..args.len()).collect();
        order.sort_by_key(|at| usize::from(has_packs(&function.params[*at])));
        let mut failed = false;
        for at in order {
            let param = &function.params[at];
            let name = param.name.map_or(Symbol::intern("_"), |name| name.sym);
            let cell = match &param.ty {
                Some(ty) => self.match_param(m, ty, &args[at], name),
                None => Some(Cell { frame: Vec::new(), cell: (0..args[at].ty.rank()).collect() }),
            };
            failed |= cell.is_none();
            cells[at] = cell;
        }
        if failed { None } else { cells.into_iter().collect() }
    }

    /// Function arguments take the code that the parameter's type asks for.
    fn adapt_functions(&mut self, function: &Function, m: &Match, args: Vec<Expr>) -> Vec<Expr> {
        function
            .params
            .iter()
            .zip(args)
            .map(|(param, arg)| match param.ty.as_deref() {
                Some(ty @ hir::Type { kind: TypeKind::Function(..), .. }) => {
                    let ty = self.lower_quietly(ty, m);
                    self.expect_type(arg, &ty, "the parameter")
                }
                Some(_) if leaves_type(param, &arg.ty) => arg,
                Some(
                    ty @ hir::Type {
                        kind: TypeKind::Tuple(_) | TypeKind::Jagged(..) | TypeKind::AnyRank(_),
                        ..
                    },
                ) => {
                    let ty = self.lower_quietly(ty, m);
                    self.expect_type(arg, &ty, "the parameter")
                }
                _ => arg,
            })
            .collect()
    }

    // ---------------------------------------------------------------- arguments
}

fn has_packs(param: &hir::Param) -> bool {
    match param.ty.as_deref() {
        Some(hir::Type { kind: TypeKind::Array { dims, .. }, .. }) => {
            dims.iter().filter(|dim| matches!(dim.kind, hir::DimKind::Pack(_))).count() > 1
        }
        _ => false,
    }
}

/// Whether a parameter leaves its type to the argument: it has no annotation, or leaves the rank open
/// (`[T; *]`) and gets an array.
fn leaves_type(param: &hir::Param, arg: &Type) -> bool {
    match param.ty.as_deref() {
        None => true,
        Some(ty) => matches!(ty.kind, TypeKind::AnyRank(_)) && arg.is_array(),
    }
}
