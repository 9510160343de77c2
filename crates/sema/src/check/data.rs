//! Structs and enums: their types, their values, their fields.
//!
//! A type argument that nothing gives yet (`Option::None`) is [`Type::Error`]: it agrees with
//! everything, and joining it with a type gives that type.

use super::{Cx, error};
use crate::hir::{self, DefId, DefKind, ExprId, LocalId, TypeKind, VariantShape};
use crate::suggest::nearest;
use ein_base::{Code, Diagnostic, Name, Span, Symbol};
use ein_ir::size::{self, Atom};
use ein_ir::tensor::{Data, DataId, DataVariant, Expr, ExprKind, FnType, Type};
use rustc_hash::FxHashMap;

/// A struct or variant as it is declared.
#[derive(Clone, Copy)]
pub(super) struct Form<'a> {
    /// The enum, for a variant.
    pub(super) parent: Option<Name>,
    /// Its own name.
    pub(super) name: Name,
    /// Its fields.
    pub(super) fields: &'a [hir::Field],
    /// How it is written.
    pub(super) shape: VariantShape,
}

impl std::fmt::Display for Form<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.parent {
            Some(parent) => write!(f, "{parent}::{}", self.name),
            None => write!(f, "{}", self.name),
        }
    }
}

impl Form<'_> {
    /// How a value of it is written: `Shape::Rect { w: …, h: … }`.
    pub(super) fn written(&self) -> String {
        match self.shape {
            VariantShape::Unit => self.to_string(),
            VariantShape::Tuple => format!("{self}({})", vec!["…"; self.fields.len()].join(", ")),
            VariantShape::Struct => {
                let fields: Vec<_> =
                    self.fields.iter().map(|field| format!("{}: …", field.name)).collect();
                format!("{self} {{ {} }}", fields.join(", "))
            }
        }
    }

    /// The place of a field.
    pub(super) fn position(&self, name: Symbol) -> Option<usize> {
        self.fields.iter().position(|field| field.name.sym == name)
    }

    /// A field that is not there.
    pub(super) fn no_field(&self, name: Name) -> Diagnostic {
        let d = error(Code::E0511, name.span, format!("`{self}` has no field `{name}`"))
            .here("no such field");
        let d = self.point_at(d);
        match nearest(name.sym, self.fields.iter().map(|field| field.name.sym)) {
            Some(near) => d.fix(format!("did you mean `{near}`?"), name.span, near.as_str()),
            None => d.help(format!("it is written `{}`", self.written())),
        }
    }

    /// Points at the declaration, unless it is the language's own.
    pub(super) fn point_at(&self, d: Diagnostic) -> Diagnostic {
        if self.name.span.is_empty() { d } else { d.label(self.name.span, "declared here") }
    }

    /// `2 fields`
    fn count(&self) -> String {
        plural(self.fields.len(), "field")
    }
}

impl<'a> Cx<'a> {
    // ---------------------------------------------------------------- types

    /// The type parameters of a struct or enum.
    fn generics(&self, def: DefId) -> &'a [LocalId] {
        let hir = self.hir;
        match &hir.defs[def].kind {
            DefKind::Struct(data) => &data.generics,
            DefKind::Enum(data) => &data.generics,
            DefKind::Fn(_) | DefKind::Const(_) | DefKind::Error => &[],
        }
    }

    /// A struct, or a variant of an enum.
    pub(super) fn declared(&self, def: DefId, variant: usize) -> Option<Form<'a>> {
        let hir = self.hir;
        let item = &hir.defs[def];
        match &item.kind {
            DefKind::Struct(data) => Some(Form {
                parent: None,
                name: item.name,
                fields: &data.fields,
                shape: VariantShape::Struct,
            }),
            DefKind::Enum(data) => data.variants.get(variant).map(|variant| Form {
                parent: Some(item.name),
                name: variant.name,
                fields: &variant.fields,
                shape: variant.shape,
            }),
            DefKind::Fn(_) | DefKind::Const(_) | DefKind::Error => None,
        }
    }

    /// The struct or enum of the IR for one of the program; nothing if its text was broken.
    pub(super) fn data_id(&mut self, def: DefId) -> Option<DataId> {
        if let Some(id) = self.data.get(&def) {
            return Some(*id);
        }
        let item = &self.hir.defs[def];
        let names = |fields: &[hir::Field]| fields.iter().map(|field| field.name.sym).collect();
        let (variants, is_enum) = match &item.kind {
            DefKind::Struct(data) => {
                let fields = names(&data.fields);
                (vec![DataVariant { name: item.name.sym, fields, positional: false }], false)
            }
            DefKind::Enum(data) => {
                let variants = data.variants.iter().map(|variant| DataVariant {
                    name: variant.name.sym,
                    fields: names(&variant.fields),
                    positional: variant.shape == VariantShape::Tuple,
                });
                (variants.collect(), true)
            }
            DefKind::Fn(_) | DefKind::Const(_) | DefKind::Error => return None,
        };
        let id = self.out.data.push(Data { name: item.name.sym, variants, is_enum });
        self.data.insert(def, id);
        Some(id)
    }

    /// The item that a struct or enum of the IR came from.
    pub(super) fn data_def(&self, id: DataId) -> Option<DefId> {
        self.data.iter().find(|(_, known)| **known == id).map(|(def, _)| *def)
    }

    /// A struct or enum with its type arguments.
    pub(super) fn data_type(&mut self, def: DefId, args: Vec<Type>, span: Span) -> Type {
        let Some(id) = self.data_id(def) else { return Type::Error };
        let generics = self.generics(def);
        if generics.len() == args.len() {
            return Type::Data(id, args);
        }
        let item = &self.hir.defs[def];
        let names: Vec<_> = generics.iter().map(|local| self.local_name(*local).as_str()).collect();
        let form = match names.is_empty() {
            true => item.name.to_string(),
            false => format!("{}<{}>", item.name, names.join(", ")),
        };
        let message = format!(
            "`{}` takes {}, but {} given here",
            item.name,
            plural(generics.len(), "type argument"),
            if args.len() == 1 { "1 is".into() } else { format!("{} are", args.len()) }
        );
        let d = error(Code::E0508, span, message)
            .here("a wrong number of type arguments")
            .label(item.name.span, "declared here")
            .help(format!("write `{form}`"));
        self.report_at(d);
        Type::Error
    }

    /// The types of the fields of a struct (`variant` is 0) or variant.
    pub(super) fn field_types(&mut self, def: DefId, variant: usize, args: &[Type]) -> Vec<Type> {
        let given = self.generics(def).iter().copied().zip(args.iter().cloned()).collect();
        self.lower_fields(def, variant, &given)
    }

    /// The same with some of the type arguments.
    fn lower_fields(
        &mut self,
        def: DefId,
        variant: usize,
        given: &FxHashMap<LocalId, Type>,
    ) -> Vec<Type> {
        let Some(declared) = self.declared(def, variant) else { return Vec::new() };
        // The declaration knows nothing of the body that mentions it.
        let outside = (
            std::mem::replace(&mut self.f.type_params, given.clone()),
            std::mem::take(&mut self.f.sizes),
            std::mem::take(&mut self.f.coord_sizes),
            std::mem::take(&mut self.f.signature_packs),
        );
        let types = declared.fields.iter().map(|field| self.lower_type(&field.ty)).collect();
        let f = &mut self.f;
        (f.type_params, f.sizes, f.coord_sizes, f.signature_packs) = outside;
        types
    }

    // ---------------------------------------------------------------- values

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
        for (name, value) in fields {
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
        let unknown = values.len() < fields.len();
        if !missing.is_empty() && !unknown {
            let message = format!("`{declared}` is missing {}", missing.join(", "));
            let d = error(Code::E0508, span, message)
                .here(format!("no value for {}", missing.join(", ")))
                .help(format!("give every field a value: `{}`", declared.written()));
            self.report_at(declared.point_at(d));
        }
        self.construct(def, index, &values, want, span)
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
                return Expr::new(ExprKind::Error, Type::Data(id, args), span);
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
        Expr::new(kind, Type::Data(id, args), span)
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
            (Type::Fn(FnType::Template(..)), Type::Fn(FnType::Signature(..))) => true,
            (Type::Array(array), Type::AnyRank(elem) | Type::Jagged(elem, _)) => {
                self.same_kind(&array.elem, elem)
            }
            _ => false,
        }
    }

    /// What a value of the declared type says about type parameters.
    fn infer_args(&mut self, ty: &hir::Type, have: &Type, found: &mut FxHashMap<LocalId, Type>) {
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
            (TypeKind::Function(params, ret), Type::Fn(FnType::Signature(have, result))) => {
                params.iter().zip(have).for_each(|(ty, have)| self.infer_args(ty, have, found));
                self.infer_args(ret, result, found);
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
        for (axis, have) in array.axes.iter_mut().zip(value.ty.axes()) {
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

    // ---------------------------------------------------------------- fields

    /// `p.x`
    pub(super) fn struct_field(&mut self, base: Expr, name: Name, span: Span) -> Expr {
        let Type::Data(id, args) = &base.ty else { return Expr::error(span) };
        let (id, args) = (*id, args.clone());
        let Some(def) = self.data_def(id) else { return Expr::error(span) };
        let Some(declared) = self.declared(def, 0).filter(|declared| declared.parent.is_none())
        else {
            let have = self.show(&base.ty);
            let d = error(Code::E0511, name.span, format!("`{have}` is an enum and has no fields"))
                .here("no such field")
                .label(base.span, format!("this is `{have}`"))
                .help("take it apart with `match`");
            return self.fail(d);
        };
        match declared.position(name.sym) {
            Some(position) => {
                let mut types = self.field_types(def, 0, &args);
                let ty = types.swap_remove(position);
                Expr::new(ExprKind::FieldGet(base, position), ty, span)
            }
            None => {
                let have = self.show(&base.ty);
                let d = declared.no_field(name).label(base.span, format!("this is `{have}`"));
                self.fail(d)
            }
        }
    }
}

/// The coordinates of a type, if every axis has one.
fn layout(ty: &Type) -> Option<Vec<Symbol>> {
    if !ty.is_array() {
        return None;
    }
    ty.axes().iter().map(|axis| axis.coord.map(|coord| coord.name)).collect()
}

/// `1 field`, `2 fields`
pub(super) fn plural(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
