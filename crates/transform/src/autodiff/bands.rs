//! Whole derivatives that are zero outside windows: as many sweeps as a window has positions.
//!
//! Before:  `let y[i] = x[i - 1] * x[i + 1]; let J = @y / @x; … J[i, j] …`
//! After:   `let band[c, i] = …; … if i - 1 <= j && j < i + 2 { band[j % 3, i] } else { 0.0 } …`,
//!          where `band[c]` is the tangent of `y` when all `x[j]` with `j % 3 == c` move together
//!
//! No point of the target reaches two positions of a window that are equal modulo its width, so the
//! elements of the parameter with one remainder, its *colour*, share a tangent. An axis without a
//! window has a colour for each position. The same goes the other way: elements of the target that
//! reach no common element of the parameter share a reverse sweep. What needs fewer sweeps is done.
//!
//! Reads of the derivative look into the band, and sums of products with an entry run over the
//! window alone. The derivative itself is filled in only if something needs it as an array.

use super::decision::{Needs, Sparse};
use super::lazy::is_parameter;
use super::modes::{Count, elements, part, times};
use super::reverse::Done;
use super::structure::{Structure, Window};
use super::tensor::defined;
use super::{Mode, Pass, let_stmt, named};
use ein_base::Span;
use ein_ir::size;
use ein_ir::tensor::walk::{each_in_stmt, each_in_stmt_mut};
use ein_ir::tensor::{
    Axis, Binder, Bounds, Clause, ClauseSlot, Derivative, Expr, ExprKind, IndexArg, Place, Stmt,
    StmtKind, Tensor, Type, VarId,
};
use ein_scalar::BinaryOp;
use rustc_hash::FxHashMap;

mod reads;

/// Which positions along an axis share a sweep.
#[derive(Clone, Debug)]
enum Colours {
    /// Those that are equal modulo this.
    Modulo(i64),
    /// None: the axis has this extent.
    Each(size::Expr),
}

/// A derivative in few sweeps.
#[derive(Clone, Debug)]
struct Band {
    structure: Structure,
    /// Whether the sweeps are tangents; reverse sweeps otherwise.
    forward: bool,
    /// For each axis of the parameter if they are tangents, otherwise of the target.
    colours: Vec<Colours>,
    /// What is computed: the colours of all axes with more than one, then the axes of the other
    /// side.
    store: VarId,
    rows: usize,
    /// The type of the derivative.
    ty: Type,
}

/// Loops over colours: a variable, and how many there are.
type Colouring = Vec<(VarId, size::Expr)>;

impl Pass<'_> {
    /// `let J = @y / @x` as a band, with the reads of it in what follows. Returns whether that was
    /// done.
    pub(super) fn bind_band(
        &mut self,
        stmt: &Stmt,
        rest: &mut [Stmt],
        value: Option<&mut Expr>,
        out: &mut Vec<Stmt>,
    ) -> bool {
        let StmtKind::Let(var, e) = &stmt.kind else { return false };
        let ExprKind::Derivative(Derivative::Quotient { target, parameter }) = &*e.kind else {
            return false;
        };
        let (Some((y, [])), Some((x, []))) = (named(target), named(parameter)) else {
            return false;
        };
        let mut parameter = value.as_deref().is_some_and(|value| is_parameter(value, *var));
        let mut look = |e: &Expr| parameter = parameter || is_parameter(e, *var);
        rest.iter().for_each(|stmt| each_in_stmt(stmt, &mut look));
        if parameter {
            return false;
        }
        let Some((band, store)) = self.band(y, x, &e.ty, e.span) else { return false };
        self.enter_scope(band.store, &store);
        out.push(let_stmt(band.store, store));
        for stmt in rest.iter_mut() {
            each_in_stmt_mut(stmt, &mut |e| self.read_band(e, *var, &band, &mut Vec::new()));
        }
        let mut whole = !matches!(self.program.vars[*var].place, Place::Local(_));
        let mut look = |e: &Expr| whole |= super::reverse::mentions(e, *var);
        rest.iter().for_each(|stmt| each_in_stmt(stmt, &mut look));
        if let Some(value) = value {
            self.read_band(value, *var, &band, &mut Vec::new());
            whole |= super::reverse::mentions(value, *var);
        }
        if whole {
            let filled = self.filled(&band, &[], e.span);
            self.enter_scope(*var, &filled);
            out.push(let_stmt(*var, filled));
        }
        true
    }

    /// All of a derivative, if it is a band, filled in.
    pub(super) fn whole_band(&mut self, y: VarId, x: VarId, ty: &Type, span: Span) -> Option<Expr> {
        let (band, store) = self.band(y, x, ty, span)?;
        let stmts = vec![let_stmt(band.store, store)];
        let value = self.filled(&band, &[], span);
        Some(Expr::new(ExprKind::Block { stmts, value }, ty.clone(), span))
    }

    /// A derivative as a band, and what computes it, if that takes fewer sweeps than its rows or
    /// columns.
    fn band(&mut self, y: VarId, x: VarId, ty: &Type, span: Span) -> Option<(Band, Expr)> {
        let (y_ty, x_ty) = (self.program.vars[y].ty.clone(), self.program.vars[x].ty.clone());
        if !y_ty.is_array() || !x_ty.is_array() {
            return None;
        }
        let structure = self.structure(y, x)?;
        let columns: Vec<Colours> = structure
            .windows
            .iter()
            .zip(x_ty.axes())
            .map(|(window, axis)| colours(window.as_ref().map(|window| window.width), axis))
            .collect();
        let rows: Vec<Colours> = (0..y_ty.rank())
            .map(|axis| colours(self.seen_from(&structure, axis), &y_ty.axes()[axis]))
            .collect();
        let (by_columns, by_rows) = (count(&columns), count(&rows));
        let least = elements(y_ty.axes()).min(elements(x_ty.axes()));
        let mut why = self.refused.get(&(y, x)).copied();
        if y != x && by_rows < by_columns && by_rows < least {
            match self.band_by_rows((y, &y_ty), (x, &x_ty), &rows, span) {
                Ok(Some((made, needs))) => {
                    let sparse = self.described(&structure, by_rows);
                    self.decide_sparse(y, x, (Mode::BandRows, sparse), None, needs);
                    return Some(self.stored(made, structure, false, rows, &y_ty, ty));
                }
                Ok(None) => return None,
                Err(unsupported) => why = Some(unsupported.why),
            }
        }
        if by_columns >= least {
            return None;
        }
        let made = self.band_by_columns((y, &y_ty), (x, &x_ty), &columns, span)?;
        let sparse = self.described(&structure, by_columns);
        self.decide_sparse(y, x, (Mode::BandColumns, sparse), why, Needs::default());
        Some(self.stored(made, structure, true, columns, &y_ty, ty))
    }

    fn stored(
        &mut self,
        made: Expr,
        structure: Structure,
        forward: bool,
        colours: Vec<Colours>,
        y_ty: &Type,
        ty: &Type,
    ) -> (Band, Expr) {
        let store = self.local("$band", made.ty.clone(), made.span);
        let (rows, ty) = (y_ty.rank(), ty.clone());
        (Band { structure, forward, colours, store, rows, ty }, made)
    }

    /// How many positions along an axis of the target reach one element of the parameter.
    fn seen_from(&mut self, structure: &Structure, axis: usize) -> Option<i64> {
        let here = self.atom_of(structure.at[axis]);
        let others: Vec<size::Atom> = structure
            .at
            .iter()
            .filter(|at| **at != structure.at[axis])
            .map(|at| self.atom_of(*at))
            .collect();
        let seen = structure.windows.iter().flatten().filter_map(|window| {
            let (stride, rest) = window.lo.affine_in(here)?;
            let alone = !others.iter().any(|other| rest.mentions(*other));
            (stride != 0 && alone).then(|| (window.width - 1) / stride.abs() + 1)
        });
        seen.min()
    }

    // ---------------------------------------------------------------- sweeps

    /// A tangent for each colour of the parameter.
    fn band_by_columns(
        &mut self,
        (y, y_ty): (VarId, &Type),
        (x, x_ty): (VarId, &Type),
        colours: &[Colours],
        span: Span,
    ) -> Option<Expr> {
        let (loops, seed) = self.comb(x_ty, colours, span);
        let mut stmts = Vec::new();
        let value = self.along(y, x, seed, &mut stmts)?;
        let body = Expr::new(ExprKind::Block { stmts, value }, y_ty.clone(), span);
        Some(family(loops, body, span))
    }

    /// A reverse sweep for each colour of the target.
    fn band_by_rows(
        &mut self,
        (y, y_ty): (VarId, &Type),
        (x, x_ty): (VarId, &Type),
        colours: &[Colours],
        span: Span,
    ) -> Done<Option<(Expr, Needs)>> {
        let (loops, seed) = self.comb(y_ty, colours, span);
        let mut stmts = Vec::new();
        let flows = self.name(seed, &mut stmts);
        let Some(adjoints) = self.adjoints((y, &[]), flows, &[x])? else { return Ok(None) };
        let needs = self.needs(y, &adjoints);
        let Some(value) = adjoints.of.into_iter().next().flatten() else { return Ok(None) };
        stmts.extend(adjoints.stmts);
        let body = Expr::new(ExprKind::Block { stmts, value }, x_ty.clone(), span);
        Ok(Some((family(loops, body, span), needs)))
    }

    /// Ones at the positions of one colour, zeros elsewhere, and the loops over the colours.
    fn comb(&mut self, ty: &Type, colours: &[Colours], span: Span) -> (Colouring, Expr) {
        let (mut loops, mut slots) = (Vec::new(), Vec::new());
        let mut cond: Option<Expr> = None;
        for (axis, colours) in ty.axes().iter().zip(colours) {
            let var = self.local("$i", Type::I32, span);
            let hi = Expr::size(axis.size.clone(), span);
            slots.push(ClauseSlot::Loop(Binder { var, lo: Expr::int(0, span), hi }));
            let Some(number) = number_of(colours) else { continue };
            let colour = self.local("$c", Type::I32, span);
            loops.push((colour, number));
            let at = self.var(var, span);
            let at = self.coloured(at, colours);
            let test = ExprKind::Binary(BinaryOp::Eq, at, self.var(colour, span));
            cond = Some(all(cond, Expr::new(test, Type::BOOL, span)));
        }
        let one = self.number(ty, 1.0, span);
        let value = match cond {
            None => one,
            Some(cond) => {
                let otherwise = self.number(ty, 0.0, span);
                let kind = ExprKind::If { cond, then: one, otherwise };
                Expr::new(kind, ty.elem().clone(), span)
            }
        };
        (loops, defined(slots, value, ty.clone(), span))
    }

    /// The colour of a position.
    fn coloured(&self, at: Expr, colours: &Colours) -> Expr {
        match colours {
            Colours::Each(_) => at,
            Colours::Modulo(width) => {
                let (ty, span) = (at.ty.clone(), at.span);
                let by = Expr::int(*width, span);
                let by =
                    if by.ty == ty { by } else { Expr::new(ExprKind::Cast(by), ty.clone(), span) };
                Expr::new(ExprKind::Binary(BinaryOp::Rem, at, by), ty, span)
            }
        }
    }

    // ---------------------------------------------------------------- reads

    /// The derivative as an array, at these indices for its first axes.
    fn filled(&mut self, band: &Band, at: &[IndexArg], span: Span) -> Expr {
        let mut at = at.to_vec();
        let mut slots = Vec::new();
        let axes = band.ty.axes()[at.len()..].to_vec();
        for axis in &axes {
            let var = self.local("$i", Type::I32, span);
            let hi = Expr::size(axis.size.clone(), span);
            slots.push(ClauseSlot::Loop(Binder { var, lo: Expr::int(0, span), hi }));
            at.push(IndexArg { value: self.var(var, span), bounds: Bounds::Proved });
        }
        let sizes: Option<Vec<size::Expr>> =
            at.iter().map(|index| self.size_of(&index.value)).collect();
        let value = self.entry_of_band(band, &at, &sizes.unwrap_or_default(), &[], span);
        if slots.is_empty() {
            return value;
        }
        defined(slots, value, Type::array(band.ty.elem().clone(), axes), span)
    }

    /// One entry; along the axes that are `inside`, it is known to be in the window.
    fn entry_of_band(
        &mut self,
        band: &Band,
        at: &[IndexArg],
        sizes: &[size::Expr],
        inside: &[bool],
        span: Span,
    ) -> Expr {
        let elem = band.ty.elem().clone();
        let zero = self.number(&band.ty, 0.0, span);
        let mut cond: Option<Expr> = None;
        for (axis, window) in band.structure.windows.iter().enumerate() {
            let Some(window) = window else { continue };
            if inside.get(axis) == Some(&true) {
                continue;
            }
            let lo = self.placed(band, window, sizes);
            let at = &sizes[band.rows + axis];
            if let Some(distance) = at.sub(&lo).as_constant() {
                if (0..window.width).contains(&distance) {
                    continue;
                }
                return zero;
            }
            let compare = |pass: &mut Self, op, a: &size::Expr, b: &size::Expr| {
                let (a, b) = (pass.size_expr(a, span), pass.size_expr(b, span));
                Expr::new(ExprKind::Binary(op, a, b), Type::BOOL, span)
            };
            if window.width == 1 {
                cond = Some(all(cond, compare(self, BinaryOp::Eq, at, &lo)));
            } else {
                cond = Some(all(cond, compare(self, BinaryOp::Le, &lo, at)));
                let end = lo.offset(window.width);
                cond = Some(all(cond, compare(self, BinaryOp::Lt, at, &end)));
            }
        }
        let (rows, columns) = at.split_at(band.rows);
        let (coloured, other) = if band.forward { (columns, rows) } else { (rows, columns) };
        let mut place = Vec::new();
        for (index, colours) in coloured.iter().zip(&band.colours) {
            if number_of(colours).is_some() {
                let value = self.coloured(index.value.clone(), colours);
                place.push(IndexArg { value, bounds: index.bounds });
            }
        }
        place.extend_from_slice(other);
        let then = part(self.var(band.store, span), &place, &elem);
        match cond {
            None => then,
            Some(cond) => Expr::new(ExprKind::If { cond, then, otherwise: zero }, elem, span),
        }
    }

    /// The first position of a window at the point that the first indices name.
    fn placed(&mut self, band: &Band, window: &Window, sizes: &[size::Expr]) -> size::Expr {
        let at: FxHashMap<VarId, size::Expr> =
            band.structure.at.iter().copied().zip(sizes.iter().cloned()).collect();
        self.replaced_size(&window.lo, &at)
    }

    // ---------------------------------------------------------------- words

    /// The windows in words: `diagonal`, `banded -1..1`, with the axes where there are several.
    fn described(&mut self, structure: &Structure, (unknown, known): Count) -> Sparse {
        let names = ["i", "j", "k", "l", "m", "n"];
        let atoms: Vec<size::Atom> = structure.at.iter().map(|at| self.atom_of(*at)).collect();
        let axes = structure.windows.len();
        let mut windows = Vec::new();
        for (axis, window) in structure.windows.iter().enumerate() {
            let Some(Window { lo, width }) = window else { continue };
            let constant = lo.substitute(&|_| Some(size::Expr::zero())).as_constant();
            let offset = constant.unwrap_or(0);
            let base = lo.offset(-offset);
            let own = atoms.iter().position(|atom| base.as_atom() == Some(*atom));
            let last = offset + width - 1;
            let mut text = match (own, offset, width) {
                (Some(_), 0, 1) => "diagonal".to_owned(),
                (Some(_), ..) => format!("banded {offset}..{last}"),
                (None, ..) => {
                    let base =
                        base.display(&|atom| match atoms.iter().position(|own| *own == atom) {
                            Some(at) => names.get(at).copied().unwrap_or("i").to_owned(),
                            None => self.program.atoms[atom].name.to_string(),
                        });
                    format!("banded {offset}..{last} around {base}")
                }
            };
            if axes > 1 || atoms.len() > 1 {
                let of = own.filter(|own| *own != axis);
                let of = of.map_or(String::new(), |own| format!(" along axis {own} of the target"));
                text = format!("{text} in axis {axis}{of}");
            }
            windows.push(text);
        }
        Sparse { windows, sweeps: (unknown == 0).then_some(known) }
    }
}

/// The colours of an axis with a window of this width.
fn colours(width: Option<i64>, axis: &Axis) -> Colours {
    match (width, axis.size.as_constant()) {
        (Some(width), Some(extent)) if width < extent => Colours::Modulo(width),
        (Some(width), None) => Colours::Modulo(width),
        (Some(_), Some(_)) | (None, _) => Colours::Each(axis.size.clone()),
    }
}

/// How many colours there are; `None` for one.
fn number_of(colours: &Colours) -> Option<size::Expr> {
    match colours {
        Colours::Modulo(1) => None,
        Colours::Modulo(width) => Some(size::Expr::constant(*width)),
        Colours::Each(extent) => (extent.as_constant() != Some(1)).then(|| extent.clone()),
    }
}

/// How many sweeps the colours of all axes take.
fn count(colours: &[Colours]) -> Count {
    colours.iter().filter_map(number_of).fold((0, 1), |count, number| times(count, &number))
}

fn all(cond: Option<Expr>, test: Expr) -> Expr {
    let Some(cond) = cond else { return test };
    let span = test.span;
    Expr::new(ExprKind::And(cond, test), Type::BOOL, span)
}

/// An array for every value of some loops, which begin at zero.
fn family(loops: Colouring, value: Expr, span: Span) -> Expr {
    if loops.is_empty() {
        return value;
    }
    let (mut axes, mut slots) = (Vec::new(), Vec::new());
    for (var, extent) in loops {
        let hi = Expr::size(extent.clone(), span);
        slots.push(ClauseSlot::Loop(Binder { var, lo: Expr::int(0, span), hi }));
        axes.push(Axis::anonymous(extent));
    }
    let shape = axes.iter().map(|axis| Some(axis.size.clone())).collect();
    axes.extend_from_slice(value.ty.axes());
    let ty = Type::array(value.ty.elem().clone(), axes);
    let tensor = Tensor {
        name: None,
        self_var: None,
        shape,
        inner_rank: value.ty.rank(),
        clauses: vec![Clause {
            slots,
            items: Vec::new(),
            value,
            otherwise: None,
            until: None,
            span,
        }],
        recurrence: None,
        requires: Vec::new(),
    };
    Expr::new(ExprKind::Tensor(tensor), ty, span)
}
