//! Times kernels against the same loops in Rust: `cargo run --release -p ein-jit --example speed`.

use std::hint::black_box;
use std::time::Instant;

use ein_ir::loops::parse::parse;
use ein_jit::{Compiled, compile};
use ein_runtime::kernel::{BodyFn, GemmArgs, Interface};
use std::ffi::c_void;

unsafe extern "C" fn stays(_: *const c_void) -> u32 {
    0
}

unsafe extern "C" fn parallel(
    _: *const c_void,
    body: BodyFn,
    captured: *const c_void,
    lo: i64,
    hi: i64,
    _: i64,
) -> u32 {
    // SAFETY: as the kernel asks.
    unsafe { body(captured, lo, hi) }
}

unsafe extern "C" fn no_gemm(_: *const c_void, _: *const GemmArgs) {}

fn build(text: &str) -> Compiled {
    let kernel = parse(text).expect("well formed");
    drop(compile(&kernel));
    let start = Instant::now();
    let compiled = compile(&kernel).expect("this machine is known");
    println!("{:<34} compiled in {:6.2} ms", kernel.name, start.elapsed().as_secs_f64() * 1e3);
    compiled
}

fn time(what: &str, bytes: f64, mut f: impl FnMut()) {
    let mut best = f64::INFINITY;
    for _ in 0..25 {
        let start = Instant::now();
        f();
        best = best.min(start.elapsed().as_secs_f64());
    }
    println!("    {what:<12} {:9.3} ms {:7.2} GB/s", best * 1e3, bytes / best * 1e-9);
}

fn run(compiled: &Compiled, buffers: &[*mut u8]) {
    let interface = Interface {
        parallel,
        gemm_f32: no_gemm,
        gemm_f64: no_gemm,
        context: std::ptr::null(),
        flushed: parallel,
        leaves: stays,
    };
    // SAFETY: the buffers have the sizes that the kernels declare.
    let trapped = unsafe { compiled.run(buffers, &interface) };
    assert_eq!(trapped, 0);
}

fn input(len: usize, seed: u32) -> Vec<f32> {
    (0..len as u32)
        .map(|n| (n.wrapping_mul(2_654_435_761).wrapping_add(seed) >> 8) as f32 / 1e7 - 0.8)
        .collect()
}

fn pointer<T>(values: &[T]) -> *mut u8 {
    values.as_ptr().cast::<u8>().cast_mut()
}

fn elementwise() {
    let n = 8 << 20;
    let compiled = build(&format!(
        r#"kernel "tanh(a * b + c) * exp(-d)"
        input a_0: f32[{n}]
        input b_1: f32[{n}]
        input c_2: f32[{n}]
        input d_3: f32[{n}]
        output y_4: f32[{n}]
        {{ parallel(4096) for r20 in 0..{} {{
          vector() for r0 in 0..4096 {{
          r1: f32 = load a_0[r20*4096 + r0]
          r2: f32 = load b_1[r20*4096 + r0]
          r3: f32 = load c_2[r20*4096 + r0]
          r4: f32 = muladd r1, r2, r3
          r5: f32 = tanh r4
          r6: f32 = load d_3[r20*4096 + r0]
          r7: f32 = neg r6
          r8: f32 = exp r7
          r9: f32 = mul r5, r8
          store y_4[r20*4096 + r0] = r9
        }} }} }}"#,
        n / 4096
    ));
    let [a, b, c, d] = [1, 2, 3, 4].map(|seed| input(n, seed));
    let mut y = vec![0f32; n];
    let bytes = 20.0 * n as f64;
    time("jit", bytes, || {
        run(&compiled, &[pointer(&a), pointer(&b), pointer(&c), pointer(&d), pointer(&y)])
    });
    let check: f64 = y.iter().map(|x| f64::from(*x)).sum();
    time("rust", bytes, || {
        for i in 0..n {
            y[i] = (a[i] * b[i] + c[i]).tanh() * (-d[i]).exp();
        }
        black_box(&mut y);
    });
    let again: f64 = y.iter().map(|x| f64::from(*x)).sum();
    assert!((check - again).abs() < 1e-4 * again.abs(), "{check} {again}");
}

fn squares() {
    let n = 16 << 20;
    let compiled = build(&format!(
        r#"kernel "sum of squares"
        input x_0: f32[{n}]
        output y_1: f32[1]
        {{ var r1: f32 = 0.0f32
          vector(add r1) for r0 in 0..{n} {{
          r2: f32 = load x_0[r0]
          r3: f32 = muladd r2, r2, r1
          set r1 = r3
        }} store y_1[0] = r1 }}"#
    ));
    let x = input(n, 1);
    let y = vec![0f32; 16];
    time("jit", 4.0 * n as f64, || run(&compiled, &[pointer(&x), pointer(&y)]));
    time("rust, 32 sums", 4.0 * n as f64, || {
        let mut sums = [0f32; 32];
        for x in x.chunks_exact(32) {
            for k in 0..32 {
                sums[k] += x[k] * x[k];
            }
        }
        black_box(sums.iter().sum::<f32>());
    });
    let (name, size, repeat) = ("sum of squares, 4096 in cache", 4096usize, 2000usize);
    {
        let compiled = build(&format!(
            r#"kernel "{name}"
            input x_0: f32[{size}]
            output y_1: f32[1]
            {{ for r9 in 0..{repeat} {{ var r1: f32 = 0.0f32
              vector(add r1) for r0 in 0..{size} {{
              r2: f32 = load x_0[r0]
              r3: f32 = muladd r2, r2, r1
              set r1 = r3
            }} store y_1[0] = r1 }} }}"#
        ));
        let bytes = 4.0 * (size * repeat) as f64;
        time("jit", bytes, || run(&compiled, &[pointer(&x), pointer(&y)]));
        time("rust, 32 sums", bytes, || {
            for _ in 0..repeat {
                let mut sums = [0f32; 32];
                for x in black_box(&x[..size]).chunks_exact(32) {
                    for k in 0..32 {
                        sums[k] += x[k] * x[k];
                    }
                }
                black_box(sums.iter().sum::<f32>());
            }
        });
    }
}

fn stencil() {
    let (rows, cols) = (1024usize, 1024usize);
    let n = rows * cols;
    let compiled = build(&format!(
        r#"kernel "5-point stencil"
        input x_0: f32[{n}]
        output y_1: f32[{n}]
        {{ for r0 in 1..{} {{ vector() for r1 in 1..{} {{
          r2: f32 = load x_0[r0*{cols} + r1 + -{cols}]
          r3: f32 = load x_0[r0*{cols} + r1 + {cols}]
          r4: f32 = load x_0[r0*{cols} + r1 + -1]
          r5: f32 = load x_0[r0*{cols} + r1 + 1]
          r6: f32 = load x_0[r0*{cols} + r1]
          r7: f32 = add r2, r3
          r8: f32 = add r4, r5
          r9: f32 = add r7, r8
          r10: f32 = mul r6, -4.0f32
          r11: f32 = add r9, r10
          r12: f32 = muladd r11, 0.1f32, r6
          store y_1[r0*{cols} + r1] = r12
        }} }} }}"#,
        rows - 1,
        cols - 1
    ));
    let x = input(n, 1);
    let mut y = vec![0f32; n];
    time("jit", 8.0 * n as f64, || run(&compiled, &[pointer(&x), pointer(&y)]));
    time("rust", 8.0 * n as f64, || {
        for r in 1..rows - 1 {
            let (up, here, down) = (
                &x[(r - 1) * cols..r * cols],
                &x[r * cols..(r + 1) * cols],
                &x[(r + 1) * cols..(r + 2) * cols],
            );
            let y = &mut y[r * cols..(r + 1) * cols];
            for c in 1..cols - 1 {
                y[c] =
                    (up[c] + down[c] + here[c - 1] + here[c + 1] - 4.0 * here[c]) * 0.1 + here[c];
            }
        }
        black_box(&mut y);
    });
}

fn functions() {
    let n = 1 << 20;
    let x = input(n, 1);
    let y = vec![0f32; n];
    let wide: Vec<f64> = x.iter().map(|x| f64::from(*x)).collect();
    let long = vec![0f64; n];
    for ty in ["f32", "f64"] {
        for name in ["exp", "log", "tanh", "sin", "expm1", "log1p", "erf", "sqrt"] {
            let compiled = build(&format!(
                r#"kernel "{name} {ty}"
                input x_0: {ty}[{n}]
                output y_1: {ty}[{n}]
                {{ vector() for r0 in 0..{n} {{
                  r2: {ty} = load x_0[r0]
                  r3: {ty} = {name} r2
                  store y_1[r0] = r3
                }} }}"#
            ));
            let (from, to, bytes) = if ty == "f32" {
                (pointer(&x), pointer(&y), 8.0)
            } else {
                (pointer(&wide), pointer(&long), 16.0)
            };
            time("jit", bytes * n as f64, || run(&compiled, &[from, to]));
        }
    }
}

fn softmax() {
    let (rows, cols) = (4096usize, 512usize);
    let n = rows * cols;
    let compiled = build(&format!(
        r#"kernel "softmax {rows} x {cols}"
        input x_0: f32[{n}]
        output y_1: f32[{n}]
        {{ for r0 in 0..{rows} {{
          var r1: f32 = bits(f32, 4286578688)
          vector(max r1) for r2 in 0..{cols} {{
            r3: f32 = load x_0[r0*{cols} + r2]
            r4: f32 = max r1, r3
            set r1 = r4
          }}
          var r5: f32 = 0.0f32
          vector(add r5) for r6 in 0..{cols} {{
            r7: f32 = load x_0[r0*{cols} + r6]
            r8: f32 = sub r7, r1
            r9: f32 = exp r8
            store y_1[r0*{cols} + r6] = r9
            r10: f32 = add r5, r9
            set r5 = r10
          }}
          r11: f32 = div 1.0f32, r5
          vector() for r12 in 0..{cols} {{
            r13: f32 = load y_1[r0*{cols} + r12]
            r14: f32 = mul r13, r11
            store y_1[r0*{cols} + r12] = r14
          }}
        }} }}"#
    ));
    let x = input(n, 1);
    let y = vec![0f32; n];
    time("jit", 8.0 * n as f64, || run(&compiled, &[pointer(&x), pointer(&y)]));
}

/// Only to see how long a large kernel takes to compile.
fn large() {
    let mut body = String::new();
    let mut reg = 1000;
    for i in 0..8 {
        for j in 0..8 {
            body += &format!("var r{}: f32 = 0.0f32\n", i * 8 + j + 10);
        }
    }
    body += "for r0 in 0..64 {\n";
    for i in 0..8 {
        body += &format!("r{}: f32 = load a_0[r0*8 + {i}]\n", 200 + i);
        body += &format!("r{}: f32 = load a_0[r0*8 + {i}]\n", 300 + i);
    }
    for i in 0..8 {
        for j in 0..8 {
            let sum = i * 8 + j + 10;
            body += &format!(
                "r{reg}: f32 = muladd r{}, r{}, r{sum}\nset r{sum} = r{reg}\n",
                200 + i,
                300 + j
            );
            reg += 1;
        }
    }
    body += "}\n";
    for n in 0..64 {
        body += &format!("store c_1[{n}] = r{}\n", n + 10);
    }
    let mut many = String::new();
    for n in 0..20 {
        let r = |k: usize| 5000 + n * 10 + k;
        many += &format!(
            "vector() for r{} in 0..64 {{ r{}: f32 = load a_0[r{}]\n r{}: f32 = exp r{}\n r{}: f32 = mul r{}, r{}\nstore c_1[r{}] = r{} }}\n",
            r(0),
            r(1),
            r(0),
            r(2),
            r(1),
            r(3),
            r(1),
            r(2),
            r(0),
            r(3)
        );
    }
    for (name, body) in [("8 x 8 tile in registers", &body), ("20 vector loops with exp", &many)] {
        let text =
            format!("kernel \"{name}\"\ninput a_0: f32[512]\noutput c_1: f32[64]\n{{ {body} }}");
        build(&text);
    }
}

fn main() {
    large();
    elementwise();
    squares();
    stencil();
    softmax();
    functions();
}
