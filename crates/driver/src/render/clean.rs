//! Text that a terminal shows and never obeys.
//!
//! Names, messages and lines of a program may hold control characters: ESC, but also U+009B, which
//! begins a command by itself. None of them may reach a terminal.

use std::borrow::Cow;

/// Whether a terminal might do something else than show it.
fn is_obeyed(c: char) -> bool {
    c.is_control() && c != '\n' && c != '\t'
}

/// A text with the control characters written out: `\u{9b}`.
pub fn text(text: &str) -> Cow<'_, str> {
    if !text.contains(is_obeyed) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_obeyed(c) {
            clean.extend(c.escape_unicode());
        } else {
            clean.push(c);
        }
    }
    Cow::Owned(clean)
}

/// JSON in which no such character stands: inside its texts, the only place for them, they can be
/// written as `\u009b`.
pub(crate) fn json(json: String) -> String {
    if !json.contains(|c| ('\u{7f}'..='\u{9f}').contains(&c)) {
        return json;
    }
    let mut clean = String::with_capacity(json.len() + 8);
    for c in json.chars() {
        match c {
            '\u{7f}'..='\u{9f}' => clean.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => clean.push(c),
        }
    }
    clean
}

/// Adds a part of a source to an excerpt, with something of the same length in bytes for each
/// control character, so that places stay where they are. (Those that take one byte are shown by the
/// renderer as pictures of themselves; the delete character is not.)
pub(super) fn source(part: &str, to: &mut String) {
    for c in part.chars() {
        match (is_obeyed(c), c.len_utf8()) {
            // A letter of two bytes that stands for nothing else here.
            (true, 2) => to.push('¿'),
            (true, _) if c == '\u{7f}' => to.push('?'),
            _ => to.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_written_out() {
        assert_eq!(text("a\nb\tc"), "a\nb\tc");
        assert_eq!(text("\u{1b}[31m \u{9b}2J \u{7f}"), "\\u{1b}[31m \\u{9b}2J \\u{7f}");
        let mut shown = String::new();
        source("x\u{9b}\u{85}y\u{7f}é", &mut shown);
        assert_eq!(shown, "x¿¿y?é");
    }
}
