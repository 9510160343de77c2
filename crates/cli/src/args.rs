//! The command line as data: commands, options and their help.

mod run;

use clap::{Args, CommandFactory as _, Parser, Subcommand, ValueEnum};
use ein_driver::Code;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use run::RunArgs;

/// A tensor language in which axes have names.
#[derive(Debug, Parser)]
#[command(
    name = "einlang",
    version,
    arg_required_else_help = true,
    subcommand_required = true,
    disable_help_subcommand = true,
    after_help = "\
Exit codes: 0 success; 1 the program was rejected; 2 it failed while running; \
3 wrong use of the command; 130 interrupted.

`einlang COMMAND --help` says more about a command."
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// End after so many seconds, whatever is being done.
    #[arg(long, value_name = "SECONDS", global = true, value_parser = parse_seconds)]
    pub time_limit: Option<Duration>,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a program.
    Run(Box<RunArgs>),
    /// Compile a program once, run it many times, and report how long a run takes.
    Bench(Box<BenchArgs>),
    /// Make C, an object file, a library or a command of a program, for use without Einlang.
    ///
    /// The program becomes one C function of its inputs, whose shapes it has to declare as numbers:
    /// `let x: [f32; 4, 8] = input();`. Its other top-level bindings are the outputs. A header says
    /// how the function is called. What is compiled here is compiled for this machine, by the
    /// compiler that the variable CC names, or cc, gcc or clang.
    Build(BuildArgs),
    /// Report everything that is wrong with programs, without running them.
    Check(CheckArgs),
    /// Run the `test "…" { … }` blocks of programs and the examples in their documentation.
    Test(TestArgs),
    /// Bring programs into the one canonical format; comments are kept.
    Fmt(FmtArgs),
    /// Make the reference of programs, or of the standard library, as HTML with a search.
    Doc(DocArgs),
    /// Make a directory with a small project: a program, a module with tests, and data.
    New {
        /// The directory to make.
        #[arg(value_name = "NAME")]
        path: PathBuf,
    },
    /// Explain an error code, with an example that fails and one that passes.
    Explain(ExplainArgs),
    /// Show what the compiler makes of a program.
    Dump(DumpArgs),
    /// Try things out: each entry is checked, run and answered.
    Repl,
    /// Print a program in another notation (`.rem`, `.svx`) as Einlang.
    Translate {
        /// The program.
        file: PathBuf,
    },
    /// Turn an ONNX model into a program and a file of weights.
    ///
    /// Writes model.ein and model.safetensors. If a part of the model cannot be imported, all of
    /// these parts are listed and nothing is written.
    Import(ImportArgs),
    /// Print a completion script for a shell.
    ///
    /// For bash: `einlang completions bash > ~/.local/share/bash-completion/completions/einlang`.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
}

/// A time: `10`, `0.5`.
fn parse_seconds(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is not a number of seconds");
    let seconds: f64 = text.parse().map_err(|_| wrong())?;
    Duration::try_from_secs_f64(seconds).map_err(|_| wrong())
}

/// `einlang bench`
#[derive(Args, Debug)]
pub struct BenchArgs {
    /// What to run, and how.
    #[command(flatten)]
    pub run: RunArgs,
    /// How many runs to time; without it, as many as fit into a second or two.
    #[arg(long, value_name = "N")]
    pub runs: Option<std::num::NonZeroUsize>,
    /// Print the figures as one line of JSON.
    #[arg(long)]
    pub json: bool,
}

/// `einlang import`
#[derive(Args, Debug)]
pub struct ImportArgs {
    /// The model.
    pub model: PathBuf,
    /// The directory for what is written; without it, the current one.
    #[arg(short, long = "output", value_name = "DIR", default_value = ".")]
    pub output: PathBuf,
    /// Take an input of the model as constant: a file with its value (.npy .npz .safetensors).
    ///
    /// For inputs that decide shapes, as the target of a reshape.
    #[arg(long, value_name = "NAME=FILE")]
    pub constant: Vec<String>,
    /// Fix an extent that the model leaves open: by its name there, or as INPUT.AXIS.
    #[arg(long, value_name = "NAME=N")]
    pub size: Vec<String>,
}

/// `einlang build`
#[derive(Args, Debug)]
pub struct BuildArgs {
    /// The program; `-` is standard input.
    pub file: PathBuf,
    /// What to make.
    #[arg(long, value_name = "KIND")]
    pub emit: EmitKind,
    /// Where to write it: a file, or an existing directory. The header lies beside it.
    #[arg(short, long = "output", value_name = "PATH")]
    pub output: Option<PathBuf>,
    /// Regard only these bindings as outputs.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub observe: Option<Vec<String>>,
    /// Build these functions, and not the program. Without it the program is built, if it has
    /// outputs, and every public function whose parameters declare numbers as extents.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', conflicts_with = "observe")]
    pub functions: Option<Vec<String>>,
    /// The most memory that histories which derivatives read may take, as 64M; without it they are
    /// stored whole.
    #[arg(long, value_name = "SIZE", value_parser = run::parse_size)]
    pub ad_memory: Option<u64>,
}

/// What a program is built into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EmitKind {
    /// A C file that needs nothing else, and its header: NAME.c, NAME.h.
    C,
    /// An object file and its header: NAME.o, NAME.h.
    Obj,
    /// A static library and its header: libNAME.a, NAME.h.
    Lib,
    /// A command that reads inputs from .npy files and writes outputs to .npy files: NAME.
    Exe,
}

/// `einlang check`
#[derive(Args, Debug)]
pub struct CheckArgs {
    /// The programs; `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// How diagnostics are shown: for people on standard error, or as one JSON object per line on
    /// standard output.
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    pub message_format: MessageFormat,
    /// Print what is known of each program, one JSON object per line: the type, layout and shape of
    /// its top-level bindings, and whether each read stays in bounds.
    #[arg(long, value_name = "FORMAT")]
    pub facts: Option<FactsFormat>,
    /// List every read: proved to stay in bounds, checked at run time, or refuted.
    #[arg(long)]
    pub bounds: bool,
    /// List every operand that is repeated along an index that it does not have.
    #[arg(long)]
    pub broadcasts: bool,
    /// Do not show warnings of this code: `W0102`. May be repeated.
    #[arg(long, value_name = "CODE", value_parser = run::parse_warning)]
    pub allow: Vec<Code>,
    /// List every value that is converted to a wider type without being asked to.
    #[arg(long)]
    pub widenings: bool,
}

/// How facts are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FactsFormat {
    /// For tools.
    Json,
}

/// `einlang test`
#[derive(Args, Debug)]
pub struct TestArgs {
    /// Programs, or directories that are searched for `.ein` files.
    #[arg(value_name = "PATH", default_value = ".")]
    pub paths: Vec<PathBuf>,
    /// Trust no proof, as `einlang run --paranoid` does.
    #[arg(long)]
    pub paranoid: bool,
}

/// How diagnostics are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MessageFormat {
    /// For people.
    Human,
    /// For tools.
    Json,
}

/// `einlang doc`
#[derive(Args, Debug)]
pub struct DocArgs {
    /// Programs, or directories that are searched for `.ein` files; without any, the standard
    /// library.
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// The directory for the pages.
    #[arg(short, long = "output", value_name = "DIR", default_value = "doc")]
    pub output: PathBuf,
}

/// `einlang fmt`
#[derive(Args, Debug)]
pub struct FmtArgs {
    /// Programs, or directories that are searched for `.ein` files; `-` formats standard input to
    /// standard output.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Write nothing; list the files that are not formatted, and exit with 1 if there are any.
    #[arg(long)]
    pub check: bool,
}

/// `einlang explain`
#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
pub struct ExplainArgs {
    /// The code, as it stands in a message: `E0201`.
    pub code: Option<String>,
    /// List all codes.
    #[arg(long)]
    pub list: bool,
}

/// `einlang dump`
#[derive(Args, Debug)]
pub struct DumpArgs {
    /// What to show.
    pub what: DumpKind,
    /// The program; `-` is standard input.
    pub file: PathBuf,
    /// Give a top-level name its value: scalars may decide shapes, and so the plan.
    /// May be repeated.
    #[arg(long, value_name = "NAME=VALUE", value_parser = run::parse_input)]
    pub input: Vec<(String, ein_driver::InputValue)>,
    /// Regard only these bindings as outputs.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub observe: Option<Vec<String>>,
    /// The most memory that histories which derivatives read may take, as 64M.
    #[arg(long, value_name = "SIZE", value_parser = run::parse_size)]
    pub ad_memory: Option<u64>,
    /// Show points as they are after this pass; without it after all of them.
    #[arg(long, value_name = "PASS", value_parser = run::pass_names())]
    pub after: Option<String>,
    /// Leave out a pass. May be repeated.
    #[arg(long, value_name = "PASS", value_parser = run::pass_names())]
    pub disable: Vec<String>,
}

impl DumpArgs {
    /// The passes that run.
    pub fn passes(&self) -> ein_driver::Passes {
        let passes = run::without(&self.disable);
        self.after.as_deref().and_then(|name| passes.up_to(name)).unwrap_or(passes)
    }
}

/// What can be shown of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DumpKind {
    /// The tree, as it was parsed.
    Ast,
    /// The checked program: tensor IR.
    Ir,
    /// What each cell is, after the passes over it: points.
    Points,
    /// What runs together and how: loop IR.
    Plan,
    /// How each binding is stored, and why.
    Storage,
    /// The C that the engine `native` builds.
    C,
}

/// The arguments with `run` put in where a program stands in the place of a command:
/// `einlang model.ein`, `einlang -c 'print(1)'`, `einlang -`.
pub fn with_command(mut arguments: Vec<OsString>) -> Vec<OsString> {
    // An option of all commands may stand before them, with its value.
    let at = match arguments.get(1).and_then(|it| it.to_str()) {
        Some("--time-limit") => 3,
        Some(text) if text.starts_with("--time-limit=") => 2,
        _ => 1,
    };
    if let Some(first) = arguments.get(at)
        && names_program(first)
    {
        arguments.insert(1, "run".into());
    }
    arguments
}

fn names_program(first: &OsString) -> bool {
    let Some(text) = first.to_str() else { return true };
    if ["--help", "-h", "--version", "-V"].contains(&text) || text.is_empty() {
        return false;
    }
    if text.starts_with('-') {
        return true;
    }
    // A mistyped command shall be answered with the command that was meant.
    let command = Cli::command().find_subcommand(text).is_some();
    !command && (text.contains(['.', '/', '\\']) || Path::new(text).exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    fn completed(arguments: &[&str]) -> Vec<String> {
        let all = std::iter::once("einlang").chain(arguments.iter().copied());
        let done = with_command(all.map(OsString::from).collect());
        done[1..].iter().map(|it| it.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn a_program_in_the_place_of_a_command_is_run() {
        assert_eq!(completed(&["model.ein"]), ["run", "model.ein"]);
        assert_eq!(completed(&["-"]), ["run", "-"]);
        assert_eq!(completed(&["-c", "print(1)"]), ["run", "-c", "print(1)"]);
        assert_eq!(completed(&["check", "a.ein"]), ["check", "a.ein"]);
        assert_eq!(completed(&["chek", "a.ein"]), ["chek", "a.ein"]);
        assert_eq!(completed(&["--version"]), ["--version"]);
        assert_eq!(completed(&["--time-limit", "1", "check"]), ["--time-limit", "1", "check"]);
        assert_eq!(completed(&["--time-limit=1", "a.ein"]), ["run", "--time-limit=1", "a.ein"]);
        assert_eq!(completed(&[]), [] as [&str; 0]);
    }
}
