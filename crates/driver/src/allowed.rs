//! Warnings that somebody decided to live with: named with `--allow`, or in a comment on the lines
//! above the place: `// allow W0101: kept for the reader`.

use ein_base::{Code, Diagnostic, SourceMap, Span};

/// Drops the warnings that are allowed.
pub(crate) fn drop_allowed(files: &SourceMap, allow: &[Code], diagnostics: &mut Vec<Diagnostic>) {
    diagnostics.retain(|it| {
        it.is_error()
            || !(allow.contains(&it.code) || allowed_above(files, it.code, it.primary.span))
    });
}

/// Whether the comments on the lines directly above a place allow a warning there.
fn allowed_above(files: &SourceMap, code: Code, span: Span) -> bool {
    let text = &files.file(span.file()).text;
    let at = (span.lo() as usize).min(text.len());
    let Some(before) = text.get(..at) else { return false };
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let above = before[..start].lines().rev();
    let comments = above.map(str::trim).take_while(|line| line.starts_with("//"));
    comments.into_iter().any(|line| {
        let said = line.trim_start_matches('/').trim();
        let Some(codes) = said.strip_prefix("allow ") else { return false };
        let codes = codes.split(':').next().unwrap_or_default();
        codes.split(',').any(|it| it.trim() == code.to_string())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(text: &str, allow: &[Code]) -> usize {
        let mut files = SourceMap::default();
        let file = files.add("a.ein".into(), None, text.into());
        let at = text.find("here").expect("a place") as u32;
        let span = Span::new(file, at, at + 4);
        let mut all = vec![
            Diagnostic::new(Code::W0101, span, "a warning"),
            Diagnostic::new(Code::E0201, span, "an error"),
        ];
        drop_allowed(&files, allow, &mut all);
        all.len()
    }

    #[test]
    fn what_is_allowed_is_dropped() {
        assert_eq!(left("here", &[]), 2);
        assert_eq!(left("here", &[Code::W0101, Code::E0201]), 1);
        assert_eq!(left("// allow W0101\nlet here = 1;", &[]), 1);
        assert_eq!(left("  // allow W0102, W0101: why\n  // more\nlet here = 1;", &[]), 1);
        assert_eq!(left("// allow W0102\nlet here = 1;", &[]), 2);
        assert_eq!(left("// allow E0201\nlet here = 1;", &[]), 2);
        assert_eq!(left("// allow W0101\n\nlet here = 1;", &[]), 2);
        assert_eq!(left("let a = 1; // allow W0101\nlet here = 1;", &[]), 2);
    }
}
