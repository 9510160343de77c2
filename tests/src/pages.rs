//! The examples on the pages about diagnostics: the failing one fails with exactly the code of
//! its page, the fixed one passes.
//!
//! An example is a block marked `einlang fails` or `einlang fixed`. A block `einlang file PATH`
//! in front of one is a file beside both; in an example, `// file: PATH` starts another file.
//! What is about real files and inputs runs in a folder of its own, and what it says is compared
//! with `tests/suite/rendered/CODE.stderr`. What depends on the environment runs in a process of
//! its own, which is this one once more.

use crate::markdown::{Block, blocks};
use crate::{Case, answers, kinds};
use ein_driver::render::Style;
use ein_driver::{
    Access, BuildOptions, Code, Diagnostic, Emit, Engine, FileSources, Input, InputValue, Options,
    RunOptions, Session, Stage,
};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The stages whose pages have examples that are executed: a stage joins when it is written.
pub const ENABLED: &[Stage] = &[
    Stage::Syntax,
    Stage::Names,
    Stage::Coordinates,
    Stage::Ranges,
    Stage::Types,
    Stage::Recurrences,
    Stage::Derivatives,
    Stage::RunTime,
    Stage::InputOutput,
    Stage::Warning,
];

/// What stands around the examples of a page that need more than files in memory: they run in a
/// folder of their own, in which they may write.
struct World {
    code: Code,
    /// Inputs, as scalars or as the path of a file in the folder.
    inputs: &'static [(&'static str, &'static str)],
    /// Files that are not text.
    files: &'static [(&'static str, &'static [u8])],
    /// What runs the failing example, and the fixed one.
    engines: (Engine, Engine),
    /// A variable of the environment, with its value.
    variable: Option<(&'static str, &'static str)>,
}

impl World {
    /// Nothing but the folder.
    const fn of(code: Code) -> World {
        let engines = (Engine::Auto, Engine::Auto);
        World { code, inputs: &[], files: &[], engines, variable: None }
    }
}

/// The text on a page that stands for bytes that are not text.
const UNREADABLE: &str = "UNREADABLE";

const WORLDS: &[World] = &[
    World::of(Code::E0210),
    World {
        engines: (Engine::Native, Engine::Jit),
        variable: Some(("CC", "no-such-compiler")),
        ..World::of(Code::E0810)
    },
    World::of(Code::E0903),
    World { inputs: &[("n", "2.5")], ..World::of(Code::E0904) },
    World { inputs: &[("x", "x.npy")], files: &[("x.npy", FOUR_BY_TWO)], ..World::of(Code::E0905) },
    World::of(Code::E0907),
    World::of(Code::W0501),
];

/// Eight numbers as a `.npy` file.
const FOUR_BY_TWO: &[u8] =
    b"\x93NUMPY\x01\x00\x35\x00{'descr':'<f4','fortran_order':False,'shape':(4,2),}\n\
      \0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";

/// Whether the examples of the page about a code are executed.
fn enabled(code: Code) -> bool {
    ENABLED.contains(&code.stage())
}

/// The stages of which every code has a section whose whole rendering is compared, beside those
/// of which `answers` asks more.
const RENDERED: &[Stage] = &[Stage::Warning];

/// One test for each page of an enabled stage, and two that no code is left out.
pub fn cases() -> impl Iterator<Item = Case> {
    let pages = Code::ALL.iter().copied().filter(|code| enabled(*code));
    let pages = pages
        .map(|code| Case { name: format!("pages::{code}"), run: Box::new(move || page(code)) });
    let all = Case { name: "pages::every-code-is-produced".into(), run: Box::new(produced) };
    let rendered = Case { name: "pages::every-code-is-rendered".into(), run: Box::new(rendered) };
    pages.chain([all, rendered])
}

/// Every code of what the checker says has a file that holds what is shown of it.
fn rendered() -> Result<(), String> {
    let folder = crate::repository().join("tests/suite/rendered");
    let lacks = |code: &&Code| {
        let golden = std::fs::read_to_string(folder.join(format!("{code}.stderr")));
        !golden.is_ok_and(|text| text.contains(&format!("[{code}]")))
    };
    let codes = Code::ALL.iter().filter(|code| RENDERED.contains(&code.stage()));
    let silent: Vec<&str> = codes.filter(lacks).map(|code| code.as_str()).collect();
    match silent.is_empty() {
        true => Ok(()),
        false => Err(format!("no file in tests/suite/rendered shows {}", silent.join(", "))),
    }
}

/// Every code is produced by the example of its page or by a section of the suite.
fn produced() -> Result<(), String> {
    let mut said = String::new();
    let root = crate::repository().join("tests/suite");
    let mut files = Vec::new();
    crate::collect(&root, &mut files).map_err(|error| format!("{}: {error}", root.display()))?;
    for path in files {
        let text = std::fs::read_to_string(&path);
        said.push_str(&text.map_err(|error| format!("{}: {error}", path.display()))?);
    }
    let silent: Vec<&str> = Code::ALL
        .iter()
        .filter(|code| !enabled(**code) && !said.contains(code.as_str()))
        .map(|code| code.as_str())
        .collect();
    match silent.is_empty() {
        true => Ok(()),
        false => Err(format!("nothing produces {}", silent.join(", "))),
    }
}

fn page(code: Code) -> Result<(), String> {
    let variable = WORLDS.iter().find(|world| world.code == code).and_then(|world| world.variable);
    match variable {
        Some((name, value)) if std::env::var(name).as_deref() != Ok(value) => {
            in_process(code, name, value)
        }
        _ => examples(code),
    }
}

/// Runs the test of a page in another process, where a variable has a value.
fn in_process(code: Code, name: &str, value: &str) -> Result<(), String> {
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    let output = std::process::Command::new(this)
        .args(["--exact", &format!("pages::{code}")])
        .env(name, value)
        .output()
        .map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stdout);
    match output.status.success() && said.contains("1 passed") {
        true => Ok(()),
        false => Err(format!("with {name}={value}:\n{said}")),
    }
}

fn examples(code: Code) -> Result<(), String> {
    let blocks = blocks(code.page());
    let files: Vec<(String, String)> = blocks
        .iter()
        .filter_map(|Block { mark, text, .. }| Some((mark.strip_prefix("einlang file ")?, text)))
        .map(|(path, text)| (path.trim().to_owned(), text.clone()))
        .collect();
    let example = |mark: &str| {
        let found = blocks.iter().find(|it| it.mark == mark).map(|it| it.text.as_str());
        found.ok_or_else(|| format!("the page of {code} has no block marked `{mark}`"))
    };

    let (session, found) = diagnostics(code, example("einlang fails")?, &files, false)?;
    let codes: Vec<Code> = found.iter().map(|it| it.code).collect();
    if codes.is_empty() || codes.iter().any(|it| *it != code) {
        let shown = session.render(&found, Style::Plain);
        return Err(format!("the failing example gives {codes:?} instead of {code}:\n{shown}"));
    }
    answers::complete(&session, &found)?;
    if WORLDS.iter().any(|world| world.code == code) {
        let golden = format!("tests/suite/rendered/{code}.stderr");
        kinds::compare(
            &crate::repository().join(golden),
            &session
                .render(&found, Style::Plain)
                .replace(&format!("{}/", folder(code).display()), ""),
        )?;
    }

    let (session, found) = diagnostics(code, example("einlang fixed")?, &files, true)?;
    if found.is_empty() {
        return Ok(());
    }
    let shown = session.render(&found, Style::Plain);
    Err(format!("the fixed example does not pass:\n{shown}"))
}

/// What is said about an example: examples of what goes wrong in a run are run.
fn diagnostics(
    code: Code,
    text: &str,
    files: &[(String, String)],
    fixed: bool,
) -> Result<(Session, Vec<Diagnostic>), String> {
    let mut files = files.to_vec();
    let mut parts = text.split("// file: ");
    let text = parts.next().unwrap_or_default();
    files.extend(parts.filter_map(|part| {
        let (path, text) = part.split_once('\n')?;
        Some((path.trim().to_owned(), text.to_owned()))
    }));
    if let Some(world) = WORLDS.iter().find(|world| world.code == code) {
        let engine = if fixed { world.engines.1 } else { world.engines.0 };
        return in_folder(world, text, &files, engine);
    }
    if code == Code::E0812 {
        let limit = std::time::Duration::from_millis(200);
        let options = RunOptions { time_limit: Some(limit), ..RunOptions::default() };
        let (session, found, _) = kinds::ran_with("page.ein", text, &files, &options)?;
        return Ok((session, found));
    }
    if code == Code::E0811 {
        return built(text);
    }
    match code.stage() {
        Stage::RunTime | Stage::InputOutput => {
            let (session, found, _) = kinds::ran("page.ein", text, &files, Engine::Auto)?;
            Ok((session, found))
        }
        _ => {
            let (session, report) = kinds::checked("page.ein", text, &files)?;
            Ok((session, report.diagnostics))
        }
    }
}

/// Builds an example.
fn built(text: &str) -> Result<(Session, Vec<Diagnostic>), String> {
    let mut sources = FileSources::in_memory();
    sources.insert("page.ein", text);
    let mut session = Session::new(Options::default(), sources);
    let folder = folder(Code::E0811);
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let options = BuildOptions { to: Some(folder.clone()), ..BuildOptions::new(Emit::C) };
    let report = session.build(&Input::File("page.ein".into()), &options);
    std::fs::remove_dir_all(&folder).map_err(|error| error.to_string())?;
    let report = report.map_err(|bug| format!("{bug}: {}", bug.detail))?;
    let mut found = report.checked.diagnostics;
    found.extend(report.failure);
    Ok((session, found))
}

/// The folder of the examples of a page.
fn folder(code: Code) -> PathBuf {
    std::env::temp_dir().join(format!("einlang-page-{code}-{}", std::process::id()))
}

/// Runs an example in the folder of its page, which holds its files meanwhile.
fn in_folder(
    world: &World,
    text: &str,
    files: &[(String, String)],
    engine: Engine,
) -> Result<(Session, Vec<Diagnostic>), String> {
    let folder = folder(world.code);
    let ran = fill(&folder, world, text, files).map_err(|error| error.to_string()).and_then(|()| {
        let inputs = world.inputs.iter().map(|(name, value)| {
            let path = folder.join(value);
            let value = match path.is_file() {
                true => InputValue::File(path),
                false => InputValue::Scalar((*value).into()),
            };
            ((*name).to_owned(), value)
        });
        let access = Access { write: vec![folder.clone()], ..Access::default() };
        let inputs = inputs.collect();
        let options = RunOptions { inputs, engine, access, ..RunOptions::default() };
        let mut session = Session::new(Options::default(), FileSources::on_disk());
        let input = Input::File(folder.join("page.ein"));
        let report = session.run(&input, &options, Arc::default(), &mut |_| {});
        let report = report.map_err(|bug| format!("{bug}: {}", bug.detail))?;
        let mut found = report.checked.diagnostics;
        found.extend(report.failure);
        Ok((session, found))
    });
    let removed = std::fs::remove_dir_all(&folder);
    let ran = ran?;
    removed.map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(ran)
}

fn fill(folder: &Path, world: &World, text: &str, files: &[(String, String)]) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join("page.ein"), text)?;
    for (path, text) in files {
        let bytes = match text.trim_end() {
            UNREADABLE => b"\xff\xfe",
            _ => text.as_bytes(),
        };
        std::fs::write(folder.join(path), bytes)?;
    }
    for (path, bytes) in world.files {
        std::fs::write(folder.join(path), bytes)?;
    }
    Ok(())
}
