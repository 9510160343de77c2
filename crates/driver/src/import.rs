//! Models of other systems as programs.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::guard::{InternalError, guarded};
use crate::render::clean_text;

/// What went wrong.
#[derive(Debug)]
pub enum ImportError {
    /// The model cannot be imported: one line for each reason. Nothing was written.
    Rejected(Vec<String>),
    /// A file could not be written.
    Unwritable(String),
    /// A bug of ours.
    Bug(InternalError),
}

/// The name of the program that is written.
const PROGRAM: &str = "model.ein";
/// The name of the file of weights.
const WEIGHTS: &str = "model.safetensors";

/// Imports an ONNX model into a directory; gives a summary of what was written.
///
/// `constants` are inputs whose values are known, with the files that hold them; `sizes` are extents
/// that the model leaves open, by their name there or as `INPUT.AXIS`.
pub fn import(
    model: &Path,
    directory: &Path,
    constants: &[(String, PathBuf)],
    sizes: &[(String, i64)],
) -> Result<String, ImportError> {
    let options = ein_onnx::Options {
        constants: constants.to_vec(),
        sizes: sizes.to_vec(),
        weights_file: WEIGHTS.into(),
    };
    let model = model.to_owned();
    let imported = guarded(move || ein_onnx::read(&model, &options)).map_err(ImportError::Bug)?;
    let imported = imported.map_err(ImportError::Rejected)?;
    let failed = |path: &Path, error: &dyn std::fmt::Display| {
        ImportError::Unwritable(format!("cannot write {}: {error}", path.display()))
    };
    std::fs::create_dir_all(directory).map_err(|error| failed(directory, &error))?;
    let weights = directory.join(WEIGHTS);
    if !imported.weights.is_empty() {
        imported
            .write_weights(&weights)
            .map_err(|error| ImportError::Unwritable(format!("cannot write {error}")))?;
    }
    let program = directory.join(PROGRAM);
    std::fs::write(&program, &imported.program).map_err(|error| failed(&program, &error))?;
    let mut text = format!("wrote {}: {} nodes\n", program.display(), imported.nodes);
    if !imported.weights.is_empty() {
        let _ = writeln!(text, "wrote {}: {} weights", weights.display(), imported.weights.len());
    }
    for (kind, ports) in [("input", &imported.inputs), ("output", &imported.outputs)] {
        for port in ports {
            let _ = writeln!(text, "  {kind} {}: {} from `{}`", port.name, port.ty, port.graph);
        }
    }
    // The names are those of the model, whoever made it.
    Ok(clean_text(&text).into_owned())
}
