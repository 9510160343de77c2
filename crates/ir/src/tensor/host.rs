//! What the run-time library does for a program.

use ein_base::Symbol;

/// A format specification of an inserted value.
pub type FormatSpec = ein_scalar::Spec;

/// What the run-time library does.
#[derive(Clone, Debug, PartialEq)]
pub enum HostOp {
    /// Prints its arguments, separated by spaces.
    Print,
    /// Fails unless the first argument holds everywhere; a second one is the message.
    Assert,
    /// Texts one after another; `specs` says how each argument is inserted.
    Format(Vec<Option<FormatSpec>>),
    /// The number of elements, characters or components.
    Len,
    /// The extents, as `[i32]`.
    Shape,
    /// Structural equality of strings, tuples, structs and arrays of them.
    Equal,
    /// String comparison: negative, zero or positive as `i32`.
    Compare,
    /// Text concatenation.
    Concat,
    /// A text, repeated.
    Repeat,
    /// A character of a text.
    CharAt,
    /// Membership in an array, or of a text in a text.
    Contains,
    /// An array with one more element.
    ArrayAppend,
    /// An element of a jagged array, or of an array whose elements are not numbers.
    ElementAt,
    /// A value from outside, by the name of the variable it is bound to.
    Input(Symbol),
    /// An array of another shape with the same elements in order; the second argument is the shape.
    Reshape,
    /// The elements along the leading axis for which the mask (second argument) holds.
    Compress,
    /// `0, 1, …, n - 1`
    Iota,
    /// A conversion of a whole value to the node's type: elements, jagged to rectangular, rank.
    Convert,
    /// Zeros in the shape of a value, part by part.
    ZerosLike,
    /// One function value with what two of them captured.
    MergeClosures,
    /// Files, pictures and the clock.
    Io(IoOp),
    /// What the library computes with the help of the run-time library.
    Plain(PlainOp),
    /// A function of Python by its path, `numpy.linalg.norm`. The node's type is checked on return.
    Python(Symbol),
}

/// What a library of the host computes faster than loops do, from a certain size on. A function of ours
/// says what it means by its body, and that the host may compute it ([`super::Func::by`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names of the library")]
pub enum ArrayOp {
    Solve,
    Lu,
    Cholesky,
    Orthonormal,
    Eigh,
    Svd,
    Fourier,
    Argsort,
}

impl ArrayOp {
    /// Every one of them with its name in the library and in the text form.
    pub const NAMES: [(&str, ArrayOp); 8] = [
        ("by_solve", ArrayOp::Solve),
        ("by_lu", ArrayOp::Lu),
        ("by_cholesky", ArrayOp::Cholesky),
        ("by_orthonormal", ArrayOp::Orthonormal),
        ("by_eigh", ArrayOp::Eigh),
        ("by_svd", ArrayOp::Svd),
        ("by_fourier", ArrayOp::Fourier),
        ("by_argsort", ArrayOp::Argsort),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, op)| *op == self).map_or("?", |(name, _)| name)
    }

    /// Whether a first argument of these extents is left to the host: from there on it is faster than
    /// loops that are compiled for the size, a call of it included.
    pub fn pays(self, shape: &[i64]) -> bool {
        let least = shape.iter().copied().min().unwrap_or(0);
        match self {
            ArrayOp::Solve | ArrayOp::Lu | ArrayOp::Cholesky => least >= 48,
            // Loops do as many turns as vanish in the worst case.
            ArrayOp::Orthonormal | ArrayOp::Eigh | ArrayOp::Svd => least >= 32,
            ArrayOp::Fourier => shape.last().is_some_and(|n| *n >= 128),
            ArrayOp::Argsort => least >= 256,
        }
    }
}

/// What a program does with the outside: files, pictures, the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names of the library")]
pub enum IoOp {
    LoadNpy,
    LoadSafetensors,
    SaveNpy,
    CurrentDir,
    ScriptDir,
    FileExists,
    IsFile,
    IsDir,
    FileSize,
    ListDir,
    AbsolutePath,
    CreateDir,
    RemoveDir,
    DeleteFile,
    CopyFile,
    MoveFile,
    ReadFile,
    WriteFile,
    AppendFile,
    LoadPng,
    SavePng,
    Now,
    Monotonic,
}

impl IoOp {
    /// Every one of them with its name in the library and in the text form.
    pub const NAMES: [(&str, IoOp); 23] = [
        ("load_npy", IoOp::LoadNpy),
        ("load_safetensors", IoOp::LoadSafetensors),
        ("save_npy", IoOp::SaveNpy),
        ("current_dir", IoOp::CurrentDir),
        ("script_dir", IoOp::ScriptDir),
        ("file_exists", IoOp::FileExists),
        ("is_file", IoOp::IsFile),
        ("is_dir", IoOp::IsDir),
        ("file_size", IoOp::FileSize),
        ("list_dir", IoOp::ListDir),
        ("absolute_path", IoOp::AbsolutePath),
        ("create_dir", IoOp::CreateDir),
        ("remove_dir", IoOp::RemoveDir),
        ("delete_file", IoOp::DeleteFile),
        ("copy_file", IoOp::CopyFile),
        ("move_file", IoOp::MoveFile),
        ("read_file", IoOp::ReadFile),
        ("write_file", IoOp::WriteFile),
        ("append_file", IoOp::AppendFile),
        ("load_png", IoOp::LoadPng),
        ("save_png", IoOp::SavePng),
        ("now", IoOp::Now),
        ("monotonic", IoOp::Monotonic),
    ];
}

/// Functions of their arguments alone, which the language does not say: texts by their characters,
/// numbers as text, marks on a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names of the library")]
pub enum PlainOp {
    TextCodes,
    TextOf,
    TextFind,
    TextSplit,
    TextJoin,
    TextUpper,
    TextLower,
    TextNumber,
    TextInteger,
    TextFormat,
    Paint,
}

impl PlainOp {
    /// Every one of them with its name in the library and in the text form.
    pub const NAMES: [(&str, PlainOp); 11] = [
        ("text_codes", PlainOp::TextCodes),
        ("text_of", PlainOp::TextOf),
        ("text_find", PlainOp::TextFind),
        ("text_split", PlainOp::TextSplit),
        ("text_join", PlainOp::TextJoin),
        ("text_upper", PlainOp::TextUpper),
        ("text_lower", PlainOp::TextLower),
        ("text_number", PlainOp::TextNumber),
        ("text_integer", PlainOp::TextInteger),
        ("text_format", PlainOp::TextFormat),
        ("paint", PlainOp::Paint),
    ];
}
