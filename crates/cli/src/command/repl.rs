//! `einlang repl`: entries are checked, run and answered one by one.
//!
//! Without a terminal the entries come from standard input, and nothing is shown but answers.

mod editor;

use crate::exit::Exit;
use crate::progress::Watch;
use crate::{interrupt, output};
use ein_driver::InternalError;
use ein_driver::call::Surroundings;
use ein_driver::interactive::{Answer, Interactive, is_unfinished};
use std::io::{self, BufRead as _, IsTerminal as _};
use std::path::Path;

const HELP: &str = "\
An entry is a statement or an expression; an expression's value is shown. While a bracket is open,
the entry goes on in the next line; an empty line ends it.

  :type EXPR     the type of an expression
  :layout NAME   the coordinates of a binding and their extents
  :plan ENTRY    how it would be computed: loops, vectors, threads
  :time EXPR     the value of an expression, and how long it took
  :load FILE     enter a file
  :help          this text
  :quit          end (so does Ctrl-D)

Ctrl-C clears the line, or stops what runs. Values are kept: an entry runs once. A function or type
may be declared again, and a definition may get further clauses; then what was entered before is
computed anew.
";

/// Runs the command.
pub fn run() -> Exit {
    let mut repl = Repl { state: Interactive::new(), pending: String::new() };
    if !io::stdin().is_terminal() {
        return repl.piped();
    }
    match editor::Editor::new() {
        Ok(editor) => repl.interactive(editor),
        // A terminal that cannot be edited on is read like a file.
        Err(_) => repl.piped(),
    }
}

/// What a line led to.
enum Step {
    /// Go on.
    More,
    /// The user has had enough.
    Quit,
}

struct Repl {
    state: Interactive,
    /// The lines of an entry that is not finished.
    pending: String,
}

/// Where lines of a program go.
struct Terminal;

impl Surroundings for Terminal {
    fn print(&self, line: &str) {
        output::out(&format!("{line}\n"));
    }

    fn interrupted(&self) -> bool {
        false
    }
}

impl Repl {
    fn piped(&mut self) -> Exit {
        let mut input = io::stdin().lock();
        let mut line = Vec::new();
        loop {
            line.clear();
            match input.read_until(b'\n', &mut line) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) => {
                    output::message("error", &format!("standard input cannot be read: {error}"));
                    return Exit::Failed;
                }
            }
            let text = String::from_utf8_lossy(&line);
            if let Step::Quit = self.line(text.trim_end_matches(['\n', '\r'])) {
                return Exit::Success;
            }
        }
        // What was never finished is answered as it stands.
        self.submit();
        Exit::Success
    }

    fn interactive(&mut self, mut editor: editor::Editor) -> Exit {
        output::out("einlang: `:help` says what can be done, `:quit` ends.\n");
        loop {
            let prompt = if self.pending.is_empty() { "> " } else { "… " };
            match editor.line(prompt, self.state.bound()) {
                editor::Line::Text(text) => {
                    if let Step::Quit = self.line(&text) {
                        break;
                    }
                }
                editor::Line::Cleared => self.pending.clear(),
                editor::Line::End => break,
            }
        }
        editor.save();
        Exit::Success
    }

    /// Takes one line.
    fn line(&mut self, line: &str) -> Step {
        if self.pending.is_empty() {
            let trimmed = line.trim();
            if trimmed.is_empty() {
                return Step::More;
            }
            if let Some(command) = trimmed.strip_prefix(':') {
                return self.command(command);
            }
        }
        let gives_up = line.trim().is_empty();
        self.pending.push_str(line);
        self.pending.push('\n');
        if gives_up || !is_unfinished(&self.pending) {
            self.submit();
        }
        Step::More
    }

    /// Enters what is pending.
    fn submit(&mut self) {
        let text = std::mem::take(&mut self.pending);
        if !text.trim().is_empty() {
            self.enter(&text, false);
        }
    }

    fn enter(&mut self, text: &str, timed: bool) {
        let flag = interrupt::begin();
        let watch = Watch::begin(self.state.progress());
        let answer = self.state.enter(text, flag, &Terminal);
        drop(watch);
        interrupt::end();
        let Some(answer) = good(answer) else { return };
        show(&answer);
        if timed && answer.is_good() {
            let [check, run] = [answer.times.0, answer.times.1].map(|it| it.as_secs_f64() * 1e3);
            output::out(&format!("check {check:.3} ms, run {run:.3} ms\n"));
        }
    }

    fn command(&mut self, command: &str) -> Step {
        let (word, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
        let rest = rest.trim();
        let lacks = |what: &str| output::message("error", &format!("`:{word}` needs {what}"));
        match word {
            "quit" | "q" | "exit" => return Step::Quit,
            "help" | "h" | "?" => drop(output::out(HELP)),
            "type" | "time" if rest.is_empty() => lacks("an expression"),
            "plan" if rest.is_empty() => lacks("a statement or an expression"),
            "layout" if rest.is_empty() => lacks("the name of a binding"),
            "load" if rest.is_empty() => lacks("a file"),
            "type" => match good(self.state.type_of(rest)) {
                Some(Ok(ty)) => drop(output::out(&format!("{ty}\n"))),
                Some(Err(answer)) => show(&answer),
                None => {}
            },
            "plan" => match good(self.state.plan_of(rest)) {
                Some(Ok(plan)) if plan.is_empty() => drop(output::out("no loops: evaluated\n")),
                Some(Ok(plan)) => drop(output::out(&plan)),
                Some(Err(answer)) => show(&answer),
                None => {}
            },
            "layout" => match good(self.state.layout_of(rest)) {
                Some(Some(layout)) => drop(output::out(&format!("{layout}\n"))),
                Some(None) => {
                    output::message("error", &format!("there is no binding `{rest}`"));
                }
                None => {}
            },
            "time" => self.enter(rest, true),
            "load" => match ein_driver::read_file(Path::new(rest)) {
                Ok(text) => self.enter(&text, false),
                Err(error) => {
                    output::message("error", &format!("`{rest}` cannot be read: {error}"));
                }
            },
            other => {
                output::message("error", &format!("there is no command `:{other}`"));
                output::message("help", "`:help` lists them");
            }
        }
        Step::More
    }
}

/// What an operation gave; a bug of ours is reported, and the session goes on.
fn good<T>(result: Result<T, InternalError>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(bug) => {
            output::internal_error(&bug);
            None
        }
    }
}

fn show(answer: &Answer) {
    if !answer.diagnostics.is_empty() {
        output::err(&answer.session.render(&answer.diagnostics, output::style()));
    }
    if answer.interrupted {
        output::message("error", "interrupted");
    }
    if let Some(value) = &answer.value {
        output::out(&format!("{value}\n"));
    }
}
