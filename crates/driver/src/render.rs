//! Diagnostics as text: as rustc shows them for people, as JSON lines for tools.

mod clean;
mod excerpt;
mod json;
mod view;

pub(crate) use clean::json as clean_json;
pub use clean::text as clean_text;

use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use ein_base::{Diagnostic, Label, Severity, SourceMap};
use excerpt::{Excerpt, Mark};
use view::Views;

/// How diagnostics look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// For people, without colour.
    #[default]
    Plain,
    /// For people at a terminal.
    Coloured,
    /// For tools: one JSON object per line.
    Json,
}

/// Renders diagnostics in the order given; each ends with a line break, and for people an empty
/// line stands between two.
pub fn render(files: &SourceMap, diagnostics: &[Diagnostic], style: Style) -> String {
    let mut views = Views::new(files);
    let mut out = String::new();
    for (i, diagnostic) in diagnostics.iter().enumerate() {
        match style {
            Style::Json => json::render(&mut views, diagnostic, &mut out),
            Style::Plain | Style::Coloured => {
                if i > 0 {
                    out.push('\n');
                }
                human(&mut views, diagnostic, style == Style::Coloured, &mut out);
            }
        }
    }
    out
}

fn human(views: &mut Views<'_>, diagnostic: &Diagnostic, colour: bool, out: &mut String) {
    let level = match diagnostic.severity() {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let message = clean::text(&diagnostic.message);
    let title = level.primary_title(&*message).id(diagnostic.code.as_str());
    let mut group = Group::with_title(title);

    let parts = parts(views, diagnostic);
    for part in &parts {
        group = match part {
            Part::Place(name) => group.element(Origin::path(name.as_str())),
            Part::Text(name, excerpt) => group.element(snippet(name, excerpt)),
        };
    }
    let notes: Vec<_> = diagnostic.notes.iter().map(|note| clean::text(note)).collect();
    for note in &notes {
        group = group.element(Level::NOTE.message(&**note));
    }
    let helps: Vec<_> = diagnostic.helps.iter().map(|help| clean::text(&help.text)).collect();
    for help in &helps {
        group = group.element(Level::HELP.message(&**help));
    }

    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    let mut text = renderer.render(&[group]);
    for part in &parts {
        // The renderer counts columns in what it is given; a line that was cut starts elsewhere.
        if let Part::Text(name, Excerpt { line, column, shown_column, .. }) = part
            && column != shown_column
        {
            let shown = format!("{name}:{line}:{shown_column}");
            text = text.replacen(&shown, &format!("{name}:{line}:{column}"), 1);
        }
    }
    out.push_str(&text);
    out.push('\n');
}

/// What is shown of one file.
enum Part {
    /// Only its name: there is no text to show.
    Place(String),
    /// Some of its lines.
    Text(String, Excerpt),
}

/// What to show, the place at fault first.
fn parts(views: &mut Views<'_>, diagnostic: &Diagnostic) -> Vec<Part> {
    let primary = diagnostic.primary.span.file();
    let mut by_file: Vec<(ein_base::FileId, Vec<Mark>)> =
        vec![(primary, vec![mark(&diagnostic.primary, true)])];
    for label in &diagnostic.labels {
        let file = label.span.file();
        match by_file.iter_mut().find(|(it, _)| *it == file) {
            Some((_, marks)) => marks.push(mark(label, false)),
            None => by_file.push((file, vec![mark(label, false)])),
        }
    }
    let mut parts = Vec::new();
    for (file, marks) in by_file {
        let view = views.view(file);
        let name = clean::text(view.name()).into_owned();
        if view.is_empty() {
            parts.push(Part::Place(name));
        } else {
            let excerpts = excerpt::excerpts(view, marks);
            parts.extend(excerpts.into_iter().map(|it| Part::Text(name.clone(), it)));
        }
    }
    parts
}

fn mark(label: &Label, primary: bool) -> Mark {
    let range = label.span.lo() as usize..label.span.hi() as usize;
    Mark { range, text: clean::text(&label.text).into_owned(), primary }
}

fn snippet<'a>(name: &'a str, excerpt: &'a Excerpt) -> Snippet<'a, Annotation<'a>> {
    let marks = excerpt.marks.iter().map(|mark| {
        let kind = if mark.primary { AnnotationKind::Primary } else { AnnotationKind::Context };
        let text = Some(mark.text.as_str()).filter(|text| !text.is_empty());
        kind.span(mark.range.clone()).label(text)
    });
    Snippet::source(excerpt.source.as_str())
        .line_start(excerpt.first_line)
        .path(name)
        .annotations(marks)
}

#[cfg(test)]
mod tests;
