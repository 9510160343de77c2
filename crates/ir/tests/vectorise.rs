//! What is decided about vector loops: text in, text out, and loops about which nothing is.

use ein_ir::cost::Cost;
use ein_ir::loops::{parse::parse, print::print, vectorise, verify::verify};
use ein_ir::target::{Target, Vectors};

/// The lines of a kernel that say how its loops run, after the pass.
fn decided_for(vectors: Vectors, declared: &str, body: &str) -> Vec<String> {
    let text = format!("kernel \"k\" {declared} {{ {body} }}");
    let mut kernel = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let cost = Cost::of(Target { vectors, ..Target::REFERENCE });
    vectorise::run(&mut kernel, cost);
    let text = print(&kernel);
    assert_eq!(verify(&kernel), [] as [&str; 0], "{text}");
    let again = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(print(&again), text);
    let mut twice = again.clone();
    vectorise::run(&mut twice, cost);
    assert_eq!(print(&twice), text, "what is decided stays");
    let says = |line: &&str| line.contains("lanes") || line.contains("scan(");
    text.lines().map(str::trim).filter(says).map(str::to_owned).collect()
}

fn decided(declared: &str, body: &str) -> Vec<String> {
    decided_for(Vectors::Bits512, declared, body)
}

/// A sum of `x` over so many terms.
fn sum(ty: &str, extent: &str, before: &str) -> Vec<String> {
    decided(
        &format!("input x_0: {ty}[4096] scratch y_1: {ty}[4096]"),
        &format!(
            "{before} r9: i64 = copy 77 var r1: {ty} = 0{ty}
             vector(add r1) for r2 in 0..{extent} {{
                 r3: {ty} = load x_0[r2] r4: {ty} = load y_1[r2] r5: {ty} = muladd r3, r4, r1 set r1 = r5
             }}"
        ),
    )
}

#[test]
fn sums_have_lanes() {
    assert_eq!(sum("f32", "1024", ""), ["lanes sums(16 * 2, 32)"]);
    assert_eq!(sum("f32", "100", ""), ["lanes sums(16 * 2, 32 unrolled 3, masked)"]);
    assert_eq!(sum("f32", "31", ""), ["lanes sums(16 * 1, 16, masked)"]);
    assert_eq!(sum("f32", "15", ""), ["lanes sums(16 * 1, masked)"]);
    assert_eq!(sum("f64", "24", ""), ["lanes sums(8 * 2, 16, 8)"]);
    assert_eq!(sum("f64", "r9", ""), ["lanes sums(8 * 2, 16, 8, masked)"]);
    // Elements that were written one by one are read one by one.
    let written = "for r7 in 0..100 { store y_1[r7] = 1f32 }";
    assert_eq!(sum("f32", "1023", written), ["lanes sums(16 * 2, 32, 16, single)"]);
    // Integers and 16-bit floats are left to vector registers.
    assert_eq!(sum("f16", "1024", ""), ["lanes"]);
}

#[test]
fn sums_do_nothing_else() {
    let body = |more: &str| {
        format!(
            "var r1: f32 = 0f32 vector(add r1) for r2 in 0..1024 {{
                 r3: f32 = load x_0[r2] r4: f32 = add r1, r3 set r1 = r4 {more} }}"
        )
    };
    let declared = "input x_0: f32[4096] output y_1: f32[4096]";
    assert_eq!(decided(declared, &body("")), ["lanes sums(16 * 2, 32)"]);
    assert_eq!(decided(declared, &body("store y_1[r2] = r3")), ["lanes"]);
    let both = "var r1: f32 = 0f32 var r5: f64 = 0f64 vector(add r1, add r5) for r2 in 0..1024 {
        r3: f32 = load x_0[r2] r4: f32 = add r1, r3 set r1 = r4
        r6: f64 = cast r3 r7: f64 = add r5, r6 set r5 = r7 }";
    assert_eq!(decided(declared, both), ["lanes"], "numbers of two sizes");
}

#[test]
fn short_loops_are_cut_into_whole_vectors() {
    let body = |lo: i64, hi: i64| {
        format!("vector() for r0 in {lo}..{hi} {{ r1: f32 = load x_0[r0] store y_1[r0] = r1 }}")
    };
    let declared = "input x_0: f32[4096] output y_1: f32[4096]";
    let at = |vectors, lo, hi| decided_for(vectors, declared, &body(lo, hi));
    assert_eq!(at(Vectors::Bits512, 3, 31), ["lanes pieces(3..19, 19..27, 27..31)"]);
    assert_eq!(at(Vectors::Bits256, 0, 30), ["lanes pieces(0..24, 24..28, 28..30)"]);
    assert_eq!(at(Vectors::Bits512, 0, 32), ["lanes"]);
    assert_eq!(at(Vectors::Bits512, 0, 35), ["lanes"], "too few are left");
    assert_eq!(at(Vectors::Bits512, 0, 2044), ["lanes"], "too long");
}

#[test]
fn memory_is_asked_for_what_functions_wait_for() {
    let body = |op: &str| {
        format!(
            "vector() for r0 in 0..300000 {{ r1: f32 = load x_0[r0] r2: f32 = {op} r1 store y_1[r0] = r2 }}"
        )
    };
    let large = "input x_0: f32[300000] output y_1: f32[300000]";
    assert_eq!(decided(large, &body("exp")), ["lanes asks(128, 16, x_0[r0 + 512])"]);
    assert_eq!(decided(large, &body("neg")), ["lanes"]);
    // The next row, in the second pass over this one.
    let rows = "for r0 in 0..1000 { var r1: f32 = 0f32
        vector(max r1) for r2 in 0..300 { r3: f32 = load x_0[r0*300 + r2] r4: f32 = max r1, r3 set r1 = r4 }
        vector() for r5 in 0..300 { r6: f32 = load x_0[r0*300 + r5] r7: f32 = sub r6, r1 store y_1[r0*300 + r5] = r7 } }";
    let wanted = ["lanes sums(16 * 2, 32, masked)", "lanes asks(128, 16, x_0[r0*300 + r5 + 300])"];
    assert_eq!(decided(large, rows), wanted);
    // Backward the next row is another one.
    let back = rows.replacen("for r0", "backward for r0", 1);
    assert_eq!(decided(large, &back)[1], "lanes");
}

#[test]
fn loops_with_sines_run_twice() {
    let body = |ty: &str, to: &str| {
        format!(
            "vector() for r0 in 0..40 {{ r1: {ty} = load x_0[r0] r2: {ty} = sin r1 store {to}[r0] = r2 }}"
        )
    };
    let of = |ty: &str, to: &str| {
        decided(&format!("scratch x_0: {ty}[40] output y_1: {ty}[40]"), &body(ty, to))
    };
    assert_eq!(of("f64", "y_1"), ["lanes twice"]);
    assert_eq!(of("f64", "x_0"), ["lanes twice(64)"], "it reads what it writes");
    let again = "vector() for r0 in 0..40 { r1: f64 = load x_0[r0] r2: f64 = sin r1 store x_0[r0] = r2 r3: f64 = load x_0[r0] store y_1[r0] = r3 }";
    let bufs = "scratch x_0: f64[40] output y_1: f64[40]";
    assert_eq!(decided(bufs, again), ["lanes"], "what it stores is read again");
    assert_eq!(
        of("f32", "y_1"),
        ["lanes pieces(0..32, 32..40)"],
        "in f64 there is room for all turns"
    );
}

#[test]
fn scans() {
    let body = |ty: &str, op: &str, moved: &str, last: &str| {
        format!(
            "var r0: {ty} = 0{ty} for r1 in 0..40 {{ r2: {ty} = load x_0[r1] {moved}
             r5: {ty} = {op} r2, {last} store y_1[r1] = r5 set r0 = r5 }}"
        )
    };
    let of = |vectors, ty: &str, text: &str| {
        decided_for(vectors, &format!("input x_0: {ty}[40] output y_1: {ty}[40]"), text)
    };
    let down = body(
        "i32",
        "max",
        "r3: bool = overflows sub r0, 2i32 trap r3 r4: i32 = sub r0, 2i32",
        "r4",
    );
    assert_eq!(of(Vectors::Bits256, "i32", &down), ["scan(max r0 by -2) for r1 in 0..40 {"]);
    assert_eq!(of(Vectors::Bits128, "i32", &down), [] as [&str; 0], "too few lanes");
    let least = body("f64", "min", "", "r0");
    assert_eq!(of(Vectors::Bits128, "f64", &least), ["scan(min r0 by 0) for r1 in 0..40 {"]);
    // Sums of floats may not be taken in another order.
    assert_eq!(of(Vectors::Bits512, "f64", &body("f64", "add", "", "r0")), [] as [&str; 0]);
    let far = body("i32", "max", "r4: i32 = add r0, 2000000i32", "r4");
    assert_eq!(of(Vectors::Bits512, "i32", &far), [] as [&str; 0], "too long a step");
}

/// The lines that say what the stages of loops are.
fn stages_for(vectors: Vectors, declared: &str, body: &str) -> Vec<String> {
    let text = format!("kernel \"k\" {declared} {{ {body} }}");
    let mut kernel = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    vectorise::run(&mut kernel, Cost::of(Target { vectors, ..Target::REFERENCE }));
    let text = print(&kernel);
    assert_eq!(verify(&kernel), [] as [&str; 0], "{text}");
    let says = |line: &&str| line.starts_with("stages");
    text.lines().map(str::trim).filter(says).map(str::to_owned).collect()
}

#[test]
fn functions_are_computed_on_tiles_between_stages() {
    let declared = "input x_0: f32[400] input n_1: i64[400] output y_2: f32[400]";
    let stages = |body: &str| {
        let body = format!("vector() for r0 in 0..400 {{ {body} }}");
        stages_for(Vectors::Bits512, declared, &body)
    };
    // One stage; what does not change is done once.
    let plain =
        "r1: f32 = load x_0[3] r2: f32 = load x_0[r0] r3: f32 = mul r1, r2 store y_2[r0] = r3";
    assert_eq!(stages(plain), ["stages(4, 16, 0) once(0)"]);
    // From memory to memory: no tile is kept.
    let alone = "r1: f32 = load x_0[r0] r2: f32 = exp r1 store y_2[r0] = r2";
    assert_eq!(stages(alone), ["stages(4, 16, 256) work() call(0, 1, memory 2 = memory 0)"]);
    // The load is repeated, and the second result takes the place of the first argument.
    let two = "r1: f32 = load x_0[r0] r2: f32 = neg r1 r3: f32 = exp r2 r4: f32 = add r3, r1
               store y_2[r0] = r4";
    let wanted =
        "stages(4, 16, 256) work(0, 1) work(0, 3, 4) call(0, 2, tile r3 = tile r2) share(r3, r2)";
    assert_eq!(stages(two), [wanted]);
    let power = "r1: f32 = load x_0[r0] r2: f32 = pow r1, 2.5f32 store y_2[r0] = r2";
    let wanted = "stages(4, 16, 256) work() call(0, 1, memory 2 = memory 0, fill 2.5f32)";
    assert_eq!(stages(power), [wanted]);
    // Exponents that take a few multiplications do without.
    assert_eq!(stages(&power.replace("2.5", "1.5")), ["stages(4, 16, 0)"]);
    // Elements anywhere have no lanes, but for those of the longest vectors, which are not asked here.
    let apart = "r1: i64 = load n_1[r0] r2: f32 = load x_0[r1] r3: i64 = div r1, 3
                 store y_2[r3] = r2";
    assert_eq!(stages(apart), [] as [&str; 0]);
}

#[test]
fn long_vectors_are_called_where_that_pays() {
    let declared = "input x_0: f64[400] output y_1: f64[400]";
    let stages = |vectors, extent: i64| {
        let body = format!(
            "vector() for r0 in 0..{extent} {{ r1: f64 = load x_0[r0] r2: f64 = mul r1, r1 store y_1[r0] = r2 }}"
        );
        stages_for(vectors, declared, &body)
    };
    assert_eq!(stages(Vectors::Bits512, 400), ["stages(2, 8, 0)"]);
    assert_eq!(stages(Vectors::Bits256, 400), ["stages(2, 4, 0)"]);
    assert_eq!(stages(Vectors::Bits128, 400), ["stages(2, 0, 0)"]);
    assert_eq!(stages(Vectors::Bits512, 16), ["stages(2, 0, 0)"], "too few to call for");
    assert_eq!(stages(Vectors::Bits512, 3), [] as [&str; 0], "fewer than a vector");
}

#[test]
fn decisions_belong_to_their_loops() {
    let problems = |how: &str, body: &str| {
        let text = format!(
            "kernel \"k\" scratch x_0: f32[400] output y_1: f32[400]
             {{ var r9: f32 = 0f32 {how} for r0 in 0..40 {{ {body} }} }}"
        );
        verify(&parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}")))
    };
    let sum = "r1: f32 = load x_0[r0] r2: f32 = add r9, r1 set r9 = r2";
    let copy = "r1: f32 = load x_0[r0] store y_1[r0] = r1";
    let place = "r1: f32 = load x_0[r0] store x_0[r0] = r1";
    let again =
        "r1: f32 = load x_0[r0] store x_0[r0] = r1 r2: f32 = load x_0[r0] store y_1[r0] = r2";
    let good = [
        ("lanes sums(16 * 2, 32, masked) vector(add r9)", sum),
        ("lanes sums(8 * 1, 8) vector(add r9)", sum),
        ("lanes pieces(0..32, 32..40) vector()", copy),
        ("lanes asks(128, 16, x_0[r0 + 4000]) twice vector()", copy),
        ("lanes vector()", place),
        ("lanes twice(64) vector()", place),
        ("lanes stages(2, 16, 0) vector()", copy),
        ("lanes stages(2, 16, 0) work(0, 1) vector()", copy),
        ("lanes stages(2, 16, 0) once(0) vector()", copy),
    ];
    for (how, body) in good {
        assert_eq!(problems(how, body), [] as [&str; 0], "{how}");
    }
    let bad = [
        ("lanes sums(16 * 2, 32) vector(add r9)", sum, "leave out iterations"),
        ("lanes sums(16 * 2, 24, masked) vector(add r9)", sum, "sums of no lanes"),
        ("lanes sums(16 * 3, 48, masked) vector(add r9)", sum, "sums of no lanes"),
        ("lanes sums(16 * 2, 32, masked) vector()", copy, "sums of no lanes"),
        ("lanes pieces(0..32, 32..39) vector()", copy, "are not the loop"),
        ("lanes pieces(0..32, 33..40) vector()", copy, "are not the loop"),
        ("lanes pieces(0..40) vector(add r9)", sum, "are not the loop"),
        ("lanes asks(0, 16, x_0[r0]) vector()", copy, "cannot ask"),
        ("lanes twice vector()", place, "cannot run twice"),
        ("lanes twice(0) vector()", place, "cannot set aside"),
        ("lanes twice(64) pieces(0..32, 32..40) vector()", place, "cannot set aside"),
        ("lanes twice(64) vector()", again, "cannot set aside"),
        ("lanes vector()", sum, "is set but not reduced"),
        ("scan(max r9 by 0)", sum, "no such scan"),
        ("lanes stages(2, 16, 0) work(0) vector()", copy, "are not the loop"),
        ("lanes stages(2, 16, 0) work(0, 7) vector()", copy, "are not the loop"),
        ("lanes stages(0, 16, 0) vector()", copy, "are not the loop"),
        ("lanes stages(2, 16, 64) vector()", copy, "tiles without functions"),
        ("lanes stages(2, 16, 0) share(r1, r9) vector()", copy, "of no register"),
        (
            "lanes stages(2, 16, 64) work(1) call(0, 0, tile r1 = fill 1f32) vector()",
            copy,
            "a later one gives",
        ),
    ];
    for (how, body, wanted) in bad {
        let found = problems(how, body);
        assert!(found.iter().any(|it| it.contains(wanted)), "{how}: {found:?}");
    }
}
