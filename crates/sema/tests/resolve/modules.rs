//! Modules: files, inline modules, imports, privacy, cycles, the library.

use crate::support::{check, check_all, check_tree, run};

#[test]
fn files_beside_the_root() {
    check_tree(
        "use parts::shapes::{area, Shape, self};\nuse parts::shapes::solids::cube as kubus;\nuse parts::shapes as s;\n\
         let a = area(3, 4);\nlet b = kubus(2);\nlet c = s::solids::cube(2);\nlet d = Shape::Square(1);\n\
         let e = shapes::area(1, 2);\nlet f = parts::shapes::solids::cube(3);\n\
         // file: parts/shapes/mod.ein\npub mod solids;\npub enum Shape { Square(i32) }\npub fn area(w, h) { w * h }\n\
         // file: parts/shapes/solids.ein\nuse super::area;\npub fn cube(s) { area(s, s) * s + super::area(1, 1) }\n",
        &[
            "let a = fn:area(3, 4)",
            "let b = fn:cube(2)",
            "let c = fn:cube(2)",
            "let d = Shape::Square(1)",
            "let e = fn:area(1, 2)",
            "let f = fn:cube(3)",
            "fn cube(s) { ((fn:area(s, s) * s) + fn:area(1, 1)) }",
        ],
    );
}

#[test]
fn paths_are_looked_up_in_the_module_and_then_in_the_root() {
    check_tree(
        "use a::f;\nlet x = f();\n\
         // file: a.ein\nuse b::g;\nuse c::k;\npub fn f() { g() + k() }\n\
         // file: a/b.ein\npub fn g() { 1 }\n// file: b.ein\npub fn g() { 2 }\n// file: c.ein\npub fn k() { 3 }\n",
        &["let x = fn:f()", "fn g() { 1 }", "fn k() { 3 }"],
    );
}

#[test]
fn inline_modules_and_blocks() {
    check_tree(
        "mod units {\n    pub const KM: f32 = 1000.0;\n    fn hidden(x) { x }\n    pub fn metres(km) { hidden(km) * KM }\n\
             pub mod time { pub fn speed(km) { super::metres(km) + self::hours(1) + crate::top() } fn hours(m) { m } }\n}\n\
         fn top() { 1 }\nlet a = units::metres(1.5);\nlet b = units::time::speed(1.0);\n\
         let c = { use units::time::speed; speed(2.0) };\n\
         fn g() { mod inner { pub fn one() { 1 } } use inner::one; one() + inner::one() }\n\
         fn k() { use units::*; metres(KM) }",
        &[
            "let a = fn:metres(1.5)",
            "let b = fn:speed(1.0)",
            "let c = { fn:speed(2.0) }",
            "fn speed(km) { ((fn:metres(km) + fn:hours(1)) + fn:top()) }",
            "fn g() { (fn:one() + fn:one()) }",
            "fn k() { fn:metres(const:KM) }",
        ],
    );
}

#[test]
fn globs_and_reexports() {
    check_tree(
        "use prelude::*;\nuse Colour::*;\nenum Colour { Red, Blue(i32) }\nlet a = inc(LIMIT);\nlet b = [Red, Blue(1)];\nlet c = match b[0] { Red => 1, Blue(n) => n };\n\
         // file: prelude.ein\npub use crate::small::inc;\npub use crate::big::{triple, LIMIT};\n\
         // file: small.ein\npub fn inc(x) { x + step() }\nfn step() { 1 }\n\
         // file: big.ein\npub const LIMIT: i32 = 10;\npub fn triple(x) { x * 3 }\n",
        &[
            "let a = fn:inc(const:LIMIT)",
            "let b = [Colour::Red, Colour::Blue(1)]",
            "let c = match b[0] { Colour#0 {  } => 1, Colour#1 { 0: n } => n }",
        ],
    );
    check(
        "mod a { pub fn f() { 1 } }\nmod b { pub fn f() { 2 } }\nuse a::*;\nuse b::*;\nlet x = f();\nlet y = f();",
        &["4 E0206 | `f`"],
    );
}

#[test]
fn the_library() {
    check_tree(
        "use std::math::sqrt;\nuse std::math;\nuse std::math::clamp;\nlet a = sqrt(2.0);\nlet b = std::math::basic::sqrt(2.0);\nlet c = math::exp(1.0);\n\
         let d = clamp(1, 2, 3);\nlet e = clamp::clamp(1, 2, 3);\nlet f = std::intrinsics::sin(1.0);\nlet g = std::io::load_npy(\"x\");",
        &[
            "let a = fn:sqrt(2.0)",
            "let b = fn:sqrt(2.0)",
            "let c = fn:exp(1.0)",
            "let d = fn:clamp(1, 2, 3)",
            "let e = fn:clamp(1, 2, 3)",
            "let f = intrinsic:sin(1.0)",
            "let g = Io(LoadNpy)(\"x\")",
        ],
    );
    // Both paths lead to one definition, and what is not used is not there.
    let (_, resolved) = run("let a = std::math::sqrt(1.0);\nlet b = std::math::basic::sqrt(1.0);");
    let names: Vec<String> = resolved.program.defs.iter().map(|d| d.name.to_string()).collect();
    assert_eq!(names, ["Option", "Result", "sqrt"]);
    check_all(&[
        (
            "let a = std::maths::sqrt(1.0);",
            &["1 E0203 | `maths` | std/maths.ein | std/maths/mod.ein"],
        ),
        ("use std::math::sqrtt;", &["1 E0204 | `sqrtt` | `sqrt`"]),
        ("let a = std::intrinsics::sine(1.0);", &["1 E0204 | `sin`"]),
        ("let a = std::math::hidden(1.0);", &["1 E0204 | `hidden`"]),
        (
            "let a = std::math::basic::hidden(1.0);",
            &["1 E0205 | `hidden`", "std/math/basic.ein:6 E0201"],
        ),
    ]);
}

#[test]
fn what_cannot_be_imported() {
    check_all(&[
        (
            "use optics::lens::focus;\nlet a = focus(1);",
            &["1 E0203 | `optics` | optics.ein | optics/mod.ein"],
        ),
        ("use optics;", &["1 E0203 | `optics`"]),
        ("use optics::{focus, blur};", &["1 E0203 | `optics`"]),
        ("mod optics;", &["1 E0203 | `optics` | optics.ein"]),
        ("use sginal::f;\nmod signal { pub fn f() { 1 } }", &["1 E0203 | did you mean `signal`?"]),
        (
            "mod signal { pub fn window(n) { n } }\nuse signal::windw;\nlet a = windw(3);",
            &["2 E0204 | `windw` | `window`"],
        ),
        (
            "mod shapes { fn scale(x) { x } }\nuse shapes::scale;\nlet a = shapes::scale(1);",
            &["2 E0205 | `scale` | shapes", "3 E0205 | `scale`"],
        ),
        ("mod a { mod b { pub fn f() { 1 } } }\nlet x = a::b::f();", &["2 E0205 | `b`"]),
        ("mod a { enum E { X } }\nlet x = a::E::X;", &["2 E0205 | `E`"]),
        (
            "use std::math::exp;\nuse std::math::exp;\nlet a = exp(0.0);",
            &["2 E0206 | `exp` | 1: first imported"],
        ),
        ("use std::math::exp;\nfn exp(x) { x }\nlet a = exp(0.0);", &["2 E0207 | `exp`"]),
        (
            "use a::f;\nlet x = f();\n// file: a.ein\npub fn f() { 1 }\n// file: a/mod.ein\npub fn f() { 2 }\n",
            &["1 E0208 | a.ein | a/mod.ein"],
        ),
        (
            "use a::f;\nlet x = f();\nlet y = a::g();\n// file: a.ein\nUNREADABLE\n",
            &["1 E0210 | a.ein | UTF-8"],
        ),
        ("use missing::*;\nlet x = anything(1);", &["1 E0203 | `missing`"]),
        ("let x = super::f();", &["1 E0203 | super"]),
        ("let x = python::numpy::sin(1.0);\nuse python::os;", &["1 E0213", "2 E0213"]),
        (
            "mod a { pub fn f() { 1 } }\nlet x = a;\nlet y = a::f::g();",
            &["2 E0212 | module", "3 E0212 | not a module"],
        ),
    ]);
}

#[test]
fn modules_that_import_each_other() {
    check(
        "use a::f;\nlet x = f();\n// file: a.ein\nuse b::g;\npub fn f() { g() }\n// file: b.ein\nuse a::f;\npub fn g() { f() }\n",
        &["a.ein:1 E0209 | `a` and `b` | 1: `b` imports `a` here"],
    );
    check(
        "use a::f;\nlet x = f();\n// file: a.ein\nuse b::g;\npub fn f() { g() }\n// file: b.ein\nuse c::h;\npub fn g() { h() }\n// file: c.ein\nuse a::f;\npub fn h() { f() }\n",
        &["a.ein:1 E0209 | `a`, `b` and `c`"],
    );
    // A module and its submodule may know each other.
    check(
        "use a::f;\nlet x = f();\nfn top() { 1 }\n// file: a.ein\nuse self::b::g;\nuse crate::top;\npub fn f() { g() + top() }\n// file: a/b.ein\nuse super::f;\npub fn g() { f() }\n",
        &[],
    );
    check(
        "mod a { pub use super::b::f; }\nmod b { pub use super::a::f; }\nuse a::f;",
        &["2 E0209"],
    );
}

#[test]
fn unused_imports() {
    check_all(&[
        ("use std::math::{exp, sqrt};\nlet a = sqrt(1.0);", &["1 W0102 | `exp`"]),
        ("use std::math;\nlet a = 1;", &["1 W0102 | `math`"]),
        ("mod m { pub use std::math::exp; }\nuse std::math::*;\nlet a = m::exp(1.0);", &[]),
        ("fn f() { use std::math::exp; 1 }", &["1 W0102 | `exp`"]),
        ("use a::T;\nfn f(t: T) { t }\n// file: a.ein\npub struct T { x: f32 }\n", &[]),
    ]);
}

#[test]
fn modules_run_before_what_uses_them() {
    let (_, resolved) = run(
        "use b::g;\nlet x = g();\n// file: b.ein\nlet k = c::h();\npub fn g() { k }\n// file: c.ein\nlet m = 1;\npub fn h() { m }\n",
    );
    assert_eq!(resolved.diagnostics, []);
    let order = resolved.program.init_order.iter();
    let names: Vec<String> = order.map(|m| resolved.program.modules[*m].name.to_string()).collect();
    assert_eq!(names, ["c", "b", "main"]);
}

#[test]
fn the_root_may_be_named_by_its_file() {
    check(
        "use a::f;\nlet x = f();\npub fn base() { 1 }\n// file: a.ein\npub fn f() { crate::base() }\n",
        &[],
    );
}

#[test]
fn text_that_is_no_file_has_no_files_beside_it() {
    use ein_base::SourceMap;
    struct Nothing;
    impl ein_base::Sources for Nothing {
        fn read(&self, _: &std::path::Path) -> Result<std::sync::Arc<str>, ein_base::SourceError> {
            Err(ein_base::SourceError::Missing)
        }
        fn is_file(&self, _: &std::path::Path) -> bool {
            false
        }
        fn library(&self, _: &str) -> Option<std::sync::Arc<str>> {
            None
        }
    }
    let mut files = SourceMap::default();
    let root = files.add("<stdin>".into(), None, "use a::b;".into());
    let resolved = ein_sema::resolve::resolve(&mut files, root, &Nothing);
    assert_eq!(resolved.diagnostics.len(), 1);
    assert!(resolved.diagnostics[0].notes[0].contains("no file"));
}
