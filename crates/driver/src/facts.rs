//! What the checker found out, as `einlang check --facts`, `--bounds` and `--broadcasts` show it.

use crate::Session;
use ein_base::{FileId, Span};
use ein_sema::check::{BindingFact, Report, Verdict};
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// What is known of one program.
#[derive(Debug)]
pub struct FileFacts {
    /// Its root.
    pub file: FileId,
    /// Its bindings, reads and broadcasts.
    pub report: Report,
}

impl Session {
    /// One JSON line: the top-level bindings with type, layout and shape, functions whose recursion
    /// ends with what falls at every call, and every read with its verdict.
    pub fn facts_json(&self, facts: &FileFacts) -> String {
        let mut bindings = Map::new();
        for binding in &facts.report.bindings {
            bindings.insert(binding.name.to_string(), binding_json(binding));
        }
        let mut functions = Map::new();
        for fact in &facts.report.recursions {
            if self.own_place(facts, fact.span).is_some() {
                functions.insert(fact.name.to_string(), json!({ "recursion": fact.why }));
            }
        }
        let reads = self.reads_json(facts);
        line(json!({ "facts": { "bindings": bindings, "functions": functions, "reads": reads } }))
    }

    /// One JSON line: every read with its verdict.
    pub fn bounds_json(&self, facts: &FileFacts) -> String {
        line(json!({ "bounds": self.reads_json(facts) }))
    }

    /// Every read with its verdict, for people.
    pub fn bounds_text(&self, facts: &FileFacts) -> String {
        let mut out = String::new();
        let mut counts = [0; 3];
        for read in &facts.report.reads {
            let Some(place) = self.own_place(facts, read.span) else { continue };
            counts[read.verdict as usize] += 1;
            let (verdict, axis) = (read.verdict.as_str(), read.axis);
            let what = read.tensor.map_or("a value".into(), |name| format!("`{name}`"));
            let _ = writeln!(out, "{verdict:<8} {}: axis {axis} of {what}", place.shown());
        }
        let verdicts = [Verdict::Proved, Verdict::Checked, Verdict::Refuted];
        let total: Vec<String> = verdicts
            .iter()
            .map(|verdict| format!("{} {}", counts[*verdict as usize], verdict.as_str()))
            .collect();
        let _ = writeln!(out, "{}: {}", self.files().file(facts.file).name, total.join(", "));
        out
    }

    /// One JSON line: every operand that is repeated, and along which indices.
    pub fn broadcasts_json(&self, facts: &FileFacts) -> String {
        let mut entries = Vec::new();
        for entry in &facts.report.broadcasts {
            let Some(place) = self.own_place(facts, entry.span) else { continue };
            let along: Vec<String> = entry.missing.iter().map(ToString::to_string).collect();
            entries.push(json!({
                "operand": entry.operand,
                "along": along,
                "file": place.file,
                "line": place.line,
                "column": place.column,
            }));
        }
        line(json!({ "broadcasts": entries }))
    }

    /// Every operand that is repeated, for people.
    pub fn broadcasts_text(&self, facts: &FileFacts) -> String {
        let mut out = String::new();
        for entry in &facts.report.broadcasts {
            let Some(place) = self.own_place(facts, entry.span) else { continue };
            let along: Vec<String> = entry.missing.iter().map(|name| format!("`{name}`")).collect();
            let (operand, along) = (&entry.operand, along.join(", "));
            let _ = writeln!(out, "{}: `{operand}` is repeated along {along}", place.shown());
        }
        if out.is_empty() {
            let _ = writeln!(out, "{}: no broadcasts", self.files().file(facts.file).name);
        }
        out
    }

    /// One JSON line: everything that is converted to a wider type unasked.
    pub fn widenings_json(&self, facts: &FileFacts) -> String {
        let mut entries = Vec::new();
        for entry in &facts.report.widenings {
            let Some(place) = self.own_place(facts, entry.span) else { continue };
            entries.push(json!({
                "operand": entry.operand,
                "from": entry.from.name(),
                "to": entry.to.name(),
                "file": place.file,
                "line": place.line,
                "column": place.column,
            }));
        }
        line(json!({ "widenings": entries }))
    }

    /// Everything that is converted to a wider type unasked, for people.
    pub fn widenings_text(&self, facts: &FileFacts) -> String {
        let mut out = String::new();
        for entry in &facts.report.widenings {
            let Some(place) = self.own_place(facts, entry.span) else { continue };
            let (operand, from, to) = (&entry.operand, entry.from.name(), entry.to.name());
            let _ =
                writeln!(out, "{}: `{operand}` is widened from `{from}` to `{to}`", place.shown());
        }
        if out.is_empty() {
            let _ = writeln!(out, "{}: no widenings", self.files().file(facts.file).name);
        }
        out
    }

    fn reads_json(&self, facts: &FileFacts) -> Vec<Value> {
        let mut reads = Vec::new();
        for read in &facts.report.reads {
            let Some(place) = self.own_place(facts, read.span) else { continue };
            reads.push(json!({
                "tensor": read.tensor.map(|name| name.to_string()),
                "file": place.file,
                "line": place.line,
                "column": place.column,
                "axis": read.axis,
                "verdict": read.verdict.as_str(),
            }));
        }
        reads
    }

    /// Where something of the user's own stands; nothing for what lies in the library.
    fn own_place(&self, facts: &FileFacts, span: Span) -> Option<Place> {
        let file = self.files().file(span.file());
        if file.path.is_none() && span.file() != facts.file {
            return None;
        }
        let (line, column) = self.files().position(span);
        Some(Place { file: file.name.clone(), line, column })
    }
}

/// A place in a file, from 1.
struct Place {
    file: String,
    line: usize,
    column: usize,
}

impl Place {
    fn shown(&self) -> String {
        format!("{}:{}:{}", self.file, self.line, self.column)
    }
}

fn binding_json(binding: &BindingFact) -> Value {
    // Extents that are literals are numbers, the others texts.
    let shape: Vec<Value> = binding
        .shape
        .iter()
        .map(|extent| extent.parse::<i64>().map_or_else(|_| json!(extent), |number| json!(number)))
        .collect();
    json!({ "type": binding.ty, "layout": binding.layout, "shape": shape })
}

fn line(value: Value) -> String {
    format!("{value}\n")
}
