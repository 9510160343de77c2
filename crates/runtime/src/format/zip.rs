//! The part of the ZIP format that archives of arrays use: a directory at the end, and members that
//! are stored or deflated, with the 64-bit extension.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

use super::inflate::{GREATEST_RATIO, Inflate};
use super::{Fault, FileErrorKind};

/// Directories larger than this are not those of archives of arrays.
const LARGEST_DIRECTORY: u64 = 64 << 20;

const LOCAL: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
const END_64: u32 = 0x0606_4b50;
const LOCATOR_64: u32 = 0x0706_4b50;

/// What the directory says of a member.
#[derive(Clone, Debug)]
pub(super) struct Member {
    method: u16,
    flags: u16,
    crc: u32,
    packed: u64,
    /// The number of bytes the member has when unpacked.
    pub size: u64,
    /// Where its local header starts.
    start: u64,
}

/// The members of an archive, by name, in the order of the directory.
pub(super) fn directory(file: &mut File, length: u64) -> Result<Vec<(String, Member)>, Fault> {
    let (start, size, count) = find_directory(file, length)?;
    if start.checked_add(size).is_none_or(|end| end > length) || size > LARGEST_DIRECTORY {
        return Err(Fault::malformed("the archive's directory lies outside the file"));
    }
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = vec![0; size as usize];
    file.read_exact(&mut bytes)?;
    let mut fields = Fields { bytes: &bytes };
    let mut members = Vec::new();
    for _ in 0..count {
        members.push(central_entry(&mut fields)?);
    }
    if !fields.bytes.is_empty() {
        return Err(Fault::malformed("the archive's directory is longer than its entries"));
    }
    Ok(members)
}

/// Start, size and number of entries of the directory.
fn find_directory(file: &mut File, length: u64) -> Result<(u64, u64, u64), Fault> {
    // The end record has 22 bytes and a comment of at most 65535.
    let tail_length = length.min(22 + 65_535);
    file.seek(SeekFrom::Start(length - tail_length))?;
    let mut tail = vec![0; tail_length as usize];
    file.read_exact(&mut tail)?;
    let last = tail.len().saturating_sub(22);
    let ends_here = |at: &usize| {
        let record = &tail[*at..];
        record.len() >= 22
            && record[..4] == END.to_le_bytes()
            && usize::from(u16::from_le_bytes([record[20], record[21]])) == record.len() - 22
    };
    let at = (0..=last)
        .rev()
        .find(ends_here)
        .ok_or_else(|| Fault::malformed("this is not an archive: it has no directory"))?;
    let mut fields = Fields { bytes: &tail[at + 4..] };
    let (disk, first_disk) = (fields.u16()?, fields.u16()?);
    let (_, count) = (fields.u16()?, fields.u16()?);
    let (size, start) = (fields.u32()?, fields.u32()?);
    if (disk, first_disk) != (0, 0) && (disk, first_disk) != (0xffff, 0xffff) {
        return Err(Fault::malformed("archives in several parts are not supported"));
    }
    if count != 0xffff && size != u32::MAX && start != u32::MAX {
        return Ok((u64::from(start), u64::from(size), u64::from(count)));
    }
    if at < 20 || tail[at - 20..at - 16] != LOCATOR_64.to_le_bytes() {
        return Ok((u64::from(start), u64::from(size), u64::from(count)));
    }
    let mut locator = Fields { bytes: &tail[at - 16..at] };
    locator.u32()?;
    let end_64 = locator.u64()?;
    if end_64.checked_add(56).is_none_or(|end| end > length) {
        return Err(Fault::malformed("the archive's directory lies outside the file"));
    }
    file.seek(SeekFrom::Start(end_64))?;
    let mut record = [0; 56];
    file.read_exact(&mut record)?;
    if record[..4] != END_64.to_le_bytes() {
        return Err(Fault::malformed("the archive's 64-bit directory is missing"));
    }
    let mut fields = Fields { bytes: &record[32..] };
    let (count, size, start) = (fields.u64()?, fields.u64()?, fields.u64()?);
    Ok((start, size, count))
}

fn central_entry(fields: &mut Fields<'_>) -> Result<(String, Member), Fault> {
    if fields.u32()? != CENTRAL {
        return Err(Fault::malformed("an entry of the archive's directory is damaged"));
    }
    fields.take(4)?;
    let (flags, method) = (fields.u16()?, fields.u16()?);
    fields.take(4)?;
    let crc = fields.u32()?;
    let (packed, size) = (fields.u32()?, fields.u32()?);
    let (name_length, extra_length, comment_length) = (fields.u16()?, fields.u16()?, fields.u16()?);
    fields.take(8)?;
    let start = fields.u32()?;
    let name = String::from_utf8_lossy(fields.take(name_length.into())?).into_owned();
    let mut extra = Fields { bytes: fields.take(extra_length.into())? };
    fields.take(comment_length.into())?;
    let mut numbers = [u64::from(size), u64::from(packed), u64::from(start)];
    while extra.bytes.len() >= 4 {
        let (tag, length) = (extra.u16()?, extra.u16()?);
        let mut content = Fields { bytes: extra.take(length.into())? };
        if tag == 1 {
            // The numbers that did not fit 32 bits, in this order.
            for number in numbers.iter_mut().filter(|number| **number == u64::from(u32::MAX)) {
                *number = content.u64()?;
            }
        }
    }
    let [size, packed, start] = numbers;
    Ok((name, Member { method, flags, crc, packed, size, start }))
}

/// A reader of a member's unpacked bytes.
pub(super) fn open(file: &mut File, length: u64, member: &Member) -> Result<Content, Fault> {
    let damaged = || Fault::malformed("a member of the archive lies outside the file");
    if member.flags & 1 != 0 {
        return Err(Fault::malformed("the archive is encrypted"));
    }
    file.seek(SeekFrom::Start(member.start))?;
    let mut local = [0; 30];
    file.read_exact(&mut local)?;
    let mut fields = Fields { bytes: &local };
    if fields.u32()? != LOCAL {
        return Err(Fault::malformed("a member of the archive does not start where it should"));
    }
    fields.take(22)?;
    let skipped = 30 + u64::from(fields.u16()?) + u64::from(fields.u16()?);
    let start = member.start.checked_add(skipped).ok_or_else(damaged)?;
    if start.checked_add(member.packed).is_none_or(|end| end > length) {
        return Err(damaged());
    }
    file.seek(SeekFrom::Start(start))?;
    let packed = file.try_clone()?.take(member.packed);
    let input: Box<dyn Read> = match member.method {
        0 if member.size != member.packed => {
            return Err(Fault::malformed("a stored member of the archive has two sizes"));
        }
        0 => Box::new(io::BufReader::new(packed)),
        8 if member.size > member.packed.saturating_mul(GREATEST_RATIO) => {
            return Err(Fault::malformed("a member of the archive claims more than it can hold"));
        }
        8 => Box::new(Inflate::new(packed)),
        other => {
            let detail = format!("compression method {other} is not supported, only deflate");
            return Err(Fault::new(FileErrorKind::Unreadable, detail));
        }
    };
    Ok(Content { input, sum: Crc::new(), expected: member.crc })
}

/// The unpacked bytes of a member, with their checksum.
pub(super) struct Content {
    input: Box<dyn Read>,
    sum: Crc,
    expected: u32,
}

impl Content {
    /// Makes sure that nothing follows what was read and that the checksum is right.
    pub fn finish(mut self) -> Result<(), Fault> {
        if self.input.read(&mut [0])? != 0 {
            return Err(Fault::malformed("a member of the archive is longer than it says"));
        }
        if self.sum.value() != self.expected {
            return Err(Fault::malformed("the checksum of a member of the archive is wrong"));
        }
        Ok(())
    }
}

impl Read for Content {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(out)?;
        self.sum.add(&out[..count]);
        Ok(count)
    }
}

/// Writes an archive of stored members.
pub(super) struct Writer<'a> {
    out: &'a mut dyn Write,
    written: u64,
    directory: Vec<u8>,
    count: u16,
}

impl<'a> Writer<'a> {
    pub fn new(out: &'a mut dyn Write) -> Writer<'a> {
        Writer { out, written: 0, directory: Vec::new(), count: 0 }
    }

    /// Adds a member that is the given parts, one after another.
    pub fn add(&mut self, name: &str, parts: [&[u8]; 2]) -> Result<(), Fault> {
        let large = |_| Fault::new(FileErrorKind::TooLarge, "archives above 4 GiB are not written");
        let size = u32::try_from(parts[0].len() + parts[1].len()).map_err(large)?;
        let start = u32::try_from(self.written).map_err(large)?;
        let name_length = u16::try_from(name.len())
            .map_err(|_| Fault::new(FileErrorKind::TooLarge, "the name of an array is too long"))?;
        let mut sum = Crc::new();
        parts.iter().for_each(|part| sum.add(part));
        // Version, flags (the name is UTF-8), method, time, date (1 January 1980).
        let mut common = Vec::new();
        for field in [20u16, 1 << 11, 0, 0, 0x21] {
            common.extend(field.to_le_bytes());
        }
        for field in [sum.value(), size, size] {
            common.extend(field.to_le_bytes());
        }
        common.extend(name_length.to_le_bytes());
        common.extend([0; 2]);
        let header = [&LOCAL.to_le_bytes(), &common[..], name.as_bytes()].concat();
        for part in [&header[..], parts[0], parts[1]] {
            self.out.write_all(part)?;
            self.written += part.len() as u64;
        }
        self.directory.extend(CENTRAL.to_le_bytes());
        self.directory.extend(20u16.to_le_bytes());
        self.directory.extend(common);
        self.directory.extend([0; 10]);
        self.directory.extend(start.to_le_bytes());
        self.directory.extend(name.as_bytes());
        self.count =
            self.count.checked_add(1).filter(|count| *count < u16::MAX).ok_or_else(|| {
                Fault::new(FileErrorKind::TooLarge, "too many arrays for an archive")
            })?;
        Ok(())
    }

    /// Writes the directory.
    pub fn finish(self) -> Result<(), Fault> {
        let large = |_| Fault::new(FileErrorKind::TooLarge, "archives above 4 GiB are not written");
        let start = u32::try_from(self.written).map_err(large)?;
        let size = u32::try_from(self.directory.len()).map_err(large)?;
        let mut end = END.to_le_bytes().to_vec();
        end.extend([0; 4]);
        end.extend(self.count.to_le_bytes());
        end.extend(self.count.to_le_bytes());
        end.extend(size.to_le_bytes());
        end.extend(start.to_le_bytes());
        end.extend([0; 2]);
        self.out.write_all(&self.directory)?;
        Ok(self.out.write_all(&end)?)
    }
}

/// Little-endian fields of a record.
struct Fields<'a> {
    bytes: &'a [u8],
}

impl<'a> Fields<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], Fault> {
        let (taken, rest) = self
            .bytes
            .split_at_checked(count)
            .ok_or_else(|| Fault::malformed("the archive's directory ends too early"))?;
        self.bytes = rest;
        Ok(taken)
    }

    fn number<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let mut bytes = [0; N];
        bytes.copy_from_slice(self.take(N)?);
        Ok(bytes)
    }

    fn u16(&mut self) -> Result<u16, Fault> {
        Ok(u16::from_le_bytes(self.number()?))
    }

    fn u32(&mut self) -> Result<u32, Fault> {
        Ok(u32::from_le_bytes(self.number()?))
    }

    fn u64(&mut self) -> Result<u64, Fault> {
        Ok(u64::from_le_bytes(self.number()?))
    }
}

/// The checksum of ZIP, CRC-32, byte by byte.
struct Crc {
    state: u32,
}

impl Crc {
    fn new() -> Crc {
        Crc { state: u32::MAX }
    }

    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            let index = (self.state ^ u32::from(*byte)) & 0xff;
            self.state = CRC_TABLE[index as usize] ^ (self.state >> 8);
        }
    }

    fn value(&self) -> u32 {
        !self.state
    }
}

/// The effect of one byte.
const CRC_TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut value, mut bit) = (byte as u32, 0);
        while bit < 8 {
            value = if value & 1 == 1 { 0xedb8_8320 ^ (value >> 1) } else { value >> 1 };
            bit += 1;
        }
        table[byte] = value;
        byte += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_the_standard() {
        let mut sum = Crc::new();
        sum.add(b"123456789");
        assert_eq!(sum.value(), 0xcbf4_3926);
    }
}
