//! Kernels that are not trusted: each is run once more as loop IR, operation by operation, with every
//! address, divisor and overlap looked at, and the engine has to agree with it.
//!
//! A kernel that breaks a promise is a fault of the pass that made it, or of the proof that it relied
//! on: an internal error, which names the kernel, its buffer and the place. `--paranoid` watches every
//! run of every kernel. Debug builds watch the first runs of small ones.

use super::call::Held;
use ein_interp::Value;
use ein_ir::loops::run::{Ended, Image, run};
use ein_ir::loops::{Buffer, BufferKind, Kernel};
use ein_runtime::Tensor;
use ein_scalar::Scalar;
use std::sync::atomic::{AtomicU32, Ordering};

/// So many steps of a kernel are watched where nobody asked for it.
const FEW_STEPS: u64 = 200_000;

/// So many runs of a kernel are watched where nobody asked for it.
const FEW_RUNS: u32 = 2;

/// What is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Watch {
    /// Every run of every kernel.
    All,
    /// The first runs of small kernels.
    Some,
    /// Nothing.
    None,
}

impl Watch {
    pub(super) fn new(paranoid: bool) -> Watch {
        match paranoid {
            true => Watch::All,
            false if cfg!(debug_assertions) => Watch::Some,
            false => Watch::None,
        }
    }
}

/// What a kernel computes, as loop IR says.
pub(super) struct Expected {
    trapped: bool,
    images: Vec<Image>,
}

/// Runs a kernel before the engine does; nothing if it is not watched.
pub(super) fn expect(
    watch: Watch,
    kernel: &Kernel,
    held: &[Held],
    runs: &AtomicU32,
) -> Option<Expected> {
    let steps = match watch {
        Watch::None => return None,
        Watch::Some if runs.load(Ordering::Relaxed) >= FEW_RUNS => return None,
        Watch::Some => FEW_STEPS,
        Watch::All => u64::MAX,
    };
    let cells: i64 = kernel.bufs.iter().map(|buffer| buffer.len).fold(0, i64::saturating_add);
    if watch == Watch::Some && cells > FEW_STEPS as i64 {
        return None;
    }
    runs.fetch_add(1, Ordering::Relaxed);
    let images = kernel.bufs.iter().zip(held).map(|(buffer, held)| image(buffer, held)).collect();
    match run(kernel, images, steps) {
        Ok((trapped, images)) => Some(Expected { trapped, images }),
        Err(Ended::TooLong) => None,
        Err(Ended::Broken(why)) => {
            panic!("paranoid: the kernel of {} breaks its promise: {why}", kernel.name)
        }
    }
}

/// Compares what the engine did with it. Floats may differ by the order of sums.
pub(super) fn compare(expected: &Expected, kernel: &Kernel, held: &[Held], trapped: u32) {
    let name = &kernel.name;
    assert!(
        expected.trapped == (trapped != 0),
        "paranoid: the kernel of {name} fails in its code: {}, on its engine: {}",
        expected.trapped,
        trapped != 0
    );
    if expected.trapped {
        return;
    }
    for ((buffer, held), image) in kernel.bufs.iter().zip(held).zip(&expected.images) {
        let (BufferKind::Output, Held::Own(tensor)) = (buffer.kind, held) else { continue };
        if buffer.ty.is_float() {
            continue;
        }
        let found = image_of(tensor);
        assert!(
            found.cells == image.cells,
            "paranoid: `{}` of the kernel of {name} is not what its code computes",
            buffer.name
        );
    }
}

fn image(buffer: &Buffer, held: &Held) -> Image {
    let room = || Image {
        cells: vec![Some(Scalar::zero(buffer.ty)); usize::try_from(buffer.len).unwrap_or(0)],
        origin: 0,
    };
    match held {
        Held::Shared(Value::Tensor(tensor), _) => image_of(tensor),
        Held::Shared(_, Some(bits)) => {
            Image { cells: vec![Some(Scalar::from_bits(buffer.ty, **bits))], origin: 0 }
        }
        Held::Shared(_, None) | Held::Own(_) | Held::Nothing => room(),
    }
}

/// The elements of a tensor where they are in memory.
fn image_of(tensor: &Tensor) -> Image {
    let shape = tensor.shape();
    if shape.contains(&0) {
        return Image::default();
    }
    let axes = || shape.iter().zip(tensor.strides());
    let reach = |forward: bool| {
        let far = |(extent, stride): (&usize, &isize)| (*extent as i64 - 1) * *stride as i64;
        axes().map(far).filter(|far| (*far >= 0) == forward).sum::<i64>()
    };
    let (first, last) = (reach(false), reach(true));
    let mut cells = vec![None; (last - first + 1) as usize];
    let mut at = vec![0usize; shape.len()];
    loop {
        let place: i64 =
            at.iter().zip(tensor.strides()).map(|(at, stride)| *at as i64 * *stride as i64).sum();
        cells[(place - first) as usize] = tensor.get(&at).ok();
        let mut axis = shape.len();
        loop {
            if axis == 0 {
                return Image { cells, origin: -first };
            }
            axis -= 1;
            at[axis] += 1;
            if at[axis] < shape[axis] {
                break;
            }
            at[axis] = 0;
        }
    }
}
