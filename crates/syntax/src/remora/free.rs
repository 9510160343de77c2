//! Which names an expression takes from around it.

use super::tree::{Kind, Lambda, Node};
use ein_base::Symbol;

/// The free names of a function, each once, in order of appearance.
pub(super) fn free(lambda: &Lambda) -> Vec<Symbol> {
    let mut walk = Walk { bound: Vec::new(), free: Vec::new() };
    walk.lambda(lambda);
    walk.free
}

/// Whether a name stands where a function does.
pub(super) fn is_called(name: Symbol, node: &Node) -> bool {
    match &node.kind {
        Kind::Apply(callee, args) => {
            matches!(callee.kind, Kind::Name(it) if it == name)
                || is_called(name, callee)
                || args.iter().any(|it| is_called(name, it))
                || matches!(callee.kind, Kind::Name(it) if ["reduce", "scan", "filter"].contains(&it.as_str()))
                    && matches!(args.first().map(|it| &it.kind), Some(Kind::Name(it)) if *it == name)
        }
        Kind::Array(items) => items.iter().any(|it| is_called(name, it)),
        Kind::Lambda(lambda) => is_called(name, &lambda.body),
        Kind::Let(bindings, body) => {
            bindings.iter().any(|it| is_called(name, &it.1)) || is_called(name, body)
        }
        Kind::If(parts) => parts.iter().any(|it| is_called(name, it)),
        _ => false,
    }
}

struct Walk {
    bound: Vec<Symbol>,
    free: Vec<Symbol>,
}

impl Walk {
    fn lambda(&mut self, lambda: &Lambda) {
        let depth = self.bound.len();
        self.bound.extend(lambda.params.iter().map(|it| it.0.sym));
        self.node(&lambda.body);
        self.bound.truncate(depth);
    }

    fn node(&mut self, node: &Node) {
        match &node.kind {
            Kind::Name(name) => {
                if !self.bound.contains(name) && !self.free.contains(name) {
                    self.free.push(*name);
                }
            }
            Kind::Array(items) => items.iter().for_each(|it| self.node(it)),
            Kind::Apply(callee, args) => {
                self.node(callee);
                args.iter().for_each(|it| self.node(it));
            }
            Kind::Lambda(lambda) => self.lambda(lambda),
            Kind::Let(bindings, body) => {
                bindings.iter().for_each(|it| self.node(&it.1));
                let depth = self.bound.len();
                self.bound.extend(bindings.iter().map(|it| it.0.sym));
                self.node(body);
                self.bound.truncate(depth);
            }
            Kind::If(parts) => parts.iter().for_each(|it| self.node(it)),
            Kind::Int(_) | Kind::Float(_) | Kind::Bool(_) | Kind::Error => {}
        }
    }
}
