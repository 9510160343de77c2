//! Numbers and nested lists of Python, which are written like literals of ours.

use crate::convert::type_name;
use ein_driver::call::{Scalar, ScalarType};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyList};

/// A number of Python.
pub(crate) enum Leaf {
    Truth(bool),
    Int(i128),
    /// One with more digits than any type of ours.
    Huge,
    Float(f64),
}

impl Leaf {
    pub(crate) fn as_type(&self, ty: ScalarType) -> Option<Scalar> {
        match self {
            Leaf::Truth(it) => (ty == ScalarType::Bool).then_some(Scalar::Bool(*it)),
            Leaf::Int(it) if ty.is_int() => Scalar::from_i128(*it, ty),
            Leaf::Int(it) if ty.is_float() => ein_driver::call::float(*it as f64, ty),
            Leaf::Float(it) if ty.is_float() => ein_driver::call::float(*it, ty),
            Leaf::Int(_) | Leaf::Float(_) | Leaf::Huge => None,
        }
    }

    pub(crate) fn describe(&self) -> String {
        match self {
            Leaf::Truth(true) => "True".into(),
            Leaf::Truth(false) => "False".into(),
            Leaf::Int(it) => it.to_string(),
            Leaf::Huge => "a number of that size".into(),
            Leaf::Float(it) => format!("{it:?}"),
        }
    }

    pub(crate) fn fix(&self, ty: ScalarType) -> &'static str {
        match self {
            Leaf::Truth(_) => "pass a number, or declare the parameter as bool",
            Leaf::Float(_) if ty.is_int() => "pass an integer, `int(x)`, or declare a float type",
            Leaf::Int(_) | Leaf::Huge | Leaf::Float(_) => "declare a type that can hold it",
        }
    }
}

/// Whether a type holds all of them.
pub(crate) fn fits(ty: ScalarType, leaves: &[Leaf]) -> bool {
    leaves.iter().all(|leaf| leaf.as_type(ty).is_some())
}

/// The type of numbers for which nothing says one.
pub(crate) fn own_type(leaves: &[Leaf]) -> ScalarType {
    let mut ty = ScalarType::I32;
    for leaf in leaves {
        match leaf {
            Leaf::Float(_) => return ScalarType::F64,
            Leaf::Truth(_) => ty = ScalarType::Bool,
            Leaf::Int(it) if i32::try_from(*it).is_err() => ty = ScalarType::I64,
            Leaf::Int(_) | Leaf::Huge => {}
        }
    }
    ty
}

/// Collects the numbers of nested lists; why they are no rectangle, if they are none.
pub(crate) fn nested(
    object: &Bound<'_, PyAny>,
    depth: usize,
    shape: &mut Vec<usize>,
    leaves: &mut Vec<Leaf>,
) -> PyResult<Result<(), (String, &'static str)>> {
    let uneven = |why: String| Ok(Err((why, "pass lists of equal lengths")));
    if let Ok(truth) = object.cast::<PyBool>() {
        leaves.push(Leaf::Truth(truth.is_true()));
    } else if object.is_instance_of::<PyInt>() {
        leaves.push(object.extract::<i128>().map_or(Leaf::Huge, Leaf::Int));
    } else if let Ok(number) = object.cast::<PyFloat>() {
        leaves.push(Leaf::Float(number.value()));
    } else if let Ok(list) = object.cast::<PyList>() {
        if depth >= 32 {
            return uneven("lists nested that deep are no array".into());
        }
        match shape.get(depth) {
            None if !leaves.is_empty() => return uneven("a list stands beside a number".into()),
            None => shape.push(list.len()),
            Some(extent) if *extent == list.len() => {}
            Some(extent) => {
                return uneven(format!("a list of {} stands beside one of {extent}", list.len()));
            }
        }
        for item in list.iter() {
            if let Err(why) = nested(&item, depth + 1, shape, leaves)? {
                return Ok(Err(why));
            }
        }
        return Ok(Ok(()));
    } else {
        let why = format!("a `{}` stands in a list of numbers", type_name(object));
        return Ok(Err((why, "pass numbers of Python, or make an array of it: `np.array(…)`")));
    }
    if depth != shape.len() {
        return uneven("a number stands beside a list".into());
    }
    Ok(Ok(()))
}
