//! Runs kernels on vectors of elements.

// Each test crate uses a part of it.
#![allow(dead_code)]

use ein_ir::cost::Cost;
use ein_ir::loops::vectorise;
use ein_ir::loops::{BufferKind, Kernel, parse::parse};
use ein_ir::target::{Target, Vectors};
use ein_jit::compile_with;
use ein_runtime::kernel::{BodyFn, GemmArgs, Interface};
use ein_scalar::{Scalar, ScalarType};
use std::ffi::c_void;

/// Elements of one type, as bytes aligned for vectors.
#[derive(Clone)]
pub struct Array {
    pub ty: ScalarType,
    words: Vec<[u64; 8]>,
    pub len: usize,
}

impl Array {
    pub fn zeros(ty: ScalarType, len: usize) -> Array {
        Array { ty, words: vec![[0; 8]; (len * ty.size_bytes()).div_ceil(64) + 1], len }
    }

    pub fn of(ty: ScalarType, values: &[Scalar]) -> Array {
        let mut array = Array::zeros(ty, values.len());
        for (n, value) in values.iter().enumerate() {
            array.set(n, *value);
        }
        array
    }

    pub fn f32(values: &[f32]) -> Array {
        Array::of(ScalarType::F32, &values.iter().map(|x| Scalar::F32(*x)).collect::<Vec<_>>())
    }

    pub fn bytes(&mut self) -> *mut u8 {
        self.words.as_mut_ptr().cast()
    }

    pub fn set(&mut self, n: usize, value: Scalar) {
        let size = self.ty.size_bytes();
        assert!(n < self.len);
        let bytes = value.to_bits().to_le_bytes();
        // SAFETY: in the range of the words.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.bytes().add(n * size), size) };
    }

    pub fn get(&self, n: usize) -> Scalar {
        let size = self.ty.size_bytes();
        assert!(n < self.len);
        let mut bytes = [0u8; 8];
        let start = self.words.as_ptr().cast::<u8>();
        // SAFETY: in the range of the words.
        unsafe { std::ptr::copy_nonoverlapping(start.add(n * size), bytes.as_mut_ptr(), size) };
        Scalar::from_bits(self.ty, u64::from_le_bytes(bytes))
    }

    pub fn values(&self) -> Vec<Scalar> {
        (0..self.len).map(|n| self.get(n)).collect()
    }

    pub fn floats(&self) -> Vec<f64> {
        self.values().into_iter().map(Scalar::as_f64).collect()
    }
}

/// Runs a kernel, given as text, on its inputs in order. Gives its outputs and whether it trapped.
pub fn run(text: &str, inputs: &[Array]) -> (Vec<Array>, bool) {
    let kernel = parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    run_kernel(&kernel, inputs)
}

/// Runs a kernel with vectors of every kind, which must agree about traps; gives what the widest do.
pub fn run_kernel(kernel: &Kernel, inputs: &[Array]) -> (Vec<Array>, bool) {
    let mut all: Vec<_> = kinds().map(|vectors| run_with(kernel, inputs, vectors)).collect();
    let (outputs, trapped) = all.pop().expect("there are vectors of 128 bits");
    for (_, other) in all {
        assert_eq!(trapped, other, "{}", ein_ir::loops::print::print(kernel));
    }
    (outputs, trapped)
}

/// The vectors that this machine has, the widest last.
pub fn kinds() -> impl Iterator<Item = Vectors> {
    Vectors::ALL.into_iter().filter(|it| *it <= Target::host().vectors)
}

/// A kernel whose loops are decided for vectors of a kind.
pub fn decided(kernel: &Kernel, vectors: Vectors) -> Kernel {
    let mut kernel = kernel.clone();
    vectorise::run(&mut kernel, Cost::of(Target { vectors, ..Target::REFERENCE }));
    let problems = ein_ir::loops::verify::verify(&kernel);
    let text = ein_ir::loops::print::print(&kernel);
    assert!(problems.is_empty(), "{problems:?}\n{text}");
    let again = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(ein_ir::loops::print::print(&again), text);
    kernel
}

/// Runs a kernel with vectors of a kind.
pub fn run_with(kernel: &Kernel, inputs: &[Array], vectors: Vectors) -> (Vec<Array>, bool) {
    let kernel = &decided(kernel, vectors);
    let compiled = compile_with(kernel, vectors).unwrap_or_else(|error| panic!("{error}"));
    let mut inputs = inputs.iter().cloned();
    let mut arrays: Vec<Array> = kernel
        .bufs
        .iter()
        .map(|buffer| match buffer.kind {
            BufferKind::Input => inputs.next().expect("an array for each input"),
            BufferKind::Output | BufferKind::Scratch => {
                Array::zeros(buffer.ty, usize::try_from(buffer.len).unwrap_or(0))
            }
            BufferKind::Local => Array::zeros(buffer.ty, 0),
        })
        .collect();
    let pointers: Vec<*mut u8> = arrays
        .iter_mut()
        .zip(kernel.bufs.iter())
        .map(|(array, buffer)| match buffer.kind {
            BufferKind::Local => std::ptr::null_mut(),
            BufferKind::Input | BufferKind::Output | BufferKind::Scratch => array.bytes(),
        })
        .collect();
    // SAFETY: the arrays have the sizes that the kernel declares.
    let trapped = unsafe { compiled.run(&pointers, &interface()) };
    let outputs = arrays
        .into_iter()
        .zip(kernel.bufs.iter())
        .filter(|(_, buffer)| buffer.kind == BufferKind::Output)
        .map(|(array, _)| array)
        .collect();
    (outputs, trapped != 0)
}

/// A plain interface: parallel loops in pieces of `grain`, on threads of their own.
pub fn interface() -> Interface {
    Interface {
        parallel,
        gemm_f32: gemm::<f32>,
        gemm_f64: gemm::<f64>,
        context: std::ptr::null(),
        flushed: parallel,
        leaves: stays,
    }
}

/// Nobody wants it to end.
unsafe extern "C" fn stays(_: *const c_void) -> u32 {
    0
}

unsafe extern "C" fn parallel(
    _: *const c_void,
    body: BodyFn,
    captured: *const c_void,
    lo: i64,
    hi: i64,
    grain: i64,
) -> u32 {
    let captured = captured as usize;
    std::thread::scope(|scope| {
        let mut threads = Vec::new();
        let mut start = lo;
        while start < hi {
            let end = hi.min(start + grain.max(1));
            threads.push(scope.spawn(move || {
                // SAFETY: the kernel says that the body may run on any thread.
                unsafe { body(captured as *const c_void, start, end) }
            }));
            start = end;
        }
        threads
            .into_iter()
            .map(|thread| thread.join().expect("no body panics"))
            .fold(0, |all, one| all | one)
    })
}

unsafe extern "C" fn gemm<T>(_: *const c_void, args: *const GemmArgs)
where
    T: Copy + Default + std::ops::Mul<Output = T> + std::ops::AddAssign,
{
    // SAFETY: the kernel passes matrices that are there.
    unsafe {
        let args = &*args;
        let (a, b, c) = (args.a.cast::<T>(), args.b.cast::<T>(), args.c.cast::<T>());
        for i in 0..args.m {
            for j in 0..args.n {
                let mut sum = T::default();
                for k in 0..args.k {
                    let x = *a.offset((i * args.a_rows + k * args.a_cols) as isize);
                    let y = *b.offset((k * args.b_rows + j * args.b_cols) as isize);
                    sum += x * y;
                }
                let place = c.offset((i * args.c_rows + j * args.c_cols) as isize);
                if args.accumulate != 0 {
                    *place += sum;
                } else {
                    *place = sum;
                }
            }
        }
    }
}

/// Values at the edges of a type, and some others.
pub fn samples(ty: ScalarType) -> Vec<Scalar> {
    match ty.int_range() {
        Some((min, max)) => {
            let mut values =
                vec![0, 1, 2, 3, 5, 7, 10, 63, 100, max, max - 1, max / 2, min, min / 2];
            if min < 0 {
                values.extend([-1, -2, -3, -7, -10, -100, min + 1]);
            }
            if max > 1 << 40 {
                values.extend([(1 << 62) + (1 << 54) + 1, (1 << 53) + 1, (1 << 24) + 1, max / 3]);
            }
            values.into_iter().filter_map(|value| Scalar::from_i128(value, ty)).collect()
        }
        None if ty.is_bool() => vec![Scalar::Bool(false), Scalar::Bool(true)],
        None => [
            0.0,
            -0.0,
            1.0,
            -1.0,
            0.5,
            -0.5,
            2.0,
            3.0,
            -3.0,
            1.5,
            -2.5,
            2.5,
            10.0,
            100.25,
            -7.75,
            0.1,
            -0.3,
            1e-3,
            1e-6,
            -1e-7,
            6e-8,
            1e-40,
            -1e-41,
            1e-310,
            3.4e38,
            -3.4e38,
            65504.0,
            65519.0,
            65520.0,
            1e5,
            1e10,
            -1e10,
            3e9,
            5e9,
            -3e9,
            9.3e18,
            -9.3e18,
            1.9e19,
            1e300,
            127.9,
            128.0,
            255.9,
            256.0,
            32767.5,
            65535.9,
            2147483648.0,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
        ]
        .into_iter()
        .filter_map(|value| Scalar::from_f64(value, ty))
        .collect(),
    }
}
