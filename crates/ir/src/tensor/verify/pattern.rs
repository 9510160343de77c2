//! Patterns: what they bind, and that they fit what they take apart.

use super::Verifier;
use crate::tensor::{Pattern, Type, VarId};

impl Verifier<'_> {
    /// A pattern for a value of a type; binds its variables.
    pub(super) fn pattern(&mut self, pattern: &Pattern, ty: &Type) {
        match pattern {
            Pattern::Wild => {}
            Pattern::Bind(var) => self.bind_as(*var, ty),
            Pattern::At(var, inner) => {
                self.bind_as(*var, ty);
                self.pattern(inner, ty);
            }
            Pattern::Literal(value) => {
                self.agrees(ty, &Type::Scalar(value.ty()), "a literal of a pattern");
            }
            Pattern::Str(_) => self.agrees(ty, &Type::Str, "a literal of a pattern"),
            Pattern::Range { lo, hi, .. } => {
                for end in lo.iter().chain(hi) {
                    self.agrees(ty, &Type::Scalar(end.ty()), "the end of a range of a pattern");
                }
            }
            Pattern::Tuple(items) => {
                let parts: &[Type] = match ty {
                    Type::Tuple(parts) => parts,
                    _ => &[],
                };
                self.check(parts.len() == items.len(), || "a tuple pattern does not fit".into());
                for (item, part) in items.iter().zip(parts) {
                    self.pattern(item, part);
                }
            }
            Pattern::Array { before, rest, after } => self.array_pattern(before, *rest, after, ty),
            Pattern::Data { variant, fields } => self.data_pattern(*variant, fields, ty),
            Pattern::Or(items) => {
                let mut sets: Vec<Vec<VarId>> = items.iter().map(Pattern::variables).collect();
                sets.iter_mut().for_each(|set| set.sort_unstable());
                let same = sets.windows(2).all(|pair| pair[0] == pair[1]);
                self.check(same, || "the alternatives bind different variables".into());
                items.iter().for_each(|item| self.pattern(item, ty));
            }
        }
    }

    fn bind_as(&mut self, var: VarId, ty: &Type) {
        if let Some(own) = self.var_type(var) {
            let name = self.name(var);
            self.agrees(own, ty, &format!("what {name} is bound to"));
        }
        self.bind(var);
    }

    fn array_pattern(
        &mut self,
        before: &[Pattern],
        rest: Option<Option<VarId>>,
        after: &[Pattern],
        ty: &Type,
    ) {
        let part = match ty {
            Type::Array(array) => {
                Some(Type::array(array.elem.clone(), array.axes.iter().skip(1).cloned().collect()))
            }
            // What the parts are only the run knows, or the variables say.
            _ => None,
        };
        for item in before.iter().chain(after) {
            match (&part, item) {
                (Some(part), item) => self.pattern(item, part),
                (None, item) => item.variables().into_iter().for_each(|var| self.bind(var)),
            }
        }
        if let Some(Some(var)) = rest {
            self.bind_as(var, ty);
        }
    }

    fn data_pattern(&mut self, variant: usize, fields: &[Pattern], ty: &Type) {
        let data = match ty {
            Type::Data(data, _) => self.program.data.get(*data),
            _ => None,
        };
        match data.and_then(|data| data.variants.get(variant)) {
            Some(info) => {
                let fits = info.fields.len() == fields.len();
                self.check(fits, || "a pattern has another number of fields".into());
            }
            None => self.report("a pattern names a variant that is not there".into()),
        }
        // The types of fields are not in the IR; the variables say them.
        for var in fields.iter().flat_map(Pattern::variables) {
            self.bind(var);
        }
    }
}
