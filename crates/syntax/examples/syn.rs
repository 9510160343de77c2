//! Development aid.
use ein_base::{FileId, Idx};
fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let mode = args[0].as_str();
    for path in &args[1..] {
        let text = std::fs::read_to_string(path).unwrap();
        let t = std::time::Instant::now();
        let parsed = ein_syntax::parse(FileId::from_usize(0), &text);
        match mode {
            "dump" => println!("{}", ein_syntax::dump(&parsed.ast)),
            "time" => println!("{path}: {:?} {} lines", t.elapsed(), text.lines().count()),
            "fmttime" => { let r = ein_syntax::format(&text); println!("{path}: {:?} {}", t.elapsed(), r.is_ok()) },
            "fmt" => print!("{}", ein_syntax::format(&text).unwrap_or_default()),
            "fmtcheck" => {
                if let Ok(once) = ein_syntax::format(&text) {
                    let p2 = ein_syntax::parse(FileId::from_usize(0), &once);
                    if !p2.diagnostics.is_empty() { println!("{path}: REJECTED {:?}\n{once}", p2.diagnostics[0]); }
                    else if ein_syntax::dump(&parsed.ast) != ein_syntax::dump(&p2.ast) { println!("{path}: DUMP DIFFERS\n{once}"); }
                    let twice = ein_syntax::format(&once).unwrap_or_default();
                    if twice != once { println!("{path}: NOT IDEMPOTENT\n{once}\n---\n{twice}"); }
                    if parsed.comments.len() != p2.comments.len() { println!("{path}: COMMENTS LOST"); }
                    if let Some(l) = once.lines().find(|l| l.chars().count() > 100) { println!("{path}: LONG {l}"); }
                }
            }
            _ => {}
        }
        if mode == "check" || mode == "time" { for d in parsed.diagnostics.iter().take(10) {
            let line = text[..d.primary.span.lo as usize].matches('\n').count() + 1;
            println!("{path}:{line}: {} {} [{}] {:?}", d.code, d.message, d.primary.text, d.helps.iter().map(|h| (&h.text, h.edit.as_ref().map(|e| &e.1))).collect::<Vec<_>>());
        } }
    }
}
