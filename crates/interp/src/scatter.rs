//! Accumulations: points add to cells, one after another, in the element type.

use ein_ir::tensor::{Bounds, Expr, Scatter};
use ein_scalar::{BinaryOp, Scalar};

use crate::array::{Cells, count};
use crate::machine::Machine;
use crate::stop::{BadRead, MarkKind, Stop};
use crate::value::Value;

impl<'p> Machine<'p> {
    /// The array that a scatter adds up.
    #[inline(never)]
    pub(crate) fn scatter(&mut self, scatter: &'p Scatter, e: &'p Expr) -> Result<Value, Stop> {
        let mut shape = Vec::with_capacity(scatter.shape.len());
        for extent in &scatter.shape {
            shape.push(self.extent(extent, e.span)?);
        }
        let mut cells = self.cells(e.ty.elem(), &shape, None, e.span)?;
        let marks = self.marks.len();
        if count(&shape) > 0 {
            let metered = self.meter.take();
            self.scatter_from(scatter, 0, &shape, &mut cells, e, metered)?;
            self.meter.give_back(metered);
        }
        self.marks.truncate(marks);
        Ok(cells.finish(shape))
    }

    /// Runs the loops from `level` inward.
    fn scatter_from(
        &mut self,
        scatter: &'p Scatter,
        level: usize,
        shape: &[usize],
        cells: &mut Cells,
        e: &'p Expr,
        metered: bool,
    ) -> Result<(), Stop> {
        let Some(binder) = scatter.binders.get(level) else {
            return self.scatter_point(scatter, shape, cells, e);
        };
        let (lo, hi) = self.domain(binder)?;
        self.push_mark(MarkKind::Index(binder.var));
        if metered {
            self.meter.enter(level, hi.saturating_sub(lo).max(0) as u64);
        }
        for at in lo..hi {
            self.tick()?;
            let index = self.index_value(at, binder.lo.span)?;
            self.bind(binder.var, index);
            self.scatter_from(scatter, level + 1, shape, cells, e, metered)?;
            if metered {
                self.meter.step(level);
            }
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
