//! Programs of any length for benchmarks: `cargo bench -p ein-benches`.
//!
//! Does not know: the compiler.

use std::fmt::Write as _;

/// A program of so many lines, of the kinds that programs have: functions, bindings, definitions
/// and reductions. Each group of lines uses names of the group before it, and every name is bound.
pub fn flat_program(lines: usize) -> String {
    let mut text = String::with_capacity(lines * 44);
    let mut written = 0;
    let mut group = 0;
    while written < lines {
        let before = if group == 0 { 0 } else { group - 1 };
        // Eight lines a group; a short last group only has bindings.
        if lines - written < 8 {
            let _ = writeln!(text, "let rest_{written} = {written} * 2 + 1;");
            written += 1;
            continue;
        }
        let _ = write!(
            text,
            "fn scale_{group}(x, factor = 2.0) {{\n    \
                 let shifted = x * factor + 1.5;\n    \
                 shifted * shifted - x / 3.0\n\
             }}\n\
             let weight_{group} = scale_{before}({group}.25) + 0.5;\n\
             let table_{group}[i in 0..8, j in 0..4] = i * 4 + j;\n\
             let row_{group}[i] = sum[j](table_{group}[i, j] * 2);\n\
             let total_{group} = sum[i](row_{group}[i]) + row_{before}[0];\n"
        );
        written += 8;
        group += 1;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_has_the_lines_asked_for() {
        for lines in [0, 1, 7, 8, 9, 100, 1000] {
            assert_eq!(flat_program(lines).lines().count(), lines);
        }
        let text = flat_program(10_000);
        let width = text.len() / 10_000;
        assert!((25..50).contains(&width), "{width}");
    }
}
