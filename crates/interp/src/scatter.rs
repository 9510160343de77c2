//! Accumulations: points add to cells, one after another, in the element type.

use ein_ir::tensor::{Bounds, Expr, Scatter};
use ein_scalar::{BinaryOp, Scalar};

use crate::accelerate::Answer;
use crate::array::{Cells, count};
use crate::machine::Machine;
use crate::parts::{Came, Way, add_part, in_parts};
use crate::stop::{BadRead, MarkKind, Stop};
use crate::value::Value;

/// An accumulation under way.
struct Adding<'a> {
    shape: &'a [usize],
    cells: &'a mut Cells,
    /// Whether its loops are what the meter counts.
    metered: bool,
    /// Whether it failed as a kernel.
    failed: bool,
}

impl<'p> Machine<'p> {
    /// The array that a scatter adds up.
    #[inline(never)]
    pub(crate) fn scatter(&mut self, scatter: &'p Scatter, e: &'p Expr) -> Result<Value, Stop> {
        match self.scope_of_scatter(scatter) {
            Some(scope) => self.within(scope, |machine| added_up(machine, scatter, e)).0,
            None => added_up(self, scatter, e),
        }
    }

    /// Runs the loops from `level` inward.
    fn scatter_from(
        &mut self,
        scatter: &'p Scatter,
        level: usize,
        adding: &mut Adding<'_>,
        e: &'p Expr,
    ) -> Result<(), Stop> {
        let Some(binder) = scatter.binders.get(level) else {
            return self.scatter_point(scatter, adding.shape, adding.cells, e);
        };
        let (lo, hi) = self.domain(binder)?;
        if adding.metered {
            self.meter.enter(level, hi.saturating_sub(lo).max(0) as u64);
        }
        let searched = adding.failed && !self.in_a_loop();
        self.push_mark(MarkKind::Index(binder.var));
        let mut run = |machine: &mut Self, way, (lo, hi)| match way {
            Way::Ask => Ok(add_part(machine, scatter, level, (lo, hi), adding.cells, e)),
            Way::Evaluate | Way::Alone => machine.alone(way, |machine| {
                for at in lo..hi {
                    machine.tick()?;
                    let index = machine.index_value(at, binder.lo.span)?;
                    machine.bind(binder.var, index);
                    machine.scatter_from(scatter, level + 1, adding, e)?;
                    if adding.metered {
                        machine.meter.step(level);
                    }
                }
                Ok(Came::Done)
            }),
        };
        match searched {
            true => in_parts(self, (lo, hi), &mut run).map(drop)?,
            false => run(self, Way::Evaluate, (lo, hi)).map(drop)?,
        }
        self.marks.pop();
        Ok(())
    }

    fn scatter_point(
        &mut self,
        scatter: &'p Scatter,
        shape: &[usize],
        cells: &mut Cells,
        e: &'p Expr,
    ) -> Result<(), Stop> {
        if !self.items(&scatter.items)? {
            return Ok(());
        }
        let mut place = 0;
        for (axis, (arg, extent)) in scatter.indices.iter().zip(shape).enumerate() {
            let at = self.int(&arg.value)?;
            let Some(at) = usize::try_from(at).ok().filter(|at| at < extent) else {
                return Err(self.out_of_bounds(&BadRead {
                    name: None,
                    coord: e.ty.axes().get(axis).and_then(|it| it.coord).map(|it| it.name),
                    axis,
                    index: i128::from(at),
                    extent: *extent,
                    span: e.span,
                    proved: arg.bounds == Bounds::Proved,
                }));
            };
            place = place * extent + at;
        }
        let value = self.scalar(&scatter.value)?;
        let before = cells.get(place).as_scalar().unwrap_or(Scalar::zero(value.ty()));
        let sum = self.binary(BinaryOp::Add, before, value, scatter.value.span)?;
        match cells.set(place, Value::Scalar(sum)) {
            Ok(()) => Ok(()),
            Err(value) => Err(self.expected(e.span, "an element of the scatter", &value)),
        }
    }
}

/// All that the loops of a scatter add.
fn added_up<'p>(
    machine: &mut Machine<'p>,
    scatter: &'p Scatter,
    e: &'p Expr,
) -> Result<Value, Stop> {
    let failed = match machine.accelerate(e)? {
        Answer::Made(value) => return Ok(value),
        Answer::Failed => true,
        Answer::Evaluate => false,
    };
    let mut shape = Vec::with_capacity(scatter.shape.len());
    for extent in &scatter.shape {
        shape.push(machine.extent(extent, e.span)?);
    }
    let mut cells = machine.cells(e.ty.elem(), &shape, None, e.span)?;
    let marks = machine.marks.len();
    if count(&shape) > 0 {
        let metered = machine.meter.take();
        let mut adding = Adding { shape: &shape, cells: &mut cells, metered, failed };
        machine.scatter_from(scatter, 0, &mut adding, e)?;
        machine.meter.give_back(metered);
    }
    machine.marks.truncate(marks);
    Ok(cells.finish(shape))
}
