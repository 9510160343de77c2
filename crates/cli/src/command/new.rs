//! `einlang new`: a small project that checks, tests and runs.

use crate::exit::Exit;
use crate::output;
use std::io;
use std::path::Path;

/// The files of a new project and their texts. `NAME` in them is the project's name.
const FILES: [(&str, &str); 4] = [
    ("README.md", include_str!("../../templates/README.md")),
    ("main.ein", include_str!("../../templates/main.ein")),
    ("line.ein", include_str!("../../templates/line.ein")),
    ("data/points.csv", include_str!("../../templates/points.csv")),
];

/// Runs the command: makes a directory, and says what to do in it.
pub fn run(path: &Path) -> Exit {
    let shown = path.display();
    if path.exists() {
        output::message("error", &format!("`{shown}` is there already; choose another name"));
        return Exit::Rejected;
    }
    let Some(name) = path.file_name().map(|it| it.to_string_lossy().into_owned()) else {
        output::message("error", &format!("`{shown}` is no name for a directory"));
        return Exit::WrongUse;
    };
    match make(path, &name) {
        Ok(()) => output::out(&format!("made `{shown}`: try\n  cd {shown}\n  einlang main.ein\n")),
        Err(error) => {
            output::message("error", &format!("`{shown}` cannot be made: {error}"));
            Exit::Failed
        }
    }
}

fn make(path: &Path, name: &str) -> io::Result<()> {
    for (file, text) in FILES {
        let file = path.join(file);
        if let Some(parent) = file.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(file, text.replace("NAME", name))?;
    }
    Ok(())
}
