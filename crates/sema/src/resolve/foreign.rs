//! Names of NumPy, JAX, PyTorch, Julia and Python, and what is written for them here.
//!
//! Only asked when a name means nothing and the library does not have it either.

/// What to write instead, by name.
const WAYS: &[(&[&str], &str)] = &[
    (&["zeros", "zeros_like", "empty", "empty_like"], "name the axes: `let x[i in 0..n] = 0.0;`"),
    (
        &["ones", "ones_like", "fill", "full", "full_like"],
        "name the axes: `let x[i in 0..n] = 1.0;`",
    ),
    (
        &["arange", "xrange"],
        "`iota(n)` is 0, 1, … below `n`; other numbers: `[2 * i + 1 | i in 0..n]`",
    ),
    (
        &["linspace"],
        "say what each point is: `let x[i in 0..n] = lo + (hi - lo) * i as f32 / (n - 1) as f32;`",
    ),
    (
        &["meshgrid", "ogrid", "mgrid"],
        "there is nothing to prepare: `let z[i, j] = f(x[i], y[j]);` names both axes",
    ),
    (
        &["dot", "inner", "tensordot", "vdot", "mm", "bmm", "mv"],
        "write the sum: `sum[k](a[i, k] * b[k, j])`",
    ),
    (&["broadcast_to", "broadcast", "newaxis"], "name the axes: `let y[i, j] = x[j];`"),
    (
        &["stack", "vstack", "hstack", "column_stack", "dstack", "hcat", "vcat"],
        "an array of arrays stacks them: `[a, b]`; `append(a, b)` joins the first axes",
    ),
    (
        &["swapaxes", "moveaxis", "permute", "permutedims"],
        "name the axes: `let y[j, i] = x[i, j];`",
    ),
    (
        &["cumprod", "cummax", "cummin", "accumulate"],
        "write the recurrence: `let c[0] = x[0]; let c[i in 1..n] = c[i - 1] * x[i];`",
    ),
    (&["bincount"], "count what has the key: `let n[k in 0..K] = count[i](key[i] == k);`"),
    (
        &["nonzero", "argwhere", "flatnonzero"],
        "a comprehension collects: `[i | i in 0..len(x), x[i] != 0.0]`",
    ),
    (
        &["vmap", "pmap", "vectorize"],
        "functions are lifted over leading axes by themselves: call `f(xs)`, or index: `f(xs[i])`",
    ),
    (
        &["grad", "value_and_grad", "jacobian", "jacrev", "jacfwd", "backward", "autograd"],
        "ask for the derivative: `let dw = @loss / @w;`",
    ),
    (&["njit", "jit", "compile"], "nothing is needed: every program is compiled"),
    (
        &["fori_loop", "while_loop", "lax"],
        "write the recurrence: `let x[t in 1..n] = f(x[t - 1]);`, with `until` where a condition ends it",
    ),
    (
        &["np", "numpy", "jnp", "jax", "torch", "tf", "scipy"],
        "arrays are defined by naming their axes, and functions are in `std::math`, `std::ml`, \
         `std::linalg`, `std::fft`, `std::random` and others; inside of Python \
         `python::numpy::…` calls NumPy",
    ),
    (&["float", "float32", "Float32", "double"], "a conversion is written `x as f32`"),
    (&["float64", "Float64"], "a conversion is written `x as f64`"),
    (&["int", "int32", "Int32"], "a conversion is written `x as i32`"),
    (&["int64", "Int64", "long"], "a conversion is written `x as i64`"),
    (&["str", "string", "repr", "String"], "a string holds values in braces: `\"{x}\"`"),
    (&["enumerate"], "name the position: `[(i, x[i]) | i in 0..len(x)]`"),
    (&["zip"], "one index reads both: `[(a[i], b[i]) | i in 0..len(a)]`"),
    (&["println", "printf", "display", "disp", "echo"], "`print(x, y)` prints a line"),
    (&["True", "TRUE"], "it is written `true`"),
    (&["False", "FALSE"], "it is written `false`"),
    (
        &["null", "nil", "nullptr", "nothing"],
        "what may be missing is an `Option`: `None` or `Some(x)`",
    ),
    (&["inf", "Inf", "Infinity"], "`std::math::infinity()` is it"),
    (&["NaN", "NAN"], "`std::math::nan()` is it"),
    (&["ndim", "rank"], "`len(x.shape)` is the number of axes"),
    (&["length", "numel"], "`len(x)` is the first extent, `x.size` the number of elements"),
    (&["raise", "throw", "panic"], "`assert(c, \"…\")` stops the program unless `c` holds"),
];

/// What is written here for a name of another language or its libraries.
pub(super) fn way(name: &str) -> Option<&'static str> {
    WAYS.iter().find(|(names, _)| names.contains(&name)).map(|(_, way)| *way)
}

/// Names of the library that go by another one elsewhere.
const NAMES: &[(&str, &[&str])] = &[
    ("deviation", &["std", "stddev", "sd"]),
    ("variance", &["var"]),
    ("covariance", &["cov"]),
    ("correlation", &["corrcoef", "cor", "corr", "pearsonr"]),
    ("quantile", &["percentile"]),
    ("uniform", &["rand", "random"]),
    ("normal", &["randn", "gauss", "standard_normal"]),
    ("integers", &["randint"]),
    ("permutation", &["randperm"]),
    ("categorical", &["choice", "multinomial"]),
    ("key", &["PRNGKey", "seed", "manual_seed", "default_rng"]),
    ("eigh", &["eig", "eigvals", "eigvalsh"]),
    ("concatenate", &["cat"]),
    ("top_k", &["topk"]),
    ("frequencies", &["fftfreq", "rfftfreq"]),
    ("linear", &["interp1d", "interp"]),
    ("line", &["plot", "linregress", "polyfit"]),
    ("heat_map", &["imshow", "heatmap", "pcolormesh"]),
    ("bars", &["bar", "barplot"]),
    ("histogram", &["hist"]),
    ("one_hot", &["onehot"]),
    ("dopri5", &["odeint", "solve_ivp", "ode45"]),
    ("glorot_uniform", &["xavier_uniform"]),
    ("glorot_normal", &["xavier_normal"]),
    ("he_normal", &["kaiming_normal"]),
    ("he_uniform", &["kaiming_uniform"]),
    ("upper", &["to_upper", "toupper", "uppercase", "to_uppercase"]),
    ("lower", &["to_lower", "tolower", "lowercase", "to_lowercase"]),
    ("trim", &["strip"]),
    ("trim_start", &["lstrip"]),
    ("trim_end", &["rstrip"]),
    ("starts_with", &["startswith", "has_prefix"]),
    ("ends_with", &["endswith", "has_suffix"]),
    ("parse_int", &["atoi", "to_int"]),
    ("parse_float", &["atof", "to_float"]),
];

/// What the library calls what is known by another name elsewhere.
pub(super) fn our_name(name: &str) -> Option<&'static str> {
    NAMES.iter().find(|(_, others)| others.contains(&name)).map(|(ours, _)| *ours)
}
