//! The line editor: history and completion.

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::Validator;
use rustyline::{Config, Context, Helper};
use std::cell::OnceCell;
use std::path::PathBuf;

/// The commands that begin with a colon.
const COMMANDS: [&str; 7] = [":type", ":layout", ":plan", ":time", ":load", ":help", ":quit"];

/// What came from the terminal.
pub enum Line {
    /// A line.
    Text(String),
    /// Ctrl-C.
    Cleared,
    /// Ctrl-D, or the terminal went away.
    End,
}

/// A terminal with history.
pub struct Editor {
    inner: rustyline::Editor<Names, FileHistory>,
    history: Option<PathBuf>,
}

impl Editor {
    /// The editor, with the history of earlier sessions if there is one.
    pub fn new() -> rustyline::Result<Editor> {
        let config = Config::builder().auto_add_history(true).build();
        let mut inner = rustyline::Editor::with_config(config)?;
        inner.set_helper(Some(Names::default()));
        let history = history_file();
        if let Some(path) = &history {
            // There is none the first time.
            let _ = inner.load_history(path);
        }
        Ok(Editor { inner, history })
    }

    /// Reads a line; `bound` are the names that the session has bound.
    pub fn line(&mut self, prompt: &str, bound: Vec<String>) -> Line {
        if let Some(names) = self.inner.helper_mut() {
            names.bound = bound;
        }
        match self.inner.readline(prompt) {
            Ok(text) => Line::Text(text),
            Err(ReadlineError::Interrupted) => Line::Cleared,
            Err(_) => Line::End,
        }
    }

    /// Keeps the history for later sessions. One that cannot be kept is no failure.
    pub fn save(&mut self) {
        let Some(path) = &self.history else { return };
        if let Some(directory) = path.parent() {
            let _ = std::fs::create_dir_all(directory);
        }
        let _ = self.inner.save_history(path);
    }
}

/// Where history is kept: the cache directory of the user.
fn history_file() -> Option<PathBuf> {
    let directory =
        |name: &str| std::env::var_os(name).filter(|it| !it.is_empty()).map(PathBuf::from);
    let cache = directory("XDG_CACHE_HOME")
        .or_else(|| directory("LOCALAPPDATA"))
        .or_else(|| directory("HOME").map(|home| home.join(".cache")))?;
    Some(cache.join("einlang").join("history"))
}

/// Completes names.
#[derive(Default)]
struct Names {
    bound: Vec<String>,
    /// Those that every program knows, made when first asked for.
    words: OnceCell<Vec<String>>,
}

impl Completer for Names {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        place: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(self.candidates(line, place))
    }
}

impl Names {
    /// Where the word before the cursor begins, and how it may go on.
    fn candidates(&self, line: &str, place: usize) -> (usize, Vec<String>) {
        let before = line.get(..place).unwrap_or(line);
        if before.starts_with(':') && !before.contains(char::is_whitespace) {
            let fitting = COMMANDS.iter().filter(|command| command.starts_with(before));
            return (0, fitting.map(|command| (*command).to_owned()).collect());
        }
        let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
        let start = before.trim_end_matches(is_part).len();
        let word = &before[start..];
        if word.is_empty() {
            return (place, Vec::new());
        }
        let words = self.words.get_or_init(ein_driver::interactive::words);
        let fitting = self.bound.iter().chain(words).filter(|known| known.starts_with(word));
        let mut fitting: Vec<String> = fitting.cloned().collect();
        fitting.sort();
        fitting.dedup();
        (start, fitting)
    }
}

impl Hinter for Names {
    type Hint = String;
}
impl Highlighter for Names {}
impl Validator for Names {}
impl Helper for Names {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_paths_and_commands_are_completed() {
        let names = Names { bound: vec!["weights".into()], ..Names::default() };
        let line = "print(wei";
        assert_eq!(names.candidates(line, line.len()), (6, vec!["weights".to_owned()]));
        let line = ":la";
        assert_eq!(names.candidates(line, line.len()), (0, vec![":layout".to_owned()]));
        let line = "1 + std::math::sqr";
        let (start, found) = names.candidates(line, line.len());
        assert_eq!(start, 4);
        assert!(found.contains(&"std::math::sqrt".to_owned()), "{found:?}");
        assert_eq!(names.candidates("x + ", 4), (4, Vec::new()));
    }
}
