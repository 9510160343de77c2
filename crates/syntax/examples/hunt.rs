//! Development aid.
#[path = "/work/main/crates/syntax/tests/support/mod.rs"]
mod support;
use ein_base::{FileId, Idx};
use ein_syntax::{dump, format, parse};
use std::collections::HashMap;
fn main() {
    let n: u64 = std::env::args().nth(1).unwrap().parse().unwrap();
    let with: bool = std::env::args().nth(2).is_some();
    let f = FileId::from_usize(0);
    let mut best: HashMap<String, (usize, String)> = HashMap::new();
    let mut count = HashMap::new();
    for seed in 0..n {
        let s = support::program(seed, with);
        let p = parse(f, &s);
        let mut fail = |what: String, detail: String| {
            *count.entry(what.clone()).or_insert(0) += 1;
            let e = best.entry(what).or_insert((usize::MAX, String::new()));
            if s.len() < e.0 { *e = (s.len(), format!("{}\n======\n{detail}", s.split_whitespace().collect::<Vec<_>>().join(" "))); if with { e.1 = format!("{s}\n======\n{detail}"); } }
        };
        if let Some(d) = p.diagnostics.first() { fail(format!("REJECT {}", d.code), format!("{} @ {:?}", d.message, &s[d.primary.span.lo as usize..].chars().take(30).collect::<String>())); continue; }
        let Ok(once) = format(&s) else { continue };
        let q = parse(f, &once);
        if let Some(d) = q.diagnostics.first() { fail(format!("BROKEN {}", d.code), format!("{}\n{once}", d.message)); continue; }
        if dump(&p.ast) != dump(&q.ast) { fail("DUMP".into(), once); continue; }
        if p.comments.len() != q.comments.len() { fail("COMMENTS".into(), once); continue; }
        let twice = format(&once).unwrap();
        if twice != once { fail("IDEMPOTENT".into(), format!("{once}\n----\n{twice}")); continue; }
    }
    for (k, (_, v)) in &best { println!("######## {k} x{}\n{v}\n", count[k]); }
}
