//! Modules as pages of HTML: an index, a page for each module, and the data of the search.

use super::{Item, ItemKind, Module};
use crate::json::write_text;
use pulldown_cmark::{Event, Options, Parser, html};
use std::fmt::Write as _;

const STYLE: &str = include_str!("style.css");
const SEARCH: &str = include_str!("search.js");

/// The files of a reference: name and text. Every link in them is relative, so that they can lie
/// anywhere.
pub fn pages(title: &str, modules: &[Module]) -> Vec<(String, String)> {
    let mut files = vec![
        ("index.html".to_string(), index(title, modules)),
        ("style.css".to_string(), STYLE.to_string()),
        ("search.js".to_string(), search(modules)),
    ];
    files.extend(modules.iter().map(|it| (file_of(&it.path), page(title, it, modules))));
    files
}

fn file_of(path: &str) -> String {
    format!("{}.html", path.replace("::", "."))
}

fn index(title: &str, modules: &[Module]) -> String {
    let mut body = String::from("<ul class=\"modules\">\n");
    for module in modules {
        let _ = writeln!(
            body,
            "<li><a href=\"{}\">{}</a> {}</li>",
            escaped(&file_of(&module.path)),
            escaped(&module.path),
            markdown(first_sentence(&module.docs)).trim_start_matches("<p>").replace("</p>", "")
        );
    }
    body.push_str("</ul>\n");
    frame(title, title, &body, modules)
}

fn page(title: &str, module: &Module, modules: &[Module]) -> String {
    let mut body = markdown(&module.docs);
    let parts = modules.iter().filter(|it| {
        let below = it.path.strip_prefix(&module.path).and_then(|rest| rest.strip_prefix("::"));
        below.is_some_and(|rest| !rest.contains("::"))
    });
    let parts: Vec<&Module> = parts.collect();
    if !parts.is_empty() {
        body.push_str("<h2>Parts</h2>\n<ul class=\"modules\">\n");
        for part in parts {
            let (file, path) = (escaped(&file_of(&part.path)), escaped(&part.path));
            let _ = writeln!(body, "<li><a href=\"{file}\">{path}</a></li>");
        }
        body.push_str("</ul>\n");
    }
    for item in module.items.iter().filter(|it| it.kind != ItemKind::Export) {
        body.push_str(&entry(item));
    }
    frame(&format!("{} - {title}", module.path), &module.path, &body, modules)
}

fn entry(item: &Item) -> String {
    let name = escaped(&item.name);
    format!(
        "<section id=\"{name}\">\n<h3><a href=\"#{name}\">{name}</a> <small>{}</small></h3>\n\
         <pre class=\"signature\">{}</pre>\n{}</section>\n",
        item.kind.word(),
        escaped(&item.signature),
        markdown(&item.docs)
    )
}

fn frame(title: &str, heading: &str, body: &str, modules: &[Module]) -> String {
    let mut links = String::new();
    for module in modules {
        let (file, path) = (escaped(&file_of(&module.path)), escaped(&module.path));
        let _ = writeln!(links, "<li><a href=\"{file}\">{path}</a></li>");
    }
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{}</title>\n<link rel=\"stylesheet\" href=\"style.css\">\n</head>\n<body>\n\
         <nav>\n<a class=\"home\" href=\"index.html\">Index</a>\n\
         <input id=\"search\" type=\"search\" placeholder=\"Search\" aria-label=\"Search\">\n\
         <ul id=\"found\"></ul>\n<ul>\n{links}</ul>\n</nav>\n<main>\n<h1>{}</h1>\n{body}</main>\n\
         <script src=\"search.js\"></script>\n</body>\n</html>\n",
        escaped(title),
        escaped(heading)
    )
}

/// The script of the search, with everything that can be found.
fn search(modules: &[Module]) -> String {
    let mut data = String::from("const ENTRIES = [\n");
    for module in modules {
        for item in module.items.iter().filter(|it| it.kind != ItemKind::Export) {
            data.push_str("  [");
            for (at, text) in [
                format!("{}::{}", module.path, item.name),
                format!("{}#{}", file_of(&module.path), item.name),
                first_sentence(&item.docs).replace('\n', " "),
            ]
            .iter()
            .enumerate()
            {
                if at > 0 {
                    data.push_str(", ");
                }
                write_text(&mut data, text);
            }
            data.push_str("],\n");
        }
    }
    data.push_str("];\n");
    data + SEARCH
}

/// The text up to the first blank line.
fn first_sentence(docs: &str) -> &str {
    docs.split("\n\n").next().unwrap_or_default().trim()
}

/// Markdown as HTML. HTML inside it is shown as text: a comment is no place for scripts.
fn markdown(text: &str) -> String {
    let events = Parser::new_ext(text, Options::ENABLE_TABLES).map(|event| match event {
        Event::Html(raw) | Event::InlineHtml(raw) => Event::Text(raw),
        event => event,
    });
    let mut out = String::new();
    html::push_html(&mut out, events);
    out
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            letter => out.push(letter),
        }
    }
    out
}
