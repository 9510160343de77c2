//! Files, pictures and the clock: what may be touched, and touching it.
//!
//! A path is taken from the program's directory, links and `..` are resolved, and what comes out
//! must lie in a directory that was allowed. Files are written under another name and renamed.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};
use std::sync::LazyLock;
use std::time::{Instant, SystemTime};

use ein_base::{Code, Span};
use ein_ir::tensor::{Expr, IoOp, Type};
use ein_runtime::format::Archive;
use ein_runtime::{FileError, FileErrorKind, Tensor, format};
use ein_scalar::{Scalar, ScalarType};

use crate::machine::Machine;
use crate::stop::Stop;
use crate::value::Value;

/// What is to be done with a path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Read,
    Write,
}

impl<'p> Machine<'p> {
    /// A function of `std::io`.
    #[inline(never)]
    pub(crate) fn file_op(&mut self, op: IoOp, args: &[Value], e: &'p Expr) -> Result<Value, Stop> {
        let span = e.span;
        // What was opened may be replaced by what the program writes.
        if op != IoOp::LoadSafetensors {
            self.weights = None;
        }
        let text = |at: usize| match args.get(at) {
            Some(Value::Str(text)) => Ok(text.as_str()),
            Some(other) => Err(self.expected(span, "a path or a text", other)),
            None => Err(self.malformed(span, "an argument is missing")),
        };
        match op {
            IoOp::CurrentDir => match std::env::current_dir() {
                Ok(path) => Ok(path_value(&path)),
                Err(error) => Err(self.read_failed(Path::new("."), &error, span)),
            },
            IoOp::ScriptDir => Ok(path_value(&self.absolute(Path::new("")))),
            IoOp::AbsolutePath => Ok(path_value(&self.absolute(Path::new(text(0)?)))),
            IoOp::FileExists => Ok(self.allowed(text(0)?, Access::Read, span)?.exists().into()),
            IoOp::IsFile => Ok(self.allowed(text(0)?, Access::Read, span)?.is_file().into()),
            IoOp::IsDir => Ok(self.allowed(text(0)?, Access::Read, span)?.is_dir().into()),
            IoOp::FileSize => {
                let path = self.allowed(text(0)?, Access::Read, span)?;
                let size = self.read(&path, fs::metadata(&path), span)?.len();
                self.integer(size, e)
            }
            IoOp::ListDir => {
                let path = self.allowed(text(0)?, Access::Read, span)?;
                let mut names = Vec::new();
                for entry in self.read(&path, fs::read_dir(&path), span)? {
                    let entry = self.read(&path, entry, span)?;
                    names.push(entry.file_name().to_string_lossy().into_owned());
                }
                names.sort_unstable();
                let count = names.len();
                self.array_of(&Type::Str, vec![count], names.into_iter().map(Value::str), span)
            }
            IoOp::ReadFile => {
                let path = self.allowed(text(0)?, Access::Read, span)?;
                let bytes = self.whole_file(&path, span)?;
                let text = String::from_utf8(bytes)
                    .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"));
                Ok(Value::str(self.read(&path, text, span)?))
            }
            IoOp::LoadNpy => {
                let path = self.allowed(text(0)?, Access::Read, span)?;
                match format::read(&path, None, &self.options.memory) {
                    Ok(tensor) => Ok(Value::tensor(tensor)),
                    Err(error) => Err(self.unreadable(&error, span)),
                }
            }
            IoOp::LoadSafetensors => {
                let (path, name) = (text(0)?, text(1)?);
                let array = self.load_named(path, name, span)?;
                Ok(Value::tensor(array))
            }
            IoOp::SaveNpy => {
                let path = self.allowed(text(0)?, Access::Write, span)?;
                self.save_npy(&path, args.get(1), span)
            }
            IoOp::LoadPng => {
                let path = self.allowed(text(0)?, Access::Read, span)?;
                match format::read_png(&path, &self.options.memory) {
                    Ok(picture) => Ok(Value::tensor(picture)),
                    Err(error) => Err(self.unreadable(&error, span)),
                }
            }
            IoOp::SavePng => {
                let path = self.allowed(text(0)?, Access::Write, span)?;
                let Some(Value::Tensor(picture)) = args.get(1) else {
                    return Err(self.malformed(span, "a picture is an array of numbers"));
                };
                match format::write_png(&path, picture) {
                    Ok(()) => Ok(true.into()),
                    Err(error) => {
                        Err(self.fail(Code::E0907, span, format!("cannot write {error}")))
                    }
                }
            }
            IoOp::Now => {
                let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
                Ok(Value::Scalar(Scalar::F64(since.map_or(0.0, |it| it.as_secs_f64()))))
            }
            IoOp::Monotonic => {
                static START: LazyLock<Instant> = LazyLock::new(Instant::now);
                Ok(Value::Scalar(Scalar::F64(START.elapsed().as_secs_f64())))
            }
            IoOp::CreateDir => {
                let path = self.allowed(text(0)?, Access::Write, span)?;
                self.written(&path, fs::create_dir_all(&path), span)
            }
            IoOp::RemoveDir => {
                let path = self.allowed(text(0)?, Access::Write, span)?;
                self.written(&path, fs::remove_dir(&path), span)
            }
            IoOp::DeleteFile => {
                let path = self.allowed(text(0)?, Access::Write, span)?;
                self.written(&path, fs::remove_file(&path), span)
            }
            IoOp::CopyFile => {
                let from = self.allowed(text(0)?, Access::Read, span)?;
                let to = self.allowed(text(1)?, Access::Write, span)?;
                let bytes = self.whole_file(&from, span)?;
                self.written(&to, write_whole(&to, &bytes), span)
            }
            IoOp::MoveFile => {
                let from = self.allowed(text(0)?, Access::Write, span)?;
                let to = self.allowed(text(1)?, Access::Write, span)?;
                self.written(&to, fs::rename(&from, &to), span)
            }
            IoOp::WriteFile => {
                let path = self.allowed(text(0)?, Access::Write, span)?;
                self.written(&path, write_whole(&path, text(1)?.as_bytes()), span)
            }
            IoOp::AppendFile => {
                let path = self.allowed(text(0)?, Access::Write, span)?;
                let mut bytes = match fs::exists(&path) {
                    Ok(false) => Vec::new(),
                    Ok(true) | Err(_) => self.whole_file(&path, span)?,
                };
                bytes.extend_from_slice(text(1)?.as_bytes());
                self.written(&path, write_whole(&path, &bytes), span)
            }
        }
    }

    /// The bytes of a plain file that fits in memory.
    ///
    /// Pipes and devices are refused before they are opened: some never end, others never begin.
    fn whole_file(&self, path: &Path, span: Span) -> Result<Vec<u8>, Stop> {
        let about = self.read(path, fs::metadata(path), span)?;
        if !about.is_file() {
            let error = io::Error::other("it is not a plain file");
            return Err(self.read_failed(path, &error, span));
        }
        let length = usize::try_from(about.len()).unwrap_or(usize::MAX);
        self.room(length, "the file", span)?;
        // A file may grow while it is read, and some say that they are empty.
        let most = about.len().saturating_add(1 << 20);
        let mut bytes = Vec::new();
        let mut file = self.read(path, fs::File::open(path), span)?.take(most);
        self.read(path, file.read_to_end(&mut bytes).map(drop), span)?;
        if bytes.len() as u64 == most {
            let error = io::Error::other("it grows while it is read");
            return Err(self.read_failed(path, &error, span));
        }
        Ok(bytes)
    }

    /// An array of a file; `name` chooses among several.
    /// One of the arrays of a file, which stays open for the next one.
    fn load_named(&mut self, path: &str, name: &str, span: Span) -> Result<Tensor, Stop> {
        let memory = &self.options.memory;
        let found = match &self.weights {
            Some((open, archive)) if open == path => archive.read(Some(name), memory),
            _ => {
                let real = self.allowed(path, Access::Read, span)?;
                match Archive::open(&real) {
                    Ok(Some(archive)) => {
                        let array = archive.read(Some(name), memory);
                        self.weights = Some((path.to_owned(), archive));
                        array
                    }
                    Ok(None) => format::read(&real, Some(name), memory),
                    Err(error) => Err(error),
                }
            }
        };
        found.map_err(|error| self.unreadable(&error, span))
    }

    #[cold]
    fn unreadable(&self, error: &FileError, span: Span) -> Stop {
        let code = match error.kind {
            FileErrorKind::Missing | FileErrorKind::Unreadable => Code::E0902,
            FileErrorKind::Malformed | FileErrorKind::NoSuchArray => Code::E0903,
            FileErrorKind::UnsupportedType => Code::E0904,
            FileErrorKind::TooLarge => Code::E0805,
        };
        self.fail(code, span, format!("cannot read {error}"))
    }

    fn save_npy(&self, path: &Path, value: Option<&Value>, span: Span) -> Result<Value, Stop> {
        let tensor = match value.unwrap_or(&Value::Unit) {
            Value::Tensor(tensor) => tensor.clone(),
            Value::Scalar(scalar) => Tensor::scalar(*scalar).into(),
            other => return Err(self.expected(span, "an array of numbers", other)),
        };
        match format::write(path, &[("", &tensor)]) {
            Ok(()) => Ok(true.into()),
            Err(error) => Err(self.fail(Code::E0907, span, format!("cannot write {error}"))),
        }
    }

    fn integer(&self, value: u64, e: &Expr) -> Result<Value, Stop> {
        let ty = e.ty.scalar().unwrap_or(ScalarType::I64);
        match Scalar::from_i128(i128::from(value), ty) {
            Some(value) => Ok(Value::Scalar(value)),
            None => Err(self.too_large(e.span, value as i64, ty.name())),
        }
    }

    fn read<T>(&self, path: &Path, result: io::Result<T>, span: Span) -> Result<T, Stop> {
        result.map_err(|error| self.read_failed(path, &error, span))
    }

    #[cold]
    fn read_failed(&self, path: &Path, error: &io::Error, span: Span) -> Stop {
        let message = format!("cannot read `{}`: {error}", path.display());
        self.fail(Code::E0902, span, message)
    }

    fn written(&self, path: &Path, result: io::Result<()>, span: Span) -> Result<Value, Stop> {
        match result {
            Ok(()) => Ok(true.into()),
            Err(error) => {
                let message = format!("cannot write `{}`: {error}", path.display());
                Err(self.fail(Code::E0907, span, message))
            }
        }
    }

    /// A path from the program's directory, as text: links are not followed.
    fn absolute(&self, path: &Path) -> PathBuf {
        let own = &self.options.script_dir;
        let start = std::path::absolute(own).unwrap_or_else(|_| own.clone());
        let mut clean = PathBuf::new();
        for part in start.join(path).components() {
            match part {
                Component::CurDir => {}
                Component::ParentDir => {
                    clean.pop();
                }
                Component::Prefix(_) | Component::RootDir | Component::Normal(_) => {
                    clean.push(part)
                }
            }
        }
        clean
    }

    /// Where a path really leads, if that may be touched.
    fn allowed(&self, path: &str, access: Access, span: Span) -> Result<PathBuf, Stop> {
        let options = self.options;
        let own = (access == Access::Read && !options.sandbox).then_some(&options.script_dir);
        let more = if access == Access::Read { &options.allow_read } else { &options.allow_write };
        let real = real_path(&options.script_dir.join(path));
        let inside = |real: &PathBuf| {
            let mut roots = own.into_iter().chain(more);
            roots.any(|root| fs::canonicalize(root).is_ok_and(|root| real.starts_with(root)))
        };
        match real {
            Some(real) if inside(&real) => Ok(real),
            _ => {
                let (verb, option) = match access {
                    Access::Read => ("read", "--allow-read"),
                    Access::Write => ("write", "--allow-write"),
                };
                let message = format!("the program may not {verb} `{path}`");
                let stop = self.fail(Code::E0906, span, message);
                match stop {
                    Stop::Error(it) => {
                        Err(it.help(format!("allow its directory with `{option} DIR`")).into())
                    }
                    Stop::Interrupted => Err(stop),
                }
            }
        }
    }
}

/// A path without links and `..`. What does not exist yet must lie below something that does, and
/// must not climb.
fn real_path(path: &Path) -> Option<PathBuf> {
    if let Ok(real) = fs::canonicalize(path) {
        return Some(real);
    }
    let name = match path.components().next_back()? {
        Component::Normal(name) => name,
        Component::CurDir | Component::ParentDir => return None,
        Component::Prefix(_) | Component::RootDir => return None,
    };
    let parent = match path.parent()? {
        parent if parent.as_os_str().is_empty() => Path::new("."),
        parent => parent,
    };
    Some(real_path(parent)?.join(name))
}

/// Writes a file in one piece or not at all.
fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".part{}", std::process::id()));
    let part = path.with_file_name(name);
    let result = fs::write(&part, bytes).and_then(|()| fs::rename(&part, path));
    if result.is_err() {
        let _ = fs::remove_file(&part);
    }
    result
}

fn path_value(path: &Path) -> Value {
    Value::str(path.to_string_lossy())
}
