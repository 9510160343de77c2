//! One diagnostic as one line of JSON.

use super::clean;
use super::view::Views;
use ein_base::{Diagnostic, Label, Severity};
use serde_json::{Value, json};

/// Appends a diagnostic and a line break. What is said at the place at fault is the first label.
pub(super) fn render(views: &mut Views<'_>, diagnostic: &Diagnostic, out: &mut String) {
    let severity = match diagnostic.severity() {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let span = diagnostic.primary.span;
    let (line, column) = views.position(span);
    let file = views.view(span.file()).name();
    let said = Some(&diagnostic.primary).filter(|label| !label.text.is_empty());
    let labels: Vec<Value> =
        said.into_iter().chain(&diagnostic.labels).map(|it| label(views, it, file)).collect();
    let help: Vec<&str> = diagnostic.helps.iter().map(|help| help.text.as_str()).collect();
    let object = json!({
        "severity": severity,
        "code": diagnostic.code.as_str(),
        "message": diagnostic.message,
        "file": file,
        "line": line,
        "column": column,
        "labels": labels,
        "notes": diagnostic.notes,
        "help": help,
    });
    out.push_str(&clean::json(object.to_string()));
    out.push('\n');
}

/// A label; it names its file only where that is another one.
fn label(views: &mut Views<'_>, label: &Label, home: &str) -> Value {
    let (line, column) = views.position(label.span);
    let file = views.view(label.span.file()).name();
    let mut value = json!({ "line": line, "column": column, "text": label.text });
    if file != home {
        value["file"] = file.into();
    }
    value
}
