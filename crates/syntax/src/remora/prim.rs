//! The primitives that work on scalar cells, and the names of all.

use super::translate::Translator;
use super::types::{Array, Ty, Val};
use crate::ast::{BinaryOp, ExprKind, UnaryOp};
use crate::notation::Elem;
use crate::notation::size::Size;
use ein_base::Span;

/// A primitive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Prim {
    /// `+ - * /`, with the function of `std::ops`.
    Arithmetic(BinaryOp, &'static str),
    /// `< <= = > >=`
    Comparison(BinaryOp, &'static str),
    /// `and`, `or`
    Logic(BinaryOp, &'static str),
    /// `min`, `max`
    Extreme(&'static str),
    /// `not`
    Not,
    /// `sqrt`, `exp`, `log`
    Math(&'static str),
    /// `reduce`
    Reduce,
    /// `scan`
    Scan,
    /// `iota`
    Iota,
    /// `append`
    Append,
    /// `rotate`
    Rotate,
    /// `reverse`
    Reverse,
    /// `filter`
    Filter,
    /// `length`
    Length,
    /// `reshape`
    Reshape,
    /// `transpose`
    Transpose,
}

/// Names that translated programs refer to; functions and locals are called otherwise.
pub(super) const RESERVED: &[&str] = &[
    "add",
    "sub",
    "mul",
    "div",
    "neg",
    "lt",
    "le",
    "eq",
    "gt",
    "ge",
    "and",
    "or",
    "not",
    "min",
    "max",
    "sqrt",
    "exp",
    "log",
    "reduce",
    "scan",
    "iota",
    "append",
    "rotate",
    "reverse",
    "filter",
    "len",
    "reshape",
    "transpose",
];

impl Prim {
    /// The primitive of this name.
    pub(super) fn find(name: &str) -> Option<Prim> {
        Some(match name {
            "+" => Prim::Arithmetic(BinaryOp::Add, "add"),
            "-" => Prim::Arithmetic(BinaryOp::Sub, "sub"),
            "*" => Prim::Arithmetic(BinaryOp::Mul, "mul"),
            "/" => Prim::Arithmetic(BinaryOp::Div, "div"),
            "<" => Prim::Comparison(BinaryOp::Lt, "lt"),
            "<=" | "≤" => Prim::Comparison(BinaryOp::Le, "le"),
            "=" => Prim::Comparison(BinaryOp::Eq, "eq"),
            ">" => Prim::Comparison(BinaryOp::Gt, "gt"),
            ">=" | "≥" => Prim::Comparison(BinaryOp::Ge, "ge"),
            "and" => Prim::Logic(BinaryOp::And, "and"),
            "or" => Prim::Logic(BinaryOp::Or, "or"),
            "min" => Prim::Extreme("min"),
            "max" => Prim::Extreme("max"),
            "not" => Prim::Not,
            "sqrt" => Prim::Math("sqrt"),
            "exp" => Prim::Math("exp"),
            "log" => Prim::Math("log"),
            "reduce" => Prim::Reduce,
            "scan" => Prim::Scan,
            "iota" => Prim::Iota,
            "append" => Prim::Append,
            "rotate" => Prim::Rotate,
            "reverse" => Prim::Reverse,
            "filter" => Prim::Filter,
            "length" => Prim::Length,
            "reshape" => Prim::Reshape,
            "transpose" => Prim::Transpose,
            _ => return None,
        })
    }

    /// Its name in Einlang.
    pub(super) fn name(self) -> &'static str {
        match self {
            Prim::Arithmetic(_, name)
            | Prim::Comparison(_, name)
            | Prim::Logic(_, name)
            | Prim::Extreme(name)
            | Prim::Math(name) => name,
            Prim::Not => "not",
            Prim::Reduce => "reduce",
            Prim::Scan => "scan",
            Prim::Iota => "iota",
            Prim::Append => "append",
            Prim::Rotate => "rotate",
            Prim::Reverse => "reverse",
            Prim::Filter => "filter",
            Prim::Length => "len",
            Prim::Reshape => "reshape",
            Prim::Transpose => "transpose",
        }
    }

    /// How many arguments it takes.
    pub(super) fn arity(self) -> usize {
        match self {
            Prim::Arithmetic(..) | Prim::Comparison(..) | Prim::Logic(..) | Prim::Extreme(_) => 2,
            Prim::Append | Prim::Rotate | Prim::Filter | Prim::Reshape => 2,
            Prim::Reduce | Prim::Scan => 3,
            Prim::Not | Prim::Math(_) | Prim::Iota | Prim::Reverse | Prim::Length => 1,
            Prim::Transpose => 1,
        }
    }

    /// Whether its cells are scalars.
    pub(super) fn is_scalar(self) -> bool {
        matches!(
            self,
            Prim::Arithmetic(..)
                | Prim::Comparison(..)
                | Prim::Logic(..)
                | Prim::Extreme(_)
                | Prim::Not
                | Prim::Math(_)
        )
    }

    /// The operator that it is between scalars.
    fn operator(self) -> Option<BinaryOp> {
        match self {
            Prim::Arithmetic(op, _) | Prim::Comparison(op, _) | Prim::Logic(op, _) => Some(op),
            _ => None,
        }
    }
}

impl Translator {
    /// `(- x)`
    pub(super) fn negate(&mut self, a: Array, span: Span) -> Val {
        let code = if a.ty.rank() == 0 {
            self.b.expr(ExprKind::Unary(UnaryOp::Neg, a.code), span)
        } else {
            let path = self.op("neg");
            self.b.call_path(&path, vec![a.code], span)
        };
        array(code, a.ty)
    }

    /// A primitive with one scalar cell.
    pub(super) fn pointwise_one(&mut self, prim: Prim, mut a: Array, span: Span) -> Val {
        if let Prim::Math(name) = prim {
            if a.ty.elem == Elem::Int {
                a = self.as_float(a);
            }
            let path = self.math(name);
            let code = self.b.call_path(&path, vec![a.code], span);
            return array(code, Ty { elem: Elem::Float, shape: a.ty.shape });
        }
        let code = if a.ty.rank() == 0 {
            self.b.expr(ExprKind::Unary(UnaryOp::Not, a.code), span)
        } else {
            let path = self.op("not");
            self.b.call_path(&path, vec![a.code], span)
        };
        array(code, Ty { elem: Elem::Bool, shape: a.ty.shape })
    }

    /// A primitive with two scalar cells, lifted over the frames of its arguments.
    pub(super) fn pointwise_two(&mut self, prim: Prim, a: Array, b: Array, span: Span) -> Val {
        let elem = a.ty.elem.meet(b.ty.elem);
        let (a, b) = (self.cast(a, elem), self.cast(b, elem));
        let shape = self.agree(&[&a.ty.shape, &b.ty.shape]);
        let scalars = a.ty.rank() == 0 && b.ty.rank() == 0;
        let code = match prim.operator() {
            Some(op) if scalars => self.b.binary(op, a.code, b.code, span),
            _ => {
                let path = self.op(prim.name());
                self.b.call_path(&path, vec![a.code, b.code], span)
            }
        };
        let elem = match prim {
            Prim::Comparison(..) | Prim::Logic(..) => Elem::Bool,
            _ => elem,
        };
        array(code, Ty { elem, shape })
    }

    /// The longest of some frames, each a prefix of it; whether they are is the checker's matter.
    pub(super) fn agree(&mut self, frames: &[&[Size]]) -> Vec<Size> {
        let longest = frames.iter().max_by_key(|it| it.len()).map_or(Vec::new(), |it| it.to_vec());
        for frame in frames {
            for (a, b) in frame.iter().zip(&longest) {
                self.sizes.unify(a, b);
            }
        }
        longest
    }

    pub(super) fn as_float(&mut self, value: Array) -> Array {
        let code = self.b.floats(value.code);
        let ty = Ty { elem: Elem::Float, shape: value.ty.shape };
        Array { code, ty, items: None }
    }

    /// The value with elements of this type, if they are integers and floats are asked for.
    pub(super) fn cast(&mut self, value: Array, elem: Elem) -> Array {
        if elem == Elem::Float && value.ty.elem == Elem::Int { self.as_float(value) } else { value }
    }
}

/// An array that is not written out.
pub(super) fn array(code: crate::ast::ExprId, ty: Ty) -> Val {
    Val::Array(Array { code, ty, items: None })
}
