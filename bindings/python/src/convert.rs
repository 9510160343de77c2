//! Values of Python as arguments.

use crate::array::{self, buffer, dlpack, interface, torch};
use crate::class::Class;
use crate::fail;
use crate::literal::{fits, nested, own_type};
use crate::tensor::TensorBase;
use ein_driver::Code;
use ein_driver::call::{Declared, Kind, Memory, ScalarType, Tensor, Told, Value};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple, PyType};

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
    /// How many tuples and structs the value is inside of.
    depth: usize,
}

/// How deep tuples and structs may be nested.
const DEEPEST: usize = 64;

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
        // Members of enumerations and the like, but not NumPy's numbers, which have a type.
        || (object.is_instance_of::<PyInt>() || object.is_instance_of::<PyFloat>())
            && !matches!(Class::of(object), Ok(Class::NumpyNumber))
}

impl<'a> Taking<'a> {
    /// Nothing taken yet.
    pub(crate) fn new(memory: &'a Memory) -> Taking<'a> {
        Taking {
            memory,
            kinds: Vec::new(),
            values: Vec::new(),
            class: None,
            copied: Vec::new(),
            depth: 0,
        }
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
        self.class = Some(match self.class {
            // A number goes with arrays of every library.
            Some(before) if class == Class::NumpyNumber => before,
            None | Some(Some(Class::NumpyNumber)) => Some(class),
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
            let Ok(text) = text.to_cow() else {
                let message = format!("`{name}` is a text with half of a surrogate pair");
                let fix =
                    "decode it as what it is: `.encode(errors=\"surrogateescape\")` has its bytes";
                return Err(refuse(py, Code::E0904, message, fix));
            };
            self.values.push(Value::str(text.into_owned()));
            return Ok(Kind::Text);
        }
        if is_literal(object) {
            let (kind, value) = self.literal(name, declared, declared.scalar(), object)?;
            self.values.push(value);
            return Ok(kind);
        }
        if let Ok(dict) = object.cast::<PyDict>() {
            self.enter(py, name)?;
            let kind = self.record(name, declared, dict)?;
            self.depth -= 1;
            return Ok(kind);
        }
        if let Ok(tuple) = object.cast::<PyTuple>() {
            self.enter(py, name)?;
            let open = Declared::Open;
            let mut kinds = Vec::new();
            for (at, item) in tuple.iter().enumerate() {
                let part = match declared {
                    Declared::Tuple(parts) => parts.get(at).unwrap_or(&open),
                    _ => &open,
                };
                kinds.push(self.one(&format!("{name}.{at}"), part, &item)?);
            }
            self.depth -= 1;
            return Ok(Kind::Tuple(kinds));
        }
        let class = Class::of(object)?;
        self.meet(class);
        // What cannot be taken may be of a type that nobody has.
        let unknown = |error| match unknown_type(object)? {
            Some(ty) => Ok((Found::Type(ty), None)),
            None => Err(error),
        };
        let taken = match class {
            Class::Torch if let Some((tensor, copied)) = torch::take(object, self.memory)? => {
                Ok((Found::Tensor(tensor, copied), None))
            }
            Class::Xarray | Class::Torch => fail::hook(py, "take")?
                .call1((class.name(), object))
                .and_then(|taken| taken.extract::<(Bound<'_, PyAny>, Option<Vec<_>>)>())
                .and_then(|(data, dims)| {
                    Ok((elements(&data, Class::of(&data)?, self.memory)?, dims))
                })
                .or_else(unknown),
            Class::Ein => {
                let tensor = object.cast::<TensorBase>().map_err(PyErr::from)?.get();
                let dims = tensor.dims.iter().any(Option::is_some).then(|| tensor.dims.clone());
                Ok((Found::Tensor(tensor.tensor.as_ref().clone(), false), dims))
            }
            Class::Tracer => {
                let why = "is an array that JAX is tracing".to_owned();
                let fix =
                    "call `f.jax()`, which is a function of JAX, inside `jit`, `grad` and `vmap`";
                Ok((Found::Refused(why, fix.to_owned()), None))
            }
            Class::Numpy | Class::Masked | Class::NumpyNumber | Class::Jax | Class::Other => {
                elements(object, class, self.memory).map(|taken| (taken, None))
            }
        };
        let (tensor, copied, dims) = match taken {
            Ok((Found::Tensor(tensor, copied), dims)) => (tensor, copied, dims),
            Ok((Found::Refused(why, fix), _)) => {
                return Err(refuse(py, Code::E0904, format!("`{name}` {why}"), &fix));
            }
            Ok((Found::Type(ty), _)) => {
                let (why, fix) = strange(name, ty, object, class)?;
                let message = format!("`{name}` has elements of type {why}");
                return Err(refuse(py, Code::E0904, message, &fix));
            }
            Ok((Found::Nothing, _)) => {
                let message = format!(
                    "`{name}` is a `{}`, which is neither a number nor an array",
                    type_name(object)
                );
                let fix = match object.hasattr("to_numpy") {
                    Ok(true) => format!("pass `{name}.to_numpy()`"),
                    _ => "pass a number, a list, or anything with `__dlpack__`, a buffer or `__array_interface__`".to_owned(),
                };
                return Err(refuse(py, Code::E0904, message, &fix));
            }
            Err(error) if error.is_instance_of::<pyo3::exceptions::PyException>(py) => {
                let message = format!("`{name}` cannot be read as an array: {}", error.value(py));
                let fix = match class {
                    Class::Torch => {
                        "pass a dense tensor in the memory of the processor; inside `torch.func` call `f.torch()`"
                    }
                    _ => "",
                };
                return Err(refuse(py, Code::E0904, message, fix));
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

    fn enter(&mut self, py: Python<'_>, name: &str) -> PyResult<()> {
        self.depth += 1;
        if self.depth <= DEEPEST {
            return Ok(());
        }
        let whole = name.split('.').next().unwrap_or(name);
        let message = format!("`{whole}` has tuples or structs nested more than {DEEPEST} deep");
        Err(refuse(py, Code::E0905, message, "pass an array, or a flat tuple"))
    }

    fn record(
        &mut self,
        name: &str,
        declared: &Declared,
        dict: &Bound<'_, PyDict>,
    ) -> PyResult<Kind> {
        let Declared::Named(ty, declared) = declared else {
            let message = format!("`{name}` is a dictionary, but its parameter is not a struct");
            return Err(refuse(dict.py(), Code::E0904, message, "pass an array or a tuple"));
        };
        let open = Declared::Open;
        let mut fields = Vec::new();
        for (key, item) in dict.iter() {
            let key = key.str()?.to_string();
            if !is_name(&key) {
                let message = format!("`{ty}` has no field {key:?}");
                return Err(refuse(dict.py(), Code::E0511, message, "name a field of the struct"));
            }
            let field = declared.iter().find(|(field, _)| *field == key).map_or(&open, |it| &it.1);
            let kind = self.one(&format!("{name}.{key}"), field, &item)?;
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
        if let Err((why, fix)) = nested(object, 0, &mut shape, &mut leaves)? {
            let message = format!("`{name}`: {why}");
            return Err(refuse(py, Code::E0905, message, fix));
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
                    let message = match declared.scalar() {
                        Some(_) => {
                            format!("`{name}` is declared as {ty}, which cannot hold {given}")
                        }
                        None => format!("`{name}` is of type {ty} here, which cannot hold {given}"),
                    };
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
    /// It is not taken: why, behind its name, and what to do.
    Refused(String, String),
    /// It is no array.
    Nothing,
}

/// The elements of an array, by whichever protocol it has.
fn elements(object: &Bound<'_, PyAny>, class: Class, memory: &Memory) -> PyResult<Found> {
    if object.is_instance_of::<PyType>() {
        return Ok(Found::Nothing);
    }
    if class == Class::Masked {
        let why = "is a masked array, some of whose elements may not be there".to_owned();
        return Ok(Found::Refused(why, "fill it first: `.filled(0)`".to_owned()));
    }
    let mut strange = None;
    match buffer::take(object, memory)? {
        // Dates of NumPy show their bytes, which are no array of theirs.
        buffer::Taken::Tensor(tensor, _)
            if class == Class::NumpyNumber
                && tensor.rank() > 0
                && !object.is_instance_of::<PyBytes>() =>
        {
            return Ok(Found::Type(String::new()));
        }
        buffer::Taken::Tensor(tensor, copied) => return Ok(Found::Tensor(tensor, copied)),
        buffer::Taken::Format(format) => strange = Some(format),
        buffer::Taken::None => {}
    }
    // NumPy arrays of types from elsewhere (bfloat16) have neither a format nor a capsule.
    if let Some(found) = bfloat(object, class, memory)? {
        return Ok(found);
    }
    if strange.is_none() && dlpack::has(object) {
        return match dlpack::take(object, memory) {
            Ok((tensor, copied)) => Ok(Found::Tensor(tensor, copied)),
            Err(error) => match unknown_type(object)? {
                Some(ty) => Ok(Found::Type(ty)),
                None => Err(error),
            },
        };
    }
    if object.hasattr("__array_interface__")? {
        return match interface::take(object, memory)? {
            Ok((tensor, copied)) => Ok(Found::Tensor(tensor, copied)),
            Err(typestr) => Ok(Found::Type(typestr)),
        };
    }
    Ok(strange.map_or(Found::Nothing, Found::Type))
}

/// What is strange about the type of the elements of an array, and what to do.
fn strange(
    name: &str,
    found: String,
    object: &Bound<'_, PyAny>,
    class: Class,
) -> PyResult<(String, String)> {
    let dtype = object.getattr("dtype").ok();
    let shown = dtype.as_ref().map_or(Ok(found), |it| it.str().map(|it| it.to_string()))?;
    let says = |attribute: &str| dtype.as_ref().and_then(|it| it.getattr(attribute).ok());
    if let Some(first) = says("names").and_then(|names| names.get_item(0).ok()) {
        let why = format!("{shown}: structs, of which Einlang has arrays of each field");
        return Ok((why, format!("pass a field: `{name}[\"{first}\"]`")));
    }
    if says("isnative").is_some_and(|native| matches!(native.is_truthy(), Ok(false))) {
        let why = format!("{shown}, whose bytes are in another order than those of this machine");
        let fix = format!("turn them: `{name}.astype({name}.dtype.newbyteorder(\"=\"))`");
        return Ok((why, fix));
    }
    let fix = if shown.contains("complex") {
        format!("pass its parts as two arrays: `{name}.real` and `{name}.imag`")
    } else if shown.starts_with("datetime64") || shown.starts_with("timedelta64") {
        format!("pass the count of its unit: `{name}.astype(np.int64)`")
    } else {
        conversion(name, ScalarType::F32, class)
    };
    Ok((format!("{shown}, which Einlang does not have"), fix))
}

/// The type of the elements of an array, if it has one that we do not have.
fn unknown_type(object: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    let Ok(dtype) = object.getattr("dtype") else { return Ok(None) };
    let name = dtype.str()?.to_string();
    let own = name.rsplit('.').next().unwrap_or_default();
    let known = ScalarType::ALL.iter().any(|ty| long_name(*ty).trim_end_matches('_') == own);
    Ok((!known).then_some(name))
}

/// A NumPy array or number of `bfloat16`, which is a type of another package.
fn bfloat(object: &Bound<'_, PyAny>, class: Class, memory: &Memory) -> PyResult<Option<Found>> {
    let object = match class {
        Class::Numpy => object.clone(),
        Class::NumpyNumber => object.call_method1("reshape", ((),))?,
        _ => return Ok(None),
    };
    if object.getattr("dtype")?.str()?.to_cow()? != "bfloat16" {
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
    if let Found::Tensor(tensor, copied) =
        elements(object, Class::of(object)?, &Memory::unlimited())?
    {
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
    let mut values = taking.values.into_iter();
    match (taking.kinds.first(), values.next()) {
        (Some(Kind::Array { .. } | Kind::Scalar(_)), Some(Value::Tensor(tensor))) => {
            Ok((array::copied(object.py(), &tensor)?, dims))
        }
        (_, Some(Value::Scalar(scalar))) if !object.is_instance_of::<PyTuple>() => {
            Ok((Tensor::scalar(scalar), dims))
        }
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
    let message = if matches!(class, Class::NumpyNumber) {
        format!("`{name}` is declared as {wanted}, but the number is {given}")
    } else {
        format!("`{name}` is declared with elements of type {wanted}, but the array has {given}")
    };
    Err(refuse(py, Code::E0904, message, &conversion(name, wanted, class)))
}

/// How to convert an array to a type.
fn conversion(name: &str, wanted: ScalarType, class: Class) -> String {
    let long = long_name(wanted);
    match class {
        Class::Torch => format!("convert it: `{name}.to(torch.{})`", long.trim_end_matches('_')),
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
    }
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
