//! A `main` around the function of a program: `.npy` files in, `.npy` files out.

use std::fmt::Write as _;

use ein_runtime::format::npy_type;

use super::{Array, Program};
use crate::op;

const COMMAND: &str = include_str!("command.h");

/// The tables of inputs and outputs, the call, and the rest of the command.
pub(super) fn command(program: &Program<'_>) -> String {
    let mut text = String::from("\n#include <stdio.h>\n\n");
    text.push_str(
        "typedef struct {\n    const char *name, *type;\n    int64_t bytes, rank;\n    \
         const int64_t *shape;\n} ein_array;\n\n",
    );
    let outputs: Vec<&Array> = program.outputs.iter().map(|it| &it.array).collect();
    let inputs: Vec<&Array> = program.inputs.iter().collect();
    table(&mut text, "input", &inputs);
    table(&mut text, "output", &outputs);
    let name = program.name;
    let _ = writeln!(text, "static const char ein_name[] = \"{name}\";\n");
    let mut arguments = Vec::new();
    for (at, array) in inputs.iter().enumerate() {
        arguments.push(format!("(const {} *)input[{at}]", op::element_type(array.ty)));
    }
    for (at, array) in outputs.iter().enumerate() {
        arguments.push(format!("({} *)output[{at}]", op::element_type(array.ty)));
    }
    let _ = writeln!(
        text,
        "static int ein_call(void *const *input, void *const *output) {{\n    \
         (void)input, (void)output;\n    return {name}({});\n}}\n",
        arguments.join(", ")
    );
    text.push_str(COMMAND);
    text
}

/// The arrays of one side, and how many there are.
fn table(text: &mut String, side: &str, arrays: &[&Array]) {
    for (at, array) in arrays.iter().enumerate() {
        let mut extents: Vec<String> = array.shape.iter().map(|it| op::int64(*it)).collect();
        // C has no arrays without elements.
        extents.push("0".into());
        let extents = extents.join(", ");
        let _ = writeln!(text, "static const int64_t ein_{side}{at}[] = {{{extents}}};");
    }
    let _ = writeln!(text, "static const ein_array ein_{side}[] = {{");
    for (at, array) in arrays.iter().enumerate() {
        // The format has no bf16; whoever asks for a command with it has been told.
        let (name, ty) = (&array.name, npy_type(array.ty).unwrap_or("|V2"));
        let (bytes, rank) = (op::int64(array.bytes()), array.shape.len());
        let _ = writeln!(text, "    {{\"{name}\", \"{ty}\", {bytes}, {rank}, ein_{side}{at}}},");
    }
    let count = arrays.len();
    let _ = writeln!(text, "    {{0, 0, 0, 0, 0}},\n}};\nenum {{ ein_{side}_count = {count} }};\n");
}
