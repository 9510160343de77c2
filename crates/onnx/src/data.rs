//! The elements of constant tensors: read from the file with suspicion, and computed with while
//! shapes are inferred.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Component, Path};

use bytes::Bytes;
use ein_runtime::{Memory, Tensor};
use ein_scalar::{Scalar, ScalarType, bf16, f16};

use crate::dims::{Dim, dims};
use crate::elem::Elem;
use crate::proto::TensorProto;

/// The most elements that are computed with while importing. What is larger stays a weight.
pub const MOST_FOLDED: usize = 1 << 16;

/// Constant elements, in row-major order.
#[derive(Clone, Debug, PartialEq)]
pub enum Items {
    /// Integers and truths; they may be computed from extents that are not known yet.
    Ints(Vec<Dim>),
    /// Floats of any width.
    Floats(Vec<f64>),
}

/// A constant tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct Data {
    /// The element type.
    pub elem: Elem,
    /// The extents.
    pub shape: Vec<usize>,
    /// The elements.
    pub items: Items,
}

impl Data {
    /// A tensor of integers.
    pub fn ints(elem: Elem, shape: Vec<usize>, items: Vec<Dim>) -> Data {
        Data { elem, shape, items: Items::Ints(items) }
    }

    /// A scalar float.
    pub fn float(elem: Elem, value: f64) -> Data {
        Data { elem, shape: Vec::new(), items: Items::Floats(vec![value]) }
    }

    /// A row of integers.
    pub fn row(items: Vec<Dim>) -> Data {
        Data::ints(Elem::I64, vec![items.len()], items)
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        match &self.items {
            Items::Ints(items) => items.len(),
            Items::Floats(items) => items.len(),
        }
    }

    /// The extents as they are in a program.
    pub fn dims(&self) -> Vec<Dim> {
        dims(&self.shape.iter().map(|n| *n as i64).collect::<Vec<_>>())
    }

    /// The elements as extents, if they are integers.
    pub fn as_dims(&self) -> Option<Vec<Dim>> {
        match &self.items {
            Items::Ints(items) => Some(items.clone()),
            Items::Floats(_) => None,
        }
    }

    /// The elements as integers, if they are known.
    pub fn as_ints(&self) -> Option<Vec<i64>> {
        match &self.items {
            Items::Ints(items) => items.iter().map(Dim::known).collect(),
            Items::Floats(_) => None,
        }
    }

    /// The elements as floats, if they are known.
    pub fn as_floats(&self) -> Option<Vec<f64>> {
        match &self.items {
            Items::Ints(items) => items.iter().map(|n| Some(n.known()? as f64)).collect(),
            Items::Floats(items) => Some(items.clone()),
        }
    }

    /// An element as program text; it takes its type from where it stands.
    pub fn text(&self, at: usize) -> String {
        match &self.items {
            Items::Floats(items) => float_text(items[at], self.elem),
            Items::Ints(items) if self.elem == Elem::Bool => {
                (if items[at].is(0) { "false" } else { "true" }).into()
            }
            Items::Ints(items) => match items[at].known() {
                Some(value) if self.elem == Elem::U64 => (value as u64).to_string(),
                Some(value) => value.to_string(),
                None => format!("({}) as {}", items[at], self.elem.lang()),
            },
        }
    }

    /// All elements as nested brackets.
    pub fn literal(&self) -> String {
        fn nested(data: &Data, axis: usize, start: usize, size: usize) -> String {
            if axis == data.shape.len() {
                return data.text(start);
            }
            let step = size / data.shape[axis].max(1);
            let parts: Vec<String> = (0..data.shape[axis])
                .map(|i| nested(data, axis + 1, start + i * step, step))
                .collect();
            format!("[{}]", parts.join(", "))
        }
        if self.len() == 0 { "[]".into() } else { nested(self, 0, 0, self.len()) }
    }
}

/// A float as program text of its own type.
pub fn float_text(value: f64, elem: Elem) -> String {
    if value.is_nan() {
        return "(0.0 / 0.0)".into();
    }
    if value.is_infinite() {
        return (if value > 0.0 { "(1.0 / 0.0)" } else { "(-1.0 / 0.0)" }).into();
    }
    let text = match elem.lang() {
        "f64" => format!("{value:?}"),
        _ => format!("{:?}", value as f32),
    };
    if text.contains(['.', 'e']) { text } else { format!("{text}.0") }
}

/// A tensor of the file whose data have been found to be as many as its shape says.
#[derive(Clone, Debug)]
pub struct Stored {
    /// The element type.
    pub elem: Elem,
    /// The extents.
    pub shape: Vec<usize>,
    bytes: Bytes,
}

impl Stored {
    /// Reads a tensor; `folder` is where data outside the file may lie.
    pub fn read(proto: &TensorProto, folder: &Path) -> Result<Stored, String> {
        let elem = Elem::of(proto.data_type).ok_or_else(|| {
            format!("elements of type {} are not supported", Elem::name_of(proto.data_type))
        })?;
        let mut count: usize = 1;
        let mut shape = Vec::new();
        for dim in &proto.dims {
            let dim = usize::try_from(*dim).map_err(|_| format!("the extent {dim} is negative"))?;
            shape.push(dim);
            count = count.checked_mul(dim).ok_or("its shape is too large")?;
        }
        if count > isize::MAX as usize / 16 {
            return Err("its shape is too large".into());
        }
        let bits = elem.bits() as usize;
        let expected = (count * bits).div_ceil(8);
        let bytes = if proto.data_location == 1 {
            external(proto, folder, expected)?
        } else if let Some(raw) = &proto.raw_data {
            raw.clone()
        } else {
            Bytes::from(typed(proto, elem, count)?)
        };
        if bytes.len() != expected {
            return Err(format!(
                "its shape needs {expected} bytes of data, and there are {}",
                bytes.len()
            ));
        }
        Ok(Stored { elem, shape, bytes })
    }

    /// Constants as if they had been read; `None` if they depend on sizes.
    pub fn of(data: &Data) -> Option<Stored> {
        let bytes: Vec<u8> = match (&data.items, data.elem) {
            (Items::Floats(items), Elem::F32) => {
                items.iter().flat_map(|v| (*v as f32).to_le_bytes()).collect()
            }
            (Items::Floats(items), Elem::F64) => {
                items.iter().flat_map(|v| v.to_le_bytes()).collect()
            }
            (Items::Ints(items), Elem::I64) => {
                let known: Option<Vec<i64>> = items.iter().map(Dim::known).collect();
                known?.iter().flat_map(|n| n.to_le_bytes()).collect()
            }
            (Items::Ints(items), Elem::I32) => {
                let known: Option<Vec<i64>> = items.iter().map(Dim::known).collect();
                known?.iter().flat_map(|n| (*n as i32).to_le_bytes()).collect()
            }
            _ => return None,
        };
        Some(Stored { elem: data.elem, shape: data.shape.clone(), bytes: Bytes::from(bytes) })
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// One element.
    fn at(&self, i: usize) -> Scalar {
        let size = self.elem.bits() as usize / 8;
        let piece = |n: usize| &self.bytes[i * n..(i + 1) * n];
        macro_rules! number {
            ($ty:ty) => {
                <$ty>::from_le_bytes(piece(size).try_into().expect("a slice of this length"))
            };
        }
        match self.elem {
            Elem::F32 => Scalar::F32(number!(f32)),
            Elem::F64 => Scalar::F64(number!(f64)),
            Elem::F16 => Scalar::F16(f16::from_bits(number!(u16))),
            Elem::BF16 => Scalar::BF16(bf16::from_bits(number!(u16))),
            Elem::I8 => Scalar::I8(number!(i8)),
            Elem::I16 => Scalar::I16(number!(i16)),
            Elem::I32 => Scalar::I32(number!(i32)),
            Elem::I64 => Scalar::I64(number!(i64)),
            Elem::U8 => Scalar::U8(number!(u8)),
            Elem::U16 => Scalar::U16(number!(u16)),
            Elem::U32 => Scalar::U32(number!(u32)),
            Elem::U64 => Scalar::U64(number!(u64)),
            Elem::Bool => Scalar::Bool(self.bytes[i] != 0),
            Elem::F8E4M3FN | Elem::F8E4M3FNUZ | Elem::F8E5M2 | Elem::F8E5M2FNUZ | Elem::F8E8M0 => {
                Scalar::F32(self.elem.small_value(self.bytes[i]) as f32)
            }
            Elem::F4E2M1 => Scalar::F32(self.elem.small_value(self.part(i, 4)) as f32),
            Elem::U4 => Scalar::U8(self.part(i, 4)),
            Elem::U2 => Scalar::U8(self.part(i, 2)),
            Elem::I4 => Scalar::I8((self.part(i, 4) << 4) as i8 >> 4),
            Elem::I2 => Scalar::I8((self.part(i, 2) << 6) as i8 >> 6),
        }
    }

    /// Elements below eight bits: the first in the lowest bits of a byte.
    fn part(&self, i: usize, bits: usize) -> u8 {
        let per = 8 / bits;
        self.bytes[i / per] >> (bits * (i % per)) & ((1 << bits) - 1)
    }

    /// As constants to compute with, unless there are too many.
    pub fn data(&self) -> Option<Data> {
        if self.len() > MOST_FOLDED {
            return None;
        }
        let all = (0..self.len()).map(|i| self.at(i));
        let items = if self.elem.is_float() {
            Items::Floats(all.map(as_f64).collect())
        } else {
            Items::Ints(all.map(|it| Dim::from(as_i64(it))).collect())
        };
        Some(Data { elem: self.elem, shape: self.shape.clone(), items })
    }

    /// As a tensor to be written.
    pub fn tensor(&self) -> Result<Tensor, String> {
        let ty = match self.elem.lang() {
            "f64" => ScalarType::F64,
            "f16" => ScalarType::F16,
            "bf16" => ScalarType::BF16,
            "i8" => ScalarType::I8,
            "i16" => ScalarType::I16,
            "i32" => ScalarType::I32,
            "i64" => ScalarType::I64,
            "u8" => ScalarType::U8,
            "u16" => ScalarType::U16,
            "u32" => ScalarType::U32,
            "u64" => ScalarType::U64,
            "bool" => ScalarType::Bool,
            _ => ScalarType::F32,
        };
        Memory::unlimited()
            .from_scalars(ty, &self.shape, (0..self.len()).map(|i| self.at(i)))
            .map_err(|error| error.to_string())
    }
}

/// A number of any type as a float.
pub fn as_f64(value: Scalar) -> f64 {
    match ein_scalar::cast(value, ScalarType::F64) {
        Scalar::F64(value) => value,
        _ => 0.0,
    }
}

/// A number of any type as an integer.
pub fn as_i64(value: Scalar) -> i64 {
    match ein_scalar::cast(value, ScalarType::I64) {
        Scalar::I64(value) => value,
        _ => 0,
    }
}

/// The bytes of the fields that hold elements by their type.
fn typed(proto: &TensorProto, elem: Elem, count: usize) -> Result<Vec<u8>, String> {
    let bits = elem.bits() as usize;
    let from32 = |width: usize| -> Vec<u8> {
        proto.int32_data.iter().flat_map(|n| n.to_le_bytes()[..width].to_vec()).collect()
    };
    let bytes: Vec<u8> = match elem {
        Elem::F32 => proto.float_data.iter().flat_map(|x| x.to_le_bytes()).collect(),
        Elem::F64 => proto.double_data.iter().flat_map(|x| x.to_le_bytes()).collect(),
        Elem::I64 => proto.int64_data.iter().flat_map(|x| x.to_le_bytes()).collect(),
        Elem::U64 => proto.uint64_data.iter().flat_map(|x| x.to_le_bytes()).collect(),
        Elem::U32 => proto.uint64_data.iter().flat_map(|x| x.to_le_bytes()[..4].to_vec()).collect(),
        Elem::I32 => from32(4),
        Elem::I16 | Elem::U16 | Elem::F16 | Elem::BF16 => from32(2),
        Elem::I8
        | Elem::U8
        | Elem::Bool
        | Elem::F8E4M3FN
        | Elem::F8E4M3FNUZ
        | Elem::F8E5M2
        | Elem::F8E5M2FNUZ
        | Elem::F8E8M0
        | Elem::F4E2M1
        | Elem::U4
        | Elem::I4
        | Elem::U2
        | Elem::I2 => from32(1),
    };
    let expected = (count * bits).div_ceil(8);
    if bytes.len() != expected {
        return Err(format!("its shape needs {count} elements, and there are not as many"));
    }
    Ok(bytes)
}

/// Data in a file beside the model. A path that leaves the folder is refused.
fn external(proto: &TensorProto, folder: &Path, expected: usize) -> Result<Bytes, String> {
    let field = |key: &str| {
        proto.external_data.iter().find(|entry| entry.key == key).map(|entry| entry.value.as_str())
    };
    let location = field("location").ok_or("its data are outside, and no location is given")?;
    let path = Path::new(location);
    if path.as_os_str().is_empty()
        || path.components().any(|it| !matches!(it, Component::Normal(_)))
    {
        return Err(format!("its data lie in `{location}`, which is outside the model's folder"));
    }
    let number = |key: &str| match field(key) {
        None => Ok(None),
        Some(text) => {
            text.parse::<u64>().map(Some).map_err(|_| format!("its {key} `{text}` is no number"))
        }
    };
    let offset = number("offset")?.unwrap_or(0);
    let length = number("length")?.unwrap_or(expected as u64);
    if length != expected as u64 {
        return Err(format!("its shape needs {expected} bytes of data, and {length} are given"));
    }
    let full = folder.join(path);
    let failed = |error: std::io::Error| format!("cannot read its data in `{location}`: {error}");
    // A link may lead out of the folder, too.
    let real = full.canonicalize().map_err(failed)?;
    let root = folder.canonicalize().map_err(failed)?;
    if !real.starts_with(&root) {
        return Err(format!("its data lie in `{location}`, which is outside the model's folder"));
    }
    let about = std::fs::metadata(&real).map_err(failed)?;
    if !about.is_file() || about.len() < offset.saturating_add(length) {
        return Err(format!("`{location}` is too short for its data"));
    }
    let mut file = File::open(&real).map_err(failed)?;
    file.seek(SeekFrom::Start(offset)).map_err(failed)?;
    let mut bytes = vec![0; expected];
    file.read_exact(&mut bytes).map_err(failed)?;
    Ok(Bytes::from(bytes))
}
