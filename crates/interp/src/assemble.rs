//! Array literals and the results of comprehensions: values put together to the type that is asked
//! for.

use ein_base::{Code, Span};
use ein_ir::tensor::{Expr, ExprKind, Type};
use ein_scalar::UnaryOp;

use crate::array::{count, elements};
use crate::machine::Machine;
use crate::stop::{Stop, show_shape};
use crate::value::Value;

impl Machine<'_> {
    /// An array of these elements or rows.
    #[inline(never)]
    pub(crate) fn assemble(
        &mut self,
        mut items: Vec<Value>,
        ty: &Type,
        span: Span,
    ) -> Result<Value, Stop> {
        for item in &mut items {
            if let Value::Pending(_) = item {
                *item = self.settle(item.clone(), span)?;
            }
        }
        match ty {
            Type::Jagged(..) => Ok(Value::Jagged(items.into())),
            Type::Array(array) => {
                let known = self.static_extents(ty);
                let rest = known.iter().skip(1).map(|extent| extent.unwrap_or(0)).collect();
                self.stack(&items, &array.elem, rest, span)
            }
            Type::AnyRank(elem) => self.stack(&items, elem, Vec::new(), span),
            Type::Unit | Type::Scalar(_) | Type::Str | Type::Tuple(_) | Type::Data(..) => {
                Err(self.malformed(span, "an array literal of a type that is not an array"))
            }
            Type::Template(..) | Type::Signature(_) | Type::Range | Type::Error => {
                Err(self.malformed(span, "an array literal of a type that is not an array"))
            }
        }
    }

    /// Rows of one shape, one after another along a new leading axis. `rest` is the shape of a row
    /// if there is none.
    pub(crate) fn stack(
        &self,
        rows: &[Value],
        elem: &Type,
        rest: Vec<usize>,
        span: Span,
    ) -> Result<Value, Stop> {
        let row = rows.first().map_or(rest, |row| row.shape().to_vec());
        if let Some((at, other)) = rows.iter().enumerate().find(|(_, other)| other.shape() != row) {
            let (first, second) = (show_shape(&row), show_shape(other.shape()));
            let message =
                format!("rows of unequal shapes: row 0 has {first}, row {at} has {second}");
            return Err(self.fail(Code::E0804, span, message));
        }
        let mut shape = vec![rows.len()];
        shape.extend(&row);
        if row.is_empty() {
            return self.array_of(elem, shape, rows.iter().cloned(), span);
        }
        self.array_of(elem, shape, rows.iter().flat_map(elements), span)
    }
}

/// An array of numbers that are all written out, which needs no arrays for its rows.
pub(crate) fn written_out(
    machine: &Machine<'_>,
    items: &[Expr],
    ty: &Type,
    span: Span,
) -> Option<Result<Value, Stop>> {
    let Type::Array(array) = ty else { return None };
    let mut numbers = Vec::new();
    let shape: Option<Vec<usize>> = machine.static_extents(ty).into_iter().collect();
    let shape = shape.filter(|_| literals(machine, items, &mut numbers))?;
    let full = !numbers.is_empty() && numbers.len() == count(&shape);
    full.then(|| machine.array_of(&array.elem, shape, numbers, span))
}

/// The numbers of a literal in order, with their signs; whether it consists of such.
fn literals(machine: &Machine<'_>, items: &[Expr], numbers: &mut Vec<Value>) -> bool {
    items.iter().all(|item| {
        let number = match &*item.kind {
            ExprKind::Const(number) => Some(*number),
            ExprKind::Unary(UnaryOp::Neg, number) => match &*number.kind {
                ExprKind::Const(number) => machine.unary(UnaryOp::Neg, *number, item.span).ok(),
                _ => None,
            },
            ExprKind::Array(row) => return literals(machine, row, numbers),
            _ => None,
        };
        numbers.extend(number.map(Value::Scalar));
        number.is_some()
    })
}
