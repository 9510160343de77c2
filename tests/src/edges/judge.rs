//! Programs at the edges on an engine, compared with what they mean.

use super::{Edges, Products, Stop, Value};
use crate::engines::{Ran, Setting, run};
use ein_scalar::{Scalar, ScalarType as S, cast};
use serde_json::Value as Json;

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Values as they should be; whether something was compiled.
    Right(bool),
    /// It fails as it should.
    Fails,
    /// It is rejected, and would fail.
    Rejected,
    /// It takes too long to be a test.
    Endless,
    /// Something else than it should be.
    Wrong(String),
}

/// What the checker forbids also where it does not run.
const FORBIDDEN: [&str; 4] = ["error[E0403]", "error[E0405]", "error[E0418]", "error[E0501]"];

/// Runs a program and compares.
pub fn judge(program: &Edges, setting: &Setting) -> Verdict {
    let products = match setting.engine {
        ein_driver::Engine::Native if !setting.deterministic => Products::Fused,
        _ => Products::Rounded,
    };
    let expected = match program.values(products) {
        Err(Stop::Endless) => return Verdict::Endless,
        Err(Stop::Fails(code)) => Err(code),
        Ok(values) => Ok(values),
    };
    let ran = match run(&program.text(), setting) {
        Ok(ran) => ran,
        // The checker may see that it must fail, and it forbids some forms also where they do not run:
        // reads that are always outside, domains that start below zero, other numbers of elements.
        Err(why) if expected.is_err() && !why.contains("internal") => return Verdict::Rejected,
        Err(why) if FORBIDDEN.iter().any(|code| why.contains(code)) => return Verdict::Rejected,
        Err(why) => return Verdict::Wrong(why),
    };
    match (expected, &ran.failure) {
        (Err(code), Some((found, _))) if code == found => Verdict::Fails,
        (Err(code), found) => Verdict::Wrong(format!("not {code} but {found:?}")),
        (Ok(_), Some((_, why))) => Verdict::Wrong(why.clone()),
        (Ok(values), None) => match compare(&values, &ran) {
            Some(why) => Verdict::Wrong(why),
            None => Verdict::Right(ran.compiled),
        },
    }
}

fn compare(values: &[Vec<Value>], ran: &Ran) -> Option<String> {
    for (at, wanted) in values.iter().enumerate() {
        let name = format!("d{at}");
        let (_, found) = ran.outputs.iter().find(|(known, _)| *known == name)?;
        let found = found.get("data").and_then(Json::as_array)?;
        if found.len() != wanted.len() {
            return Some(format!("`{name}` has {} elements", found.len()));
        }
        for (i, (found, wanted)) in found.iter().zip(wanted).enumerate() {
            if !wanted.all().any(|it| is(found, it, wanted.far)) {
                return Some(format!("{name}[{i}] is {found}, not {}", wanted.is));
            }
        }
    }
    None
}

fn is(found: &Json, wanted: Scalar, far: f64) -> bool {
    if let Some(wanted) = wanted.as_i128().filter(|_| !wanted.ty().is_float()) {
        let found = found.as_i64().map(i128::from).or(found.as_u64().map(i128::from));
        return found == Some(wanted);
    }
    if let Some(wanted) = wanted.as_bool() {
        return found.as_bool() == Some(wanted);
    }
    let number = match found {
        Json::String(text) => text.parse().ok(),
        found => found.as_f64(),
    };
    // The text has as many digits as its type needs.
    let wanted_ty = wanted.ty();
    let number = number.map(|number: f64| cast(Scalar::F64(number), wanted.ty()).as_f64());
    let (Some(number), wanted) = (number, wanted.as_f64()) else { return false };
    let near = far > 0.0 && ((number - wanted).abs() <= far || far.is_infinite() || far.is_nan());
    // The JSON reader rounds the last digit of a double as it likes.
    let read = wanted_ty == S::F64 && (number - wanted).abs() <= wanted.abs() * f64::EPSILON;
    near || read && number != 0.0
        || number == wanted && number.is_sign_negative() == wanted.is_sign_negative()
        || number.is_nan() && wanted.is_nan()
}
