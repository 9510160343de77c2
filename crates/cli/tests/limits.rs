//! The ends that a command has: memory, time, Ctrl-C, and what is no plain file.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

fn einlang() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_einlang"));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn ran(arguments: &[&str]) -> (Output, String) {
    let output = einlang().args(arguments).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output, said)
}

/// A folder of this test.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("einlang-limits-{}-{name}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// A compiler that says its version at once and everything else never.
fn slow_compiler(folder: &Path) -> PathBuf {
    let path = folder.join("slowcc");
    let script = "#!/bin/sh\ncase \"$*\" in *--version*) echo slow 1.0;; *) sleep 60;; esac\n";
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

const HEAVY: &str =
    "let x[i in 0..1000] = (i * 3) as f64;\nlet s = sum[i](x[i] * x[i]);\nprint(s);";

#[test]
fn the_memory_limit_holds_for_everything() {
    for program in [
        "let a = 1; let t = [(k, k) | k in 0..100000000];",
        "let a = 1; fn grow(s, n) { if n == 0 { s } else { grow(s + s, n - 1) } }\n\
         let t = grow(\"abcdefgh\", 26);",
        "let a = 1; let t = \"=-\" * 100000000;",
        "let a = 1; let t = [[k, k] | k in 0..100000000, k % 2 == 0];",
        "let a = 1; let t = [\"{k}\" | k in 0..100000000];",
        "let a = 1; let fs = [|x| x + k | k in 0..100000000]; let t = len(fs);",
    ] {
        let begun = Instant::now();
        let (output, said) =
            ran(&["run", "--memory-limit", "64M", "--outputs", "json", "-c", program]);
        assert_eq!(output.status.code(), Some(2), "{program}\n{said}");
        assert!(said.contains("E0805"), "{program}\n{said}");
        let kept = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(kept.contains("\"a\""), "{program}\n{kept}");
        assert!(begun.elapsed() < Duration::from_secs(120), "{program}");
    }
}

#[test]
fn too_little_memory_is_a_message() {
    for kilobytes in ["60000", "120000", "400000"] {
        let limited = format!("ulimit -v {kilobytes}; exec \"$0\" run -c 'print(1 + 1);'");
        let output = Command::new("sh")
            .args(["-c", &limited, env!("CARGO_BIN_EXE_einlang")])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        match output.status.code() {
            Some(0) => assert_eq!(output.stdout, b"2\n"),
            Some(2) => assert!(said.contains("E0805"), "{kilobytes}: {said}"),
            // The loader itself had no room.
            Some(127) => {}
            other => panic!("{kilobytes}: {other:?} {said}"),
        }
    }
}

#[test]
fn the_time_limit_holds_for_every_phase() {
    let folder = folder("time");
    let endless = "let a = 1;\nlet s = sum[i in 0..2000000000](i % 7);";
    for engine in ["eval", "jit"] {
        let (output, said) = ran(&[
            "run",
            "--engine",
            engine,
            "--time-limit",
            "0.5",
            "--outputs",
            "json",
            "-c",
            endless,
        ]);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("E0812"), "{said}");
        assert!(String::from_utf8_lossy(&output.stdout).contains("\"a\""));
    }
    let begun = Instant::now();
    let output = einlang()
        .args(["run", "--engine", "native", "--time-limit", "0.5", "-c", HEAVY])
        .env("CC", slow_compiler(&folder))
        .env("EINLANG_CACHE", folder.join("cache"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn an_interrupt_ends_the_compiler_too() {
    let folder = folder("interrupt");
    let child = einlang()
        .args(["run", "--engine", "native", "-c", HEAVY])
        .env("CC", slow_compiler(&folder))
        .env("EINLANG_CACHE", folder.join("cache"))
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_secs(3));
    let begun = Instant::now();
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn pipes_and_devices_are_refused() {
    let folder = folder("pipes");
    let pipe = folder.join("pipe.ein");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let device = folder.join("zero.ein");
    std::os::unix::fs::symlink("/dev/zero", &device).unwrap();
    for path in [&pipe, &device] {
        let (output, said) = ran(&["check", path.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("E0210") && said.contains("not a plain file"), "{said}");
        let input = format!("x={}", path.with_extension("npy").display());
        fs::rename(path, path.with_extension("npy")).unwrap();
        let (output, said) = ran(&["run", "--input", &input, "-c", "let x: [f32; 3] = input();"]);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("E0902"), "{said}");
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn terminals_are_told_nothing() {
    let (output, said) = ran(&["check", "no\u{1b}[31m\u{9b}2Jfile.ein"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(!said.contains(['\u{1b}', '\u{9b}']), "{said:?}");
    let (_, said) = ran(&["run", "-c", "let \u{9b}2J\u{1b} = \"\u{9b}\" + 1;"]);
    assert!(!said.contains(['\u{1b}', '\u{9b}']), "{said:?}");
}
