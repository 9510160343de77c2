//! NumPy's `.npz`: an archive with one `.npy` file for each array.

use std::collections::HashSet;
use std::io::Write;
use std::path::Path;

use super::{Fault, choose, npy, open, zip};
use crate::{Memory, Tensor};

/// Reads one array.
pub(super) fn read(path: &Path, name: Option<&str>, memory: &Memory) -> Result<Tensor, Fault> {
    let (mut file, length) = open(path)?;
    let members = arrays(zip::directory(&mut file, length)?)?;
    let (_, member) = choose(&members, name)?;
    let mut content = zip::open(&mut file, length, member)?;
    let tensor = npy::read(&mut content, member.size, memory)?;
    content.finish()?;
    Ok(tensor)
}

/// The names of the arrays.
pub(super) fn names(path: &Path) -> Result<Vec<String>, Fault> {
    let (mut file, length) = open(path)?;
    let members = arrays(zip::directory(&mut file, length)?)?;
    Ok(members.into_iter().map(|(name, _)| name).collect())
}

/// The members that are arrays, without the ending of their names, each of which is there once.
fn arrays(members: Vec<(String, zip::Member)>) -> Result<Vec<(String, zip::Member)>, Fault> {
    let mut seen = HashSet::new();
    if !members.iter().all(|(name, _)| seen.insert(name)) {
        return Err(Fault::malformed("two arrays have one name"));
    }
    let array = |(name, member): (String, zip::Member)| {
        name.strip_suffix(".npy").map(|name| (name.to_owned(), member))
    };
    Ok(members.into_iter().filter_map(array).collect())
}

/// Writes an archive of uncompressed arrays.
pub(super) fn write(arrays: &[(&str, &Tensor)], out: &mut dyn Write) -> Result<(), Fault> {
    let mut archive = zip::Writer::new(out);
    for (name, tensor) in arrays {
        let header = npy::header(tensor)?;
        if cfg!(target_endian = "little") {
            let whole = tensor.contiguous()?;
            archive.add(&format!("{name}.npy"), [&header, whole.as_bytes().unwrap_or(&[])])?;
        } else {
            let mut bytes = Vec::new();
            super::write_elements(tensor, &mut bytes)?;
            archive.add(&format!("{name}.npy"), [&header, &bytes])?;
        }
    }
    archive.finish()
}
