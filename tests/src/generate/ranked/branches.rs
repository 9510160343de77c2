//! Functions with a declared result whose paths have that size, or one of which has not.

use super::Gen;

impl Gen {
    /// A function of several paths, and a call of it.
    pub(super) fn branches(&mut self) {
        let size = 1 + self.rng.below(4);
        let damaged = self.rng.one_in(4).then(|| self.rng.below(3));
        let paths: Vec<String> = (0..3)
            .map(|path| {
                let extent = match damaged {
                    Some(at) if at == path => size + 1,
                    _ => size,
                };
                self.path(extent)
            })
            .collect();
        let (a, b, c) = (&paths[0], &paths[1], &paths[2]);
        let body = match self.rng.below(5) {
            0 => format!("if c > 0 {{ {a} }} else {{ if c > -2 {{ {b} }} else {{ {c} }} }}"),
            1 => format!("if c > 0 {{ {a} }} else if c < -3 {{ {b} }} else {{ {c} }}"),
            2 => format!("match c {{ 0 => {a}, 1 => {b}, _ => {c} }}"),
            3 => format!("match c {{ 0 => {a}, _ => if c > 2 {{ {b} }} else {{ {c} }} }}"),
            _ => format!(
                "let d = c + 1; if d > 0 {{ match d {{ 1 => {a}, _ => {b} }} }} else {{ {c} }}"
            ),
        };
        let (f, r) = (self.fresh("f"), self.fresh("r"));
        let at = self.rng.below(4);
        self.out.statements.push(format!("fn {f}(c: i32) -> [f64; {size}] {{ {body} }}"));
        self.out.statements.push(format!("let {r} = {f}({at});"));
        self.out.wrong = damaged.is_some();
        if damaged.is_none() {
            self.out.shapes.push((r, vec![size]));
        }
    }

    /// An array of so many elements.
    fn path(&mut self, extent: usize) -> String {
        match self.rng.below(3) {
            0 => format!("[{}]", vec!["0.5f64"; extent].join(", ")),
            1 => format!("{{ let t[i in 0..{extent}] = i as f64; t }}"),
            _ => format!("{{ let u = 0.25f64; [{}] }}", vec!["u"; extent].join(", ")),
        }
    }
}
