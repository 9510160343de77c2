//! Values of structs and enums: constructors, and the type arguments they infer.

use super::{Cx, error};
use crate::hir::{self, DefId, ExprId, LocalId, TypeKind, VariantShape};
use ein_base::{Code, Name, Span, Symbol};
use ein_ir::size::{self, Atom};
use ein_ir::tensor::{Expr, ExprKind, Type};
use rustc_hash::FxHashMap;
use std::sync::Arc;

impl Cx<'_> {
    /// A variant that is mentioned without arguments.
    pub(super) fn variant_value(
        &mut self,
        def: DefId,
        index: usize,
        want: Option<&Type>,
        span: Span,
    ) -> Expr {
        let Some(declared) = self.declared(def, index) else { return Expr::error(span) };
        if declared.shape == VariantShape::Unit {
            return self.construct(def, index, &[], want, span);
        }
        let message =
            format!("`{declared}` is not a value by itself: it carries {}", declared.count());
        let d = error(Code::E0510, span, message)
            .here("nothing is given for what it carries")
            .help(match declared.shape {
                VariantShape::Unit | VariantShape::Tuple => {
                    format!(
                        "call it: `{}`, or write a closure: `|x| {declared}(x)`",
                        declared.written()
                    )
                }
                VariantShape::Struct => format!("write its fields: `{}`", declared.written()),
            });
        self.fail(declared.point_at(d))
    }

    /// `Shape::Circle(1.0)`
    pub(super) fn make_variant(
        &mut self,
        def: DefId,
        index: usize,
        args: &[hir::Arg],
        want: Option<&Type>,
        span: Span,
    ) -> Expr {
        let Some(declared) = self.declared(def, index) else { return self.check_args(args, span) };
        if declared.shape != VariantShape::Tuple {
            let what = match declared.shape {
                VariantShape::Unit | VariantShape::Tuple => "carries nothing",
                VariantShape::Struct => "has named fields",
            };
            let d = error(Code::E0510, span, format!("`{declared}` {what} and cannot be called"))
                .here("a call")
                .help(format!("write `{}`", declared.written()));
            self.report_at(declared.point_at(d));
            return self.check_args(args, span);
        }
        if let Some(name) = args.iter().find_map(|arg| arg.name) {
            let d =
                error(Code::E0509, name.span, format!("the fields of `{declared}` have no names"))
                    .here("a named argument")
                    .help(format!("write `{}`", declared.written()));
            self.report_at(declared.point_at(d));
            return self.check_args(args, span);
        }
        if args.len() != declared.fields.len() {
            let message = format!(
                "`{declared}` carries {}, but {} given",
                declared.count(),
                if args.len() == 1 {
                    "1 value is".into()
                } else {
                    format!("{} values are", args.len())
                }
            );
            let d = error(Code::E0508, span, message)
                .here("a wrong number of arguments")
                .help(format!("write `{}`", declared.written()));
            self.report_at(declared.point_at(d));
            return self.check_args(args, span);
        }
        let values: Vec<_> = args.iter().map(|arg| arg.value).enumerate().collect();
        self.construct(def, index, &values, want, span)
    }

    /// Checks arguments for their own mistakes only.
    fn check_args(&mut self, args: &[hir::Arg], span: Span) -> Expr {
        for arg in args {
            self.open_value(arg.value, None, None);
        }
        Expr::error(span)
    }

    /// `Point { x: 1.0, y: 2.0 }`
    pub(super) fn struct_literal(
        &mut self,
        def: DefId,
        variant: Option<usize>,
        fields: &[(Name, ExprId)],
        want: Option<&Type>,
        span: Span,
    ) -> Expr {
        let index = variant.unwrap_or(0);
        let Some(declared) = self.declared(def, index) else { return Expr::error(span) };
        let mut values: Vec<(usize, ExprId)> = Vec::new();
        let mut rest = None;
        for (name, value) in fields {
            if name.sym.as_str() == ".." {
                rest = Some((*value, name.span));
                continue;
            }
            match declared.position(name.sym) {
                Some(position) => {
                    // A field that is given twice was reported with the names.
                    if values.iter().all(|(known, _)| *known != position) {
                        values.push((position, *value));
                    }
                }
                None => {
                    self.report_at(declared.no_field(*name));
                    self.open_value(*value, None, None);
                }
            }
        }
        let missing: Vec<_> = (0..declared.fields.len())
            .filter(|position| values.iter().all(|(known, _)| known != position))
            .map(|position| format!("`{}`", declared.fields[position].name))
            .collect();
        let unknown = values.len() + usize::from(rest.is_some()) < fields.len();
        if let Some((rest, at)) = rest {
            return self.with_rest((def, index), &values, (rest, at), want, span);
        }
        if !missing.is_empty() && !unknown {
            let message = format!("`{declared}` is missing {}", missing.join(", "));
            let d = error(Code::E0508, span, message)
                .here(format!("no value for {}", missing.join(", ")))
                .help(format!("give every field a value: `{}`", declared.written()));
            self.report_at(declared.point_at(d));
        }
        self.construct(def, index, &values, want, span)
    }

    /// `P { x: 1.0, ..p }`: the other fields are those of `p`.
    fn with_rest(
        &mut self,
        (def, index): (DefId, usize),
        values: &[(usize, ExprId)],
        (rest, at): (ExprId, Span),
        want: Option<&Type>,
        span: Span,
    ) -> Expr {
        let Some(declared) = self.declared(def, index) else { return Expr::error(span) };
        let other = self.expr(rest, want);
        let id = self.data_id(def);
        let fits = matches!(&other.ty, Type::Data(own, _) if Some(*own) == id);
        if other.ty.is_broken() {
            return Expr::error(span);
        }
        if !fits || declared.parent.is_some() {
            let have = self.show(&other.ty);
            let message = format!("the other fields of `{declared}` cannot come from `{have}`");
            let d = error(Code::E0501, other.span, message)
                .here(format!("this is `{have}`"))
                .label(at, "fields are copied from a value of the same struct")
                .help(format!("write its fields: `{}`", declared.written()));
            return self.fail(declared.point_at(d));
        }
        let other = self.atomise(other);
        let mut copied = Vec::new();
        for (position, field) in declared.fields.iter().enumerate() {
            if values.iter().all(|(known, _)| *known != position) {
                copied.push((position, self.struct_field(other.clone(), field.name, span)));
            }
        }
        self.construct_from(def, index, values, copied, want, span)
    }

    /// A value from the values of its fields; those that lack one were reported.
    fn construct(
        &mut self,
        def: DefId,
        index: usize,
        values: &[(usize, ExprId)],
        want: Option<&Type>,
        span: Span,
    ) -> Expr {
        self.construct_from(def, index, values, Vec::new(), want, span)
    }

    /// The same with some fields that are checked already.
    fn construct_from(
        &mut self,
        def: DefId,
        index: usize,
        values: &[(usize, ExprId)],
        given: Vec<(usize, Expr)>,
        want: Option<&Type>,
        span: Span,
    ) -> Expr {
        let (Some(id), Some(declared)) = (self.data_id(def), self.declared(def, index)) else {
            return Expr::error(span);
        };
        let generics = self.generics(def);
        let hints: FxHashMap<LocalId, Type> = match want {
            Some(Type::Data(wanted, args)) if *wanted == id => {
                generics.iter().copied().zip(args.iter().cloned()).collect()
            }
            _ => FxHashMap::default(),
        };
        // Literals come last: they take the types that the other values give.
        let mut found = FxHashMap::default();
        let mut checked: Vec<Option<Expr>> = declared.fields.iter().map(|_| None).collect();
        for (position, value) in given {
            self.infer_args(&declared.fields[position].ty, &value.ty, &mut found);
            checked[position] = Some(value);
        }
        for literals in [false, true] {
            let known = self.merge_args(generics, &found, &hints);
            let types = self.lower_fields(def, index, &known);
            for (position, value) in values {
                if self.literal_class(*value).is_some() == literals {
                    let want = types.get(*position).filter(|ty| **ty != Type::Error);
                    let layout = want.and_then(layout);
                    let value = self.open_value(*value, want, layout.as_deref());
                    self.infer_args(&declared.fields[*position].ty, &value.ty, &mut found);
                    checked[*position] = Some(value);
                }
            }
        }
        let known = self.merge_args(generics, &found, &hints);
        let args: Vec<_> =
            generics.iter().map(|local| known.get(local).cloned().unwrap_or(Type::Error)).collect();
        let types = self.field_types(def, index, &args);
        let mut sizes = Vec::new();
        let mut fields = Vec::new();
        for ((value, ty), field) in checked.into_iter().zip(types).zip(declared.fields) {
            let Some(value) = value else {
                return Expr::new(ExprKind::Error, Type::Data(id, args.into()), span);
            };
            let what = match declared.shape {
                VariantShape::Tuple => format!("field {} of `{declared}`", field.name),
                VariantShape::Unit | VariantShape::Struct => {
                    format!("field `{}` of `{declared}`", field.name)
                }
            };
            fields.push(self.fit_field(value, ty, &mut sizes, &what));
        }
        let kind = ExprKind::Make { data: id, variant: index, fields };
        Expr::new(kind, Type::Data(id, args.into()), span)
    }

    /// The type arguments: those of the values, completed by what the context asks for.
    fn merge_args(
        &mut self,
        generics: &[LocalId],
        found: &FxHashMap<LocalId, Type>,
        hints: &FxHashMap<LocalId, Type>,
    ) -> FxHashMap<LocalId, Type> {
        let mut merged = FxHashMap::default();
        for local in generics {
            let ty = match (found.get(local), hints.get(local)) {
                (Some(found), Some(hint)) if found.has_error() => {
                    self.join_types(found, hint).unwrap_or_else(|| found.clone())
                }
                (Some(found), Some(hint)) if self.becomes(found, hint) => hint.clone(),
                (Some(ty), _) | (None, Some(ty)) => ty.clone(),
                (None, None) => continue,
            };
            merged.insert(*local, ty);
        }
        merged
    }

    /// Whether a value of one type is converted where the other is asked for.
    fn becomes(&self, from: &Type, to: &Type) -> bool {
        match (from, to) {
            (Type::Template(..), Type::Signature(..)) => true,
            (Type::Array(array), Type::AnyRank(elem) | Type::Jagged(elem, _)) => {
                self.same_kind(&array.elem, elem)
            }
            _ => false,
        }
    }

    /// What a value of the declared type says about type parameters.
    pub(super) fn infer_args(
        &mut self,
        ty: &hir::Type,
        have: &Type,
        found: &mut FxHashMap<LocalId, Type>,
    ) {
        match (&ty.kind, have) {
            (TypeKind::Param(local), _) => {
                let joined = match found.get(local) {
                    Some(known) => self.join_types(&known.clone(), have),
                    None => Some(have.clone()),
                };
                if let Some(joined) = joined {
                    found.insert(*local, joined);
                }
            }
            (TypeKind::Array { elem, dims, .. }, Type::Array(_)) => {
                let inner = self.without_axes(have, dims.len());
                self.infer_args(elem, &inner, found);
            }
            (TypeKind::AnyRank(elem), Type::AnyRank(have))
            | (TypeKind::Jagged(elem, _), Type::Jagged(have, _)) => {
                self.infer_args(elem, have, found);
            }
            (TypeKind::AnyRank(elem) | TypeKind::Jagged(elem, _), Type::Array(array)) => {
                self.infer_args(elem, &array.elem, found);
            }
            (TypeKind::Tuple(items), Type::Tuple(have)) => {
                items.iter().zip(have).for_each(|(ty, have)| self.infer_args(ty, have, found));
            }
            (TypeKind::Data(_, args), Type::Data(_, have)) => {
                args.iter().zip(have).for_each(|(ty, have)| self.infer_args(ty, have, found));
            }
            (TypeKind::Function(params, ret), Type::Signature(have)) => {
                let params = params.iter().zip(&have.params);
                params.for_each(|(ty, have)| self.infer_args(ty, have, found));
                self.infer_args(ret, &have.ret, found);
            }
            (TypeKind::Some(_, body), _) => self.infer_args(body, have, found),
            _ => {}
        }
    }

    /// The value of a field against its declared type. Sizes that the declaration leaves open are
    /// those of the value; a named one is the same in all fields.
    fn fit_field(
        &mut self,
        value: Expr,
        ty: Type,
        sizes: &mut Vec<(Atom, size::Expr)>,
        what: &str,
    ) -> Expr {
        let Type::Array(mut array) = ty else { return self.expect_type(value, &ty, what) };
        if value.ty.rank() != array.axes.len() || value.ty.has_error() {
            return self.expect_type(value, &Type::Array(array), what);
        }
        let value = self.settle_expr(value);
        let declared: Vec<_> = array.axes.iter().map(|axis| axis.coord.map(|c| c.name)).collect();
        if !self.check_names(&value, &declared, what, value.span) {
            return Expr::error(value.span);
        }
        for (axis, have) in Arc::make_mut(&mut array).axes.iter_mut().zip(value.ty.axes()) {
            let known = axis.size.substitute(&|atom| {
                sizes.iter().find(|(named, _)| *named == atom).map(|(_, size)| size.clone())
            });
            match (self.unsettled(&known), known.as_atom()) {
                (None, _) => axis.size = known,
                (Some(_), atom) => {
                    sizes.extend(atom.map(|atom| (atom, have.size.clone())));
                    axis.size = have.size.clone();
                }
            }
        }
        self.expect_type(value, &Type::Array(array), what)
    }
}

/// The coordinates of a type, if every axis has one.
fn layout(ty: &Type) -> Option<Vec<Symbol>> {
    if !ty.is_array() {
        return None;
    }
    ty.axes().iter().map(|axis| axis.coord.map(|coord| coord.name)).collect()
}
