//! Calls of functions of Python, where the program runs inside it.

use ein_base::{Code, Symbol};
use ein_ir::tensor::{Expr, Type};

use crate::array::elem_type;
use crate::machine::Machine;
use crate::stop::{Stop, show_shape};
use crate::value::Value;

impl<'p> Machine<'p> {
    /// Calls it and checks what it gives against the type of the node.
    pub(crate) fn python(
        &mut self,
        path: Symbol,
        values: &[Value],
        e: &'p Expr,
    ) -> Result<Value, Stop> {
        let mut args = Vec::with_capacity(values.len());
        for value in values {
            args.push(self.settle(value.clone(), e.span)?);
        }
        let wanted = match &e.ty {
            Type::AnyRank(elem) => elem,
            ty => ty.elem(),
        };
        let ty = match wanted {
            Type::Scalar(ty) => Some(*ty),
            _ => None,
        };
        let value = match self.host.python(path.as_str(), &args, ty) {
            Ok(value) => value,
            Err(message) => return Err(self.fail(Code::E0809, e.span, message)),
        };
        let has = elem_type(&value);
        if has != *wanted {
            let has = match has {
                Type::Scalar(has) => format!("elements of type `{has}`"),
                _ => value.kind().to_owned(),
            };
            let wanted = match wanted {
                Type::Scalar(ty) => format!("`{ty}`"),
                _ => "a text".to_owned(),
            };
            let message = format!("`{path}` of Python gave {has}, not {wanted}");
            return Err(self.fail(Code::E0904, e.span, message));
        }
        if matches!(e.ty, Type::Scalar(_)) && !value.shape().is_empty() {
            let shape = show_shape(value.shape());
            let message =
                format!("`{path}` of Python gave an array of shape {shape}, not a number");
            return Err(self.fail(Code::E0905, e.span, message));
        }
        Ok(value)
    }
}
