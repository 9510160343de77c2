//! The fenced blocks of Markdown texts.

/// A fenced block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// What stands after the opening mark: `einlang fails E0301`.
    pub mark: String,
    /// The one-based line of the opening mark.
    pub line: usize,
    /// The text between the marks.
    pub text: String,
}

/// The fenced blocks of a text, in order. A block ends where its own mark stands alone.
pub fn blocks(text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut open = false;
    for (i, line) in text.lines().enumerate() {
        match (line.strip_prefix("```"), blocks.last_mut()) {
            (Some(_), _) if open => open = false,
            (Some(mark), _) => {
                open = true;
                let mark = mark.trim().to_owned();
                blocks.push(Block { mark, line: i + 1, text: String::new() });
            }
            (None, Some(block)) if open => {
                block.text.push_str(line);
                block.text.push('\n');
            }
            (None, _) => {}
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_marks_lines_and_texts() {
        let found = blocks("a\n```einlang fails\nlet x = y;\n```\nb\n```\n\nz\n```\n");
        let shown: Vec<_> =
            found.iter().map(|it| (it.mark.as_str(), it.line, it.text.as_str())).collect();
        assert_eq!(shown, [("einlang fails", 2, "let x = y;\n"), ("", 6, "\nz\n")]);
    }
}
