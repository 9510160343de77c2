//! Values of Python as arguments.

use crate::array::{self, buffer, dlpack, interface};
use crate::class::Class;
use crate::fail;
use crate::literal::{fits, nested, own_type};
use crate::tensor::TensorBase;
use ein_driver::Code;
use ein_driver::call::{Declared, Kind, Memory, ScalarType, Tensor, Told, Value};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

/// The arguments of a call as they are taken.
pub(crate) struct Taking<'a> {
    pub(crate) memory: &'a Memory,
    pub(crate) kinds: Vec<Kind>,
    /// One for each leaf of the kinds.
    pub(crate) values: Vec<Value>,
    /// The library of all arrays so far; `None` in it if they are of several.
    pub(crate) class: Option<Option<Class>>,
    /// Parameters whose elements were copied, for the plan.
    pub(crate) copied: Vec<String>,
}

/// A failure that names the parameter.
pub(crate) fn refuse(py: Python<'_>, code: Code, message: String, fix: &str) -> PyErr {
    let fixes = if fix.is_empty() { Vec::new() } else { vec![fix.to_owned()] };
    fail::error(py, "compile", &[Told::alone(code, message, fixes)])
}

/// The name of the type of an object.
pub(crate) fn type_name(object: &Bound<'_, PyAny>) -> String {
    object.get_type().name().map_or_else(|_| "?".into(), |name| name.to_string())
}

/// Whether a value of Python is written like a literal of ours, so that its type is open.
pub(crate) fn is_literal(object: &Bound<'_, PyAny>) -> bool {
    object.is_exact_instance_of::<PyFloat>()
        || object.is_exact_instance_of::<PyInt>()
        || object.is_exact_instance_of::<PyBool>()
        || object.is_exact_instance_of::<PyList>()
}

impl<'a> Taking<'a> {
    /// Nothing taken yet.
    pub(crate) fn new(memory: &'a Memory) -> Taking<'a> {
        Taking { memory, kinds: Vec::new(), values: Vec::new(), class: None, copied: Vec::new() }
    }

    /// Takes all arguments; literals last, since their types follow from the others.
    pub(crate) fn all(
        &mut self,
        params: &[(String, Declared)],
        args: &[Bound<'_, PyAny>],
    ) -> PyResult<()> {
        let mut literals = Vec::new();
        for ((name, declared), object) in params.iter().zip(args) {
            if is_literal(object) {
                literals.push((self.kinds.len(), self.values.len()));
                self.kinds.push(Kind::Text);
                self.values.push(Value::Unit);
                continue;
            }
            let kind = self.one(name, declared, object)?;
            self.kinds.push(kind);
        }
        for (at, leaf) in literals {
            let (name, declared) = &params[at];
            let open = self.open_type(params, declared);
            let (kind, value) = self.literal(name, declared, open, &args[at])?;
            self.kinds[at] = kind;
            self.values[leaf] = value;
        }
        Ok(())
    }

    /// The type that numbers of a parameter have because of the other arguments.
    fn open_type(&self, params: &[(String, Declared)], declared: &Declared) -> Option<ScalarType> {
        if let Some(ty) = declared.scalar() {
            return Some(ty);
        }
        let arrays = params.iter().zip(&self.kinds).filter_map(|((_, other), kind)| match kind {
            Kind::Array { ty, .. } | Kind::Scalar(ty) => Some((other, *ty)),
            Kind::Text | Kind::Tuple(_) | Kind::Record(..) => None,
        });
        match declared.generic() {
            Some(name) => {
                arrays.filter(|(other, _)| other.generic() == Some(name)).map(|(_, ty)| ty).next()
            }
            // Without a declared type a literal is as wide as the arrays it may meet.
            None => arrays.map(|(_, ty)| ty).max_by_key(|ty| (ty.is_float(), ty.size_bytes())),
        }
    }

    fn meet(&mut self, class: Class) {
        if class == Class::NumpyNumber {
            return;
        }
        self.class = Some(match self.class {
            None => Some(class),
            Some(Some(before)) if before == class => Some(class),
            Some(_) => None,
        });
    }

    /// Takes an argument that is no literal.
    pub(crate) fn one(
        &mut self,
        name: &str,
        declared: &Declared,
        object: &Bound<'_, PyAny>,
    ) -> PyResult<Kind> {
        let py = object.py();
        if let Ok(text) = object.cast::<PyString>() {
            self.values.push(Value::str(text.to_string()));
            return Ok(Kind::Text);
        }
        if is_literal(object) {
            let (kind, value) = self.literal(name, declared, declared.scalar(), object)?;
            self.values.push(value);
            return Ok(kind);
        }
        if let Ok(dict) = object.cast::<PyDict>() {
            return self.record(name, declared, dict);
        }
        if let Ok(tuple) = object.cast::<PyTuple>() {
            let open = Declared::Open;
            let mut kinds = Vec::new();
            for (at, item) in tuple.iter().enumerate() {
                let part = match declared {
                    Declared::Tuple(parts) => parts.get(at).unwrap_or(&open),
                    _ => &open,
                };
                kinds.push(self.one(&format!("{name}.{at}"), part, &item)?);
            }
            return Ok(Kind::Tuple(kinds));
        }
        let class = Class::of(object)?;
        self.meet(class);
        let taken = match class {
            Class::Xarray | Class::Torch => {
                let (data, dims): (Bound<'_, PyAny>, Option<Vec<Option<String>>>) =
                    fail::hook(py, "take")?.call1((class.name(), object))?.extract()?;
                elements(&data, self.memory).map(|taken| (taken, dims))
            }
            Class::Ein => {
                let tensor = object.cast::<TensorBase>().map_err(PyErr::from)?.get();
                let dims = tensor.dims.iter().any(Option::is_some).then(|| tensor.dims.clone());
                Ok((Found::Tensor(tensor.tensor.as_ref().clone(), false), dims))
            }
            Class::Tracer => Ok((Found::Type("a traced array".into()), None)),
            Class::Numpy | Class::Masked | Class::NumpyNumber | Class::Jax | Class::Other => {
                elements(object, self.memory).map(|taken| (taken, None))
            }
        };
        let (tensor, copied, dims) = match taken {
            Ok((Found::Tensor(tensor, copied), dims)) => (tensor, copied, dims),
            Ok((Found::Type(_), _)) if class == Class::Tracer => {
                let message = format!("`{name}` is an array that JAX is tracing");
                let fix =
                    "call `f.jax()`, which is a function of JAX, inside `jit`, `grad` and `vmap`";
                return Err(refuse(py, Code::E0904, message, fix));
            }
            Ok((Found::Type(ty), _)) => {
                let message =
                    format!("`{name}` has elements of type {ty}, which Einlang does not have");
                let fix = format!("convert it: `{name}.astype(np.float32)`");
                return Err(refuse(py, Code::E0904, message, &fix));
            }
            Ok((Found::Nothing, _)) => {
                let message = format!(
                    "`{name}` is a `{}`, which is neither a number nor an array",
                    type_name(object)
                );
                let fix = "pass a number, a list, or anything with `__dlpack__`, a buffer or `__array_interface__`";
                return Err(refuse(py, Code::E0904, message, fix));
            }
            Err(error) if error.is_instance_of::<pyo3::exceptions::PyException>(py) => {
                let message = format!("`{name}` cannot be read as an array: {}", error.value(py));
                return Err(refuse(py, Code::E0904, message, ""));
            }
            Err(error) => return Err(error),
        };
        if copied {
            self.copied.push(name.to_owned());
        }
        agree(py, name, declared, tensor.ty(), class)?;
        let kind = match tensor.rank() {
            0 => Kind::Scalar(tensor.ty()),
            rank => {
                // What the language cannot say as a name has none.
                let clean = |dims: Vec<Option<String>>| {
                    dims.into_iter().map(|it| it.filter(|it| is_name(it))).collect()
                };
                Kind::Array { ty: tensor.ty(), rank, dims: dims.map(clean) }
            }
        };
        self.values.push(Value::tensor(tensor));
        Ok(kind)
    }

    fn record(
        &mut self,
        name: &str,
        declared: &Declared,
        dict: &Bound<'_, PyDict>,
    ) -> PyResult<Kind> {
        let Declared::Named(ty) = declared else {
            let message = format!("`{name}` is a dictionary, but its parameter is not a struct");
            return Err(refuse(dict.py(), Code::E0904, message, "pass an array or a tuple"));
        };
        let mut fields = Vec::new();
        for (key, item) in dict.iter() {
            let key = key.str()?.to_string();
            let kind = self.one(&format!("{name}.{key}"), &Declared::Open, &item)?;
            fields.push((key, kind));
        }
        Ok(Kind::Record(ty.clone(), fields))
    }

    /// A number or nested list of Python, which takes the type that is asked for.
    fn literal(
        &self,
        name: &str,
        declared: &Declared,
        open: Option<ScalarType>,
        object: &Bound<'_, PyAny>,
    ) -> PyResult<(Kind, Value)> {
        let py = object.py();
        let mut leaves = Vec::new();
        let mut shape = Vec::new();
        if let Err(why) = nested(object, 0, &mut shape, &mut leaves)? {
            let message = format!("`{name}`: {why}");
            return Err(refuse(py, Code::E0905, message, "pass lists of equal lengths"));
        }
        let ty = match open {
            // A truth or a fraction does not become an integer because an array beside it is one.
            Some(ty) if declared.scalar().is_some() || fits(ty, &leaves) => ty,
            _ => own_type(&leaves),
        };
        let mut scalars = Vec::with_capacity(leaves.len());
        for leaf in &leaves {
            match leaf.as_type(ty) {
                Some(scalar) => scalars.push(scalar),
                None => {
                    let given = leaf.describe();
                    let message =
                        format!("`{name}` is declared as {ty}, which cannot hold {given}");
                    return Err(refuse(py, Code::E0904, message, leaf.fix(ty)));
                }
            }
        }
        if shape.is_empty()
            && let Some(only) = scalars.first()
        {
            return Ok((Kind::Scalar(ty), Value::Scalar(*only)));
        }
        let rank = shape.len();
        match self.memory.from_scalars(ty, &shape, scalars) {
            Ok(tensor) => Ok((Kind::Array { ty, rank, dims: None }, Value::tensor(tensor))),
            Err(error) => Err(refuse(py, Code::E0805, format!("`{name}`: {error}"), "")),
        }
    }
}

/// What was found of an object.
pub(crate) enum Found {
    /// A tensor, and whether its elements were copied.
    Tensor(Tensor, bool),
    /// Elements of a type that we do not have.
    Type(String),
    /// It is no array.
    Nothing,
}

/// The elements of an array, by whichever protocol it has.
pub(crate) fn elements(object: &Bound<'_, PyAny>, memory: &Memory) -> PyResult<Found> {
    if Class::of(object)? == Class::Masked {
        return Ok(Found::Type("a masked array; fill it first, `x.filled(0)`".into()));
    }
    let mut strange = None;
    match buffer::take(object, memory)? {
        buffer::Taken::Tensor(tensor, copied) => return Ok(Found::Tensor(tensor, copied)),
        buffer::Taken::Format(format) => strange = Some(format),
        buffer::Taken::None => {}
    }
    if strange.is_none() && dlpack::has(object) {
        match dlpack::take(object, memory) {
            Ok((tensor, copied)) => return Ok(Found::Tensor(tensor, copied)),
            Err(error) => {
                // NumPy arrays of types from elsewhere (bfloat16) have no capsule.
                if let Some(found) = bfloat(object, memory)? {
                    return Ok(found);
                }
                if !object.hasattr("dtype")? {
                    return Err(error);
                }
                let dtype = object.getattr("dtype")?;
                if error.is_instance_of::<pyo3::exceptions::PyBufferError>(object.py())
                    || error.is_instance_of::<pyo3::exceptions::PyTypeError>(object.py())
                {
                    let is_known = dtype.str()?.to_string();
                    return Ok(Found::Type(format!("{is_known} ({})", error.value(object.py()))));
                }
                return Err(error);
            }
        }
    }
    if object.hasattr("__array_interface__")? {
        return match interface::take(object, memory)? {
            Ok((tensor, copied)) => Ok(Found::Tensor(tensor, copied)),
            Err(typestr) => Ok(Found::Type(typestr)),
        };
    }
    Ok(strange.map_or(Found::Nothing, Found::Type))
}

/// A NumPy array of `bfloat16`, which is a type of another package.
fn bfloat(object: &Bound<'_, PyAny>, memory: &Memory) -> PyResult<Option<Found>> {
    let Ok(dtype) = object.getattr("dtype") else { return Ok(None) };
    if dtype.str()?.to_cow()? != "bfloat16" || !object.hasattr("view")? {
        return Ok(None);
    }
    let bits = object.call_method1("view", ("uint16",))?;
    Ok(match buffer::take(&bits, memory)? {
        buffer::Taken::Tensor(tensor, copied) => {
            // SAFETY: bits of the same size, kept by the tensor that is kept.
            let owner = Box::new(tensor.clone());
            let (shape, strides) = (tensor.shape().to_vec(), tensor.strides().to_vec());
            let first = tensor.as_ptr();
            let tensor = unsafe { memory.foreign(ScalarType::BF16, shape, strides, first, owner) };
            tensor.map(|tensor| Found::Tensor(tensor, copied))
        }
        buffer::Taken::Format(_) | buffer::Taken::None => None,
    })
}

/// How an array is read: where, with which strides, and whether it was copied. For tests.
#[pyfunction]
pub(crate) fn borrowed<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(object.py());
    if let Found::Tensor(tensor, copied) = elements(object, &Memory::unlimited())? {
        dict.set_item("address", tensor.as_ptr() as usize)?;
        dict.set_item("strides", tensor.strides().to_vec())?;
        dict.set_item("copied", copied)?;
    }
    Ok(dict)
}

/// Any array as a tensor, with the names of its axes.
pub(crate) fn tensor(object: &Bound<'_, PyAny>) -> PyResult<(Tensor, Vec<Option<String>>)> {
    let memory = Memory::unlimited();
    let mut taking = Taking::new(&memory);
    let params = [("array".to_owned(), Declared::Open)];
    taking.all(&params, std::slice::from_ref(object))?;
    let dims = match taking.kinds.first() {
        Some(Kind::Array { dims: Some(dims), .. }) => dims.clone(),
        Some(Kind::Array { rank, .. }) => vec![None; *rank],
        _ => Vec::new(),
    };
    match taking.values.into_iter().next() {
        Some(Value::Tensor(tensor)) => Ok((array::copied(&tensor)?, dims)),
        Some(Value::Scalar(scalar)) => Ok((Tensor::scalar(scalar), dims)),
        _ => Err(pyo3::exceptions::PyTypeError::new_err("not an array of numbers")),
    }
}

/// Whether the elements are of the declared type.
fn agree(
    py: Python<'_>,
    name: &str,
    declared: &Declared,
    given: ScalarType,
    class: Class,
) -> PyResult<()> {
    let Some(wanted) = declared.scalar().filter(|wanted| *wanted != given) else { return Ok(()) };
    let message =
        format!("`{name}` is declared with elements of type {wanted}, but the array has {given}");
    let long = long_name(wanted);
    let fix = match class {
        Class::Torch => format!("convert it: `{name}.to(torch.{long})`"),
        Class::Jax => format!("convert it: `{name}.astype(jnp.{long})`"),
        Class::Numpy
        | Class::Masked
        | Class::NumpyNumber
        | Class::Xarray
        | Class::Tracer
        | Class::Ein
        | Class::Other => {
            format!("convert it: `{name}.astype(np.{long})`")
        }
    };
    Err(refuse(py, Code::E0904, message, &fix))
}

/// What other libraries call a type.
pub(crate) fn long_name(ty: ScalarType) -> &'static str {
    match ty {
        ScalarType::Bool => "bool_",
        ScalarType::I8 => "int8",
        ScalarType::I16 => "int16",
        ScalarType::I32 => "int32",
        ScalarType::I64 => "int64",
        ScalarType::U8 => "uint8",
        ScalarType::U16 => "uint16",
        ScalarType::U32 => "uint32",
        ScalarType::U64 => "uint64",
        ScalarType::F16 => "float16",
        ScalarType::BF16 => "bfloat16",
        ScalarType::F32 => "float32",
        ScalarType::F64 => "float64",
    }
}

/// Whether a text can be a name.
fn is_name(text: &str) -> bool {
    let mut letters = text.chars();
    let first = letters.next().is_some_and(|c| c.is_alphabetic() || c == '_');
    first && letters.all(|c| c.is_alphanumeric() || c == '_') && !is_default(text) && !is_word(text)
}

/// `dim_0`: the name that xarray gives to an axis without one.
fn is_default(text: &str) -> bool {
    text.strip_prefix("dim_").is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit()))
}

fn is_word(text: &str) -> bool {
    ein_driver::interactive::is_keyword(text)
}
