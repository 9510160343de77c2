//! Documents in the manner of Wadler and Prettier: text with places where a line may break, and
//! groups that break at all of their places or at none.

/// A document. `hard` says that it cannot be printed on one line.
pub(super) struct Doc {
    kind: Kind,
    hard: bool,
}

enum Kind {
    Nil,
    Text(String),
    /// A comment that runs to the end of its line: whatever follows starts a new line.
    LineComment(String),
    /// A space, or a line break if the group breaks.
    Line,
    /// Nothing, or a line break if the group breaks.
    Soft,
    /// A line break.
    Hard,
    /// An empty line; also a line break.
    Blank,
    /// Only if the group breaks.
    IfBroken(&'static str),
    Nest(usize, Box<Doc>),
    Group(Box<Doc>),
    Concat(Vec<Doc>),
}

pub(super) fn nil() -> Doc {
    Doc { kind: Kind::Nil, hard: false }
}
pub(super) fn text(text: impl Into<String>) -> Doc {
    let text = text.into();
    let hard = text.contains('\n');
    Doc { kind: Kind::Text(text), hard }
}
pub(super) fn line_comment(text: impl Into<String>) -> Doc {
    Doc { kind: Kind::LineComment(text.into()), hard: true }
}
pub(super) fn line() -> Doc {
    Doc { kind: Kind::Line, hard: false }
}
pub(super) fn soft() -> Doc {
    Doc { kind: Kind::Soft, hard: false }
}
pub(super) fn hard() -> Doc {
    Doc { kind: Kind::Hard, hard: true }
}
pub(super) fn blank() -> Doc {
    Doc { kind: Kind::Blank, hard: true }
}
pub(super) fn if_broken(text: &'static str) -> Doc {
    Doc { kind: Kind::IfBroken(text), hard: false }
}
pub(super) fn nest(by: usize, doc: Doc) -> Doc {
    let hard = doc.hard;
    Doc { kind: Kind::Nest(by, Box::new(doc)), hard }
}
pub(super) fn group(doc: Doc) -> Doc {
    let hard = doc.hard;
    Doc { kind: Kind::Group(Box::new(doc)), hard }
}
pub(super) fn concat(docs: impl IntoIterator<Item = Doc>) -> Doc {
    let docs: Vec<Doc> = docs.into_iter().filter(|doc| !matches!(doc.kind, Kind::Nil)).collect();
    let hard = docs.iter().any(|doc| doc.hard);
    Doc { kind: Kind::Concat(docs), hard }
}

impl Doc {
    pub(super) fn is_nil(&self) -> bool {
        matches!(self.kind, Kind::Nil)
    }
}

/// Prints documents one after the other into one text.
pub(super) struct Printer {
    pub out: String,
    width: usize,
    column: usize,
    /// A comment to the end of the line was written, so the line must end.
    ends: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Flat,
    Broken,
}

impl Printer {
    pub(super) fn new(width: usize) -> Self {
        Self { out: String::new(), width, column: 0, ends: false }
    }

    pub(super) fn print(&mut self, doc: &Doc) {
        let mut todo = vec![(0usize, Mode::Broken, doc)];
        while let Some((indent, mode, doc)) = todo.pop() {
            match &doc.kind {
                Kind::Nil => {}
                Kind::Text(text) => self.text(text, indent),
                Kind::LineComment(text) => {
                    self.text(text, indent);
                    self.ends = true;
                }
                Kind::Line if mode == Mode::Flat => self.text(" ", indent),
                Kind::Soft if mode == Mode::Flat => {}
                Kind::Line | Kind::Soft | Kind::Hard => self.newline(indent),
                Kind::Blank => self.blank(indent),
                Kind::IfBroken(text) => {
                    if mode == Mode::Broken {
                        self.text(text, indent);
                    }
                }
                Kind::Nest(by, inner) => todo.push((indent + by, mode, inner)),
                Kind::Group(inner) => {
                    let flat = !doc.hard && self.fits(inner, &todo);
                    todo.push((indent, if flat { Mode::Flat } else { Mode::Broken }, inner));
                }
                Kind::Concat(docs) => todo.extend(docs.iter().rev().map(|doc| (indent, mode, doc))),
            }
        }
    }

    fn text(&mut self, text: &str, indent: usize) {
        let mut text = text;
        if self.ends {
            self.newline(indent);
            text = text.trim_start_matches(' ');
        }
        if text.is_empty() {
            return;
        }
        self.out.push_str(text);
        match text.rfind('\n') {
            Some(at) => self.column = text[at + 1..].chars().count(),
            None => self.column += text.chars().count(),
        }
    }

    /// Ends the line and indents the next one.
    fn newline(&mut self, indent: usize) {
        self.ends = false;
        let kept = self.out.trim_end_matches(' ').len();
        self.out.truncate(kept);
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        for _ in 0..indent {
            self.out.push(' ');
        }
        self.column = indent;
    }

    /// Ends the line and leaves one empty, unless at the start of the text or of a block.
    fn blank(&mut self, indent: usize) {
        self.newline(0);
        if !self.out.is_empty() && !self.out.ends_with("{\n") {
            self.out.push('\n');
        }
        for _ in 0..indent {
            self.out.push(' ');
        }
        self.column = indent;
    }

    /// Whether `doc` fits on the rest of the line, up to where what follows it may break.
    fn fits(&self, doc: &Doc, rest: &[(usize, Mode, &Doc)]) -> bool {
        let Some(mut room) = self.width.checked_sub(self.column) else { return false };
        let mut rest = rest.iter().rev();
        let mut todo = vec![(Mode::Flat, doc)];
        loop {
            let (mode, doc) = match todo.pop() {
                Some(next) => next,
                None => match rest.next() {
                    Some((_, mode, doc)) => (*mode, *doc),
                    None => return true,
                },
            };
            match &doc.kind {
                Kind::Nil => {}
                Kind::Text(text) | Kind::LineComment(text) => {
                    let first = text.split('\n').next().unwrap_or("");
                    let Some(left) = room.checked_sub(first.chars().count()) else { return false };
                    room = left;
                    if first.len() < text.len() || matches!(doc.kind, Kind::LineComment(_)) {
                        return true;
                    }
                }
                Kind::Line if mode == Mode::Flat => match room.checked_sub(1) {
                    Some(left) => room = left,
                    None => return false,
                },
                Kind::Soft if mode == Mode::Flat => {}
                Kind::Line | Kind::Soft | Kind::Hard | Kind::Blank => return true,
                Kind::IfBroken(_) => {}
                Kind::Nest(_, inner) | Kind::Group(inner) => todo.push((mode, inner)),
                Kind::Concat(docs) => todo.extend(docs.iter().rev().map(|doc| (mode, doc))),
            }
        }
    }
}
