//! Products: contractions and convolutions, in every order and with every stride.

use crate::{DOT, lines, plan};

#[test]
fn products_of_three_are_products_of_two() {
    let chain = plan(
        "let A: [f32; 60, 70] = input();
         let B: [f32; 70, 80] = input();
         let C: [f32; 80, 90] = input();
         let D[i, l] = sum[j, k](A[i, j] * B[j, k] * C[k, l]);",
        &["D"],
    );
    assert_eq!(chain.matches("gemm(").count(), 2, "{chain}");
    // Deviations from a mean are one array, and their products a matrix product.
    let deviations = plan(
        "let x: [f32; 500, 40] = input();
         let m[j] = mean[i](x[i, j]);
         let c[j, k] = sum[i]((x[i, j] - m[j]) * (x[i, k] - m[k])) / 499.0;",
        &["c"],
    );
    assert!(deviations.contains("gemm(40, 40, 500)"), "{deviations}");
    assert_eq!(lines(&deviations, "scratch c").len(), 1, "{deviations}");
    // Here nothing would be saved.
    let trace = plan(
        "let A: [f32; 60, 70] = input();
         let w: [f32; 70] = input();
         let v: [f32; 60] = input();
         let s = sum[i, j](v[i] * A[i, j] * w[j]);",
        &["s"],
    );
    assert!(lines(&trace, "scratch ").is_empty(), "{trace}");
}

#[test]
fn every_product_in_a_sum_is_one() {
    let plan = plan(
        "let x: [f32; 64, 80] = input();
         let h: [f32; 64, 90] = input();
         let W: [f32; 80, 70] = input();
         let U: [f32; 90, 70] = input();
         let V: [f32; 64, 70] = input();
         let y[b, o] = sum[k](x[b, k] * W[k, o]) + V[b, o] + sum[k](h[b, k] * U[k, o]);",
        &["y"],
    );
    assert_eq!(plan.matches("gemm(").count(), 2, "{plan}");
}

#[test]
fn contractions_are_found_in_every_order() {
    let products = [
        "let C[i, j] = sum[k](A[i, k] * B[k, j]);",
        "let C[j, i] = sum[k](A[i, k] * B[k, j]);",
        "let C[i, j] = sum[k](B[k, j] * A[i, k]);",
        "let C[i, j] = sum[k](A[k, i] * B[j, k]);",
        "fn dot(a: [f32; ?n], b: [f32; ?n]) -> f32 { sum[i](a[i] * b[i]) }
         let C[i, j] = dot(A[i], B[j]);",
        "let C[i, j] = 0.5 * sum[k](A[i, k] * B[k, j]) + 1.0;",
    ];
    for product in products {
        let source = format!(
            "let A: [f32; 32, 32] = input();
             let B: [f32; 32, 32] = input();
             {product}"
        );
        let plan = plan(&source, &["C"]);
        assert_eq!(plan.matches("gemm(32, 32, 32)").count(), 1, "{product}\n{plan}");
    }
}

#[test]
fn lifted_dot_products_are_matrix_products() {
    for product in [
        "let C[i, j] = dot(A[i], B[j]);",
        "let C = rerank(dot, 1, 2)(A, B);",
        "let C = rerank(|u, m| dot(u, m), 1, 2)(A, B);",
        "fn rows(u: [f32; ?n], m: [f32; ?k, ?n]) -> [f32; ?k] { dot(u, m) }
         let C = rows(A, B);",
    ] {
        let plan = plan(&format!("{DOT}\n{product}"), &["C"]);
        assert_eq!(plan.matches("gemm(32, 32, 32)").count(), 1, "{product}\n{plan}");
    }
}

#[test]
fn batches_and_convolutions_are_matrix_products() {
    let batched = plan(
        "let A: [f32; 8, 32, 16] = input();
         let B: [f32; 8, 16, 24] = input();
         let C[b, i, j] = sum[k](A[b, i, k] * B[b, k, j]);",
        &["C"],
    );
    assert!(batched.contains("gemm(32, 24, 16)"), "{batched}");
    let convolution = plan(
        "let X: [f32; 2, 8, 20, 20] = input();
         let W: [f32; 16, 8, 3, 3] = input();
         let Y[b, oc, oh, ow] = sum[ic, kh, kw](X[b, ic, oh + kh, ow + kw] * W[oc, ic, kh, kw]);",
        &["Y"],
    );
    assert!(convolution.contains("scratch matrix"), "{convolution}");
    assert_eq!(convolution.matches("gemm(").count(), 1, "{convolution}");
}

/// A convolution of a stack of images, and its gradient by the image and by the kernel.
fn convolution(stride: usize, spread: usize, channels_last: bool) -> String {
    let extent = (32 - spread * 2) / stride + 1;
    let (y, x) = (format!("{stride} * y + {spread} * i"), format!("{stride} * x + {spread} * j"));
    let declared = if channels_last {
        format!(
            "let X: [f32; b: 4, y: 33, x: 33, c: 8] = input();
             let W: [f32; i: 3, j: 3, c: 8, o: 16] = input();
             let A[b, y in 0..{extent}, x in 0..{extent}, o] =
                 sum[i, j, c](W[i, j, c, o] * X[b, {y}, {x}, c]);
             let loss = mean[b, y, x, o](A[b, y, x, o] * A[b, y, x, o]);"
        )
    } else {
        format!(
            "let X: [f32; b: 4, c: 8, y: 33, x: 33] = input();
             let W: [f32; o: 16, c: 8, i: 3, j: 3] = input();
             let A[b, o, y in 0..{extent}, x in 0..{extent}] =
                 sum[c, i, j](X[b, c, {y}, {x}] * W[o, c, i, j]);
             let loss = mean[b, o, y, x](A[b, o, y, x] * A[b, o, y, x]);"
        )
    };
    format!("{declared}\nlet gx = @loss / @X;\nlet gw = @loss / @W;")
}

#[test]
fn gradients_of_convolutions_are_matrix_products() {
    for (stride, spread) in [(1, 1), (2, 1), (3, 1), (1, 2)] {
        for channels_last in [false, true] {
            let plan = plan(&convolution(stride, spread, channels_last), &["loss", "gx", "gw"]);
            let products = plan.lines().filter(|line| line.contains("(contraction)")).count();
            let what = format!("stride {stride}, spread {spread}, channels last: {channels_last}");
            assert_eq!(products, 3, "{what}\n{plan}");
        }
    }
}

#[test]
fn copies_of_convolutions_stay_in_the_cache() {
    let plan = plan(&convolution(1, 1, false), &["loss"]);
    // A matrix for one image, made again for the next one.
    assert_eq!(lines(&plan, "scratch matrix").len(), 1, "{plan}");
    let rows = 8 * 3 * 3 * 31 * 31;
    assert!(lines(&plan, "scratch matrix")[0].ends_with(&format!("f32[{rows}]")), "{plan}");
}

#[test]
fn a_tall_product_of_few_columns_is_kept_in_registers() {
    let gram = |rows: usize, columns: usize| {
        let source = format!(
            "let x: [f32; {rows}, {columns}] = input();
             let g[i, j] = sum[k](x[k, i] * x[k, j]);"
        );
        plan(&source, &["g"])
    };
    let tall = gram(100_000, 4);
    // One pass over the rows adds to all sixteen sums.
    let passes = lines(&tall, "vector(add");
    assert_eq!(passes.len(), 1, "{tall}");
    assert_eq!(passes[0].matches("add r").count(), 16, "{tall}");
    assert!(!tall.contains("gemm"), "{tall}");
    for (rows, columns) in [(100_000, 40), (1000, 200)] {
        let wide = gram(rows, columns);
        assert!(wide.contains("gemm"), "{wide}");
    }
}
