//! Runs all fuzz targets for a given time: `cargo xtask fuzz SECONDS [TARGET…]`.
//!
//! The work is done by processes of this program, so that one that dies of a find (a stack that is
//! too small, a signal, a hang) is replaced and its input is known: it is a function of a number that is
//! written down before it is tried. `EINLANG_SEED` says with which number to begin.

#![forbid(unsafe_code)]

use ein_fuzz::seeds::Seeds;
use ein_fuzz::targets::{Kind, TARGETS, Target};
use ein_fuzz::{Rng, mutate};
use std::fs::{self, File};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// An input that takes longer than this is a find.
const LONG: Duration = Duration::from_secs(10);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["--work", name, first, seconds] => work(name, number(first), number(seconds)),
        ["--show", name, seed] => show(name, number(seed)),
        ["--try", name, path] => try_file(name, Path::new(path)),
        [seconds, names @ ..] if seconds.parse::<u64>().is_ok() => {
            return campaign(number(seconds), names);
        }
        _ => {
            eprintln!("usage: SECONDS [TARGET…] | --show TARGET SEED | --try TARGET FILE");
            return ExitCode::from(3);
        }
    }
    ExitCode::SUCCESS
}

fn number(text: &str) -> u64 {
    text.parse().unwrap_or(0)
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

/// The input that a number stands for.
fn input(target: &Target, seeds: &Seeds, seed: u64) -> Vec<u8> {
    let mut rng = Rng::new(seed);
    let mut texts = |from: &[String]| {
        let (a, b) = (rng.below(from.len()), rng.below(from.len()));
        match (from.get(a), from.get(b)) {
            (Some(a), Some(b)) => mutate::text(&mut rng, a, b).into_bytes(),
            _ => mutate::text(&mut rng, "", "").into_bytes(),
        }
    };
    match target.kind {
        Kind::Program => texts(&seeds.programs),
        Kind::Notation => texts(&seeds.notations),
        Kind::Ir => texts(&seeds.ir),
        Kind::File(ending) => {
            let fit: Vec<&Vec<u8>> =
                seeds.files.iter().filter(|it| it.0 == ending).map(|it| &it.1).collect();
            let (a, b) = (rng.below(fit.len()), rng.below(fit.len()));
            match (fit.get(a), fit.get(b)) {
                (Some(a), Some(b)) => mutate::bytes(&mut rng, a, b),
                _ => mutate::bytes(&mut rng, &[], &[]),
            }
        }
    }
}

/// Tries inputs from a number on, until the time is over; the first find ends the process.
fn work(name: &str, first: u64, seconds: u64) {
    let Some(target) = target(name) else { return };
    let seeds = Seeds::load(&root());
    let Ok(mut state) = File::create(state_file(name)) else { return };
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut seed = first;
    while Instant::now() < end {
        let _ = state.seek(SeekFrom::Start(0)).and_then(|_| state.write_all(&seed.to_le_bytes()));
        let input = input(target, &seeds, seed);
        let begun = Instant::now();
        (target.run)(&input);
        assert!(begun.elapsed() < LONG, "it took {:?}", begun.elapsed());
        seed += 1;
    }
    let _ = state.seek(SeekFrom::Start(0)).and_then(|_| state.write_all(&seed.to_le_bytes()));
}

fn state_file(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("einlang-fuzz-{name}.state"))
}

/// Prints the input that a number stands for.
fn show(name: &str, seed: u64) {
    if let Some(target) = target(name) {
        let _ = std::io::stdout().write_all(&input(target, &Seeds::load(&root()), seed));
    }
}

/// Tries a file.
fn try_file(name: &str, path: &Path) {
    if let (Some(target), Ok(bytes)) = (target(name), fs::read(path)) {
        (target.run)(&bytes);
    }
}

/// Gives every target its share of the time. Finds are kept beside the corpora.
fn campaign(seconds: u64, names: &[&str]) -> ExitCode {
    let chosen: Vec<&Target> =
        TARGETS.iter().filter(|it| names.is_empty() || names.contains(&it.name)).collect();
    let first: u64 = std::env::var("EINLANG_SEED").map_or(1, |text| number(&text));
    let share = (seconds / chosen.len().max(1) as u64).max(1);
    let (mut total, mut finds) = (0, 0);
    for target in chosen {
        let (tried, found) = pursue(target, first, share);
        println!("{:>12}: {tried:>9} inputs, {found} finds", target.name);
        total += tried;
        finds += found;
    }
    println!("{:>12}: {total:>9} inputs, {finds} finds", "all");
    if finds == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs one target for a time; how many inputs it took, and how many were finds.
fn pursue(target: &Target, first: u64, seconds: u64) -> (u64, u64) {
    let end = Instant::now() + Duration::from_secs(seconds);
    let (mut next, mut finds) = (first, 0);
    while let Some(left) = end.checked_duration_since(Instant::now()) {
        let (start, left) = (next.to_string(), left.as_secs().max(1).to_string());
        let (ended, said) = attend(target.name, &start, &left);
        let reached = reached(target.name).unwrap_or(next);
        if ended {
            return (reached - first, finds);
        }
        finds += 1;
        println!("find: {} {reached}: {said}", target.name);
        keep(target, reached);
        next = reached + 1;
    }
    (next - first, finds)
}

/// A process that works; whether it came to its end, and its last words if not.
fn attend(name: &str, start: &str, seconds: &str) -> (bool, String) {
    let Ok(own) = std::env::current_exe() else { return (true, String::new()) };
    let child = Command::new(own)
        .args(["--work", name, start, seconds])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut child) = child else { return (true, String::new()) };
    let mut last = (reached(name), Instant::now());
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break Some(status),
            Ok(None) => std::thread::sleep(Duration::from_millis(50)),
            Err(_) => break None,
        }
        let now = reached(name);
        if now != last.0 {
            last = (now, Instant::now());
        } else if last.1.elapsed() > 3 * LONG {
            let _ = child.kill();
        }
    };
    if status.is_some_and(|status| status.success()) {
        return (true, String::new());
    }
    let output = child.wait_with_output().map(|output| output.stderr).unwrap_or_default();
    let text = String::from_utf8_lossy(&output);
    let said = text.lines().find(|line| line.contains("panicked") || line.contains("overflow"));
    let after: Vec<&str> = text.lines().skip_while(|line| Some(*line) != said).take(2).collect();
    (false, if after.is_empty() { "it hung or died".to_owned() } else { after.join(" ") })
}

fn reached(name: &str) -> Option<u64> {
    let bytes = fs::read(state_file(name)).ok()?;
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}

/// Keeps an input that was a find.
fn keep(target: &Target, seed: u64) {
    let folder = root().join("fuzz/artifacts");
    let bytes = input(target, &Seeds::load(&root()), seed);
    let path = folder.join(format!("{}-{seed}", target.name));
    if fs::create_dir_all(&folder).and_then(|()| fs::write(&path, bytes)).is_err() {
        eprintln!("{} could not be written", path.display());
    }
}
