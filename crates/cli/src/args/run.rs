//! The options of `einlang run`.

use clap::{Args, ValueEnum};
use ein_driver::{Access, Code, Engine, InputValue, PASSES, Passes, RunOptions};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// `einlang run`
#[derive(Args, Debug)]
pub struct RunArgs {
    /// The program; `-` is standard input.
    #[arg(required_unless_present = "code", conflicts_with = "code")]
    pub file: Option<PathBuf>,
    /// Run this text.
    #[arg(short, value_name = "SOURCE")]
    pub code: Option<String>,

    /// Give a top-level name its value: a file (.npy .npz .safetensors .csv) or a scalar.
    /// May be repeated.
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_input)]
    pub input: Vec<(String, InputValue)>,
    /// After everything else, print all top-level bindings as one line of JSON.
    #[arg(long, value_name = "FORMAT")]
    pub outputs: Option<ReportFormat>,
    /// Regard only these bindings as outputs.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub observe: Option<Vec<String>>,
    /// Write each output as a .npy file into this directory.
    #[arg(long, value_name = "DIR")]
    pub save: Option<PathBuf>,

    /// What executes the program.
    #[arg(long, default_value = "auto")]
    pub engine: EngineArg,
    /// How many threads it may use.
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
    /// Make results independent of the number of threads.
    #[arg(long)]
    pub deterministic: bool,
    /// The most memory it may take, as 512M or 4G: arrays, texts, lists and all else.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub memory_limit: Option<u64>,
    /// The most memory that histories which derivatives read may take, as 64M; what is larger is
    /// computed again from checkpoints. A quarter of the memory limit if absent.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub ad_memory: Option<u64>,
    /// Do not show warnings of this code: `W0102`. May be repeated.
    #[arg(long, value_name = "CODE", value_parser = parse_warning)]
    pub allow: Vec<Code>,
    /// Let integer overflow wrap instead of being an error.
    #[arg(long)]
    pub wrapping: bool,

    /// Trust no proof: look at every address, divisor and overlap of every kernel, and compare what
    /// the engine computes. Some hundred times as slow; what is wrong is an internal error.
    #[arg(long)]
    pub paranoid: bool,

    /// Leave out a pass of the compiler, to see what it does. May be repeated.
    #[arg(long, value_name = "PASS", value_parser = pass_names())]
    pub disable: Vec<String>,

    /// Report on standard error how long each phase took.
    #[arg(long)]
    pub time: bool,
    /// Report on standard error how each binding is stored, as one line of JSON.
    #[arg(long, value_name = "FORMAT")]
    pub explain_storage: Option<ReportFormat>,

    /// Let the program read files in this directory. May be repeated.
    #[arg(long, value_name = "DIR")]
    pub allow_read: Vec<PathBuf>,
    /// Let the program write files in this directory. May be repeated.
    #[arg(long, value_name = "DIR")]
    pub allow_write: Vec<PathBuf>,
    /// Let the program read and write no files at all.
    #[arg(long, conflicts_with_all = ["allow_read", "allow_write"])]
    pub sandbox: bool,
}

/// How a report is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// One line of JSON.
    Json,
}

/// What executes the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EngineArg {
    /// The best one there is.
    Auto,
    /// The evaluator: slow, and the judge of all others.
    Eval,
    /// Machine code made in this process, in milliseconds.
    Jit,
    /// C built by the system's compiler and kept in a cache: the fastest.
    Native,
}

impl RunArgs {
    /// What the driver is asked to do.
    pub fn options(&self) -> RunOptions {
        RunOptions {
            inputs: self.input.clone(),
            observe: self.observe.clone(),
            report_outputs: self.outputs.is_some(),
            save: self.save.clone(),
            engine: match self.engine {
                EngineArg::Auto => Engine::Auto,
                EngineArg::Eval => Engine::Eval,
                EngineArg::Jit => Engine::Jit,
                EngineArg::Native => Engine::Native,
            },
            threads: self.threads.map(NonZeroUsize::get),
            deterministic: self.deterministic,
            memory_limit: self.memory_limit,
            time_limit: crate::limits::time(),
            ad_memory: self.ad_memory,
            report_storage: self.explain_storage.is_some(),
            wrapping: self.wrapping,
            paranoid: self.paranoid,
            passes: without(&self.disable),
            access: Access {
                read: self.allow_read.clone(),
                write: self.allow_write.clone(),
                sandbox: self.sandbox,
            },
            progress: Arc::default(),
        }
    }
}

/// The formats that inputs may have.
const ARRAY_FILES: [&str; 4] = ["npy", "npz", "safetensors", "csv"];

/// `NAME=FILE` or `NAME=SCALAR`.
pub(super) fn parse_input(text: &str) -> Result<(String, InputValue), String> {
    let (name, value) =
        text.split_once('=').ok_or("write NAME=FILE or NAME=SCALAR, as in `x=data.npy`")?;
    if name.is_empty() {
        return Err("the name before `=` is missing".into());
    }
    let path = Path::new(value);
    let is_array = path
        .extension()
        .is_some_and(|it| ARRAY_FILES.iter().any(|format| it.eq_ignore_ascii_case(format)));
    let is_number = value.parse::<f64>().is_ok();
    let value = if is_array || (!is_number && path.is_file()) {
        InputValue::File(path.to_owned())
    } else {
        InputValue::Scalar(value.to_owned())
    };
    Ok((name.to_owned(), value))
}

/// The passes of the compiler.
pub(super) fn pass_names() -> clap::builder::PossibleValuesParser {
    PASSES.iter().map(|pass| pass.name).collect::<Vec<_>>().into()
}

/// All passes but some.
pub(super) fn without(names: &[String]) -> Passes {
    let left = |passes: Passes, name: &String| passes.without(name).unwrap_or(passes);
    names.iter().fold(Passes::default(), left)
}

/// A number of bytes: `1000`, `512K`, `1.5G`, `4GiB`. The units are powers of 1024.
pub(super) fn parse_size(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is not a size; write it as 512M or 4G");
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = text[digits.len()..].to_ascii_uppercase();
    let shift = match unit.trim_end_matches("IB").trim_end_matches('B') {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return Err(wrong()),
    };
    let number: f64 = digits.parse().map_err(|_| wrong())?;
    let bytes = number * (1u64 << shift) as f64;
    if !(0.0..=u64::MAX as f64).contains(&bytes) {
        return Err(wrong());
    }
    Ok(bytes as u64)
}

/// The code of a warning.
pub(super) fn parse_warning(text: &str) -> Result<Code, String> {
    match text.parse::<Code>() {
        Ok(code) if text.starts_with('W') => Ok(code),
        Ok(_) => Err("an error cannot be allowed, only a warning".to_string()),
        Err(()) => Err("there is no such warning; `einlang explain --list` lists them".to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_files_or_scalars() {
        let scalar = |text: &str| InputValue::Scalar(text.into());
        assert_eq!(parse_input("k=7"), Ok(("k".into(), scalar("7"))));
        assert_eq!(parse_input("k=-3.5e2"), Ok(("k".into(), scalar("-3.5e2"))));
        assert_eq!(parse_input("k=true"), Ok(("k".into(), scalar("true"))));
        assert_eq!(parse_input("s=a=b"), Ok(("s".into(), scalar("a=b"))));
        assert_eq!(parse_input("x=d/x.NPY"), Ok(("x".into(), InputValue::File("d/x.NPY".into()))));
        assert!(parse_input("x").is_err());
        assert!(parse_input("=1").is_err());
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(parse_size("1000"), Ok(1000));
        assert_eq!(parse_size("4G"), Ok(4 << 30));
        assert_eq!(parse_size("1.5k"), Ok(1536));
        assert_eq!(parse_size("2MiB"), Ok(2 << 20));
        for wrong in ["", "G", "4X", "-1", "1e99", "nan"] {
            assert!(parse_size(wrong).is_err(), "{wrong}");
        }
    }
}
