//! What the translator knows of values.

use super::prim::Prim;
use super::tree::Lambda;
use crate::ast::ExprId;
use crate::notation::Elem;
use crate::notation::size::Size;
use ein_base::Symbol;
use std::rc::Rc;

/// The type of an array.
#[derive(Clone, Debug)]
pub(super) struct Ty {
    pub(super) elem: Elem,
    pub(super) shape: Vec<Size>,
}

impl Ty {
    pub(super) fn scalar(elem: Elem) -> Self {
        Self { elem, shape: Vec::new() }
    }

    pub(super) fn rank(&self) -> usize {
        self.shape.len()
    }
}

/// A value of the notation.
#[derive(Clone, Debug)]
pub(super) enum Val {
    /// An array, with the expression that computes it.
    Array(Array),
    /// Functions, which exist during translation only.
    Functions(Functions),
}

/// An array and the expression that computes it.
#[derive(Clone, Debug)]
pub(super) struct Array {
    pub(super) code: ExprId,
    pub(super) ty: Ty,
    /// Its elements if it is written out: `[n m]`.
    pub(super) items: Option<Vec<ExprId>>,
}

/// One function, or an array of them.
#[derive(Clone, Debug)]
pub(super) struct Functions {
    pub(super) list: Vec<Function>,
    /// Whether they stand in an array, which then is the frame.
    pub(super) array: bool,
}

/// A function with what it takes from around it.
#[derive(Clone, Debug)]
pub(super) struct Function {
    pub(super) code: FunctionCode,
    pub(super) captured: Vec<(Symbol, Bound)>,
}

/// What a function does.
#[derive(Clone, Debug)]
pub(super) enum FunctionCode {
    /// A primitive.
    Prim(Prim),
    /// Something written in the program.
    Lambda(Rc<Lambda>),
}

/// What a name stands for.
#[derive(Clone, Debug)]
pub(super) enum Bound {
    /// An array.
    Array(Binding),
    /// Functions.
    Functions(Functions),
}

/// An array that a name stands for.
#[derive(Clone, Debug)]
pub(super) struct Binding {
    pub(super) code: BindingCode,
    pub(super) ty: Ty,
    /// How many trailing axes are the cell; the others are a frame that a call is lifted over.
    pub(super) cell: usize,
}

/// How a binding is written.
#[derive(Clone, Debug)]
pub(super) enum BindingCode {
    /// By this Einlang name.
    Name(String),
    /// By its value.
    Value(ExprId),
}

impl Function {
    /// Tells apart what needs different instances.
    pub(super) fn signature(&self, out: &mut String) {
        match &self.code {
            FunctionCode::Prim(prim) => out.push_str(prim.name()),
            FunctionCode::Lambda(lambda) => out.push_str(&format!("#{}", lambda.id)),
        }
        for (_, bound) in &self.captured {
            bound.signature(out);
        }
    }
}

impl Bound {
    /// Tells apart what needs different instances.
    pub(super) fn signature(&self, out: &mut String) {
        match self {
            Bound::Array(it) => out.push_str(&format!("({:?} {})", it.ty.elem, it.cell)),
            Bound::Functions(it) => {
                out.push('[');
                for function in &it.list {
                    function.signature(out);
                    out.push(',');
                }
                out.push(']');
            }
        }
    }

    /// All arrays in it, in a fixed order.
    pub(super) fn arrays<'a>(&'a self, out: &mut Vec<&'a Binding>) {
        match self {
            Bound::Array(it) => out.push(it),
            Bound::Functions(it) => {
                for (_, bound) in it.list.iter().flat_map(|it| &it.captured) {
                    bound.arrays(out);
                }
            }
        }
    }

    /// The same with all arrays, in that order, replaced.
    pub(super) fn replaced(&self, next: &mut impl Iterator<Item = Binding>) -> Bound {
        match self {
            Bound::Array(it) => Bound::Array(next.next().unwrap_or_else(|| it.clone())),
            Bound::Functions(it) => {
                let list = it
                    .list
                    .iter()
                    .map(|function| Function {
                        code: function.code.clone(),
                        captured: function
                            .captured
                            .iter()
                            .map(|(name, bound)| (*name, bound.replaced(next)))
                            .collect(),
                    })
                    .collect();
                Bound::Functions(Functions { list, array: it.array })
            }
        }
    }
}
