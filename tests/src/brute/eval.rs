//! Statements and expressions.

use super::names::name;
use super::reduce;
use super::value::V;
use super::{Brute, Result, Stop, arith, unknown};
use ein_base::{Name, Symbol};
use ein_scalar::ScalarType;
use ein_syntax::ast::{
    BinaryOp, Clause, CompClause, ExprId, ExprKind, PipeOp, Slot, SlotKind, StmtId, StmtKind,
    StrPart, TypeId, TypeKind, UnaryOp, VariantData,
};
use std::rc::Rc;

/// A program that takes longer is none of ours.
const STEPS: usize = 2_000_000;

impl Brute<'_> {
    /// Makes the functions of a block known.
    pub(super) fn hoist(&mut self, stmts: &[StmtId]) {
        for stmt in stmts {
            if let StmtKind::Fn(function) = &self.ast.stmt[*stmt].kind {
                self.functions.insert(function.name.sym, *stmt);
            }
        }
    }

    /// Runs statements; their bindings stay.
    pub(super) fn statements(&mut self, stmts: &[StmtId]) -> Result<()> {
        let mut at = 0;
        while let Some(stmt) = stmts.get(at) {
            at += 1;
            match &self.ast.stmt[*stmt].kind {
                StmtKind::Let(it) => {
                    let want = it.ty.and_then(|ty| self.scalar_type(ty));
                    let value = self.qualified(it.value)?.settle(want)?;
                    if !self.matches(it.pat, &value)? {
                        return unknown("a `let` that does not match");
                    }
                }
                StmtKind::Const(it) => {
                    let want = it.ty.and_then(|ty| self.scalar_type(ty));
                    let value = self.eval(it.value)?.settle(want)?;
                    self.env.push((it.name.sym, value));
                }
                StmtKind::Clause(first) => {
                    let mut clauses: Vec<&Clause> = vec![first];
                    while let Some(next) = stmts.get(at)
                        && let StmtKind::Clause(next) = &self.ast.stmt[*next].kind
                        && next.name.sym == first.name.sym
                        && next.slots.len() == first.slots.len()
                    {
                        clauses.push(next);
                        at += 1;
                    }
                    let value = self.define(&clauses)?;
                    self.env.push((first.name.sym, value));
                }
                StmtKind::Expr(e) => {
                    self.eval(*e)?;
                }
                StmtKind::Fn(_) | StmtKind::Struct(_) | StmtKind::Enum(_) | StmtKind::Use(_) => {}
                _ => return unknown("a statement"),
            }
            if self.depth == 0 {
                self.globals = Rc::new(self.env.clone());
            }
        }
        Ok(())
    }

    /// The value of a name.
    pub(super) fn find(&self, name: Symbol) -> Option<&V> {
        self.env
            .iter()
            .rev()
            .find(|(known, value)| *known == name && !matches!(value, V::Domain(..)))
            .map(|(_, value)| value)
    }

    /// The element type that an annotation names.
    pub(super) fn scalar_type(&self, ty: TypeId) -> Option<ScalarType> {
        match &self.ast.ty[ty].kind {
            TypeKind::Path { path, .. } => ScalarType::from_name(path.last()?.sym.as_str()),
            TypeKind::Array { elem, .. } => self.scalar_type(*elem),
            _ => None,
        }
    }

    /// The value of an expression.
    pub(super) fn eval(&mut self, e: ExprId) -> Result<V> {
        self.steps += 1;
        if self.steps > STEPS || self.depth > 200 {
            return unknown("too much work");
        }
        let ast = self.ast;
        match &ast.expr[e].kind {
            ExprKind::Int { value, suffix } => {
                let ty = suffix.and_then(|it| ScalarType::from_name(it.as_str()));
                Ok(match ty {
                    Some(ty) if ty.is_float() => V::Float(*value as f64, ty, None),
                    Some(ty) => V::Int(i128::from(*value), ty, false),
                    None => V::Int(i128::from(*value), ScalarType::I32, true),
                })
            }
            ExprKind::Float { text, suffix } => {
                let ty = suffix.and_then(|it| ScalarType::from_name(it.as_str()));
                let Ok(value) = text.as_str().parse::<f64>() else { return unknown("a float") };
                let soft = V::Float(value, ScalarType::F32, Some(f64::from(value as f32)));
                if ty.is_some() { soft.settle(ty) } else { Ok(soft) }
            }
            ExprKind::Bool(value) => Ok(V::Bool(*value)),
            ExprKind::Str(parts) => self.text(parts),
            ExprKind::Path(path) => match &path[..] {
                [only] => match self.find(only.sym) {
                    Some(value) => Ok(value.clone()),
                    None => unknown(format!("the name `{only}`")),
                },
                [.., last] => Ok(V::Data(last.sym, Rc::default())),
                [] => unknown("an empty path"),
            },
            ExprKind::Unary(UnaryOp::Neg, a) => arith::negate(&self.eval(*a)?),
            ExprKind::Unary(UnaryOp::Pos, a) => self.eval(*a),
            ExprKind::Unary(UnaryOp::Not, a) => arith::not(&self.eval(*a)?),
            ExprKind::Binary(op, a, b) => self.binary(*op, *a, *b),
            ExprKind::Range { lo: Some(lo), hi: Some(hi), inclusive } => {
                let (lo, hi) = (self.eval(*lo)?.int()?, self.eval(*hi)?.int()?);
                Ok(V::Range(lo.into(), i128::from(hi) + i128::from(*inclusive)))
            }
            ExprKind::Cast(a, ty) => {
                let value = self.eval(*a)?;
                match self.scalar_type(*ty) {
                    Some(ty) => arith::cast(&value, ty),
                    None => unknown("a cast"),
                }
            }
            ExprKind::Call { callee, args } => self.call(*callee, args),
            ExprKind::BracketCall { callee, slots, args } => match name(ast, *callee) {
                Some(op) if reduce::NAMES.contains(&op.as_str()) && args.len() == 1 => {
                    self.reduction(e, op.as_str(), slots, args[0].value)
                }
                _ => unknown("a bracket call"),
            },
            ExprKind::Index { base, slots } => self.index(*base, slots),
            ExprKind::Field(a, field) => {
                let value = self.eval(*a)?;
                self.field(&value, field.sym)
            }
            ExprKind::TupleField(a, at, _) => match self.eval(*a)? {
                V::Tuple(items) if (*at as usize) < items.len() => Ok(items[*at as usize].clone()),
                other => unknown(format!("a field of {other:?}")),
            },
            ExprKind::Array(items) => {
                let items: Vec<V> = items.iter().map(|it| self.eval(*it)).collect::<Result<_>>()?;
                Ok(V::list(V::agree(items)?))
            }
            ExprKind::Tuple(items) if items.is_empty() => Ok(V::Unit),
            ExprKind::Tuple(items) => {
                let items: Vec<V> = items.iter().map(|it| self.eval(*it)).collect::<Result<_>>()?;
                Ok(V::Tuple(Rc::new(items)))
            }
            ExprKind::Comprehension { body, clauses } => {
                let mut out = Vec::new();
                self.comprehension(*body, clauses, &mut out)?;
                Ok(V::list(V::agree(out)?))
            }
            ExprKind::Struct { path, fields } => {
                let Some(which) = path.last() else { return unknown("a struct") };
                let mut out = Vec::new();
                for (field, ty) in self.fields(path) {
                    let given = fields.iter().find(|(name, _)| name.sym == field);
                    let Some((_, value)) = given else { return unknown("a missing field") };
                    let value = self.eval(*value)?.settle(self.scalar_type(ty))?;
                    out.push((field, value));
                }
                Ok(V::Data(which.sym, Rc::new(out)))
            }
            ExprKind::Block { stmts, tail } => {
                let mark = self.env.len();
                self.depth += 1;
                let result = self.statements(stmts).and_then(|()| match tail {
                    Some(tail) => self.eval(*tail),
                    None => Ok(V::Unit),
                });
                self.depth -= 1;
                self.env.truncate(mark);
                result
            }
            ExprKind::If { cond, then, otherwise } => match self.eval(*cond)? {
                V::Arr(conditions) => {
                    let Some(otherwise) = otherwise else { return unknown("a selection") };
                    let (then, otherwise) = (self.eval(*then)?, self.eval(*otherwise)?);
                    select(&V::Arr(conditions), &then, &otherwise)
                }
                condition => match (condition.truth()?, otherwise) {
                    (true, _) => self.eval(*then),
                    (false, Some(otherwise)) => self.eval(*otherwise),
                    (false, None) => Ok(V::Unit),
                },
            },
            ExprKind::Match { scrutinee, arms } => {
                let value = self.eval(*scrutinee)?.settle(None)?;
                for arm in arms {
                    let mark = self.env.len();
                    let mut hit = self.matches(arm.pat, &value)?;
                    if hit && let Some(guard) = arm.guard {
                        hit = self.eval(guard)?.truth()?;
                    }
                    let result = if hit { Some(self.eval(arm.body)) } else { None };
                    self.env.truncate(mark);
                    if let Some(result) = result {
                        return result;
                    }
                }
                unknown("a match without an arm")
            }
            ExprKind::Closure { .. } => Ok(V::Closure(e, Rc::new(self.env.clone()))),
            ExprKind::Pipe(PipeOp::Plain, a, f) => self.pipe(*a, *f),
            ExprKind::Where { .. } => self.qualified(e),
            other => unknown(format!("the expression {other:?}")),
        }
    }

    fn text(&mut self, parts: &[StrPart]) -> Result<V> {
        let mut text = String::new();
        for part in parts {
            match part {
                StrPart::Text(part) => text.push_str(part.as_str()),
                StrPart::Value { expr, spec: None } => {
                    match self.eval(*expr)?.settle(None)? {
                        V::Int(value, ..) => text.push_str(&value.to_string()),
                        V::Bool(value) => text.push_str(&value.to_string()),
                        V::Str(value) => text.push_str(&value),
                        other => return unknown(format!("{other:?} in a text")),
                    };
                }
                StrPart::Value { .. } => return unknown("a format"),
            }
        }
        Ok(V::Str(text.into()))
    }

    fn binary(&mut self, op: BinaryOp, a: ExprId, b: ExprId) -> Result<V> {
        let left = self.eval(a)?;
        match (op, &left) {
            (BinaryOp::And | BinaryOp::Or, V::Bool(_) | V::Zero) => {
                if left.truth()? == (op == BinaryOp::Or) {
                    return Ok(left);
                }
                Ok(V::Bool(self.eval(b)?.truth()?))
            }
            (BinaryOp::In, _) => match self.eval(b)? {
                V::Range(lo, hi) => Ok(V::Bool((lo..hi).contains(&left.int()?.into()))),
                V::Arr(items) => {
                    let mut found = false;
                    for item in items.iter() {
                        found = found || arith::compare(&left, item)?.is_eq();
                    }
                    Ok(V::Bool(found))
                }
                other => unknown(format!("membership in {other:?}")),
            },
            _ => {
                let right = self.eval(b)?;
                arith::binary(op, &left, &right)
            }
        }
    }

    fn index(&mut self, base: ExprId, slots: &[Slot]) -> Result<V> {
        let value = self.eval(base)?;
        let mut indices = Vec::new();
        for slot in slots {
            match &slot.kind {
                SlotKind::Expr(e) => {
                    self.touched.insert(self.ast.expr[*e].span.lo());
                    let negative = matches!(&self.ast.expr[*e].kind, ExprKind::Unary(UnaryOp::Neg, a)
                        if matches!(self.ast.expr[*a].kind, ExprKind::Int { .. }));
                    match self.eval(*e)? {
                        V::Range(lo, hi) if slots.len() == 1 => {
                            let items: Result<Vec<V>> =
                                (lo..hi).map(|at| value.at(at as i64)).collect();
                            return Ok(V::list(items?));
                        }
                        V::Arr(places) if slots.len() == 1 => {
                            let items: Result<Vec<V>> =
                                places.iter().map(|at| value.at(at.int()?)).collect();
                            return Ok(V::list(items?));
                        }
                        index => {
                            let mut index = index.int()?;
                            if negative {
                                let extent = value.shape().get(indices.len()).copied();
                                index += extent.unwrap_or(0) as i64;
                            }
                            indices.push(index);
                        }
                    }
                }
                SlotKind::Pack(pack) => match self.find(pack.sym) {
                    Some(V::Pack(places)) => indices.extend(places.iter()),
                    _ => return unknown("a pack"),
                },
                _ => return unknown("a slot of an index"),
            }
        }
        match value {
            V::Lazy(lazy) if indices.len() == lazy.extents.len() => self.point(&lazy, &indices),
            V::Lazy(_) => unknown("part of a definition under way"),
            V::Str(text) => {
                let letter = usize::try_from(indices[0]).ok().and_then(|at| text.chars().nth(at));
                match letter {
                    Some(letter) => Ok(V::Str(letter.to_string().into())),
                    None => Err(Stop::Fails("an index of a text".into())),
                }
            }
            value => indices.iter().try_fold(value, |value, at| value.at(*at)),
        }
    }

    fn field(&self, value: &V, field: Symbol) -> Result<V> {
        match (value, field.as_str()) {
            (V::Data(_, fields), _) => match fields.iter().find(|it| it.0 == field) {
                Some((_, value)) => Ok(value.clone()),
                None => unknown("a field"),
            },
            (V::Arr(items), "length") => Ok(V::index(items.len() as i64)),
            (V::Str(text), "length") => Ok(V::index(text.chars().count() as i64)),
            (V::Arr(_), "shape") => {
                Ok(V::list(value.shape().into_iter().map(|n| V::index(n as i64)).collect()))
            }
            _ => unknown(format!("the field `{field}`")),
        }
    }

    /// The fields of a struct, or of a variant with names, as declared.
    fn fields(&self, path: &[Name]) -> Vec<(Symbol, TypeId)> {
        let (kind, which) = match path {
            [.., kind, which] => (Some(kind.sym), which.sym),
            [which] => (None, which.sym),
            [] => return Vec::new(),
        };
        for stmt in self.ast.stmt.iter() {
            let fields = match &stmt.kind {
                StmtKind::Struct(it) if it.name.sym == which => Some(&it.fields),
                StmtKind::Enum(it) if Some(it.name.sym) != kind => None,
                StmtKind::Enum(it) => it.variants.iter().find_map(|variant| match &variant.data {
                    VariantData::Struct(fields) if variant.name.sym == which => Some(fields),
                    _ => None,
                }),
                _ => None,
            };
            if let Some(fields) = fields {
                return fields.iter().map(|field| (field.name.sym, field.ty)).collect();
            }
        }
        Vec::new()
    }

    fn comprehension(
        &mut self,
        body: ExprId,
        clauses: &[CompClause],
        out: &mut Vec<V>,
    ) -> Result<()> {
        let mark = self.env.len();
        let Some((first, rest)) = clauses.split_first() else {
            let value = self.eval(body)?;
            out.push(value);
            return Ok(());
        };
        match first {
            CompClause::Generator(pat, source) => {
                let items: Vec<V> = match self.eval(*source)? {
                    V::Range(lo, hi) => (lo..hi).map(|at| V::index(at as i64)).collect(),
                    source @ V::Arr(_) => match source.settle(None)? {
                        V::Arr(items) => items.to_vec(),
                        _ => Vec::new(),
                    },
                    other => return unknown(format!("a generator over {other:?}")),
                };
                for item in items {
                    if self.matches(*pat, &item)? {
                        self.comprehension(body, rest, out)?;
                    }
                    self.env.truncate(mark);
                }
            }
            CompClause::Condition(condition) => {
                if self.eval(*condition)?.truth()? {
                    self.comprehension(body, rest, out)?;
                }
            }
            CompClause::Binding(name, value) => {
                let value = self.eval(*value)?.settle(None)?;
                self.env.push((name.sym, value));
                self.comprehension(body, rest, out)?;
            }
        }
        self.env.truncate(mark);
        Ok(())
    }
}

/// An `if` element by element.
fn select(condition: &V, then: &V, otherwise: &V) -> Result<V> {
    let V::Arr(conditions) = condition else {
        return Ok(if condition.truth()? { then.clone() } else { otherwise.clone() });
    };
    let part = |value: &V, at: usize| match value {
        V::Arr(items) => items.get(at).cloned().unwrap_or(V::Zero),
        scalar => scalar.clone(),
    };
    let items = conditions.iter().enumerate();
    let items = items.map(|(at, it)| select(it, &part(then, at), &part(otherwise, at)));
    Ok(V::list(V::agree(items.collect::<Result<_>>()?)?))
}
