//! NumPy's `.npy`: a dictionary in Python's notation, then the elements.

use std::io::{Read, Write};

use ein_scalar::ScalarType;

use super::{Fault, FileErrorKind, byte_count, read_elements, write_elements};
use crate::{Memory, Tensor};

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// No header of an array of ours or NumPy's is longer.
const LONGEST_HEADER: u32 = 1 << 20;

/// More axes than NumPy has (64), and than anyone needs.
const MOST_AXES: usize = 255;

/// Reads an array from exactly `length` bytes.
pub(super) fn read(input: &mut dyn Read, length: u64, memory: &Memory) -> Result<Tensor, Fault> {
    let mut start = [0; 8];
    input.read_exact(&mut start)?;
    if &start[..6] != MAGIC {
        return Err(Fault::malformed("this is not an .npy file: it does not start as one"));
    }
    let (size, before) = match start[6] {
        1 => {
            let mut size = [0; 2];
            input.read_exact(&mut size)?;
            (u32::from(u16::from_le_bytes(size)), 10)
        }
        2 | 3 => {
            let mut size = [0; 4];
            input.read_exact(&mut size)?;
            (u32::from_le_bytes(size), 12)
        }
        other => {
            return Err(Fault::malformed(format!("version {other} of the .npy format is unknown")));
        }
    };
    if size > LONGEST_HEADER || u64::from(size) > length.saturating_sub(before) {
        return Err(Fault::malformed("the header is longer than the file"));
    }
    let mut text = vec![0; size as usize];
    input.read_exact(&mut text)?;
    let header = Header::parse(&text)?;
    let there = length - before - u64::from(size);
    let needed = byte_count(header.ty, &header.shape);
    if needed != Some(there) {
        let what = if needed.is_some_and(|n| n < there) { "more" } else { "fewer" };
        return Err(Fault::malformed(format!(
            "the header says {} of shape {:?}, but the file has {what} bytes than that",
            header.ty, header.shape
        )));
    }
    if !header.fortran_order {
        return read_elements(input, header.ty, &header.shape, header.big_endian, memory);
    }
    // Column-major is row-major with the axes in reverse.
    let reversed: Vec<usize> = header.shape.iter().rev().copied().collect();
    let tensor = read_elements(input, header.ty, &reversed, header.big_endian, memory)?;
    let order: Vec<usize> = (0..reversed.len()).rev().collect();
    Ok(tensor.permute(&order)?.contiguous()?)
}

/// Writes an array in version 1.0 of the format.
pub(super) fn write(tensor: &Tensor, out: &mut dyn Write) -> Result<(), Fault> {
    out.write_all(&header(tensor)?)?;
    write_elements(tensor, out)
}

/// An element type as the format writes it; none for those that it does not have.
pub fn described(ty: ScalarType) -> Option<&'static str> {
    Some(match ty {
        ScalarType::Bool => "|b1",
        ScalarType::I8 => "|i1",
        ScalarType::I16 => "<i2",
        ScalarType::I32 => "<i4",
        ScalarType::I64 => "<i8",
        ScalarType::U8 => "|u1",
        ScalarType::U16 => "<u2",
        ScalarType::U32 => "<u4",
        ScalarType::U64 => "<u8",
        ScalarType::F16 => "<f2",
        ScalarType::F32 => "<f4",
        ScalarType::F64 => "<f8",
        ScalarType::BF16 => return None,
    })
}

/// Everything before the elements.
pub(super) fn header(tensor: &Tensor) -> Result<Vec<u8>, Fault> {
    let Some(descr) = described(tensor.ty()) else {
        let detail = "the .npy format has no bf16; use .safetensors or convert to f32";
        return Err(Fault::new(FileErrorKind::UnsupportedType, detail));
    };
    let mut shape = String::new();
    for extent in tensor.shape() {
        shape.push_str(&format!("{extent}, "));
    }
    // A tuple of one has its comma, longer ones do without the last.
    let shape = if tensor.rank() == 1 { shape.trim_end() } else { shape.trim_end_matches(", ") };
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}");
    // The elements start at a multiple of 64.
    let padding = 63 - (MAGIC.len() + 4 + text.len()) % 64;
    text.push_str(&" ".repeat(padding));
    text.push('\n');
    let size = u16::try_from(text.len())
        .map_err(|_| Fault::new(FileErrorKind::TooLarge, "the array has too many axes"))?;
    let mut header = MAGIC.to_vec();
    header.extend([1, 0]);
    header.extend(size.to_le_bytes());
    header.extend(text.as_bytes());
    Ok(header)
}

/// What the dictionary says.
#[derive(Debug, PartialEq)]
struct Header {
    ty: ScalarType,
    big_endian: bool,
    fortran_order: bool,
    shape: Vec<usize>,
}

impl Header {
    fn parse(text: &[u8]) -> Result<Header, Fault> {
        let text =
            std::str::from_utf8(text).map_err(|_| Fault::malformed("the header is not text"))?;
        let mut literal = Literal { rest: text };
        let (mut descr, mut fortran_order, mut shape) = (None, None, None);
        literal.expect('{')?;
        while !literal.accept('}') {
            let key = literal.string()?;
            literal.expect(':')?;
            let seen = match key {
                "descr" => descr.replace(literal.descr()?).is_some(),
                "fortran_order" => fortran_order.replace(literal.bool()?).is_some(),
                "shape" => shape.replace(literal.shape()?).is_some(),
                other => {
                    return Err(Fault::malformed(format!("unknown key {other:?} in the header")));
                }
            };
            if seen {
                return Err(Fault::malformed(format!("{key:?} occurs twice in the header")));
            }
            if !literal.accept(',') {
                literal.expect('}')?;
                break;
            }
        }
        literal.end()?;
        let missing = |key| move || Fault::malformed(format!("the header has no {key:?}"));
        let (ty, big_endian) = element_type(descr.ok_or_else(missing("descr"))?)?;
        let fortran_order = fortran_order.ok_or_else(missing("fortran_order"))?;
        let shape = shape.ok_or_else(missing("shape"))?;
        Ok(Header { ty, big_endian, fortran_order, shape })
    }
}

/// The element type of a `descr` like `<f8`, and whether the most significant byte comes first.
fn element_type(descr: &str) -> Result<(ScalarType, bool), Fault> {
    let unsupported = || {
        let detail = format!("elements of type {descr:?} are not supported");
        Fault::new(FileErrorKind::UnsupportedType, detail)
    };
    let (big_endian, code) = match descr.split_at_checked(1) {
        Some(("<" | "|", code)) => (false, code),
        Some((">", code)) => (true, code),
        Some(("=", code)) => (cfg!(target_endian = "big"), code),
        _ => return Err(unsupported()),
    };
    let ty = match code {
        "b1" | "?" => ScalarType::Bool,
        "i1" => ScalarType::I8,
        "i2" => ScalarType::I16,
        "i4" => ScalarType::I32,
        "i8" => ScalarType::I64,
        "u1" => ScalarType::U8,
        "u2" => ScalarType::U16,
        "u4" => ScalarType::U32,
        "u8" => ScalarType::U64,
        "f2" => ScalarType::F16,
        "f4" => ScalarType::F32,
        "f8" => ScalarType::F64,
        _ => return Err(unsupported()),
    };
    if descr.starts_with('|') && ty.size_bytes() > 1 {
        return Err(unsupported());
    }
    Ok((ty, big_endian))
}

/// Reads the few Python literals a header has.
struct Literal<'a> {
    rest: &'a str,
}

impl<'a> Literal<'a> {
    fn accept(&mut self, c: char) -> bool {
        let trimmed = self.rest.trim_start();
        match trimmed.strip_prefix(c) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, c: char) -> Result<(), Fault> {
        if self.accept(c) {
            Ok(())
        } else {
            Err(Fault::malformed(format!("the header is not well formed: {c:?} is missing")))
        }
    }

    fn end(&self) -> Result<(), Fault> {
        if self.rest.trim().is_empty() {
            Ok(())
        } else {
            Err(Fault::malformed("the header goes on after its end"))
        }
    }

    fn string(&mut self) -> Result<&'a str, Fault> {
        let quote = if self.accept('"') {
            '"'
        } else {
            self.expect('\'')?;
            '\''
        };
        let (text, rest) = self
            .rest
            .split_once(quote)
            .ok_or_else(|| Fault::malformed("a string in the header does not end"))?;
        self.rest = rest;
        Ok(text)
    }

    fn descr(&mut self) -> Result<&'a str, Fault> {
        if self.rest.trim_start().starts_with('[') {
            let detail = "arrays of records are not supported";
            return Err(Fault::new(FileErrorKind::UnsupportedType, detail));
        }
        self.string()
    }

    fn bool(&mut self) -> Result<bool, Fault> {
        let rest = self.rest.trim_start();
        for (text, value) in [("True", true), ("False", false)] {
            if let Some(rest) = rest.strip_prefix(text) {
                self.rest = rest;
                return Ok(value);
            }
        }
        Err(Fault::malformed("fortran_order is neither True nor False"))
    }

    fn shape(&mut self) -> Result<Vec<usize>, Fault> {
        self.expect('(')?;
        let mut shape = Vec::new();
        while !self.accept(')') {
            let rest = self.rest.trim_start();
            let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            let extent = rest[..end].parse().map_err(|_| {
                Fault::malformed("an extent is not a number that can be counted to")
            })?;
            shape.push(extent);
            if shape.len() > MOST_AXES {
                return Err(Fault::malformed("the array has too many axes"));
            }
            // Files written by Python 2 have extents like `3L`.
            self.rest = rest[end..].strip_prefix('L').unwrap_or(&rest[end..]);
            if !self.accept(',') {
                self.expect(')')?;
                break;
            }
        }
        Ok(shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers() {
        let parse = |text: &str| Header::parse(text.as_bytes());
        let header = Header {
            ty: ScalarType::F64,
            big_endian: true,
            fortran_order: true,
            shape: vec![3, 4],
        };
        let text = "{'descr': '>f8', 'fortran_order': True, 'shape': (3, 4), }   \n";
        assert_eq!(parse(text).unwrap(), header);
        let text = "{\"shape\":(3L,4),\"fortran_order\":True,\"descr\":\">f8\"}";
        assert_eq!(parse(text).unwrap(), header);
        for (text, kind) in [
            ("", FileErrorKind::Malformed),
            ("{}", FileErrorKind::Malformed),
            ("{'descr': '<f8', 'fortran_order': 1, 'shape': ()}", FileErrorKind::Malformed),
            ("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}", FileErrorKind::Malformed),
            ("{'descr': '<f8', 'fortran_order': False, 'shape': (3,)} x", FileErrorKind::Malformed),
            (
                "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,)}",
                FileErrorKind::Malformed,
            ),
            (
                "{'descr': '<c8', 'fortran_order': False, 'shape': ()}",
                FileErrorKind::UnsupportedType,
            ),
            (
                "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': ()}",
                FileErrorKind::UnsupportedType,
            ),
        ] {
            assert_eq!(parse(text).unwrap_err().kind, kind, "{text}");
        }
    }
}
