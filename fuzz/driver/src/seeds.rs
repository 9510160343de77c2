//! The inputs to begin with: the programs of the repository, and the committed corpora.

use std::fs;
use std::path::Path;

/// Texts and files, by what they are.
#[derive(Default)]
pub struct Seeds {
    /// Programs.
    pub programs: Vec<String>,
    /// Programs in the two other notations.
    pub notations: Vec<String>,
    /// Tensor IR and loop IR as text.
    pub ir: Vec<String>,
    /// Array files: their ending and their bytes.
    pub files: Vec<(String, Vec<u8>)>,
}

impl Seeds {
    /// Everything below the root of the repository.
    pub fn load(root: &Path) -> Seeds {
        let mut seeds = Seeds::default();
        let folders = [
            "tests/suite",
            "examples",
            "tests/library",
            "tests/notations",
            "tests/onnx/cases",
            "fuzz/corpus",
        ];
        for folder in folders {
            seeds.folder(&root.join(folder));
        }
        seeds.book(&root.join("book/src"));
        seeds.programs.retain(|text| text.len() < 4000);
        seeds
    }

    fn folder(&mut self, folder: &Path) {
        let Ok(entries) = fs::read_dir(folder) else { return };
        let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        // The order decides what a number stands for.
        paths.sort();
        for path in paths {
            if path.is_dir() {
                self.folder(&path);
                continue;
            }
            let ending = path.extension().and_then(|it| it.to_str()).unwrap_or("").to_owned();
            let Ok(bytes) = fs::read(&path) else { continue };
            let text = || String::from_utf8_lossy(&bytes).into_owned();
            match ending.as_str() {
                "ein" => self.programs.extend(sections(&text())),
                "rem" | "svx" => self.notations.push(text()),
                "ir" | "pts" => self.ir.push(text()),
                "npy" | "npz" | "safetensors" | "csv" | "onnx" | "png" => {
                    self.files.push((ending, bytes))
                }
                _ => {}
            }
        }
    }

    fn book(&mut self, folder: &Path) {
        let Ok(entries) = fs::read_dir(folder) else { return };
        let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            let text = fs::read_to_string(path).unwrap_or_default();
            let blocks = text.split("```einlang").skip(1);
            let programs = blocks.filter_map(|block| block.split_once('\n')?.1.split("```").next());
            self.programs.extend(programs.map(str::to_owned));
        }
    }
}

/// The programs of a file: one, or those of a suite file.
fn sections(text: &str) -> Vec<String> {
    if !text.contains("\n--- ") && !text.starts_with("--- ") {
        return vec![text.to_owned()];
    }
    let bodies = text.split("\n--- ").filter_map(|section| section.split_once('\n'));
    bodies.map(|(_, body)| format!("{body}\n")).collect()
}
