//! The body of a program as a function of its parameters, whose extents are open: what is known of an
//! extent is a name, in the function, in its adjoint, and in the adjoint of that.

use super::Gen;
use std::fmt::Write;

/// A function that computes the loss, and perhaps one for its gradient by the first parameter.
pub(super) struct Within {
    params: Vec<String>,
    model: String,
    slope: Option<String>,
}

impl Within {
    /// The loss of a copy of the parameters.
    pub(super) fn loss(&self, suffix: &str) -> String {
        format!("{}({})", self.model, self.arguments(suffix))
    }

    /// Its gradient by the first of them.
    pub(super) fn gradient(&self, suffix: &str, name: &str) -> String {
        match &self.slope {
            Some(slope) => format!("{slope}({})", self.arguments(suffix)),
            None => format!("@loss{suffix} / @{name}{suffix}"),
        }
    }

    fn arguments(&self, suffix: &str) -> String {
        let names: Vec<String> = self.params.iter().map(|name| format!("{name}{suffix}")).collect();
        names.join(", ")
    }
}

impl Gen {
    /// Writes the statements so far into a function.
    pub(super) fn within(&mut self, params: &[String]) -> Within {
        // One name for each extent, as the parameters of a user share theirs.
        let types: Vec<String> = self.values[..params.len()]
            .iter()
            .map(|value| match value.shape.as_slice() {
                [] => "f64".to_owned(),
                shape => {
                    let sizes: Vec<String> = shape.iter().map(|it| format!("?n{it}")).collect();
                    format!("[f64; {}]", sizes.join(", "))
                }
            })
            .collect();
        let extents: Vec<usize> = self.values[..params.len()]
            .iter()
            .flat_map(|value| value.shape.iter().copied())
            .collect();
        let mut body = self.body.replace('~', "");
        if self.rng.one_in(2) {
            for extent in extents {
                body = self.opened(&body, extent);
            }
        }
        let list: Vec<String> =
            params.iter().zip(&types).map(|(name, ty)| format!("{name}: {ty}")).collect();
        let (list, names) = (list.join(", "), params.join(", "));
        let model = self.fresh("model");
        let _ = writeln!(self.shared, "fn {model}({list}) -> f64 {{\n{body}loss\n}}");
        // A request inside of a function is differentiated with the function.
        let slope = self.rng.one_in(2).then(|| {
            let slope = self.fresh("slope");
            let _ = writeln!(
                self.shared,
                "fn {slope}({list}) {{ let l = {model}({names}); @l / @{} }}",
                params[0]
            );
            slope
        });
        Within { params: params.to_vec(), model, slope }
    }

    /// Some of the ranges that end at an extent end at its name.
    fn opened(&mut self, body: &str, extent: usize) -> String {
        let range = format!("..{extent}]");
        let parts: Vec<&str> = body.split(&range).collect();
        let mut text = String::new();
        for (at, part) in parts.iter().enumerate() {
            text.push_str(part);
            if at + 1 < parts.len() {
                let name = if self.rng.one_in(2) { "?n" } else { "" };
                let _ = write!(text, "..{name}{extent}]");
            }
        }
        text
    }
}
