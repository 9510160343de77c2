//! Builtins that take or make whole arrays.

use crate::check::index::select;
use crate::check::matching::Cell;
use crate::check::state::{Build, Index, Report};
use crate::check::{Cx, Declared, anonymous, call, error, expr, is_numeric, lift, pointwise, vars};
use ein_base::{Code, Span, Symbol};
use ein_ir::size;
use ein_ir::tensor::{Bounds, Expr, ExprKind, HostOp, Reduce, ReduceOp, Type};
use ein_scalar::{BinaryOp, ScalarType};

/// `sum(a)`: over every element.
pub(in crate::check) fn whole_reduction(
    ix: &mut Index,
    build: &mut Build,
    report: &mut Report,
    op: ReduceOp,
    arg: Expr,
    span: Span,
) -> Expr {
    let name = op.as_str();
    if !arg.ty.is_array() {
        let have = ix.show(&arg.ty);
        let d = error(
            Code::E0501,
            arg.span,
            format!("`{name}` of a whole array needs an array, not `{have}`"),
        )
        .here(format!("this is `{have}`"))
        .help(format!("write `{name}[i](…)` to reduce along an index"));
        return report.fail(d);
    }
    let scalar = arg.ty.scalar();
    let fits = match op {
        ReduceOp::Any | ReduceOp::All | ReduceOp::Count => scalar == Some(ScalarType::Bool),
        ReduceOp::Mean => scalar.is_some_and(ScalarType::is_float),
        ReduceOp::Argmax | ReduceOp::Argmin => scalar.is_some_and(is_numeric) && arg.ty.rank() == 1,
        _ => scalar.is_some_and(is_numeric),
    };
    if !fits {
        let have = ix.show(&arg.ty);
        let d = error(Code::E0502, arg.span, format!("`{name}` is not defined for `{have}`"))
            .here(format!("this is `{have}`"))
            .help(match op {
                ReduceOp::Mean => "`mean` needs floats",
                ReduceOp::Argmax | ReduceOp::Argmin => "name the axis: `argmax[c](x)`",
                _ => "`any`, `all` and `count` take booleans, the others numbers",
            });
        return report.fail(d);
    }
    let ty = match op {
        ReduceOp::Any | ReduceOp::All => Type::BOOL,
        ReduceOp::Count | ReduceOp::Argmax | ReduceOp::Argmin => Type::I32,
        _ => arg.ty.elem().clone(),
    };
    let arg = vars::atomise(ix, build, arg);
    let axes = arg.ty.axes().to_vec();
    let mut binders = Vec::new();
    let mut indices = Vec::new();
    for (position, axis) in axes.iter().enumerate() {
        let name = ein_base::Name { sym: Symbol::intern(&format!("${position}")), span };
        let index = ix.new_index(name, Declared::Any);
        binders.push(pointwise::full_binder(ix.indices[index].var, &axis.size, span));
        indices.push(ix.index_expr(index, span));
    }
    let value = expr::read(arg, indices, Bounds::Proved, span);
    let reduce = Reduce { op, binders, items: Vec::new(), value, requires: Vec::new() };
    Expr::new(ExprKind::Reduce(reduce), ty, span)
}

pub(super) fn rotate(
    ix: &mut Index,
    build: &mut Build,
    report: &mut Report,
    array: Expr,
    amount: Expr,
    span: Span,
) -> Expr {
    let (array, amount) = if array.ty.is_array() { (array, amount) } else { (amount, array) };
    if !array.ty.is_array() {
        return needs_array(ix, report, "rotate", &array, span);
    }
    let amount = expr::expect_integer(ix, report, amount, "the amount to rotate by");
    if amount.ty.has_error() {
        return Expr::error(span);
    }
    let array = expr::settle_expr(ix, build, array);
    let array = vars::atomise(ix, build, array);
    let amount = vars::atomise(ix, build, amount);
    let axes = vec![array.ty.axes()[0].clone()];
    let length = axes[0].size.clone();
    pointwise::tabulate(ix, build, axes, span, |_, _, indices| {
        let length = Expr::size(length, span);
        let plain = |op, a, b| Expr::new(ExprKind::Binary(op, a, b), Type::I32, span);
        let amount = within_length(amount, &length);
        let shifted = plain(BinaryOp::Add, indices[0].clone(), amount);
        let at = plain(BinaryOp::FloorMod, shifted, length);
        expr::read(array, vec![at], Bounds::Checked, span)
    })
}

pub(super) fn reverse(
    ix: &mut Index,
    build: &mut Build,
    report: &mut Report,
    array: Expr,
    span: Span,
) -> Expr {
    if !array.ty.is_array() {
        return needs_array(ix, report, "reverse", &array, span);
    }
    let array = expr::settle_expr(ix, build, array);
    let array = vars::atomise(ix, build, array);
    let axes = vec![array.ty.axes()[0].clone()];
    let last = axes[0].size.offset(-1);
    pointwise::tabulate(ix, build, axes, span, |ix, _, indices| {
        let at = match ix.to_size(&indices[0]) {
            Some(index) => Expr::size(last.sub(&index), span),
            None => return Expr::error(span),
        };
        expr::read(array, vec![at], Bounds::Checked, span)
    })
}

pub(in crate::check) fn needs_array(
    ix: &Index,
    report: &mut Report,
    name: &str,
    value: &Expr,
    span: Span,
) -> Expr {
    let have = ix.show(&value.ty);
    let d = error(Code::E0501, span, format!("`{name}` takes an array, not `{have}`"))
        .here("called here")
        .label(value.span, format!("this is `{have}`"))
        .help("pass an array");
    report.fail(d)
}

pub(super) fn reshape(
    ix: &mut Index,
    build: &mut Build,
    report: &mut Report,
    a: Expr,
    b: Expr,
    span: Span,
) -> Expr {
    let is_shape = |e: &Expr| {
        matches!(&*e.kind, ExprKind::Array(items) if items.iter().all(|item| item.ty.scalar().is_some_and(|ty| ty.is_int())))
            && e.ty.rank() == 1
    };
    let (array, shape) = if is_shape(&b) || !is_shape(&a) { (a, b) } else { (b, a) };
    let whole = shape.ty.scalar().is_some_and(|ty| ty.is_int()) || shape.ty.has_error();
    if shape.ty.rank() == 1 && !whole || shape.ty.rank() > 1 {
        let have = ix.show(&shape.ty);
        let message = format!("the shape of `reshape` is a row of integers, not `{have}`");
        let d = error(Code::E0501, shape.span, message)
            .here(format!("this is `{have}`"))
            .help("write the extents: `reshape(a, [2, 3])`");
        return report.fail(d);
    }
    let shape = written_out(ix, build, shape);
    let ExprKind::Array(items) = &*shape.kind else {
        let d = error(Code::E0410, shape.span, "the shape of `reshape` must be written out")
            .here("its length is the rank of the result")
            .help("write the extents: `reshape(a, [2, 3])`");
        return report.fail(d);
    };
    let mut axes = Vec::new();
    let mut total = size::Expr::one();
    for item in items {
        let size = match ix.to_size(item) {
            Some(size) => size,
            None => ix.unknown_size(true),
        };
        total = total.mul(&size);
        axes.push(anonymous(size));
    }
    let have = array.ty.axes().iter().fold(size::Expr::one(), |a, axis| a.mul(&axis.size));
    if let (Some(p), Some(q)) = (have.as_constant(), total.as_constant())
        && p != q
    {
        let d = error(Code::E0405, span, format!("{p} elements cannot be reshaped to {q}"))
            .here(format!("asks for {q} elements"))
            .label(array.span, format!("this is `{}`", ix.show(&array.ty)))
            .help("the product of the extents must stay the same");
        return report.fail(d);
    }
    let ty = Type::array(array.ty.elem().clone(), axes);
    Expr::new(ExprKind::Host(HostOp::Reshape, vec![array, shape]), ty, span)
}

/// Integers in a row of known length, one by one: `[s[0], s[1]]` for `s: [i32; 2]`.
fn written_out(ix: &mut Index, build: &mut Build, row: Expr) -> Expr {
    let known = match row.ty.axes() {
        [axis] if row.ty.scalar().is_some_and(|ty| ty.is_int()) => axis.size.as_constant(),
        _ => None,
    };
    let (Some(length), false) = (known, matches!(&*row.kind, ExprKind::Array(_))) else {
        return row;
    };
    let (span, ty) = (row.span, row.ty.clone());
    let row = expr::settle_expr(ix, build, row);
    let row = vars::atomise(ix, build, row);
    let items = (0..length)
        .map(|at| {
            let at = Expr::size(size::Expr::constant(at), span);
            expr::read(row.clone(), vec![at], Bounds::Proved, span)
        })
        .collect();
    Expr::new(ExprKind::Array(items), ty, span)
}

/// `filter(p, xs)` with a predicate, `filter(mask, xs)` with an array of `bool`.
pub(in crate::check) fn filter(cx: &mut Cx, keep: Expr, array: Expr, span: Span) -> Expr {
    if !array.ty.is_array() {
        return needs_array(&cx.ix, &mut cx.report, "filter", &array, span);
    }
    let array = expr::settle_expr(&mut cx.ix, &mut cx.build, array);
    let array = vars::atomise(&mut cx.ix, &mut cx.build, array);
    // A predicate is asked for each position of the first axis. One that takes smaller cells than these
    // answers for each of its own.
    let mask = match keep.ty {
        Type::Template(..) | Type::Signature(..) => {
            let axes = vec![array.ty.axes()[0].clone()];
            let (table, indices) = pointwise::open_table(&mut cx.ix, &mut cx.build, axes, span);
            let item = expr::read(array.clone(), indices, Bounds::Proved, span);
            let kept = call::apply_value(cx, keep, vec![item], span);
            pointwise::close_table(&mut cx.ix, &mut cx.build, table, kept, span)
        }
        _ => keep,
    };
    if mask.ty.has_error() {
        return Expr::error(span);
    }
    let (rank, kind) = (mask.ty.rank(), mask.ty.scalar());
    if rank == 0 || rank > array.ty.rank() || kind != Some(ScalarType::Bool) {
        let have = cx.ix.show(&mask.ty);
        let d = error(
            Code::E0501,
            mask.span,
            format!("`filter` takes a predicate or an array of `bool`, not `{have}`"),
        )
        .here(format!("this is `{have}`"))
        .help("write `filter(|x| x > 0.0, xs)`");
        return cx.report.fail(d);
    }
    let mask = expr::settle_expr(&mut cx.ix, &mut cx.build, mask);
    let cell = |of: &Expr| Cell {
        frame: (0..rank - 1).collect(),
        cell: (rank - 1..of.ty.rank()).collect(),
    };
    let cells = [cell(&array), cell(&mask)];
    let name = Symbol::intern("filter");
    lift::lift(cx, name, vec![array, mask], &cells, span, |cx, cells| {
        let [array, mask] = cells.as_slice() else { return Expr::error(span) };
        if !select::fits_mask(&mut cx.ix, &mut cx.build, &mut cx.report, array, mask) {
            return Expr::error(span);
        }
        let mut axes = array.ty.axes().to_vec();
        axes[0].size = cx.ix.unknown_size(false);
        let ty = Type::array(array.ty.elem().clone(), axes);
        Expr::new(ExprKind::Host(HostOp::Compress, cells), ty, span)
    })
}

pub(super) fn iota(ix: &mut Index, report: &mut Report, arg: Expr, span: Span) -> Expr {
    let sizes: Vec<size::Expr> = match &*arg.kind {
        ExprKind::Array(items) => items
            .clone()
            .iter()
            .map(|item| match ix.to_size(item) {
                Some(size) => size,
                None => ix.unknown_size(true),
            })
            .collect(),
        _ => {
            let arg = expr::expect_integer(ix, report, arg.clone(), "the length of `iota`");
            if arg.ty.has_error() {
                return Expr::error(span);
            }
            vec![match ix.to_size(&arg) {
                Some(size) => size,
                None => ix.unknown_size(false),
            }]
        }
    };
    let axes = sizes.into_iter().map(anonymous).collect();
    Expr::new(ExprKind::Host(HostOp::Iota, vec![arg]), Type::array(Type::I32, axes), span)
}

/// An integer of any type as the position in an array of this length that is as far from the start.
fn within_length(amount: Expr, length: &Expr) -> Expr {
    let span = amount.span;
    let convert = |e: Expr, ty: &Type| match e.ty == *ty {
        true => e,
        false => Expr::new(ExprKind::Cast(e), ty.clone(), span),
    };
    // Lengths fit in each of these types.
    let ty = match amount.ty {
        Type::I32 | Type::Scalar(ScalarType::U64) => amount.ty.clone(),
        _ => Type::Scalar(ScalarType::I64),
    };
    let (amount, length) = (convert(amount, &ty), convert(length.clone(), &ty));
    let rest = Expr::new(ExprKind::Binary(BinaryOp::FloorMod, amount, length), ty, span);
    convert(rest, &Type::I32)
}
