//! Kernels as a C library: a source file and a header, for programs that do without us.

use std::fmt::Write as _;

use ein_ir::loops::{BufferKind, Kernel};

use crate::{emit, op, prelude};

/// The two files of a library.
#[derive(Clone, Debug)]
pub struct Library {
    /// The C file.
    pub source: String,
    /// What its users include.
    pub header: String,
}

/// Kernels with the names of their functions as a library. `header` is the name of the header.
pub fn library(kernels: &[(&str, &Kernel)], header: &str) -> Library {
    let functions: Vec<String> =
        kernels.iter().map(|(name, kernel)| emit::functions(kernel, name)).collect();
    let functions = functions.join("\n");
    let mut source = format!(
        "/* Build with -O3 -march=native -fopenmp-simd -fno-math-errno -fno-trapping-math; link \
         with -lm. */\n#include \"{header}\"\n"
    );
    let names = prelude::names(&functions).filter(|name| *name != "ein_interface");
    let names: Vec<&str> = names.filter(|name| *name != "ein_gemm").collect();
    source.push_str(&prelude::select(names));
    source.push('\n');
    source.push_str(&functions);
    Library { source, header: write_header(kernels, header) }
}

fn write_header(kernels: &[(&str, &Kernel)], header: &str) -> String {
    let upper = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    let guard: String = header.chars().map(upper).collect();
    let mut text = format!("#ifndef {guard}\n#define {guard}\n");
    text.push_str(&prelude::select(["ein_interface"]));
    text.push_str(
        "\n/* Each function gives zero unless something trapped. `rt` holds what it calls. */\n",
    );
    for (name, kernel) in kernels {
        let _ = writeln!(text, "\n/* Buffers:");
        for (buf, buffer) in kernel.bufs.iter_enumerated() {
            let role = match buffer.kind {
                BufferKind::Input => "read",
                BufferKind::Output => "written, aligned to 64 bytes",
                BufferKind::Scratch => "scratch, aligned to 64 bytes",
                BufferKind::Local => "ignored",
            };
            let (name, element) = (buffer.name.replace("*/", "* /"), op::element_type(buffer.ty));
            let _ = writeln!(text, "   {buf} {name}: {element}[{}], {role}", buffer.len);
        }
        let _ =
            writeln!(text, "*/\nuint32_t {name}(uint8_t *const *bufs, const ein_interface *rt);");
    }
    text.push_str("\n#endif\n");
    text
}
