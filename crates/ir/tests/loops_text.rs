//! The text of loop IR reads back exactly.

use ein_ir::loops::parse::parse;
use ein_ir::loops::print::print;

const EVERYTHING: &str = r#"kernel "every \"thing\""
input x_0: f32[1024]
output y_1: f64[8]
scratch b_2 "no word": bool[0]
local tile_3: bf16[64]
reg r2: f32
reg r4: i64
reg r8: i64
reg r9: u8
{
  parallel(16) for r0 in 0..8 {
    var r1: f32 = -0.0f32
    vector(add r1, max r2) for r3 in 0..r4 {
      r5: f32 = load x_0[r0*128 + r3 + -5]
      r6: f32 = muladd r5, r5, r1
      set r1 = r6
    }
    r7: bool = overflows mul r0, 3
    trap r7
    backward for r10 in -3..9 {
      r11: f64 = cast r10
      store y_1[r10*-2 + r0] = r11
    }
    unrolled for r12 in 0..4 {
      r13: i8 = copy -128i8
      r14: u64 = copy 18446744073709551615u64
      r15: f64 = copy bits(f64, 9221120237041090560)
      r16: f32 = select r7, bits(f32, 2139095040), 1.5e-10f32
      r17: f16 = neg 1.0f16
      r18: bool = and true, false
      r19: f64 = pow r15, 2i32
    }
    for r20 in 0..0 {
    }
    if r7 {
      trap true
    } else {
      store tile_3[0] = 1.0bf16
    }
    if r7 {
    }
  }
  parallel gemm(8, r4, 3) y_1[0] by 8, 1 += y_1[4] by 1, -3 * y_1[1] by 2, 5
  gemm(8, 9, 3) y_1[0] by 8, 1 = y_1[4] by 1, 3 * y_1[1] by 2, 5
}
"#;

#[test]
fn reads_back() {
    let kernel = parse(EVERYTHING).unwrap();
    assert_eq!(print(&kernel), EVERYTHING);
    let again = parse(&print(&kernel)).unwrap();
    assert_eq!(format!("{again:?}"), format!("{kernel:?}"));
}

#[test]
fn says_where_it_is_wrong() {
    for (text, line, message) in [
        ("kernel", 1, "expected a string"),
        ("kernel \"x\"\ninput x_1: f32[3]\n{}", 2, "buffers are declared in order"),
        ("kernel \"x\"\n{\n  r0: f32 = load x_0[0]\n}", 3, "not a buffer"),
        ("kernel \"x\"\n{\n  r0: i8 = copy 128i8\n}", 3, "`128i8` is no number"),
        ("kernel \"x\"\n{\n  r0: i64 = twice r1\n}", 3, "`twice` is not an operation"),
        ("kernel \"x\"\n{\n  trap ;\n}", 3, "unexpected character ';'"),
        ("kernel \"x\"\n{\n  r99999999999: i64 = copy 0\n}", 3, "not a register"),
        ("kernel \"x\"\n{\n} trap true", 3, "the kernel has ended before this"),
    ] {
        let error = parse(text).unwrap_err();
        assert_eq!((error.line, error.message.as_str()), (line, message), "{text}");
    }
}

/// Nothing that is cut off or repeated makes the reader panic.
#[test]
fn survives_anything() {
    for end in 0..EVERYTHING.len() {
        let _ = parse(&EVERYTHING[..end]);
        let _ = parse(&EVERYTHING[end..]);
    }
    assert!(parse(&format!("kernel \"x\" {}", "{ if true ".repeat(5000))).is_err());
}
