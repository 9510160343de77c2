//! Programs that mean the same cost the same: families of forms, compared by counts from their plans.
//!
//! A family is a file in `tests/forms/`: sections `--- NAME ---`, each a program. What is compared is
//! the binding `out`, and, of a family whose file says `// gradient: loss x`, the gradient as well. No
//! form may take more than 1.25 times the operations, bytes, memory or passes of the best one, and none
//! may be evaluated. Families that do not hold yet stand in `gaps.txt` with how far they are apart; a
//! family that closed its gap has to leave the list.

use ein_driver::{DumpOptions, FileSources, Input, Options, Planned, Session};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

/// Forms may differ by so much.
const APART: f64 = 1.25;

/// A gap may vary by so much before it counts as wider.
const WIDER: f64 = 1.2;

/// A form of a family.
struct Form {
    name: String,
    source: String,
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("forms")
}

/// The forms of a file.
fn forms(text: &str) -> Vec<Form> {
    let mut forms: Vec<Form> = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("--- ").and_then(|rest| rest.strip_suffix(" ---")) {
            forms.push(Form { name: name.to_owned(), source: String::new() });
        } else if let Some(form) = forms.last_mut() {
            form.source.push_str(line);
            form.source.push('\n');
        }
    }
    forms
}

/// What the plan of a program says.
fn planned(source: &str, observe: &str) -> Planned {
    let input = Input::Text { name: "form.ein".into(), text: source.into() };
    let mut session = Session::new(Options::default(), FileSources::on_disk());
    let options = DumpOptions { observe: Some(vec![observe.to_owned()]), ..DumpOptions::default() };
    let (planned, report) =
        session.plan_counts(&input, &options).expect("the compiler does not break");
    assert!(!report.has_errors(), "{source}\n{:?}", report.diagnostics);
    planned
}

/// A number that a plan is compared by.
type Measure = fn(&Planned) -> f64;

/// How far forms are apart, and what there is to say about it.
fn spread(forms: &[(String, Planned)]) -> (f64, String) {
    let mut worst: f64 = 1.0;
    let mut said = String::new();
    let measures: [(&str, Measure); 4] = [
        ("operations", |it| it.counts.operations),
        ("bytes", |it| it.counts.bytes),
        ("memory", |it| it.counts.memory),
        ("passes", |it| it.counts.passes),
    ];
    for (what, of) in measures {
        let best = forms.iter().map(|(_, it)| of(it)).fold(f64::INFINITY, f64::min);
        for (name, planned) in forms {
            let count = of(planned);
            // One more loop, or a few bytes, is not a form that costs more.
            let few = match what {
                "passes" => count <= best + 1.0,
                "memory" => count <= best + 256.0,
                _ => count <= best + 1000.0,
            };
            let ratio = if few { 1.0 } else { count / best.max(1.0) };
            if ratio > APART {
                writeln!(said, "  {name}: {what} {count:.0}, the best form {best:.0}")
                    .expect("a string takes text");
            }
            worst = worst.max(ratio);
        }
    }
    for (name, planned) in forms {
        for why in &planned.evaluated {
            writeln!(said, "  {name}: evaluated: {why}").expect("a string takes text");
            worst = f64::INFINITY;
        }
    }
    (worst, said)
}

/// The families that do not hold yet.
fn gaps() -> BTreeMap<String, f64> {
    let text = std::fs::read_to_string(folder().join("gaps.txt")).expect("the list is there");
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let (name, ratio) = line.split_once(": ").expect("a name and a ratio");
            let ratio = if ratio == "evaluated" { Some(f64::INFINITY) } else { ratio.parse().ok() };
            (name.to_owned(), ratio.expect("a number, or `evaluated`"))
        })
        .collect()
}

#[test]
fn programs_that_mean_the_same_cost_the_same() {
    let mut gaps = gaps();
    let mut wrong = String::new();
    let mut count = 0;
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder())
        .expect("the folder is there")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|it| it == "forms"))
        .collect();
    files.sort();
    for path in files {
        let text = std::fs::read_to_string(&path).expect("a file of forms");
        let family = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let head = text.split("--- ").next().unwrap_or("");
        let gradient = head.lines().find_map(|line| line.strip_prefix("// gradient: "));
        let forms = forms(&text);
        assert!(forms.len() > 1, "{family}: a family has several forms");
        let mut families = vec![(family.clone(), None)];
        families.extend(gradient.map(|of| (format!("{family}, gradient"), Some(of))));
        for (name, gradient) in families {
            count += 1;
            let plan = |form: &Form| match gradient {
                None => planned(&form.source, "out"),
                Some(of) => {
                    let (loss, by) = of.split_once(' ').expect("a target and a parameter");
                    let source = format!("{}\nlet gradient = @{loss} / @{by};\n", form.source);
                    planned(&source, "gradient")
                }
            };
            let plans: Vec<(String, Planned)> =
                forms.iter().map(|form| (form.name.clone(), plan(form))).collect();
            let (ratio, said) = spread(&plans);
            let text = if ratio.is_finite() { format!("{ratio:.2}") } else { "evaluated".into() };
            if ratio > APART {
                println!("{name}: {text}\n{said}");
            }
            match gaps.remove(&name) {
                None if ratio > APART => {
                    writeln!(wrong, "{name}: {text}\n{said}").expect("a string takes text");
                }
                Some(_) if ratio <= APART => {
                    writeln!(wrong, "{name}: the gap has closed; take it off the list\n")
                        .expect("a string takes text");
                }
                Some(known) if ratio > known * WIDER => {
                    writeln!(wrong, "{name}: {text}, and was {known:.2}\n{said}")
                        .expect("a string takes text");
                }
                None | Some(_) => {}
            }
        }
    }
    for name in gaps.keys() {
        writeln!(wrong, "{name}: listed as a gap, but there is no such family")
            .expect("a string takes text");
    }
    assert!(wrong.is_empty(), "{count} families\n{wrong}");
}
