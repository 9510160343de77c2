//! Tables of numbers as text: one row on each line, cells separated by commas.
//!
//! A file is always a matrix: a single column has shape `[rows, 1]`. If no cell of the first row is a
//! number it is a heading and left out. Cells may stand in double quotes and have spaces around
//! them; empty lines are skipped. Rows of unequal length and cells that are not numbers are errors that
//! say where.

use std::io::{BufRead, BufReader, Read as _, Write};
use std::path::Path;

use ein_scalar::{Scalar, ScalarType, parse_float, parse_int};

use super::{Fault, FileError, FileErrorKind, open};
use crate::{Memory, Tensor};

/// Reads a table as a matrix of type `ty`, each number directly at its precision.
///
/// A cell that is not a value of that type (`1.5` or `300` for `u8`) is an error; `bool` takes
/// `true`, `false`, `1` and `0`.
pub fn read_csv(path: &Path, ty: ScalarType, memory: &Memory) -> Result<Tensor, FileError> {
    read(path, ty, memory).map_err(|fault| fault.at(path))
}

pub(super) fn read(path: &Path, ty: ScalarType, memory: &Memory) -> Result<Tensor, Fault> {
    let (file, _) = open(path)?;
    read_table(&mut BufReader::new(file), ty, memory)
}

/// The most bytes of a line that are read before the memory is looked at again.
const PIECE: u64 = 1 << 20;

/// The most characters of a cell that a message shows.
const SHOWN: usize = 40;

fn read_table(input: &mut dyn BufRead, ty: ScalarType, memory: &Memory) -> Result<Tensor, Fault> {
    // The bits of the elements: half the size of the elements with their types.
    let mut elements: Vec<u64> = Vec::new();
    let (mut rows, mut columns) = (0, None);
    let (mut line, mut number, mut first) = (Vec::new(), 0, true);
    while read_line(input, &mut line, memory)? {
        number += 1;
        let text =
            str::from_utf8(&line).map_err(|_| Fault::malformed("this is not text in UTF-8"))?;
        let text = text.strip_prefix('\u{feff}').filter(|_| number == 1).unwrap_or(text);
        if text.trim().is_empty() {
            continue;
        }
        let row = Cells::of(text.trim_end_matches(['\n', '\r']));
        let count = row.clone().count();
        let heading = first && row.clone().all(|cell| cell.parse::<f64>().is_err());
        let boolean = ty.is_bool() && row.clone().all(|cell| element(&cell, ty).is_some());
        first = false;
        let columns = *columns.get_or_insert(count);
        if count != columns {
            return Err(Fault::malformed(format!(
                "line {number} has {count} cells, the lines before it {columns}"
            )));
        }
        if heading && !boolean {
            continue;
        }
        // The list, the one it grows into, and the array that it becomes.
        let cells = elements.len() as u128 + count as u128;
        memory.check_bytes(cells * (24 + ty.size_bytes() as u128))?;
        for (at, cell) in row.enumerate() {
            let value = element(&cell, ty).ok_or_else(|| {
                let (column, shown) = (at + 1, shortened(&cell));
                Fault::malformed(format!("line {number}, column {column}: {shown} is no {ty}"))
            })?;
            elements.push(value.to_bits());
        }
        rows += 1;
    }
    match columns {
        Some(columns) if rows > 0 => {
            let elements = elements.into_iter().map(|bits| Scalar::from_bits(ty, bits));
            Ok(memory.from_scalars(ty, &[rows, columns], elements)?)
        }
        _ => Err(Fault::malformed("the table has no numbers")),
    }
}

/// Reads a line, however long, while there is memory for it; whether there was one.
fn read_line(input: &mut dyn BufRead, line: &mut Vec<u8>, memory: &Memory) -> Result<bool, Fault> {
    line.clear();
    while line.last() != Some(&b'\n') {
        if input.take(PIECE).read_until(b'\n', line)? == 0 {
            break;
        }
        // It grows by doubling.
        if line.len() as u64 >= PIECE {
            memory.check_bytes(3 * line.len() as u128)?;
        }
    }
    Ok(!line.is_empty())
}

/// A cell as a message shows it.
fn shortened(cell: &str) -> String {
    match cell.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{:?}…", &cell[..end]),
        None => format!("{cell:?}"),
    }
}

/// The value of a cell.
fn element(cell: &str, ty: ScalarType) -> Option<Scalar> {
    if ty.is_float() {
        // Underscores belong to programs, not to tables.
        return if cell.contains('_') { None } else { parse_float(cell, ty) };
    }
    if ty.is_int() {
        let digits = cell.strip_prefix('-').unwrap_or(cell);
        let plain = !digits.is_empty() && digits.bytes().all(|c| c.is_ascii_digit());
        return parse_int(cell).filter(|_| plain).and_then(|x| Scalar::from_i128(x, ty));
    }
    match cell {
        "true" | "True" | "1" => Some(Scalar::Bool(true)),
        "false" | "False" | "0" => Some(Scalar::Bool(false)),
        _ => None,
    }
}

/// The cells of a line, without the quotes and spaces around them.
#[derive(Clone)]
struct Cells<'a> {
    /// What is left of the line, if there is another cell.
    rest: Option<&'a str>,
}

impl Cells<'_> {
    fn of(line: &str) -> Cells<'_> {
        Cells { rest: Some(line) }
    }
}

impl Iterator for Cells<'_> {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        let line = self.rest.take()?;
        let (mut cell, mut quoted) = (String::new(), false);
        let mut chars = line.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' if quoted && chars.peek().is_some_and(|next| next.1 == '"') => {
                    chars.next();
                    cell.push('"');
                }
                '"' => quoted = !quoted,
                ',' if !quoted => {
                    self.rest = Some(&line[at + 1..]);
                    break;
                }
                c => cell.push(c),
            }
        }
        Some(cell.trim().to_owned())
    }
}

/// Writes a matrix, or a vector as one column.
pub(super) fn write(tensor: &Tensor, out: &mut dyn Write) -> Result<(), Fault> {
    let columns = match *tensor.shape() {
        [_] => 1,
        [_, columns] => columns,
        _ => {
            let detail = format!("a table has one or two axes, not {}", tensor.rank());
            return Err(Fault::new(FileErrorKind::Unreadable, detail));
        }
    };
    for (at, element) in tensor.iter().enumerate() {
        let end = if (at + 1) % columns == 0 { "\n" } else { "," };
        write!(out, "{element}{end}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, ty: ScalarType) -> Result<Tensor, Fault> {
        read_table(&mut text.as_bytes(), ty, &Memory::unlimited())
    }

    #[track_caller]
    fn check(text: &str, shape: &[usize], elements: &[f64]) {
        let table = read(text, ScalarType::F64).unwrap();
        assert_eq!((table.shape(), table.to_vec::<f64>().unwrap().as_slice()), (shape, elements));
    }

    #[test]
    fn tables() {
        check("1.5,2\n-4,1e3\n", &[2, 2], &[1.5, 2.0, -4.0, 1000.0]);
        check("a,b\r\n1, 2\r\n\r\n3,\"4\"", &[2, 2], &[1.0, 2.0, 3.0, 4.0]);
        check("\u{feff}x\n1\n2\n", &[2, 1], &[1.0, 2.0]);
        check("\"x, y\",\"say \"\"z\"\"\"\n1,2\n", &[1, 2], &[1.0, 2.0]);
    }

    #[test]
    fn types() {
        let bytes = read("0,255\n", ScalarType::U8).unwrap();
        assert_eq!(bytes.to_vec::<u8>().unwrap(), [0, 255]);
        let truths = read("true,0\n", ScalarType::Bool).unwrap();
        assert_eq!(truths.to_vec::<bool>().unwrap(), [true, false]);
        assert_eq!(read("0.1\n", ScalarType::F32).unwrap().to_vec::<f32>().unwrap(), [0.1]);
        assert!(read("1\n256\n", ScalarType::U8).is_err());
        assert!(read("1\n1.5\n", ScalarType::I32).is_err());
    }

    #[test]
    fn memory_is_counted() {
        // A line that no memory holds, many cells on one, and many lines.
        for text in ["1".repeat(9 << 20), "1,".repeat(3 << 20), "1\n".repeat(3 << 20)] {
            let memory = Memory::new(Some(16 << 20));
            let fault = read_table(&mut text.as_bytes(), ScalarType::U8, &memory).unwrap_err();
            assert_eq!(fault.kind, FileErrorKind::TooLarge, "{}", fault.detail);
        }
    }

    #[test]
    fn faults_say_where() {
        let message = |text: &str| read(text, ScalarType::F64).unwrap_err().detail;
        assert_eq!(message("1,2\n3\n"), "line 2 has 1 cells, the lines before it 2");
        assert_eq!(message("1,2\n3,x\n"), "line 2, column 2: \"x\" is no f64");
        assert_eq!(message("1,b\n3,4\n"), "line 1, column 2: \"b\" is no f64");
        assert_eq!(message("\n\n"), "the table has no numbers");
        let long = format!("{}\n{}\n", 1, "x".repeat(1000));
        assert_eq!(message(&long).len(), "line 2, column 1: \"\"… is no f64".len() + SHOWN);
        assert_eq!(message("a,b\n"), "the table has no numbers");
    }
}
