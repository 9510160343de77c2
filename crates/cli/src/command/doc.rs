//! `einlang doc`: the reference of programs and of the library, as HTML.

use crate::args::DocArgs;
use crate::exit::Exit;
use crate::output;
use ein_driver::doc::{Module, pages};
use ein_driver::{FileSources, Options, Session, program_files};
use std::io;
use std::path::Path;

/// Runs the command. Without a path, it describes the standard library.
pub fn run(args: &DocArgs) -> Exit {
    let mut session = Session::new(Options::default(), FileSources::on_disk());
    let (title, modules) = if args.paths.is_empty() {
        match session.library_modules() {
            Ok(modules) => ("The standard library".to_string(), modules),
            Err(bug) => return output::internal_error(&bug),
        }
    } else {
        let mut modules = Vec::new();
        for path in &args.paths {
            if let Err(exit) = collect(&mut session, path, &mut modules) {
                return exit;
            }
        }
        let names: Vec<String> = args.paths.iter().map(|it| it.display().to_string()).collect();
        (names.join(", "), modules)
    };
    match write(&args.output, &pages(&title, &modules)) {
        Ok(()) => output::out(&format!("{}\n", args.output.join("index.html").display())),
        Err(error) => {
            let text = format!("`{}` cannot be written: {error}", args.output.display());
            output::message("error", &text);
            Exit::Failed
        }
    }
}

fn collect(session: &mut Session, path: &Path, modules: &mut Vec<Module>) -> Result<(), Exit> {
    let files = program_files(path).map_err(|error| {
        output::message("error", &format!("`{}` cannot be searched: {error}", path.display()));
        Exit::Rejected
    })?;
    for file in &files {
        let found = session.program_modules(file).map_err(|bug| output::internal_error(&bug))?;
        match found {
            Ok(found) => modules.extend(found),
            Err(diagnostic) => {
                super::show(session, &[*diagnostic]);
                return Err(Exit::Rejected);
            }
        }
    }
    Ok(())
}

fn write(directory: &Path, files: &[(String, String)]) -> io::Result<()> {
    std::fs::create_dir_all(directory)?;
    files.iter().try_for_each(|(name, text)| std::fs::write(directory.join(name), text))
}
