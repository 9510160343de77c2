//! The ends that a command has: memory, time, Ctrl-C, and what is no plain file.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::io::{Read as _, Write as _};
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
fn the_text_of_results_counts_in_the_memory_limit() {
    let program = "let a = 1; let x[i in 0..3000000] = (i as f64) * 0.1;";
    let with = |limit: &str| {
        ran(&[
            "run",
            "--memory-limit",
            limit,
            "--outputs",
            "json",
            "--engine",
            "jit",
            "-c",
            program,
        ])
    };
    let (output, said) = with("60M");
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("E0805") && said.contains("`x`"), "{said}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("\"a\""));
    let (output, said) = with("300M");
    assert_eq!(output.status.code(), Some(0), "{said}");
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
    assert!(said.contains("E0812"), "{said}");
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    fs::remove_dir_all(folder).unwrap();
}

/// Programs that take long in one phase each, with the arguments that they are run with. Nobody reads
/// what they print.
fn long_phases(folder: &Path) -> Vec<(&'static str, Vec<String>)> {
    let written = |name: &str, text: String| {
        let path = folder.join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let run =
        |path: String, engine: &str| ["run", &path, "--engine", engine].map(str::to_owned).to_vec();
    let lines = |count: usize, line: &dyn Fn(usize) -> String| {
        (0..count).map(line).collect::<Vec<_>>().join("\n")
    };
    let many = written("many.ein", lines(400_000, &|at| format!("let x{at} = [{at}, 1, 2];")));
    let calls = written(
        "calls.ein",
        lines(100_000, &|at| format!("fn f{at}(x, y) {{ let z[i] = x[i] * y + {at}; z }}"))
            + "\n"
            + &lines(100_000, &|at| format!("let v{at} = f{at}([1, 2, 3], {at});")),
    );
    let kernels = written(
        "kernels.ein",
        format!(
            "let y0[i in 0..1000] = i as f64;\n{}",
            lines(4000, &|at| format!(
                "let y{}[i] = y{at}[i] * 1.5 + sum[j](y0[j] * y{at}[i] + {at}.0f64);",
                at + 1
            ))
        ),
    );
    let endless = "let x[i in 0..1000] = i;\nlet s = sum[i in 0..2000000000](x[i % 1000]);";
    let endless = written("endless.ein", endless.to_owned());
    let prints = "let x[i in 0..3000000] = i;\nlet t = [print(x) | k in 0..20000000];";
    let prints = written("prints.ein", prints.to_owned());
    let shows = written("shows.ein", "let x[i in 0..20000000] = i % 10;".to_owned());
    let numbers = written("numbers.csv", lines(4_000_000, &|at| format!("{at}.5,{at}")));
    let reads = written("reads.ein", "let x: [f64; ?n, ?m] = input();\nprint(x.shape);".to_owned());
    let mut shown = run(shows, "jit");
    shown.extend(["--outputs", "json"].map(str::to_owned));
    let mut read = run(reads, "eval");
    read.extend(["--input".to_owned(), format!("x={numbers}")]);
    vec![
        ("reading a program", vec!["check".to_owned(), many]),
        ("checking", vec!["check".to_owned(), calls.clone()]),
        ("evaluating small things", run(calls, "eval")),
        ("making kernels", run(kernels, "jit")),
        ("evaluating", run(endless.clone(), "eval")),
        ("a kernel", run(endless, "jit")),
        ("printing", run(prints, "eval")),
        ("results", shown),
        ("reading an array", read),
    ]
}

/// Whether a process has begun to listen to interrupts; before, the system ends it.
fn listens(process: u32) -> bool {
    let Ok(status) = fs::read_to_string(format!("/proc/{process}/status")) else { return true };
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    caught.is_none_or(|mask| u64::from_str_radix(mask.trim(), 16).is_ok_and(|it| it & 2 != 0))
}

/// How long a command goes on after the time when it should end, and its exit code.
fn goes_on(arguments: &[String], limit: Option<&str>, interrupt: Duration) -> (Duration, i32) {
    let mut command = einlang();
    command.args(arguments);
    if let Some(limit) = limit {
        command.args(["--time-limit", limit]);
    }
    let begun = Instant::now();
    let mut child = command.spawn().unwrap();
    let mut asked = None;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            let after = asked.map_or(begun.elapsed(), |asked: Instant| asked.elapsed());
            return (after, status.code().unwrap_or(-1));
        }
        let asks = limit.is_none() && asked.is_none();
        if asks && begun.elapsed() > interrupt && listens(child.id()) {
            let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
            assert!(sent.unwrap().success());
            asked = Some(Instant::now());
        }
        if begun.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A second, and what a machine takes that has other things to do.
const SOON: Duration = Duration::from_millis(3000);

#[test]
fn every_phase_ends_with_its_time_and_by_an_interrupt() {
    let folder = folder("phases");
    for (phase, arguments) in long_phases(&folder) {
        let (after, code) = goes_on(&arguments, Some("0.5"), Duration::ZERO);
        assert_eq!(code, 2, "{phase}");
        assert!(after < SOON, "{phase}: {after:?} with a limit of half a second");
        for early in [50, 400] {
            let (after, code) = goes_on(&arguments, None, Duration::from_millis(early));
            assert_eq!(code, 130, "{phase} after {early} ms");
            assert!(after < SOON, "{phase}: {after:?} after an interrupt at {early} ms");
        }
    }
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
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(!said.contains("E0810"), "{said}");
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

#[test]
fn rows_without_elements_are_not_written_out() {
    let program =
        "let few[i in 0..2, j in 0..0] = 1;\nlet many[i in 0..2147483647, j in 0..0] = 1;";
    let (output, said) = ran(&["run", "--outputs", "json", "-c", program]);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("\"shape\": [2, 0], \"data\": [[], []]"), "{text}");
    assert!(text.contains("\"shape\": [2147483647, 0], \"data\": []"), "{text}");
}

/// A file with one array `w` of 100,000 ones.
fn weights(path: &Path) {
    let header = r#"{"w":{"dtype":"F32","shape":[100000],"data_offsets":[0,400000]}} "#;
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(header.as_bytes());
    bytes.extend((0..100_000).flat_map(|_| 1.0f32.to_le_bytes()));
    fs::write(path, bytes).unwrap();
}

#[test]
fn weights_that_are_cut_during_a_run_end_it_with_a_message() {
    let folder = folder("cut");
    let program = folder.join("p.ein");
    let text = "use std::io::{file_exists, load_safetensors};\n\
        let w = load_safetensors(\"w.safetensors\", \"w\") as [f32; ?];\n\
        print(len(w));\n\
        fn wait(n: i64) -> i64 { if file_exists(\"go\") { n } else { wait(n + 1) } }\n\
        let n = wait(0);\n\
        let s = sum[i](w[i] * 2.0);\n\
        print(n >= 0, s);\n";
    fs::write(&program, text).unwrap();
    for engine in ["eval", "jit", "native"] {
        // Cut by pages, within the last page, and written to without a change of its length.
        for length in [Some(100_000), Some(400_070), None] {
            weights(&folder.join("w.safetensors"));
            let _ = fs::remove_file(folder.join("go"));
            let mut child =
                einlang().args(["run", "--engine", engine]).arg(&program).spawn().unwrap();
            let mut first = [0; 7];
            child.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
            assert_eq!(&first, b"100000\n");
            let file = fs::File::options().write(true).open(folder.join("w.safetensors")).unwrap();
            match length {
                Some(length) => file.set_len(length).unwrap(),
                None => (&file).write_all(&[0; 8]).unwrap(),
            }
            fs::write(folder.join("go"), "").unwrap();
            let output = child.wait_with_output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{engine} {length:?}: {said}");
            assert!(said.contains("E0902") && said.contains("changed while"), "{engine}: {said}");
        }
    }
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_file_that_is_too_long_for_the_system_is_a_message() {
    let folder = folder("long");
    let program = folder.join("p.ein");
    let text =
        "use std::io::save_npy;\nlet x[i in 0..200000] = i;\nprint(save_npy(\"x.npy\", x));\n";
    fs::write(&program, text).unwrap();
    let limited = |command: &str| {
        let shell = format!("ulimit -f 1; cd '{}'; {command}", folder.display());
        let binary = env!("CARGO_BIN_EXE_einlang");
        let output = Command::new("sh").args(["-c", &shell, binary]).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, said) = limited("exec \"$0\" run --engine eval --allow-write . p.ein");
    assert!(code == Some(2) && said.contains("E0907"), "{code:?} {said}");
    let (code, said) =
        limited("exec \"$0\" run --engine eval --outputs json -c 'let x[i in 0..9000] = i;' > out");
    assert!(code == Some(2) && said.contains("standard output"), "{code:?} {said}");
    assert_eq!(said.matches("standard output").count(), 1, "{said}");
    fs::remove_dir_all(&folder).unwrap();
}
