//! How reductions are computed: what is decided from what they are and from the loops around.

use super::{Acc, LONG_SUM, neutral, operation, wide_enough};
use crate::points::{Ix, Kind, Node, Reduction, in_turn, magnitude};
use crate::schedule::node_cost;
use crate::schedule::plan::Why;
use crate::schedule::view::View;
use ein_ir::tensor::ReduceOp;
use ein_scalar::{BinaryOp, Scalar, ScalarType};

/// The same for products of two arrays, as a matrix product would add them.
const LONG_DOT: i64 = 16384;

/// A sum of `f32` of at most so many terms is added in `f64`, if its terms are cheap.
const SHORT_SUM: i64 = 64;

/// What a cheap term costs at most.
const CHEAP: f64 = 4.0;

/// What a term costs at most that is fetched from anywhere and added.
const CHEAP_TERM: f64 = 12.0;

/// Whether points have to be counted at run time.
pub(super) fn counts_points(view: &View<'_>, reduction: &Reduction) -> bool {
    let unknown = || view.points.point_count(reduction).is_none_or(|n| n == 0);
    match reduction.op {
        ReduceOp::Mean => reduction.guard.is_some() || unknown(),
        ReduceOp::Max | ReduceOp::Min => view.points.may_lack_points(reduction),
        _ => false,
    }
}

/// Whether a sum is too long for its own type; or so short that no vectors would add it in
/// several parts, which take the place of pairs, and cheap enough in the wider one.
pub(crate) fn long_sum(view: &View<'_>, reduction: &Reduction, ty: ScalarType) -> bool {
    let sums = matches!(reduction.op, ReduceOp::Sum | ReduceOp::Mean);
    let loaded = |node| matches!(view.points.nodes[node].kind, Kind::Load(..));
    let is_dot = match view.points.nodes[reduction.body].kind {
        Kind::Binary(BinaryOp::Mul, a, b) => loaded(a) && loaded(b) && a != b,
        _ => false,
    };
    let limit = if is_dot { LONG_DOT } else { LONG_SUM };
    let multiplies =
        matches!(view.points.nodes[reduction.body].kind, Kind::Binary(BinaryOp::Mul, ..));
    let cheap = !multiplies && view.points.nodes[reduction.body].cost <= CHEAP;
    let wide = |n: i64| n > limit || (n <= SHORT_SUM && cheap);
    sums && ty == ScalarType::F32 && view.points.most_points(reduction).is_none_or(wide)
}

/// The order of the loops: the index along which memory is contiguous last.
pub(super) fn order(view: &View<'_>, accs: &[Acc]) -> Vec<(Ix, Node, Node)> {
    let mut binders = accs[0].reduction.binders.clone();
    let rectangular = binders
        .iter()
        .all(|(_, lo, hi)| view.points.as_int(*lo).is_some() && view.points.as_int(*hi).is_some());
    if !rectangular || binders.len() < 2 || accs.iter().any(Acc::addresses) {
        return binders;
    }
    let bodies: Vec<Node> = accs.iter().map(|acc| acc.reduction.body).collect();
    let loads = view.points.loads(&bodies);
    let score =
        |ix: Ix| loads.iter().filter(|(arr, at)| view.stride(*arr, at, ix) == Some(1)).count();
    let last = binders.len() - 1;
    let best = (0..binders.len()).max_by_key(|at| (score(binders[*at].0), *at));
    if let Some(best) = best
        && score(binders[best].0) > score(binders[last].0)
    {
        let moved = binders.remove(best);
        binders.push(moved);
    }
    binders
}

/// Whether the terms run in vectors.
pub(super) fn in_vectors(view: &View<'_>, accs: &[Acc], ix: Ix) -> bool {
    not_in_vectors(view, accs, ix).is_none()
}

/// Why the terms do not run in vectors, if they do not.
pub(super) fn not_in_vectors(view: &View<'_>, accs: &[Acc], ix: Ix) -> Option<Why> {
    let nested = |acc: &Acc| {
        let roots: Vec<Node> =
            [acc.reduction.body].into_iter().chain(acc.reduction.guard).collect();
        view.points.below(&roots).into_iter().any(|node| {
            view.points.depends(node, ix) && matches!(view.points.nodes[node].kind, Kind::Reduce(_))
        })
    };
    if accs.iter().any(Acc::addresses) {
        return Some(Why::Since("the place of an extreme is asked for"));
    }
    // A check of each step of a sum would be one of a lane.
    if !accs.iter().all(|acc| fits(view, &acc.reduction)) {
        return Some(Why::Since("each step may leave the type of the sum"));
    }
    if accs.iter().any(nested) {
        return Some(Why::Since("there is a reduction in its terms"));
    }
    let hops = hops(view, &accs[0].reduction, ix);
    hops.then_some(Why::Since("data decides how many terms there are, and where"))
}

/// Why threads share reductions outside all loops, if they do.
pub(super) fn shared_by_threads(view: &View<'_>, group: &[Node]) -> Option<Why> {
    let work: f64 = group.iter().map(|node| node_cost(view.points, *node)).sum();
    let simple = group.iter().all(|node| match &view.points.nodes[*node].kind {
        Kind::Reduce(r) => {
            !matches!(r.op, ReduceOp::Argmax | ReduceOp::Argmin)
                && !counts_points(view, r)
                && !in_turn(view.points, r)
        }
        _ => false,
    });
    let (least, turns) = (2.0 * view.points.cost.thread_work(), view.points.cost.reduction_parts());
    let pays = view.here() == 0 && work > least && simple;
    pays.then_some(Why::Work { work, turns: turns as f64, least })
}

/// Whether data decides both how many terms there are and where they are: mostly these are a few,
/// and what vectors take to begin, to fetch element by element and to end is more than the sum.
pub(super) fn hops(view: &View<'_>, reduction: &Reduction, ix: Ix) -> bool {
    // The index may have been put in place of that of the reduction.
    let Some((_, lo, hi)) = reduction.binders.last() else { return false };
    let cheap = view.points.nodes[reduction.body].cost <= CHEAP_TERM;
    let counted = !view.points.loads(&[*lo, *hi]).is_empty();
    let loads = view.points.loads(&[reduction.body]);
    cheap && counted && loads.iter().any(|(arr, at)| view.stride(*arr, at, ix).is_none())
}

/// Whether a reduction cannot leave the type of its accumulator, as sums and products of
/// integers may.
pub(super) fn fits(view: &View<'_>, reduction: &Reduction) -> bool {
    let body = &view.points.nodes[reduction.body];
    let adds = matches!(reduction.op, ReduceOp::Sum | ReduceOp::Mean);
    if !body.ty.is_int() || !adds {
        return !body.ty.is_int() || reduction.op != ReduceOp::Prod;
    }
    match view.points.greatest_sum(reduction) {
        Some(greatest) => greatest < i128::from(i64::MAX),
        // No loop is so long that numbers of 32 bits leave 64.
        None => {
            let small = body.range.is_some_and(|it| magnitude(it) < 1 << 31);
            small && reduction.binders.len() == 1
        }
    }
}

/// The type of an accumulator and its first value.
pub(crate) fn start(view: &View<'_>, reduction: &Reduction) -> (ScalarType, Scalar) {
    let body = view.points.nodes[reduction.body].ty;
    let ty = match reduction.op {
        ReduceOp::Sum | ReduceOp::Mean | ReduceOp::Count if !body.is_float() => {
            let short = view.points.greatest_sum(reduction).is_some_and(|it| it < 1 << 31);
            if short { ScalarType::I32 } else { ScalarType::I64 }
        }
        ReduceOp::Count => ScalarType::I64,
        ReduceOp::Sum | ReduceOp::Mean if long_sum(view, reduction, body) => ScalarType::F64,
        ReduceOp::Sum | ReduceOp::Mean => wide_enough(body),
        ReduceOp::Prod if body.is_int() => ScalarType::I64,
        ReduceOp::Prod => ScalarType::F64,
        ReduceOp::Max | ReduceOp::Argmax | ReduceOp::Min | ReduceOp::Argmin => body,
        ReduceOp::Any | ReduceOp::All => ScalarType::Bool,
    };
    (ty, neutral(operation(reduction.op), ty))
}

/// Whether a reduction can be kept in a row of accumulators.
pub(crate) fn fits_a_row(view: &View<'_>, reduction: &Reduction) -> bool {
    reduction.op != ReduceOp::Prod && is_accumulated(view, reduction)
}

/// Whether a reduction only takes its terms in, none of which has to be looked at, and knows how
/// many there are if that matters.
pub(crate) fn is_accumulated(view: &View<'_>, reduction: &Reduction) -> bool {
    let addresses = matches!(reduction.op, ReduceOp::Argmax | ReduceOp::Argmin);
    let free = !addresses && !in_turn(view.points, reduction);
    free && fits(view, reduction) && !counts_points(view, reduction)
}

/// The type of a row of accumulators: sums are kept in what they are added in, but for those of floats
/// that need no other type.
pub(crate) fn row_type(view: &View<'_>, reduction: &Reduction, ty: ScalarType) -> ScalarType {
    let body = view.points.nodes[reduction.body].ty;
    let adds = matches!(reduction.op, ReduceOp::Sum | ReduceOp::Mean | ReduceOp::Count);
    let short = matches!(body, ScalarType::F16 | ScalarType::BF16);
    match adds && (!body.is_float() || short || long_sum(view, reduction, ty)) {
        true => start(view, reduction).0,
        false => ty,
    }
}
