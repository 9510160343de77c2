//! Whether the generators find what they are there for: repairs are taken out, and each must be missed.
//!
//! A patch in `tests/sabotage` takes one repair out where `EINLANG_SABOTAGE` is its name, so that all of
//! them are built together, once: in a copy below `target`, beside links to the dependencies that are
//! built already. Its first lines say what it takes out, and which generator must find it with which
//! numbers: `# Found by: TEST NAME EINLANG_PROGRAMS=MOST EINLANG_SEED=FIRST`. Programs are tried a few at
//! a time, so a repair that is found soon takes little; the same programs find nothing where it is in.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// A repair that can be taken out.
struct Sabotage {
    name: String,
    patch: PathBuf,
    /// The test that must fail without it: its file and its name.
    test: [String; 2],
    /// The first program,
    first: u64,
    /// and the most that are tried.
    most: u64,
}

/// So many programs are tried at once.
const CHUNK: u64 = 250;

/// Takes out every repair, or the named ones, and expects finds.
pub fn run(root: &Path, names: &[String]) -> ExitCode {
    let all = match load(root) {
        Ok(all) => all,
        Err(why) => return crate::report(&[why]),
    };
    if let Some(name) = names.iter().find(|name| all.iter().all(|it| it.name != **name)) {
        return crate::report(&[format!("there is no tests/sabotage/{name}.patch")]);
    }
    let tests = match prepare(root, &all) {
        Ok(tests) => tests,
        Err(why) => return crate::report(&[why]),
    };
    let mut problems = Vec::new();
    for it in all.iter().filter(|it| names.is_empty() || names.contains(&it.name)) {
        let Some((_, test)) = tests.iter().find(|test| test.0 == it.test[0]) else {
            problems.push(format!("{}: there is no test `{}`", it.name, it.test[0]));
            continue;
        };
        let command = it.test.join(" ");
        let chunks = (it.first..it.first + it.most).step_by(CHUNK as usize);
        let found = chunks.into_iter().find_map(|at| Some((at, it.attack(root, test, at, true)?)));
        match found.map(|(at, find)| (find, it.attack(root, test, at, false))) {
            None => problems.push(format!("{}: not found by {command}", it.name)),
            Some((find, None)) => println!("{:>24}: found by {command}: {find}", it.name),
            Some((_, Some(find))) => {
                problems.push(format!("{command} finds something without sabotage: {find}"));
            }
        }
    }
    crate::report(&problems)
}

/// What is wrong with the patches: those that no longer apply.
pub fn check(root: &Path) -> Vec<String> {
    let all = match load(root) {
        Ok(all) => all,
        Err(why) => return vec![why],
    };
    let stale = |it: &Sabotage| apply(root, &it.patch, &["--check"]).err();
    all.iter().filter_map(stale).collect()
}

fn load(root: &Path) -> Result<Vec<Sabotage>, String> {
    let folder = root.join("tests/sabotage");
    let entries = fs::read_dir(&folder).map_err(|error| format!("tests/sabotage: {error}"))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|it| it == "patch"));
    paths.sort();
    paths.into_iter().map(parse).collect()
}

fn parse(patch: PathBuf) -> Result<Sabotage, String> {
    let text = fs::read_to_string(&patch).map_err(|error| format!("{patch:?}: {error}"))?;
    let name = patch.file_stem().and_then(|it| it.to_str()).unwrap_or_default().to_owned();
    let wrong = || {
        format!(
            "{patch:?} says in its second line: \
             `# Found by: TEST NAME EINLANG_PROGRAMS=MOST EINLANG_SEED=FIRST`"
        )
    };
    let line = text.lines().nth(1).and_then(|line| line.strip_prefix("# Found by: "));
    let words: Vec<&str> = line.ok_or_else(wrong)?.split_whitespace().collect();
    let [file, test, most, first] = words.as_slice() else { return Err(wrong()) };
    let number = |word: &str, name: &str| {
        let value = word.strip_prefix(name).and_then(|it| it.strip_prefix('='));
        value.and_then(|it| it.parse().ok()).ok_or_else(wrong)
    };
    let (most, first) = (number(most, "EINLANG_PROGRAMS")?, number(first, "EINLANG_SEED")?);
    if !text.contains(&format!("\"{name}\"")) {
        return Err(format!("{patch:?} has no place where it looks at its name"));
    }
    let test = [(*file).to_owned(), (*test).to_owned()];
    Ok(Sabotage { name, patch, test, first, most })
}

fn apply(folder: &Path, patch: &Path, options: &[&str]) -> Result<(), String> {
    let output =
        Command::new("git").arg("apply").args(options).arg(patch).current_dir(folder).output();
    match output {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(format!("{patch:?} does not apply: {}", said.lines().next().unwrap_or_default()))
        }
        Err(error) => Err(format!("git: {error}")),
    }
}

/// Copies the repository, applies all patches to the copy, and builds its tests: their names and files.
fn prepare(root: &Path, all: &[Sabotage]) -> Result<Vec<(String, PathBuf)>, String> {
    let tree = root.join("target/sabotage/tree");
    let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(root).output();
    let listed = listed.map_err(|error| format!("git: {error}"))?;
    if tree.is_dir() {
        fs::remove_dir_all(&tree).map_err(|error| format!("{tree:?}: {error}"))?;
    }
    for path in String::from_utf8_lossy(&listed.stdout).split('\0').filter(|it| !it.is_empty()) {
        copy(&root.join(path), &tree.join(path)).map_err(|error| format!("{path}: {error}"))?;
    }
    // A repository of its own: below another one, `git apply` would look at that.
    let own = Command::new("git").args(["init", "--quiet"]).current_dir(&tree).status();
    own.map_err(|error| format!("git: {error}"))?;
    for it in all {
        apply(&tree, &it.patch, &[])?;
    }
    let mut tests: Vec<&str> = all.iter().map(|it| it.test[0].as_str()).collect();
    tests.sort_unstable();
    tests.dedup();
    // What is built here must not take the place of what is built from the repository: cargo gives both
    // the same names.
    let (built, target) = (root.join("target/debug"), root.join("target/sabotage/target"));
    for folder in ["deps", "build", ".fingerprint"] {
        // A dependency that could not be linked is built again.
        let _ = link(&built.join(folder), &target.join("debug").join(folder));
    }
    let mut build = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    build.current_dir(&tree).env("CARGO_TARGET_DIR", target);
    build.args(["test", "--package", "ein-tests", "--no-run", "--message-format=json"]);
    tests.iter().for_each(|test| _ = build.args(["--test", test]));
    let built = build.stderr(Stdio::inherit()).output();
    let built = built.map_err(|error| format!("cargo: {error}"))?;
    if !built.status.success() {
        return Err("the sabotaged copy does not build".to_owned());
    }
    let said = String::from_utf8_lossy(&built.stdout).into_owned();
    Ok(tests
        .into_iter()
        .filter_map(|test| Some((test.to_owned(), executable(&said, test)?)))
        .collect())
}

/// Copies a file with its time, by which cargo knows what has not changed.
fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    // What is deleted may still be listed.
    let Ok(about) = fs::metadata(from) else { return Ok(()) };
    to.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::copy(from, to)?;
    fs::File::options().write(true).open(to)?.set_modified(about.modified()?)
}

/// Links what is built of crates that are not ours.
fn link(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)?.flatten() {
        let name = entry.file_name();
        let name = name.to_str().unwrap_or("ein");
        let ours = ["ein", "libein", "xtask"].iter().any(|prefix| name.starts_with(prefix));
        // Commands and tests are ours, too, whatever they are called.
        let command = from.ends_with("deps") && !name.contains('.');
        let to = to.join(name);
        if ours || command || to.is_file() {
            continue;
        }
        match entry.file_type()?.is_dir() {
            true => link(&entry.path(), &to)?,
            false => fs::hard_link(entry.path(), to)?,
        }
    }
    Ok(())
}

/// The file that cargo says it has built for a test.
fn executable(said: &str, test: &str) -> Option<PathBuf> {
    let named = format!("\"name\":\"{test}\"");
    let line = said.lines().find(|it| it.contains(&named) && it.contains("\"executable\":\""))?;
    let path = line.split("\"executable\":\"").nth(1)?.split('"').next()?;
    Some(PathBuf::from(path))
}

impl Sabotage {
    /// Runs the generator on a few programs; its find, if it has one.
    fn attack(&self, root: &Path, test: &Path, first: u64, sabotaged: bool) -> Option<String> {
        let mut command = Command::new(test);
        command.current_dir(root.join("tests")).stdin(Stdio::null());
        command.args([&self.test[1], "--exact", "--nocapture"]);
        command.env("EINLANG_SEED", first.to_string());
        command.env("EINLANG_PROGRAMS", CHUNK.to_string());
        if sabotaged {
            command.env("EINLANG_SABOTAGE", &self.name);
        }
        match command.output() {
            Ok(output) if output.status.success() => None,
            Ok(output) => {
                let text = [output.stdout, output.stderr].concat();
                let text = String::from_utf8_lossy(&text).into_owned();
                let find = text.lines().find(|line| line.starts_with("programs "));
                let find = find.map(|line| line.chars().take(100).collect());
                // A process that died has found something as well.
                Some(find.unwrap_or_else(|| output.status.to_string()))
            }
            Err(error) => Some(format!("{test:?}: {error}")),
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_patch_applies() {
        assert_eq!(super::check(&crate::root()), Vec::<String>::new());
    }
}
