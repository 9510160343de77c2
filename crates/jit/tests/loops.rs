//! Every construct of loop IR, on small kernels.

mod support;

use ein_ir::loops::parse::parse;
use ein_scalar::{Scalar, ScalarType};
use support::{Array, run};

#[track_caller]
fn check(text: &str, inputs: &[Array], expected: &[f64]) {
    let (outputs, trapped) = run(text, inputs);
    assert!(!trapped, "{text}");
    assert_eq!(outputs[0].floats(), expected, "{text}");
}

fn ramp(ty: ScalarType, len: usize) -> Array {
    let values: Vec<Scalar> =
        (0..len).map(|n| ein_scalar::cast(Scalar::F64((n % 100) as f64), ty)).collect();
    Array::of(ty, &values)
}

#[test]
fn serial_loops_nest() {
    let text = r#"kernel "transpose"
        input x_0: f32[12]
        output y_1: f32[12]
        {
          for r0 in 0..3 { for r1 in 0..4 {
            r2: f32 = load x_0[r0*4 + r1]
            store y_1[r1*3 + r0] = r2
          } }
        }"#;
    let expected = [0., 4., 8., 1., 5., 9., 2., 6., 10., 3., 7., 11.];
    check(text, &[ramp(ScalarType::F32, 12)], &expected);
}

#[test]
fn recurrences_run_in_order() {
    let forward = r#"kernel "fib"
        output y_0: i64[10]
        {
          store y_0[0] = 0
          store y_0[1] = 1
          for r0 in 2..10 {
            r1: i64 = load y_0[r0 + -1]
            r2: i64 = load y_0[r0 + -2]
            r3: i64 = add r1, r2
            store y_0[r0] = r3
          }
        }"#;
    check(forward, &[], &[0., 1., 1., 2., 3., 5., 8., 13., 21., 34.]);
    let backward = r#"kernel "suffix"
        input x_0: i32[6]
        output y_1: i32[6]
        {
          var r0: i32 = 0i32
          backward for r1 in 0..6 {
            r2: i32 = load x_0[r1]
            r3: i32 = add r0, r2
            set r0 = r3
            store y_1[r1] = r0
          }
          backward for r4 in 3..3 { store y_1[0] = -1i32 }
        }"#;
    check(backward, &[ramp(ScalarType::I32, 6)], &[15., 15., 14., 12., 9., 5.]);
}

#[test]
fn branches_and_traps() {
    let text = r#"kernel "clip"
        input x_0: f64[5]
        output y_1: f64[5]
        {
          for r0 in 0..5 {
            r1: f64 = load x_0[r0]
            r2: bool = gt r1, 2.0f64
            var r3: f64 = 0.0f64
            if r2 {
              r4: bool = gt r1, 3.0f64
              if r4 { set r3 = 100.0f64 }
            } else { set r3 = r1 }
            store y_1[r0] = r3
          }
        }"#;
    check(text, &[ramp(ScalarType::F64, 5)], &[0., 1., 2., 0., 100.]);
    for (limit, traps) in [(99, true), (100, false), (0, true), (50, true)] {
        for kind in ["", "vector()", "parallel(7)", "backward"] {
            let text = format!(
                r#"kernel "trap"
                input x_0: i32[100]
                output y_1: i32[100]
                {{ {kind} for r0 in 0..100 {{
                  r1: i32 = load x_0[r0]
                  store y_1[r0] = r1
                  r2: bool = eq r1, {limit}i32
                  trap r2
                }} }}"#
            );
            let (outputs, trapped) = run(&text, &[ramp(ScalarType::I32, 100)]);
            assert_eq!(trapped, traps, "{text}");
            // A trap interrupts nothing.
            assert_eq!(outputs[0].get(99), Scalar::I32(99));
        }
    }
}

#[test]
fn unrolled_loops() {
    let text = r#"kernel "polynomial"
        input x_0: f32[8]
        output y_1: f32[2]
        {
          for r5 in 0..2 {
            var r0: f32 = 0.0f32
            unrolled for r1 in 0..4 {
              r2: f32 = load x_0[r1*2 + r5]
              r3: f32 = mul r0, 10.0f32
              r4: f32 = add r3, r2
              set r0 = r4
            }
            store y_1[r5] = r0
          }
        }"#;
    check(text, &[ramp(ScalarType::F32, 8)], &[246., 1357.]);
}

#[test]
fn parallel_loops_capture_what_they_use() {
    let text = r#"kernel "scale"
        input x_0: f32[1000]
        input h_1: bf16[1]
        output y_2: f32[1000]
        {
          r0: i64 = copy 7
          r1: f32 = copy 2.5f32
          r2: bool = copy true
          r3: i8 = copy -3i8
          var r4: f64 = 0.25f64
          r10: bf16 = load h_1[0]
          parallel(64) for r5 in 0..1000 {
            r6: f32 = load x_0[r5]
            r7: f32 = mul r6, r1
            r8: f32 = cast r3
            r9: f32 = cast r4
            r11: f32 = cast r10
            r12: f32 = select r2, r8, r9
            r13: f32 = add r7, r12
            r14: f32 = add r13, r9
            r15: f32 = add r14, r11
            r16: f32 = cast r0
            r17: f32 = add r15, r16
            store y_2[r5] = r17
          }
        }"#;
    let half = Array::of(ScalarType::BF16, &[ein_scalar::cast(Scalar::F32(1.5), ScalarType::BF16)]);
    let expected: Vec<f64> =
        (0..1000).map(|n| f64::from(n % 100) * 2.5 - 3.0 + 0.25 + 1.5 + 7.0).collect();
    check(text, &[ramp(ScalarType::F32, 1000), half], &expected);
}

/// Loops that run by themselves may stand in each other, and use the same buffers.
#[test]
fn loops_by_themselves_capture_what_they_use() {
    let text = r#"kernel "steps"
        input x_0: f32[80]
        output y_1: f32[80]
        scratch all_2: f32[8]
        local own_3: f32[8]
        {
          r0: f32 = copy 2.0f32
          for r1 in 0..8 {
            store all_2[r1] = r0
          }
          flushed for r2 in 0..2 {
            parallel(1) for r3 in 0..5 {
              flushed for r4 in 0..1 {
                for r5 in 0..8 {
                  r6: f32 = load x_0[r2*40 + r3*8 + r5]
                  store own_3[r5] = r6
                }
              }
              for r7 in 0..8 {
                r8: f32 = load own_3[r7*-1 + 7]
                r9: f32 = load all_2[r7]
                r10: f32 = mul r8, r9
                store y_1[r2*40 + r3*8 + r7] = r10
              }
            }
          }
        }"#;
    let expected: Vec<f64> = (0..80).map(|n| 2.0 * f64::from(n / 8 * 8 + 7 - n % 8)).collect();
    for kind in ["flushed", "apart"] {
        let text = text.replace("flushed", kind);
        check(&text, &[ramp(ScalarType::F32, 80)], &expected);
    }
}

#[test]
fn local_buffers_belong_to_their_loop() {
    let text = r#"kernel "rows"
        input x_0: f32[640]
        output y_1: f32[10]
        local row_2: f32[64]
        {
          parallel(1) for r0 in 0..10 {
            for r1 in 0..64 {
              r2: f32 = load x_0[r0*64 + r1]
              store row_2[r1] = r2
            }
            var r3: f32 = 0.0f32
            for r4 in 0..64 {
              r5: f32 = load row_2[r4*-1 + 63]
              r6: f32 = add r3, r5
              set r3 = r6
            }
            store y_1[r0] = r3
          }
        }"#;
    let expected: Vec<f64> =
        (0..10).map(|row| (0..64).map(|n| f64::from((row * 64 + n) % 100)).sum::<f64>()).collect();
    check(text, &[ramp(ScalarType::F32, 640)], &expected);
    // Larger than the guard page of a stack.
    let large = r#"kernel "large"
        output y_0: i64[1]
        local t_1: i64[60000]
        {
          for r0 in 0..60000 { store t_1[r0] = r0 }
          var r1: i64 = 0
          for r2 in 0..60000 {
            r3: i64 = load t_1[r2]
            r4: i64 = add r1, r3
            set r1 = r4
          }
          store y_0[0] = r1
        }"#;
    check(large, &[], &[1_799_970_000.0]);
}

#[test]
fn matrix_products() {
    for (ty, size) in [("f32", 6), ("f64", 6)] {
        let text = format!(
            r#"kernel "product"
            input a_0: {ty}[{size}]
            output c_1: {ty}[6]
            {{
              for r0 in 0..6 {{ store c_1[r0] = 1.0{ty} }}
              r1: i64 = copy 2
              gemm(r1, 2, 3) c_1[0] by 2, 1 = a_0[0] by 3, 1 * a_0[0] by 1, 3
              parallel gemm(1, 2, 3) c_1[4] by 2, 1 += a_0[3] by 3, 1 * a_0[0] by 1, 3
            }}"#
        );
        let ty = ScalarType::from_name(ty).unwrap();
        check(&text, &[ramp(ty, size)], &[5., 14., 14., 50., 15., 51.]);
    }
}

/// Sums, extremes and products, over every length up to a few vectors, from every start.
#[test]
fn vector_reductions() {
    for ty in ScalarType::ALL {
        let x = ramp(ty, 80);
        let ops: &[(&str, &str)] = if ty.is_bool() {
            &[("and", "true"), ("or", "false")]
        } else if ty.is_float() {
            &[("add", "3"), ("max", "2"), ("min", "1")]
        } else {
            &[("add", "3"), ("max", "2"), ("min", "1"), ("mul", "1")]
        };
        for lo in [0usize, 3] {
            for hi in (lo..lo + 21).chain([37, 79]) {
                for (op, first) in ops {
                    let first = if ty.is_bool() {
                        (*first).to_owned()
                    } else if ty.is_float() {
                        format!("{first}.0{ty}")
                    } else {
                        format!("{first}{ty}")
                    };
                    let text = |kind: &str| {
                        format!(
                            r#"kernel "reduce"
                            input x_0: {ty}[80]
                            output y_1: {ty}[1]
                            {{
                              var r0: {ty} = {first}
                              r4: i64 = copy {hi}
                              {kind} for r1 in {lo}..r4 {{
                                r2: {ty} = load x_0[r1]
                                r3: {ty} = {op} r0, r2
                                set r0 = r3
                              }}
                              store y_1[0] = r0
                            }}"#
                        )
                    };
                    let (plain, _) = run(&text(""), std::slice::from_ref(&x));
                    let (lanes, _) =
                        run(&text(&format!("vector({op} r0)")), std::slice::from_ref(&x));
                    let (a, b) = (plain[0].get(0), lanes[0].get(0));
                    let near = if ty.is_float() && *op == "add" && ty.size_bytes() == 2 {
                        // Sums of halves depend on their order.
                        (a.as_f64() - b.as_f64()).abs() <= a.as_f64().abs() * 0.05
                    } else {
                        a == b
                    };
                    assert!(near, "{op} {ty} {lo}..{hi}: {a:?} and {b:?}");
                }
            }
        }
    }
}

/// Loops with loads and stores of all kinds, over every length, against the same loops run one
/// iteration after another.
#[test]
fn vector_bodies() {
    let bodies = [
        // Mixed widths, counters as values, comparisons and selections.
        r#"r1: f32 = load x_0[r0 + 1]
           r2: f32 = cast r0
           r3: f64 = cast r1
           r4: f64 = mul r3, 0.5f64
           r5: f32 = cast r4
           r6: bool = lt r5, r2
           r7: f32 = select r6, r5, r2
           store y_3[r0] = r7"#,
        // A gather and a stride.
        r#"r1: i32 = load i_1[r0]
           r2: i64 = cast r1
           r3: f32 = load x_0[r2]
           r4: f32 = load x_0[r0*2 + 1]
           r5: f32 = add r3, r4
           r6: f32 = add r5, r3
           r7: f32 = mul r6, r6
           store y_3[r0] = r7"#,
        // Bytes and truths.
        r#"r1: u8 = load b_2[r0]
           r2: u8 = add r1, 200u8
           r3: f32 = cast r2
           r4: bool = gt r2, 100u8
           r5: bool = lt r0, 13
           r6: bool = or r4, r5
           r7: bool = not r6
           r8: f32 = cast r7
           r9: f32 = add r3, r8
           store y_3[r0] = r9"#,
        // Elementary functions that feed one another, with values kept between them.
        r#"r1: f32 = load x_0[r0]
           r2: f32 = mul r1, 0.01f32
           r3: f32 = exp r2
           r4: f32 = add r3, r2
           r5: f32 = log r4
           r6: bool = gt r2, 0.3f32
           r7: f32 = pow r4, r20
           r8: f32 = select r6, r5, r7
           r9: f32 = tanh r8
           r10: f32 = mul r9, r1
           store y_3[r0] = r10"#,
        // In place, and a scatter.
        r#"r1: f32 = load x_0[r0]
           store y_3[r0*3] = r1
           r2: f32 = load y_3[r0*3]
           r3: f32 = sqrt r2
           r4: f32 = sin r3
           store y_3[r0*3] = r4"#,
        // Doubles and doubles as truths.
        r#"r1: f32 = load x_0[r0]
           r2: f64 = cast r1
           r3: f64 = exp r2
           r4: bool = gt r3, 20.0f64
           r5: bool = isnan r1
           r6: bool = or r4, r5
           r7: i64 = cast r6
           r8: i64 = add r7, r0
           r9: i32 = cast r8
           r10: f32 = cast r9
           store y_3[r0] = r10"#,
    ];
    let x = ramp(ScalarType::F32, 700);
    let i = Array::of(
        ScalarType::I32,
        &(0..300).map(|n| Scalar::I32(n * 37 % 700)).collect::<Vec<_>>(),
    );
    let b = ramp(ScalarType::U8, 300);
    for body in bodies {
        for (lo, hi) in
            (0..30).map(|n| (n % 3, n)).chain([(0, 255), (1, 256), (0, 257), (0, 300), (5, 280)])
        {
            let text = |kind: &str| {
                format!(
                    r#"kernel "body"
                    input x_0: f32[700]
                    input i_1: i32[300]
                    input b_2: u8[300]
                    output y_3: f32[900]
                    {{
                      r20: f32 = load x_0[3]
                      r21: i64 = copy {hi}
                      {kind} for r0 in {lo}..r21 {{ {body} }}
                    }}"#
                )
            };
            let inputs = [x.clone(), i.clone(), b.clone()];
            let (plain, _) = run(&text(""), &inputs);
            let (lanes, _) = run(&text("vector()"), &inputs);
            for (n, (a, b)) in plain[0].floats().iter().zip(lanes[0].floats()).enumerate() {
                assert!((a - b).abs() <= 2e-6 * a.abs(), "{lo}..{hi} at {n}: {a} and {b}\n{body}");
            }
        }
    }
}

#[test]
fn vector_loops_that_do_not_run_touch_nothing() {
    let text = r#"kernel "empty"
        input x_0: f32[1]
        output y_1: f32[1]
        {
          r0: i64 = copy 0
          vector() for r1 in r0..r0 {
            r2: f32 = load x_0[r0*4 + 100000000000]
            trap true
            store y_1[r1] = r2
          }
          store y_1[0] = 5.0f32
        }"#;
    check(text, &[ramp(ScalarType::F32, 1)], &[5.0]);
}

#[test]
fn counters_beyond_32_bits() {
    let text = r#"kernel "far"
        output y_0: f64[9]
        {
          vector() for r0 in 4294967296..4294967305 {
            r1: f64 = cast r0
            r2: f64 = add r1, 0.5f64
            store y_0[r0 + -4294967296] = r2
          }
        }"#;
    let expected: Vec<f64> = (0..9).map(|n| 4_294_967_296.5 + f64::from(n)).collect();
    check(text, &[], &expected);
}

/// With the threads and matrix products of the run-time library, from several threads at once.
#[test]
fn runs_on_the_pool() {
    let text = r#"kernel "product and sum"
        input a_0: f32[4096]
        output c_1: f32[4096]
        {
          parallel gemm(64, 64, 64) c_1[0] by 64, 1 = a_0[0] by 64, 1 * a_0[0] by 1, 64
          parallel(3) for r0 in 0..64 {
            gemm(1, 64, 64) c_1[r0*64] by 64, 1 += a_0[r0*64] by 64, 1 * a_0[0] by 1, 64
            vector() for r1 in 0..64 {
              r2: f32 = load c_1[r0*64 + r1]
              r3: f32 = add r2, 1.0f32
              store c_1[r0*64 + r1] = r3
            }
          }
        }"#;
    let kernel = support::decided(
        &ein_ir::loops::parse::parse(text).unwrap(),
        ein_ir::target::Target::host().vectors,
    );
    let compiled = ein_jit::compile(&kernel).unwrap();
    let pool = ein_runtime::Pool::new(3);
    let run = ein_runtime::Run::new(&pool, &|| false);
    let interface = run.interface();
    let a = ramp(ScalarType::F32, 4096);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let (mut a, mut c) = (a.clone(), Array::zeros(ScalarType::F32, 4096));
                // SAFETY: both arrays have 4096 elements.
                assert_eq!(unsafe { compiled.run(&[a.bytes(), c.bytes()], &interface) }, 0);
                let x = a.floats();
                for (i, j) in [(0, 0), (5, 17), (63, 63), (40, 2)] {
                    let sum: f64 = (0..64).map(|k| x[i * 64 + k] * x[j * 64 + k]).sum();
                    assert_eq!(c.get(i * 64 + j).as_f64(), 2.0 * sum + 1.0);
                }
            });
        }
    });
}

#[test]
fn integers_are_divided_by_constants_in_vectors() {
    for ty in [ScalarType::I32, ScalarType::I16, ScalarType::I8] {
        for (op, by) in ["div", "rem", "floordiv", "floormod"]
            .into_iter()
            .flat_map(|op| [2, 3, 7, 10, 100, 127].map(|by| (op, by)))
        {
            let values: Vec<Scalar> = support::samples(ty).into_iter().cycle().take(53).collect();
            let text = format!(
                "kernel \"divide\" input in_0: {ty}[53] output out_1: {ty}[53] {{
                   vector() for r0 in 0..53 {{
                     r1: {ty} = load in_0[r0]
                     r2: {ty} = {op} r1, {by}{ty}
                     store out_1[r0] = r2
                   }} }}"
            );
            let kernel = parse(&text).expect("a kernel");
            let wanted: Vec<i64> = values
                .iter()
                .map(|it| it.as_i64().expect("an integer"))
                .map(|x| match op {
                    "div" => x / by,
                    "rem" => x % by,
                    "floordiv" => x.div_euclid(by),
                    _ => x.rem_euclid(by),
                })
                .collect();
            for kind in support::kinds() {
                let (out, trapped) = support::run_with(&kernel, &[Array::of(ty, &values)], kind);
                let found: Vec<i64> =
                    out[0].values().iter().map(|it| it.as_i64().expect("an integer")).collect();
                assert!(!trapped);
                assert_eq!(found, wanted, "{op} by {by} of {ty}, {kind:?}");
            }
        }
    }
}

#[test]
fn products_that_leave_their_type_trap_in_vectors() {
    let text = "kernel \"product\" input a_0: i32[40] input b_1: i32[40] output out_2: i32[40] {
           vector() for r0 in 0..40 {
             r1: i32 = load a_0[r0]
             r2: i32 = load b_1[r0]
             r3: bool = overflows mul r1, r2
             trap r3
             r4: i32 = mul r1, r2
             store out_2[r0] = r4
           } }";
    let kernel = parse(text).expect("a kernel");
    let ends = [0, 1, -1, 2, -2, 46340, 46341, -46341, 65536, i32::MAX, i32::MIN];
    for (a, b) in ends.iter().flat_map(|a| ends.map(|b| (*a, b))) {
        for at in [0, 1, 17, 39] {
            let mut rows = [[3; 40], [-5; 40]];
            (rows[0][at], rows[1][at]) = (a, b);
            let inputs = rows.map(|row| Array::of(ScalarType::I32, &row.map(Scalar::I32)));
            for kind in support::kinds() {
                let (_, trapped) = support::run_with(&kernel, &inputs, kind);
                assert_eq!(trapped, a.checked_mul(b).is_none(), "{a} * {b} at {at}, {kind:?}");
            }
        }
    }
}
