//! What a call gives: the declared result with everything that matching found put in.

use super::super::Cx;
use super::Match;
use crate::check::types;
use crate::hir;
use ein_ir::tensor::Type;
use std::mem::replace;

/// The declared result in the caller's terms.
pub(in crate::check) fn result_type(cx: &mut Cx, m: &Match, ty: &hir::Type) -> Type {
    let mut sizes = cx.ix.f.sizes.clone();
    sizes.extend(m.sizes.iter().map(|(local, size)| (*local, size.clone())));
    let (infer, ix) = (&mut cx.infer.f, &mut cx.ix.f);
    let outside = (
        replace(&mut infer.type_params, m.types.clone()),
        replace(&mut ix.sizes, sizes),
        replace(&mut ix.coord_sizes, m.coord_sizes.clone()),
        replace(&mut ix.coord_names, m.coords.clone()),
        replace(&mut ix.signature_packs, m.packs.clone()),
        replace(&mut ix.open_types, true),
    );
    let lowered = types::lower_type(cx, ty);
    let (infer, ix) = (&mut cx.infer.f, &mut cx.ix.f);
    (
        infer.type_params,
        ix.sizes,
        ix.coord_sizes,
        ix.coord_names,
        ix.signature_packs,
        ix.open_types,
    ) = outside;
    lowered
}
