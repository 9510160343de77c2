//! Arrays that stay in their file: the system brings in the pages that are read, and drops them again
//! without asking when memory is short. Loading weights takes no time and no memory of its own.
//!
//! Needs: elements that lie in the file as they lie in memory. Files of our own are replaced, never
//! written to (`atomic`); if others change one while the program runs, the run ends with an error
//! (`torn`). What is small or lies at an odd address is read.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use ein_scalar::ScalarType;
use memmap2::{Mmap, MmapOptions};

use super::byte_count;
use crate::torn::Watched;
use crate::{Memory, Tensor};

/// Below this reading is as fast, and the file may go.
const SMALLEST: u64 = 1 << 16;

/// All bytes of a file, where the system can do that.
pub(super) fn whole(file: &File) -> Option<Arc<Mmap>> {
    // SAFETY: a private map that is only read. Nothing relies on what it holds: any bytes are elements
    // of the types that are taken from it, and pages that go away are replaced.
    unsafe { MmapOptions::new().map(file) }.ok().map(Arc::new)
}

/// The array whose elements begin at a byte of a file, where it can stay there. The caller has made
/// sure that they lie in it.
pub(super) fn elements(
    (path, file, map): (&Path, &File, &Arc<Mmap>),
    start: u64,
    ty: ScalarType,
    shape: &[usize],
    memory: &Memory,
) -> Option<Tensor> {
    let bytes = byte_count(ty, shape).filter(|bytes| *bytes >= SMALLEST)?;
    // A truth value is a byte of any value there, and 0 or 1 here.
    if cfg!(target_endian = "big") || ty.is_bool() {
        return None;
    }
    let start = usize::try_from(start).ok()?;
    let end = start.checked_add(usize::try_from(bytes).ok()?)?;
    let first = map.get(start..end)?.as_ptr();
    let mut strides = vec![1isize; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis].checked_mul(isize::try_from(shape[axis]).ok()?)?;
    }
    let watched = Watched::new(memory, path, file, map)?;
    // SAFETY: the map holds as many bytes as the shape has, and lives as long as the tensor.
    unsafe { memory.foreign(ty, shape.to_vec(), strides, first, Box::new(watched)) }
}

#[cfg(test)]
mod tests {
    use crate::Memory;
    use crate::format::{read, write};

    #[test]
    fn large_arrays_take_no_memory() {
        let folder = std::env::temp_dir().join(format!("ein-mapped-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join("w.safetensors");
        let memory = Memory::unlimited();
        let elements: Vec<f32> = (0..40_000).map(|at| at as f32).collect();
        let large = memory.from_slice(&elements, &[200, 200]).expect("room");
        let small = memory.from_slice(&elements[..6], &[2, 3]).expect("room");
        write(&path, &[("large", &large), ("small", &small)]).expect("written");
        let fresh = Memory::unlimited();
        let mut mapped = read(&path, Some("large"), &fresh).expect("readable");
        assert_eq!((fresh.used(), mapped.shape()), (0, &[200, 200][..]));
        assert_eq!(mapped.as_slice::<f32>(), Some(elements.as_slice()));
        // The first write takes a copy; the file keeps what it had.
        mapped.as_mut_slice::<f32>().expect("room")[0] = 7.0;
        let again = read(&path, Some("large"), &fresh).expect("readable");
        assert_eq!(again.as_slice::<f32>().map(|it| it[0]), Some(0.0));
        let few = read(&path, Some("small"), &fresh).expect("readable");
        assert_eq!(few.as_slice::<f32>(), Some(&elements[..6]));
        std::fs::remove_dir_all(&folder).expect("removed");
    }
}
