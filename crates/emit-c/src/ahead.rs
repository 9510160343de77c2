//! A program ahead of time: C functions with one header, and a command around the first.
//!
//! Before:  kernels, and what their buffers are to whoever calls them
//! After:   a C file that needs nothing but a C library: the kernels, the functions that they call,
//!          and for each `int NAME(const T *input, …, T *output, …)`
//!
//! Parallel loops run on the calling thread unless the file is built with `EIN_THREADS` defined.

mod command;
mod names;

pub use names::identifier;

use std::fmt::Write as _;

use ein_ir::loops::Kernel;
use ein_scalar::{Scalar, ScalarType};

use crate::emit::{self, Caller};
use crate::{op, prelude};

/// What becomes one C file.
#[derive(Clone, Debug)]
pub struct Unit<'a> {
    /// Its name, an identifier of C.
    pub name: &'a str,
    /// What it was made from, for people.
    pub made_from: &'a str,
    /// Its functions. The command, if there is one, calls the first.
    pub programs: Vec<Program<'a>>,
}

/// A program or function that becomes a C function.
#[derive(Clone, Debug)]
pub struct Program<'a> {
    /// The name of the C function, an identifier.
    pub name: &'a str,
    /// The code.
    pub kernel: &'a Kernel,
    /// What each buffer of the kernel is.
    pub buffers: &'a [Buffer],
    /// The arrays that are passed in.
    pub inputs: &'a [Array],
    /// The arrays that are passed to be written.
    pub outputs: &'a [Output],
    /// Elements that stand in the program.
    pub tables: &'a [Vec<Scalar>],
}

/// An array that is passed to the function; a number is one without axes.
#[derive(Clone, Debug)]
pub struct Array {
    /// Its name in the program.
    pub name: String,
    /// The type of its elements.
    pub ty: ScalarType,
    /// Its extents; its elements lie in row-major order.
    pub shape: Vec<i64>,
}

/// An array that the function writes.
#[derive(Clone, Debug)]
pub struct Output {
    /// The array.
    pub array: Array,
    /// Who writes it.
    pub filled: Filled,
}

/// Who writes an output.
#[derive(Clone, Copy, Debug)]
pub enum Filled {
    /// The kernel.
    Kernel,
    /// It has one element, which is known.
    Constant(Scalar),
    /// It is a copy of this input.
    Input(usize),
    /// It is a copy of this table.
    Table(usize),
    /// It is a copy of this output, which the kernel writes.
    Output(usize),
}

/// What a buffer of the kernel is.
#[derive(Clone, Copy, Debug)]
pub enum Buffer {
    /// This input.
    Input(usize),
    /// This output.
    Output(usize),
    /// Room that the function makes.
    Scratch,
    /// Made by the kernel.
    Local,
    /// This table.
    Table(usize),
}

/// The C of a program.
#[derive(Clone, Debug)]
pub struct Files {
    /// The function and all that it needs.
    pub source: String,
    /// What its callers include.
    pub header: String,
    /// A `main` that reads inputs from `.npy` files and writes outputs to such files. It stands
    /// after the source, in the same file.
    pub command: String,
}

impl Array {
    fn len(&self) -> i64 {
        self.shape.iter().product()
    }

    fn bytes(&self) -> i64 {
        self.len().saturating_mul(self.ty.size_bytes() as i64)
    }

    /// `float[4][8]`, `float`
    fn described(&self) -> String {
        let mut text = op::element_type(self.ty).to_string();
        for extent in &self.shape {
            let _ = write!(text, "[{extent}]");
        }
        match self.ty {
            ScalarType::F16 | ScalarType::BF16 => {
                let _ = write!(text, ", the bits of {}", self.ty);
            }
            _ if self.shape.is_empty() => text.push_str(", one number"),
            _ => {}
        }
        text
    }
}

/// Scratch buffers start at multiples of this many bytes.
const ALIGNMENT: i64 = 64;

/// Writes the C of some functions.
pub fn files(unit: &Unit<'_>) -> Files {
    let parameters: Vec<_> = unit.programs.iter().map(names::Parameters::of).collect();
    Files {
        source: source(unit, &parameters),
        header: header(unit, &parameters),
        command: unit.programs.first().map_or_else(String::new, command::command),
    }
}

fn source(unit: &Unit<'_>, parameters: &[names::Parameters]) -> String {
    let mut kernels = String::new();
    for program in &unit.programs {
        let name = kernel_name(program);
        kernels.push_str(&emit::functions(program.kernel, &name, Caller::SameFile));
    }
    let mut text = format!(
        "/* {}: made by einlang from {}.\n\
         \x20*\n\
         \x20* Build it with gcc or clang: -std=gnu11 -O3 -march=native -fopenmp-simd\n\
         \x20* -fno-math-errno -fno-trapping-math. With -DEIN_THREADS=N -pthread, long loops run on\n\
         \x20* N threads.\n\
         \x20*/\n#include <stdlib.h>\n#include <string.h>\n",
        unit.name, unit.made_from
    );
    let names = prelude::names(&kernels).filter(|name| *name != "ein_interface");
    text.push_str(&prelude::select(std::iter::once("ein_interface").chain(names)));
    text.push('\n');
    text.push_str(PARALLEL);
    let flushes = kernels.contains("rt->flushed(");
    if flushes {
        text.push('\n');
        text.push_str(FLUSHED);
    }
    let leaves = kernels.contains("rt->leaves(");
    if leaves {
        text.push('\n');
        text.push_str(LEAVES);
    }
    let products = [("gemm_f32", "float", "f32"), ("gemm_f64", "double", "f64")];
    let used: Vec<bool> = products.iter().map(|it| kernels.contains(it.0)).collect();
    if used.contains(&true) {
        text.push('\n');
        text.push_str(VECTORS);
    }
    for ((_, real, suffix), _) in products.iter().zip(&used).filter(|(_, used)| **used) {
        text.push('\n');
        text.push_str(&PRODUCT.replace("REAL", real).replace("SUFFIX", suffix));
    }
    text.push('\n');
    text.push_str(&kernels);
    let product = |at: usize| match used[at] {
        true => format!("ein_gemm_{}", products[at].2),
        false => "0".into(),
    };
    let _ = writeln!(
        text,
        "\nstatic const ein_interface ein_runtime = {{ein_parallel, {}, {}, 0, {}, {}}};",
        product(0),
        product(1),
        if flushes { "ein_flushed" } else { "0" },
        if leaves { "ein_leaves" } else { "0" }
    );
    for (program, parameters) in unit.programs.iter().zip(parameters) {
        text.push('\n');
        for (at, elements) in program.tables.iter().enumerate() {
            text.push_str(&table(&table_name(program, at), elements));
        }
        text.push_str(&function(program, parameters));
    }
    text
}

fn kernel_name(program: &Program<'_>) -> String {
    format!("ein_kernel_{}", program.name)
}

fn table_name(program: &Program<'_>, at: usize) -> String {
    format!("ein_table{at}_{}", program.name)
}

const PARALLEL: &str = include_str!("ahead/parallel.h");
const FLUSHED: &str = include_str!("ahead/flushed.h");
/// Nobody wants a function to end that he has called himself.
const LEAVES: &str =
    "static uint32_t ein_leaves(const void *context) {\n    (void)context;\n    return 0;\n}\n";
const VECTORS: &str = include_str!("ahead/vectors.h");
const PRODUCT: &str = include_str!("ahead/product.h");

/// Elements that stand in the program, as an array of C.
fn table(name: &str, elements: &[Scalar]) -> String {
    let ty = elements.first().map_or(ScalarType::U8, |first| first.ty());
    let bits = matches!(ty, ScalarType::F16 | ScalarType::BF16);
    let texts: Vec<String> = elements
        .iter()
        .map(|it| if bits { it.to_bits().to_string() } else { op::constant(*it) })
        .collect();
    let mut text = format!("static const {} {name}[] = {{\n", op::element_type(ty));
    for row in texts.chunks(8) {
        let _ = writeln!(text, "    {},", row.join(", "));
    }
    text.push_str("};\n\n");
    text
}

/// The function itself.
fn function(program: &Program<'_>, parameters: &names::Parameters) -> String {
    let mut text = format!("{} {{\n", signature(program, parameters));
    let mut total: i64 = 0;
    let mut pointers = Vec::new();
    for (buffer, stated) in program.buffers.iter().zip(program.kernel.bufs.iter()) {
        pointers.push(match buffer {
            Buffer::Input(input) => format!("(uint8_t *){}", parameters.inputs[*input]),
            Buffer::Output(output) => format!("(uint8_t *){}", parameters.outputs[*output]),
            Buffer::Local => "0".into(),
            Buffer::Table(at) => format!("(uint8_t *){}", table_name(program, *at)),
            Buffer::Scratch => {
                let start = total;
                let bytes = stated.len.max(1).saturating_mul(stated.ty.size_bytes() as i64);
                let whole = bytes.saturating_add(ALIGNMENT - 1) / ALIGNMENT;
                total = total.saturating_add(whole.saturating_mul(ALIGNMENT));
                format!("ein_scratch + {}", op::int64(start))
            }
        });
    }
    if total > 0 {
        let _ = writeln!(
            text,
            "    uint8_t *const ein_scratch = aligned_alloc({ALIGNMENT}, {});",
            op::int64(total)
        );
        text.push_str("    if (!ein_scratch) return 2;\n");
    }
    if pointers.is_empty() {
        pointers.push("0".into());
    }
    let _ = writeln!(
        text,
        "    uint8_t *const ein_buffers[] = {{\n        {},\n    }};",
        pointers.join(",\n        ")
    );
    let kernel = kernel_name(program);
    let _ = writeln!(text, "    const uint32_t ein_trap = {kernel}(ein_buffers, &ein_runtime);");
    for (output, name) in program.outputs.iter().zip(&parameters.outputs) {
        let from = match output.filled {
            Filled::Kernel => continue,
            Filled::Constant(value) => {
                let bits = matches!(value, Scalar::F16(_) | Scalar::BF16(_));
                let value = if bits { value.to_bits().to_string() } else { op::constant(value) };
                let _ = writeln!(text, "    *{name} = {value};");
                continue;
            }
            Filled::Input(input) => parameters.inputs[input].clone(),
            Filled::Table(at) => table_name(program, at),
            Filled::Output(other) => parameters.outputs[other].clone(),
        };
        let bytes = op::int64(output.array.bytes());
        let _ = writeln!(text, "    memcpy({name}, {from}, {bytes});");
    }
    if total > 0 {
        text.push_str("    free(ein_scratch);\n");
    }
    text.push_str("    return ein_trap != 0;\n}\n");
    text
}

fn signature(program: &Program<'_>, parameters: &names::Parameters) -> String {
    let inputs = program.inputs.iter().zip(&parameters.inputs);
    let inputs = inputs.map(|(it, name)| format!("const {} *{name}", op::element_type(it.ty)));
    let outputs = program.outputs.iter().zip(&parameters.outputs);
    let outputs = outputs.map(|(it, name)| format!("{} *{name}", op::element_type(it.array.ty)));
    let all: Vec<String> = inputs.chain(outputs).collect();
    if all.is_empty() {
        return format!("int {}(void)", program.name);
    }
    let head = format!("int {}(", program.name);
    let line = format!("{head}{})", all.join(", "));
    match line.len() <= 96 {
        true => line,
        false => format!("{head}{})", all.join(&format!(",\n{}", " ".repeat(head.len())))),
    }
}

fn header(unit: &Unit<'_>, parameters: &[names::Parameters]) -> String {
    let name = unit.name;
    let upper = name.to_ascii_uppercase();
    let (it_keeps, it_gives) = match unit.programs.len() {
        1 => ("The\n * function keeps", "the function gives"),
        _ => ("The\n * functions keep", "the functions give"),
    };
    let mut text = format!(
        "/* {name}: made by einlang from {}.\n\
         \x20*\n\
         \x20* Arrays lie in row-major order without gaps. An output overlaps no other array. \
         {it_keeps} nothing between calls, and several threads may call at once.\n\
         \x20*/\n\
         #ifndef {upper}_H\n#define {upper}_H\n\n\
         #include <stdbool.h>\n#include <stdint.h>\n\n\
         #ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n\
         /* What {it_gives} besides 0. Then the contents of the outputs mean nothing. */\n\
         enum {{\n\
         \x20   /* A check failed: an index out of bounds, an overflow, a division by zero. */\n\
         \x20   {upper}_FAILED = 1,\n\
         \x20   /* There was no memory for intermediate results. */\n\
         \x20   {upper}_NO_MEMORY = 2,\n\
         }};\n\n",
        unit.made_from
    );
    for (program, parameters) in unit.programs.iter().zip(parameters) {
        declaration(&mut text, program, parameters);
    }
    text.push_str("#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
    text
}

/// A function in the header, with what it reads and writes.
fn declaration(text: &mut String, program: &Program<'_>, parameters: &names::Parameters) {
    let width = parameters.inputs.iter().chain(&parameters.outputs).map(String::len).max();
    let width = width.unwrap_or(0);
    if program.inputs.is_empty() {
        text.push_str("/* Writes\n");
    } else {
        text.push_str("/* Reads\n");
        for (array, name) in program.inputs.iter().zip(&parameters.inputs) {
            let _ = writeln!(text, " *   {name:width$}  {}", array.described());
        }
        text.push_str(" * and writes\n");
    }
    for (output, name) in program.outputs.iter().zip(&parameters.outputs) {
        let _ = writeln!(text, " *   {name:width$}  {}", output.array.described());
    }
    let _ = writeln!(text, " */\n{};\n", signature(program, parameters));
}
