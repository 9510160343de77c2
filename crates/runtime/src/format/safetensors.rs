//! The `.safetensors` format: a header in JSON, then the elements of all arrays.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use ein_scalar::ScalarType;
use memmap2::Mmap;
use serde_json::{Map, Value, json};

use super::float8::Float8;
use super::{
    Fault, FileError, FileErrorKind, Format, byte_count, choose, format_of, mapped, open,
    read_elements, write_elements,
};
use crate::torn::Watched;
use crate::{Memory, Tensor};

/// The format itself allows no longer header.
const LONGEST_HEADER: u64 = 100_000_000;

/// What the header says of an array.
#[derive(Debug)]
struct Entry {
    dtype: String,
    shape: Vec<usize>,
    /// First and last byte, counted from the end of the header.
    start: u64,
    end: u64,
}

/// A file of arrays that is open: a model takes its weights one by one out of one file.
#[derive(Clone, Debug)]
pub struct Archive(Arc<Opened>);

#[derive(Debug)]
struct Opened {
    path: PathBuf,
    file: File,
    /// All of it in memory, where the system can do that.
    map: Option<Arc<Mmap>>,
    header: Header,
}

impl Archive {
    /// Opens a file, or gives the one that is open already: the same file says the same again. Nothing
    /// if it is a file of another format.
    pub fn open(path: &Path) -> Result<Option<Archive>, FileError> {
        let open = || match format_of(path)? {
            Format::Safetensors => opened(path).map(Some),
            Format::Npy | Format::Npz | Format::Csv => Ok(None),
        };
        open().map_err(|fault| fault.at(path))
    }

    /// Reads one array.
    pub fn read(&self, name: Option<&str>, memory: &Memory) -> Result<Tensor, FileError> {
        self.array(name, memory).map_err(|fault| fault.at(&self.0.path))
    }

    pub(super) fn array(&self, name: Option<&str>, memory: &Memory) -> Result<Tensor, Fault> {
        let Opened { file, map, header: (entries, data), .. } = &*self.0;
        // Names are in order: a model with a thousand weights asks a thousand times.
        let sought = |name: &str| entries.binary_search_by(|it| it.0.as_str().cmp(name)).ok();
        let (_, entry) = match name.and_then(sought) {
            Some(at) => &entries[at],
            None => choose(entries, name)?,
        };
        let stored = Stored::of(&entry.dtype).ok_or_else(|| {
            let detail = format!("elements of type {:?} are not supported", entry.dtype);
            Fault::new(FileErrorKind::UnsupportedType, detail)
        })?;
        let start = data + entry.start;
        let watched = |map: &Arc<Mmap>| Watched::new(memory, &self.0.path, file, map);
        let map = map.as_ref().and_then(|map| Some((map, watched(map)?)));
        let Some((map, _watched)) = map else {
            let mut file = file.try_clone()?;
            file.seek(SeekFrom::Start(start))?;
            return stored.read(&mut file, &entry.shape, memory);
        };
        let of = (self.0.path.as_path(), file, map);
        if let Stored::Scalar(ty) = stored
            && let Some(tensor) = mapped::elements(of, start, ty, &entry.shape, memory)
        {
            return Ok(tensor);
        }
        let mut bytes = usize::try_from(start).ok().and_then(|at| map.get(at..)).unwrap_or(&[]);
        stored.read(&mut bytes, &entry.shape, memory)
    }
}

/// The names of the arrays.
pub(super) fn names(path: &Path) -> Result<Vec<String>, Fault> {
    let archive = opened(path)?;
    Ok(archive.0.header.0.iter().map(|(name, _)| name.clone()).collect())
}

/// What a file is known by: its path, its length, when it was changed, and its number on the disk.
type Identity = (PathBuf, u64, SystemTime, u64);

/// The file that was opened last.
static LAST: Mutex<Option<(Identity, Archive)>> = Mutex::new(None);

/// A file with a longer header is not kept.
const LONGEST_KEPT: u64 = 1 << 20;

/// A file that was changed so lately may be changed again without a trace in its times.
const SETTLED: Duration = Duration::from_millis(50);

/// Opens a file, or gives the one that is open already.
pub(super) fn opened(path: &Path) -> Result<Archive, Fault> {
    let (mut file, length) = open(path)?;
    let identity = identity(path, &file, length);
    if let Ok(last) = LAST.lock()
        && let Some((known, archive)) = &*last
        && Some(known) == identity.as_ref()
    {
        return Ok(archive.clone());
    }
    let header = parsed(&text(&mut file, length)?, length)?;
    let map = mapped::whole(&file);
    let kept = header.1 <= LONGEST_KEPT;
    let archive = Archive(Arc::new(Opened { path: path.to_owned(), file, map, header }));
    if kept
        && let Some(identity) = identity
        && let Ok(mut last) = LAST.lock()
    {
        *last = Some((identity, archive.clone()));
    }
    Ok(archive)
}

/// What a file is known by; nothing if that could be another one's.
fn identity(path: &Path, file: &File, length: u64) -> Option<Identity> {
    let about = file.metadata().ok()?;
    let changed = about.modified().ok()?;
    if !changed.elapsed().is_ok_and(|since| since > SETTLED) {
        return None;
    }
    #[cfg(unix)]
    let number = std::os::unix::fs::MetadataExt::ino(&about);
    #[cfg(not(unix))]
    let number = 0;
    Some((path.to_owned(), length, changed, number))
}

/// The arrays by name, and where their elements start.
type Header = (Vec<(String, Entry)>, u64);

/// Reads the text of a header.
fn text(file: &mut File, length: u64) -> Result<Vec<u8>, Fault> {
    let mut size = [0; 8];
    file.read_exact(&mut size)?;
    let size = u64::from_le_bytes(size);
    if size > length.saturating_sub(8).min(LONGEST_HEADER) {
        return Err(Fault::malformed("the header is longer than the file"));
    }
    let mut text = vec![0; size as usize];
    file.read_exact(&mut text)?;
    Ok(text)
}

/// What a header says. Each byte behind it belongs to exactly one array.
fn parsed(text: &[u8], length: u64) -> Result<Header, Fault> {
    let size = text.len() as u64;
    let header: Map<String, Value> = serde_json::from_slice(text)
        .map_err(|error| Fault::malformed(format!("the header is not JSON: {error}")))?;
    if keys(text) != header.len() {
        return Err(Fault::malformed("two arrays have one name"));
    }
    let mut entries = Vec::new();
    for (name, value) in header {
        if name != "__metadata__" {
            let entry = entry(&value).map_err(|what| {
                Fault::malformed(format!("the header is wrong about array {name:?}: {what}"))
            })?;
            entries.push((name, entry));
        }
    }
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    let mut ranges: Vec<(u64, u64)> = entries.iter().map(|(_, e)| (e.start, e.end)).collect();
    ranges.sort_unstable();
    let mut covered = 0;
    for (start, end) in ranges {
        if start != covered {
            return Err(Fault::malformed("arrays overlap or leave gaps between them"));
        }
        covered = end;
    }
    if covered != length - 8 - size {
        let what = if covered > length - 8 - size { "ends too early" } else { "goes on too long" };
        return Err(Fault::malformed(format!("the file {what} for what its header says")));
    }
    Ok((entries, 8 + size))
}

/// How many keys an object of JSON has, counting those that occur twice: its colons outside of texts and
/// of what is nested in it.
fn keys(text: &[u8]) -> usize {
    let (mut depth, mut quoted, mut escaped, mut count) = (0usize, false, false, 0);
    for byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b':' if depth == 1 => count += 1,
            _ => {}
        }
    }
    count
}

/// What the header says of one array, or what is wrong with that.
fn entry(value: &Value) -> Result<Entry, &'static str> {
    let dtype = value.get("dtype").and_then(Value::as_str).ok_or("no dtype")?.to_owned();
    let numbers = |key: &str| -> Option<Vec<u64>> {
        value.get(key)?.as_array()?.iter().map(Value::as_u64).collect()
    };
    let shape = numbers("shape").ok_or("no shape")?;
    let shape: Result<Vec<usize>, _> = shape.into_iter().map(usize::try_from).collect();
    let shape = shape.map_err(|_| "an extent is too large")?;
    let [start, end] = numbers("data_offsets").ok_or("no data_offsets")?[..] else {
        return Err("data_offsets are not two numbers");
    };
    let bytes = end.checked_sub(start).ok_or("it ends before it starts")?;
    match Stored::of(&dtype) {
        Some(stored) if byte_count(stored.width(), &shape) != Some(bytes) => {
            Err("its size does not fit its shape")
        }
        _ => Ok(Entry { dtype, shape, start, end }),
    }
}

/// How elements are stored.
#[derive(Clone, Copy, Debug)]
enum Stored {
    /// As the language has them.
    Scalar(ScalarType),
    /// As floats of eight bits, which are read as `f32`.
    Float8(Float8),
}

impl Stored {
    fn of(dtype: &str) -> Option<Stored> {
        if let Some(float) = Float8::of(dtype) {
            return Some(Stored::Float8(float));
        }
        let ty = ScalarType::ALL.into_iter().find(|ty| dtype_of(*ty) == dtype);
        ty.map(Stored::Scalar)
    }

    fn read(self, input: &mut dyn Read, shape: &[usize], memory: &Memory) -> Result<Tensor, Fault> {
        match self {
            Stored::Scalar(ty) => read_elements(input, ty, shape, false, memory),
            Stored::Float8(float) => float.read(input, shape, memory),
        }
    }

    /// A type of the same width.
    fn width(self) -> ScalarType {
        match self {
            Stored::Scalar(ty) => ty,
            Stored::Float8(_) => ScalarType::U8,
        }
    }
}

fn dtype_of(ty: ScalarType) -> String {
    ty.name().to_ascii_uppercase()
}

/// Writes arrays, those with the widest elements first so that all are aligned.
pub(super) fn write(arrays: &[(&str, &Tensor)], out: &mut dyn Write) -> Result<(), Fault> {
    let mut sorted = arrays.to_vec();
    sorted.sort_by_key(|(_, tensor)| std::cmp::Reverse(tensor.ty().size_bytes()));
    let mut header = Map::new();
    let mut start = 0u64;
    for (name, tensor) in &sorted {
        let bytes = byte_count(tensor.ty(), tensor.shape());
        let end = bytes
            .and_then(|bytes| start.checked_add(bytes))
            .ok_or_else(|| Fault::new(FileErrorKind::TooLarge, "the arrays are too large"))?;
        let entry = json!({
            "dtype": dtype_of(tensor.ty()), "shape": tensor.shape(), "data_offsets": [start, end],
        });
        if *name == "__metadata__" || header.insert((*name).to_owned(), entry).is_some() {
            let detail = format!("an array cannot be named {name:?} here");
            return Err(Fault::new(FileErrorKind::Unreadable, detail));
        }
        start = end;
    }
    let mut text = Value::Object(header).to_string();
    text.push_str(&" ".repeat(text.len().next_multiple_of(8) - text.len()));
    out.write_all(&(text.len() as u64).to_le_bytes())?;
    out.write_all(text.as_bytes())?;
    sorted.iter().try_for_each(|(_, tensor)| write_elements(tensor, out))
}
