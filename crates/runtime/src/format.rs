//! Array files: `.npy`, `.npz`, `.safetensors` and `.csv`.
//!
//! A file is not trusted. What its header claims is compared with the length of the file before
//! anything is allocated, so memory stays within a small multiple of what is there and within the
//! limit of the [`Memory`] at hand. A file that is cut short, contradicts itself or has something left
//! over is refused. Large arrays are mapped (`mapped`), not copied. Writing goes to a temporary file beside the target, which takes the target's name
//! when it is complete: nobody ever sees half a file.

mod atomic;
mod csv;
mod float8;
mod inflate;
mod mapped;
mod npy;
mod npz;
mod png;
mod safetensors;
mod zip;

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use ein_scalar::ScalarType;

use crate::{Memory, MemoryError, Tensor, TensorError};

pub use csv::read_csv;
pub use npy::described as npy_type;
pub use png::{read_png, write_png};
pub use safetensors::Archive;

/// What is wrong with a file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FileErrorKind {
    /// There is no such file.
    Missing,
    /// It cannot be opened, read or written; or its format is not one of ours.
    Unreadable,
    /// Its content is not what its format prescribes.
    Malformed,
    /// Its elements have a type that the language has not.
    UnsupportedType,
    /// It holds no array of that name.
    NoSuchArray,
    /// The array does not fit in memory, or not in the format.
    TooLarge,
}

/// A file could not be read or written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileError {
    /// What is wrong.
    pub kind: FileErrorKind,
    /// The file.
    pub path: PathBuf,
    /// The details, as a sentence without the path.
    pub detail: String,
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.path.display(), self.detail)
    }
}

impl std::error::Error for FileError {}

/// What is wrong with the content, before it is known in which file.
#[derive(Debug)]
struct Fault {
    kind: FileErrorKind,
    detail: String,
}

impl Fault {
    fn new(kind: FileErrorKind, detail: impl Into<String>) -> Fault {
        Fault { kind, detail: detail.into() }
    }

    fn malformed(detail: impl Into<String>) -> Fault {
        Fault::new(FileErrorKind::Malformed, detail)
    }

    fn at(self, path: &Path) -> FileError {
        FileError { kind: self.kind, path: path.to_owned(), detail: self.detail }
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Fault {
        match error.kind() {
            io::ErrorKind::NotFound => Fault::new(FileErrorKind::Missing, "there is no such file"),
            io::ErrorKind::UnexpectedEof => Fault::malformed("the file ends too early"),
            io::ErrorKind::InvalidData => Fault::malformed(error.to_string()),
            _ => Fault::new(FileErrorKind::Unreadable, error.to_string()),
        }
    }
}

impl From<MemoryError> for Fault {
    fn from(error: MemoryError) -> Fault {
        Fault::new(FileErrorKind::TooLarge, format!("the array does not fit in memory: {error}"))
    }
}

impl From<TensorError> for Fault {
    fn from(error: TensorError) -> Fault {
        match error {
            TensorError::Memory(error) => error.into(),
            other => Fault::malformed(other.to_string()),
        }
    }
}

/// The formats, by the ending of the file's name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Npy,
    Npz,
    Safetensors,
    Csv,
}

fn format_of(path: &Path) -> Result<Format, Fault> {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or("");
    match ending.to_ascii_lowercase().as_str() {
        "npy" => Ok(Format::Npy),
        "npz" => Ok(Format::Npz),
        "safetensors" => Ok(Format::Safetensors),
        "csv" => Ok(Format::Csv),
        _ => Err(Fault::new(
            FileErrorKind::Unreadable,
            "the name ends in none of .npy .npz .safetensors .csv",
        )),
    }
}

/// Reads an array; its format follows from the ending of the path.
///
/// `name` chooses an array of an `.npz` or `.safetensors` file and may be left out if there is only
/// one; the other formats hold a single array and take no notice of it. The numbers of a `.csv` are
/// read as `f64`, see [`read_csv`].
pub fn read(path: &Path, name: Option<&str>, memory: &Memory) -> Result<Tensor, FileError> {
    let read = || match format_of(path)? {
        Format::Npy => {
            let (mut file, length) = open(path)?;
            npy::read(&mut file, length, memory)
        }
        Format::Npz => npz::read(path, name, memory),
        Format::Safetensors => safetensors::opened(path)?.array(name, memory),
        Format::Csv => csv::read(path, ScalarType::F64, memory),
    };
    read().map_err(|fault| fault.at(path))
}

/// The names of the arrays in an `.npz` or `.safetensors` file, in order; none for other formats.
pub fn names(path: &Path) -> Result<Vec<String>, FileError> {
    let names = || match format_of(path)? {
        Format::Npz => npz::names(path),
        Format::Safetensors => safetensors::names(path),
        Format::Npy | Format::Csv => Ok(Vec::new()),
    };
    names().map_err(|fault| fault.at(path))
}

/// Writes named arrays; the format follows from the ending of the path.
///
/// `.npy` and `.csv` hold one array, whose name is not stored.
pub fn write(path: &Path, arrays: &[(&str, &Tensor)]) -> Result<(), FileError> {
    let only = || match arrays {
        [(_, tensor)] => Ok(*tensor),
        _ => Err(Fault::new(FileErrorKind::Unreadable, "this format holds exactly one array")),
    };
    let write = || match format_of(path)? {
        Format::Npy => {
            let tensor = only()?;
            atomic::write(path, |out| npy::write(tensor, out))
        }
        Format::Csv => {
            let tensor = only()?;
            atomic::write(path, |out| csv::write(tensor, out))
        }
        Format::Npz => atomic::write(path, |out| npz::write(arrays, out)),
        Format::Safetensors => atomic::write(path, |out| safetensors::write(arrays, out)),
    };
    write().map_err(|fault| fault.at(path))
}

/// Opens a plain file and takes its length.
fn open(path: &Path) -> Result<(File, u64), Fault> {
    // Asked first: opening a pipe would wait for its other end.
    let about = std::fs::metadata(path)?;
    if !about.is_file() {
        return Err(Fault::new(FileErrorKind::Unreadable, "this is not a plain file"));
    }
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    Ok((file, length))
}

/// An array whose bytes follow in `input`, least significant first unless `big_endian`.
///
/// The caller has made sure that there are as many bytes as the shape needs.
fn read_elements(
    input: &mut dyn Read,
    ty: ScalarType,
    shape: &[usize],
    big_endian: bool,
    memory: &Memory,
) -> Result<Tensor, Fault> {
    // An empty array takes no room however long its other axes are said to be.
    if shape.iter().any(|extent| i64::try_from(*extent).is_err())
        || shape.iter().try_fold(1usize, |size, n| size.checked_mul((*n).max(1))).is_none()
    {
        return Err(Fault::malformed(format!("no array has the shape {shape:?}")));
    }
    let mut buffer = memory.allocate(ty, shape)?;
    let bytes = buffer.bytes_mut();
    if let Err(error) = input.read_exact(bytes) {
        // No tensor may come of bytes that are not all elements.
        return Err(error.into());
    }
    if ty.is_bool() {
        bytes.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
    } else if big_endian != cfg!(target_endian = "big") {
        bytes.chunks_exact_mut(ty.size_bytes()).for_each(<[u8]>::reverse);
    }
    Ok(Tensor::over(ty, shape, buffer))
}

/// Writes the elements in row-major order, least significant byte first.
fn write_elements(tensor: &Tensor, out: &mut dyn io::Write) -> Result<(), Fault> {
    let whole = tensor.contiguous()?;
    let bytes = whole.as_bytes().unwrap_or(&[]);
    if cfg!(target_endian = "little") {
        return Ok(out.write_all(bytes)?);
    }
    for element in bytes.chunks_exact(tensor.ty().size_bytes()) {
        let mut element = element.to_vec();
        element.reverse();
        out.write_all(&element)?;
    }
    Ok(())
}

/// The number of bytes of an array, if it can be counted.
fn byte_count(ty: ScalarType, shape: &[usize]) -> Option<u64> {
    if shape.contains(&0) {
        return Some(0);
    }
    let size = ty.size_bytes() as u64;
    shape.iter().try_fold(size, |bytes, extent| bytes.checked_mul(*extent as u64))
}

/// Chooses an array by name, or the only one there is.
fn choose<'a, T>(entries: &'a [(String, T)], name: Option<&str>) -> Result<&'a (String, T), Fault> {
    let listed = || {
        let names: Vec<String> =
            entries.iter().take(20).map(|(name, _)| format!("`{name}`")).collect();
        let more = if entries.len() > 20 { ", …" } else { "" };
        if names.is_empty() { "none".to_owned() } else { names.join(", ") + more }
    };
    let missing = |what: String| {
        Fault::new(FileErrorKind::NoSuchArray, format!("{what}; there are {}", listed()))
    };
    match name {
        Some(name) => entries
            .iter()
            .find(|entry| entry.0 == name)
            .ok_or_else(|| missing(format!("there is no array `{name}`"))),
        None => match entries {
            [entry] => Ok(entry),
            _ => Err(missing("a name is needed to choose an array".to_owned())),
        },
    }
}
