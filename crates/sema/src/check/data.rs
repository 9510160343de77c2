//! Structs and enums: their types and their fields.
//!
//! A type argument that nothing gives yet (`Option::None`) is [`Type::Error`]: it agrees with
//! everything, and joining it with a type gives that type.

use super::state::{Index, Infer, Report};
use super::{Cx, error, fields, parts, types, vars};
use crate::hir::{self, DefId, DefKind, LocalId, VariantShape};
use crate::suggest::nearest;
use ein_base::{Code, Diagnostic, Name, Span, Symbol};
use ein_ir::tensor::{Data, DataId, DataVariant, Expr, ExprKind, Type};
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
    pub(super) fn count(&self) -> String {
        plural(self.fields.len(), "field")
    }
}

// ---------------------------------------------------------------- types

/// A struct, or a variant of an enum.
pub(super) fn declared(hir: &hir::Program, def: DefId, variant: usize) -> Option<Form<'_>> {
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
pub(super) fn data_id(infer: &mut Infer, ix: &mut Index, def: DefId) -> Option<DataId> {
    if let Some(id) = infer.data.get(&def) {
        return Some(*id);
    }
    let item = &ix.hir.defs[def];
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
    let id = ix.data.push(Data { name: item.name.sym, variants, is_enum });
    infer.data.insert(def, id);
    Some(id)
}

impl Infer<'_> {
    /// The item that a struct or enum of the IR came from.
    pub(super) fn data_def(&self, id: DataId) -> Option<DefId> {
        let declared = self.data.iter().find(|(_, known)| **known == id).map(|(def, _)| *def);
        declared.or_else(|| self.derived.get(&id).copied())
    }
}

/// A struct or enum with its type arguments.
pub(super) fn data_type(
    infer: &mut Infer,
    ix: &mut Index,
    report: &mut Report,
    def: DefId,
    args: Vec<Type>,
    span: Span,
) -> Type {
    let Some(id) = data_id(infer, ix, def) else { return Type::Error };
    let generics = ix.hir.defs[def].kind.generics();
    if generics.len() == args.len() {
        let ty = Type::Data(id, args.into());
        // Each of the structs around it is too large as well.
        if infer.is_large(&ty) && report.diagnostics.iter().all(|d| d.code != Code::E0521) {
            report.too_large(&format!("`{}`", ix.hir.defs[def].name), span);
        }
        return if infer.is_large(&ty) { Type::Error } else { ty };
    }
    let item = &ix.hir.defs[def];
    let names: Vec<_> =
        generics.iter().map(|local| vars::local_name(ix.hir, *local).as_str()).collect();
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
    report.report_at(d);
    Type::Error
}

/// The types of the fields of a struct (`variant` is 0) or variant.
pub(super) fn field_types(cx: &mut Cx, def: DefId, variant: usize, args: &[Type]) -> Vec<Type> {
    let given =
        cx.hir.defs[def].kind.generics().iter().copied().zip(args.iter().cloned()).collect();
    lower_fields(cx, def, variant, &given)
}

/// The same with some of the type arguments.
pub(super) fn lower_fields(
    cx: &mut Cx,
    def: DefId,
    variant: usize,
    given: &FxHashMap<LocalId, Type>,
) -> Vec<Type> {
    let Some(declared) = self::declared(cx.hir, def, variant) else { return Vec::new() };
    // The declaration knows nothing of the body that mentions it.
    let outside = (
        std::mem::replace(&mut cx.infer.f.type_params, given.clone()),
        std::mem::take(&mut cx.ix.f.sizes),
        std::mem::take(&mut cx.ix.f.coord_sizes),
        std::mem::take(&mut cx.ix.f.signature_packs),
    );
    let types = declared.fields.iter().map(|field| types::lower_type(cx, &field.ty)).collect();
    (cx.infer.f.type_params, cx.ix.f.sizes, cx.ix.f.coord_sizes, cx.ix.f.signature_packs) = outside;
    types
}

impl Report {
    /// A value of a type that nothing says is used; silent after an error, which may be why.
    pub(super) fn unknown_inside(&mut self, what: &str, span: Span) {
        if !self.diagnostics.iter().any(Diagnostic::is_error) {
            let message = format!("the type of what `{what}` carries here is not known");
            let d = error(Code::E0516, span, message)
                .here("nothing says what this is")
                .help("write the type of the value: `let x: Option<f32> = Option::None;`");
            self.report_at(d);
        }
    }
}

// ---------------------------------------------------------------- fields

/// `p.x`
pub(super) fn struct_field(cx: &mut Cx, base: Expr, name: Name, span: Span) -> Expr {
    let Type::Data(id, args) = &base.ty else { return Expr::error(span) };
    let (id, args) = (*id, args.clone());
    let Some(def) = cx.infer.data_def(id) else { return Expr::error(span) };
    let Some(declared) =
        self::declared(cx.hir, def, 0).filter(|declared| declared.parent.is_none())
    else {
        let have = cx.ix.show(&base.ty);
        let d = error(Code::E0511, name.span, format!("`{have}` is an enum and has no fields"))
            .here("no such field")
            .label(base.span, format!("this is `{have}`"))
            .help("take it apart with `match`");
        return cx.report.fail(d);
    };
    match declared.position(name.sym) {
        Some(position) => {
            let mut types = fields::types_of_fields(cx, id, def, &args);
            let ty = types.swap_remove(position);
            let Cx { infer, ix, build, .. } = cx;
            parts::settle_part(
                infer,
                ix,
                build,
                Expr::new(ExprKind::FieldGet(base, position), ty, span),
            )
        }
        None => {
            let have = cx.ix.show(&base.ty);
            let d = declared.no_field(name).label(base.span, format!("this is `{have}`"));
            cx.report.fail(d)
        }
    }
}

/// `1 field`, `2 fields`
pub(super) fn plural(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
