//! Reductions in vector loops: what accumulates, and in which form.
//!
//! The compiler gives each lane its own accumulator and combines them after the loop with the
//! operation of the clause, so an accumulator must have a type in which that operation is exactly
//! ours: signed integers are summed as unsigned ones, floats are compared as integer keys. Whether
//! any number was out of bounds is seen in the greatest distance from the lower one.

use ein_ir::loops::Reg;
use ein_ir::loops::lanes::{Reduction, Update};
use ein_scalar::{BinaryOp, ScalarType};

use crate::op;

/// The form in which a variable accumulates.
pub(crate) struct Accumulator {
    var: Reg,
    op: BinaryOp,
    ty: ScalarType,
    form: Form,
}

/// What the accumulators of lanes are in C.
pub(crate) struct Lanes {
    pub ty: &'static str,
    /// What changes nothing.
    pub first: &'static str,
    /// The function that combines them.
    pub total: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// As it is.
    Plain,
    /// An unsigned integer.
    Unsigned,
    /// A truth value in 32 bits: lanes of one byte beside wider ones are packed at every step.
    Truth,
    /// A key in the order of floats.
    Key,
    /// The greatest distance from a number, and what is outside: both as bits, in the order of
    /// which all that is less, negative or no number comes last.
    Distance(u32, u32),
}

impl Accumulator {
    pub fn new(reduction: &Reduction, ty: ScalarType) -> Accumulator {
        let extreme = matches!(reduction.op, BinaryOp::Min | BinaryOp::Max);
        if let Update::Outside(_, low, high) = reduction.update {
            let form = Form::Distance(low.to_bits(), high.to_bits() - low.to_bits());
            return Accumulator { var: reduction.var, op: reduction.op, ty, form };
        }
        let form = match extreme {
            _ if ty.is_bool() => Form::Truth,
            true if ty.is_float() => Form::Key,
            false if ty.is_int() => Form::Unsigned,
            _ => Form::Plain,
        };
        Accumulator { var: reduction.var, op: reduction.op, ty, form }
    }

    fn name(&self) -> String {
        let var = self.var;
        if self.form == Form::Plain { var.to_string() } else { format!("{var}_acc") }
    }

    /// The type of keys.
    fn key(&self) -> (&'static str, &'static str) {
        if self.ty == ScalarType::F64 { ("uint64_t", "f64") } else { ("uint32_t", "f32") }
    }

    pub fn clause(&self) -> String {
        let boolean = self.ty.is_bool();
        let sign = match self.op {
            BinaryOp::Add => "+",
            BinaryOp::Mul => "*",
            BinaryOp::And => "&",
            BinaryOp::Or => "|",
            BinaryOp::Min if boolean => "&",
            BinaryOp::Max if boolean => "|",
            BinaryOp::Min => "min",
            _ => "max",
        };
        format!(" reduction({sign} : {})", self.name())
    }

    pub fn before(&self) -> Option<String> {
        let (var, name) = (self.var, self.name());
        match self.form {
            Form::Plain => None,
            Form::Unsigned => {
                let unsigned = op::unsigned_type(self.ty);
                Some(format!("{unsigned} {name} = ({unsigned}){var};"))
            }
            Form::Truth => Some(format!("uint32_t {name} = {var};")),
            Form::Key => {
                let (ty, suffix) = self.key();
                Some(format!("{ty} {name} = ein_{}_key_{suffix}({var});", self.op))
            }
            Form::Distance(..) => Some(format!("uint32_t {name} = 0;")),
        }
    }

    pub fn after(&self) -> Option<String> {
        let (var, name) = (self.var, self.name());
        match self.form {
            // Lanes of 16-bit numbers are combined as floats.
            Form::Plain if matches!(self.ty, ScalarType::F16 | ScalarType::BF16) => {
                Some(format!("{var} = {};", op::rounded(self.ty, var.to_string())))
            }
            Form::Plain => None,
            Form::Unsigned => Some(format!("{var} = ({}){name};", op::register_type(self.ty))),
            Form::Truth => Some(format!("{var} = {name} != 0;")),
            Form::Key => Some(format!("{var} = ein_{}_unkey_{}({name});", self.op, self.key().1)),
            Form::Distance(_, most) => {
                Some(format!("{var} = {name} > {most}u && {var} < 1 ? 1 : {var};"))
            }
        }
    }

    /// The accumulators of the lanes, if C has them.
    pub fn lanes(&self) -> Option<Lanes> {
        let (ty, first, total) = match (self.form, self.ty, self.op) {
            (Form::Plain, ScalarType::F32, BinaryOp::Add) => ("float", "0", "ein_total_f32"),
            (Form::Plain, ScalarType::F64, BinaryOp::Add) => ("double", "0", "ein_total_f64"),
            (Form::Key, ScalarType::F32, BinaryOp::Min) => ("uint32_t", "-1", "ein_least_u32"),
            (Form::Key, ScalarType::F64, BinaryOp::Min) => ("uint64_t", "-1", "ein_least_u64"),
            (Form::Key, ScalarType::F32, BinaryOp::Max) => ("uint32_t", "0", "ein_greatest_u32"),
            (Form::Key, ScalarType::F64, BinaryOp::Max) => ("uint64_t", "0", "ein_greatest_u64"),
            _ => return None,
        };
        Some(Lanes { ty, first, total })
    }

    /// Takes what lanes have gathered into an accumulator of this name, or of its own.
    pub fn gather(&self, into: Option<&str>, gathered: &str) -> String {
        let name = into.map_or_else(|| self.name(), str::to_owned);
        match (self.form, self.op) {
            (Form::Key, BinaryOp::Min) => {
                format!("{name} = {gathered} < {name} ? {gathered} : {name};")
            }
            (Form::Key, _) => format!("{name} = {gathered} > {name} ? {gathered} : {name};"),
            _ => format!("{name} = {name} + {gathered};"),
        }
    }

    /// Takes a value in.
    pub fn update(&self, value: &str) -> String {
        self.update_of(&self.name(), value)
    }

    /// A value as it is accumulated.
    pub fn value(&self, value: &str) -> String {
        match self.form {
            Form::Plain => value.to_string(),
            Form::Unsigned => format!("({}){value}", op::unsigned_type(self.ty)),
            Form::Truth => format!("(uint32_t)({value})"),
            Form::Key => format!("ein_{}_key_{}({value})", self.op, self.key().1),
            Form::Distance(low, _) => format!("(ein_bits_f32({value}) - {low}u)"),
        }
    }

    /// Takes a value into an accumulator of this name.
    pub fn update_of(&self, name: &str, value: &str) -> String {
        let ty = self.ty;
        let boolean = ty.is_bool();
        let value = self.value(value);
        let text = match self.op {
            BinaryOp::Mul => op::rounded(ty, format!("{name} * {value}")),
            BinaryOp::And => format!("{name} & {value}"),
            BinaryOp::Or => format!("{name} | {value}"),
            BinaryOp::Min if boolean => format!("{name} & {value}"),
            BinaryOp::Max if boolean => format!("{name} | {value}"),
            BinaryOp::Min => format!("{value} < {name} ? {value} : {name}"),
            BinaryOp::Max => format!("{value} > {name} ? {value} : {name}"),
            _ => op::rounded(ty, format!("{name} + {value}")),
        };
        format!("{name} = {text};")
    }
}
