//! Development aid.
#[path = "/work/main/crates/syntax/tests/support/mod.rs"]
mod support;
use ein_base::{FileId, Idx};
use ein_syntax::{dump, format, parse};
use std::collections::HashMap;
const PIECES: &[&str] = &["let ", "fn ", "f", "(", ")", "[", "]", "{", "}", ";", ",", "=", "==", "..", "..=", "..s", "1", "2.5", "in ", "|", "-", "**", "@", ".", "!", "_", "where ", "else ", "?"];
fn main() {
    let n: u64 = std::env::args().nth(1).unwrap().parse().unwrap();
    let with: bool = std::env::args().nth(2).is_some();
    let f = FileId::from_usize(0);
    let mut best: HashMap<String, (usize, String)> = HashMap::new();
    let mut count = HashMap::new();
    for seed in 0..n {
        let mut rng = support::Rng::new(seed);
        let mut s = support::program(rng.next(), with && rng.chance(30));
        for _ in 0..1 + rng.below(4) {
            let mut at = rng.below(s.len() + 1);
            while !s.is_char_boundary(at) { at -= 1; }
            if rng.chance(50) {
                let mut end = (at + rng.below(12)).min(s.len());
                while !s.is_char_boundary(end) { end -= 1; }
                s.replace_range(at..end.max(at), "");
            } else { s.insert_str(at, rng.pick(PIECES)); }
        }
        let p = parse(f, &s);
        let mut fail = |what: String, detail: String| {
            *count.entry(what.clone()).or_insert(0) += 1;
            let e = best.entry(what).or_insert((usize::MAX, String::new()));
            if s.len() < e.0 { *e = (s.len(), format!("{}\n======\n{detail}", s.split_whitespace().collect::<Vec<_>>().join(" "))); if with { e.1 = format!("{s}\n======\n{detail}"); } }
        };
        if !p.diagnostics.is_empty() { continue; }
        let Ok(once) = format(&s) else { fail("FMT ERR".into(), "".into()); continue };
        let q = parse(f, &once);
        if let Some(d) = q.diagnostics.first() { fail(format!("BROKEN {}", d.code), format!("{}\n{once}", d.message)); continue; }
        if dump(&p.ast) != dump(&q.ast) { fail("DUMP".into(), once); continue; }
        if p.comments.len() != q.comments.len() { fail("COMMENTS".into(), once); continue; }
        let twice = format(&once).unwrap();
        if twice != once { fail("IDEMPOTENT".into(), format!("{once}\n----\n{twice}")); continue; }
    }
    for (k, (_, v)) in &best { println!("######## {k} x{}\n{v}\n", count[k]); }
}
