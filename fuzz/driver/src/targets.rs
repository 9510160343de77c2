//! The targets.

use ein_base::SourceMap;
use ein_driver::{Access, Engine, FileSources, Input, Options, RunOptions, Session};
use ein_runtime::{Memory, format};
use std::path::PathBuf;
use std::time::Duration;

/// A target: its name, what it takes, and what it does with it.
pub struct Target {
    /// Its name.
    pub name: &'static str,
    /// What its inputs are.
    pub kind: Kind,
    /// Does something with any bytes. A panic is a find.
    pub run: fn(&[u8]),
}

/// What the inputs of a target are made from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Programs.
    Program,
    /// Programs in another notation.
    Notation,
    /// IR as text.
    Ir,
    /// Array files with this ending.
    File(&'static str),
}

/// All targets.
pub const TARGETS: &[Target] = &[
    Target { name: "parse", kind: Kind::Program, run: parse },
    Target { name: "check", kind: Kind::Program, run: check },
    Target { name: "run", kind: Kind::Program, run },
    Target { name: "jit", kind: Kind::Program, run: run_jit },
    Target { name: "remora", kind: Kind::Notation, run: remora },
    Target { name: "svexp", kind: Kind::Notation, run: svexp },
    Target { name: "tensor-ir", kind: Kind::Ir, run: tensor_ir },
    Target { name: "loop-ir", kind: Kind::Ir, run: loop_ir },
    Target { name: "points", kind: Kind::Ir, run: points },
    Target { name: "npy", kind: Kind::File("npy"), run: npy },
    Target { name: "npz", kind: Kind::File("npz"), run: npz },
    Target { name: "safetensors", kind: Kind::File("safetensors"), run: safetensors },
    Target { name: "csv", kind: Kind::File("csv"), run: csv },
    Target { name: "png", kind: Kind::File("png"), run: png },
    Target { name: "onnx", kind: Kind::File("onnx"), run: onnx },
];

/// Any text can be parsed, and what formats formats to itself.
pub fn parse(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let mut files = SourceMap::default();
    let file = files.add("fuzz.ein".into(), None, text.into());
    let parsed = ein_syntax::parse(file, text);
    for diagnostic in &parsed.diagnostics {
        let span = diagnostic.primary.span;
        assert!(span.lo() <= span.hi() && span.hi() as usize <= text.len(), "a place outside");
    }
    if let Ok(once) = ein_syntax::format(text) {
        let twice = ein_syntax::format(&once);
        assert_eq!(twice.as_deref().ok(), Some(once.as_str()), "formatted twice");
    }
}

/// Any text can be checked and its diagnostics rendered.
pub fn check(bytes: &[u8]) {
    check_as("fuzz.ein", bytes);
}

/// The same for the first of the other notations.
pub fn remora(bytes: &[u8]) {
    check_as("fuzz.rem", bytes);
}

/// The same for the second.
pub fn svexp(bytes: &[u8]) {
    check_as("fuzz.svx", bytes);
}

fn check_as(name: &str, bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let mut sources = FileSources::in_memory();
    sources.insert(name, text);
    let mut session = Session::new(Options::default(), sources);
    match session.check(&[Input::File(name.into())]) {
        Ok(report) => {
            let shown = session.render(&report.diagnostics, ein_driver::render::Style::Plain);
            harmless(&shown);
        }
        Err(bug) => panic!("{bug}: {}", bug.detail),
    }
}

/// Nothing that a terminal would obey is shown.
fn harmless(shown: &str) {
    let obeyed = |c: char| c.is_control() && c != '\n' && c != '\t';
    assert!(!shown.contains(obeyed), "a control character is shown");
}

/// Any text can be run by the evaluator, within limits.
pub fn run(bytes: &[u8]) {
    run_on(Engine::Eval, bytes);
}

/// The same by machine code.
pub fn run_jit(bytes: &[u8]) {
    run_on(Engine::Jit, bytes);
}

fn run_on(engine: Engine, bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let mut session = Session::new(Options::default(), FileSources::in_memory());
    let input = Input::Text { name: "fuzz.ein".into(), text: text.into() };
    let options = RunOptions {
        engine,
        memory_limit: Some(64 << 20),
        time_limit: Some(Duration::from_secs(2)),
        threads: Some(1),
        report_outputs: true,
        access: Access { sandbox: true, ..Access::default() },
        ..RunOptions::default()
    };
    match session.run(&input, &options, Default::default(), &mut |_| {}) {
        Ok(report) => {
            let failure = report.failure.as_slice();
            harmless(&session.render(failure, ein_driver::render::Style::Plain));
            let bug = |text: &str| text.contains("a bug in Einlang");
            let told = failure.iter().any(|it| it.notes.iter().any(|note| bug(note)));
            assert!(!told, "the checker let through what the evaluator refuses: {failure:?}");
        }
        Err(bug) => panic!("{bug}: {}", bug.detail),
    }
}

/// Tensor IR: what reads is written in a form that reads again.
pub fn tensor_ir(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(program) = ein_ir::tensor::parse::parse(text) {
        let _ = ein_ir::tensor::verify::verify(&program);
        let written = ein_ir::tensor::print::print(&program);
        assert!(ein_ir::tensor::parse::parse(&written).is_ok(), "it does not read back");
    }
}

/// The same for loop IR.
pub fn loop_ir(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(kernel) = ein_ir::loops::parse::parse(text) {
        let _ = ein_ir::loops::verify::verify(&kernel);
    }
}

/// The same for points, whose text is the same when it is written again.
pub fn points(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok((points, wanted)) = ein_transform::points::parse::parse(text)
        && ein_transform::points::verify::verify(&points).is_ok()
    {
        let written = ein_transform::points::print::print(&points, &wanted);
        let read = ein_transform::points::parse::parse(&written);
        let (points, wanted) = read.unwrap_or_else(|it| panic!("it does not read back: {it}"));
        assert_eq!(ein_transform::points::print::print(&points, &wanted), written);
    }
}

/// A NumPy file.
pub fn npy(bytes: &[u8]) {
    file("npy", bytes);
}

/// An archive of them.
pub fn npz(bytes: &[u8]) {
    file("npz", bytes);
}

/// A safetensors file.
pub fn safetensors(bytes: &[u8]) {
    file("safetensors", bytes);
}

/// Numbers as text.
pub fn csv(bytes: &[u8]) {
    file("csv", bytes);
}

/// A picture. Bytes that were changed have other sums than the file says: each is also tried with right
/// ones, so that what is behind them is reached.
pub fn png(bytes: &[u8]) {
    let path = scratch("png");
    for bytes in [bytes, &with_right_sums(bytes)] {
        if std::fs::write(&path, bytes).is_err() {
            return;
        }
        let memory = Memory::new(Some(16 << 20));
        if let Ok(picture) = format::read_png(&path, &memory) {
            let shape = picture.shape();
            assert!(matches!(shape, [_, _, 1..=4]), "{shape:?}");
            let mut cells = picture.iter().take(100).map(|it| it.as_f64());
            assert!(cells.all(|it| (0.0..=1.0).contains(&it)), "a number outside of 0 to 1");
        }
        assert!(memory.peak() <= 16 << 20, "more memory than allowed");
    }
}

/// The same parts, each with the sum that it should have.
fn with_right_sums(bytes: &[u8]) -> Vec<u8> {
    let mut out = bytes.to_vec();
    let mut at = 8;
    while let Some(head) = out.get(at..at + 8) {
        let length = u32::from_be_bytes([head[0], head[1], head[2], head[3]]) as usize;
        let (from, end) = (at + 4, (at + 8).saturating_add(length));
        let Some(sum) = out.get(from..end).map(crc) else { break };
        let Some(place) = out.get_mut(end..end.saturating_add(4)) else { break };
        place.copy_from_slice(&sum.to_be_bytes());
        at = end + 4;
    }
    out
}

/// The cyclic redundancy check of a part of a PNG file.
fn crc(bytes: &[u8]) -> u32 {
    let step = |sum: u32, _| if sum & 1 == 1 { (sum >> 1) ^ 0xEDB8_8320 } else { sum >> 1 };
    !bytes.iter().fold(u32::MAX, |sum, byte| (0..8).fold(sum ^ u32::from(*byte), step))
}

/// A model: what can be imported is a program that can be checked.
pub fn onnx(bytes: &[u8]) {
    let path = scratch("onnx");
    if std::fs::write(&path, bytes).is_ok()
        && let Ok(imported) = ein_onnx::read(&path, &ein_onnx::Options::default())
    {
        check(imported.program.as_bytes());
    }
}

/// Any bytes can be read as an array file, in little memory; what reads has a sane shape.
fn file(ending: &str, bytes: &[u8]) {
    let path = scratch(ending);
    if std::fs::write(&path, bytes).is_err() {
        return;
    }
    let memory = Memory::new(Some(16 << 20));
    for name in [None, Some("x"), Some("arr_0")] {
        if let Ok(tensor) = format::read(&path, name, &memory) {
            let shape = tensor.shape();
            assert!(shape.iter().all(|extent| i64::try_from(*extent).is_ok()), "{shape:?}");
            let _ = tensor.iter().take(100).count();
        }
    }
    let _ = format::names(&path);
    assert!(memory.peak() <= 16 << 20, "more memory than allowed");
}

/// A file of this process, in memory where the system has such a folder: a disk takes milliseconds
/// for each file that is emptied and written again.
fn scratch(ending: &str) -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    let folder = if memory.is_dir() { memory } else { std::env::temp_dir() };
    folder.join(format!("einlang-fuzz-{}.{ending}", std::process::id()))
}
