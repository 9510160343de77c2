//! Indexed definitions: regions of clauses, and points computed when they are read.

use super::domain::Binder;
use super::names::{children, mentioned, name};
use super::value::V;
use super::{Brute, Env, Result, fails, unknown};
use ein_base::Symbol;
use ein_syntax::ast::{Clause, ExprId, ExprKind, LeftSlotKind, SlotKind, WhereItem};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// A definition under way.
#[derive(Debug)]
pub struct Lazy {
    name: Symbol,
    pub(super) extents: Vec<usize>,
    /// Which clause gives each point, with the bindings of its indices.
    points: HashMap<Vec<i64>, Vec<(ExprId, Env)>>,
    done: RefCell<HashMap<Vec<i64>, V>>,
    busy: RefCell<HashSet<Vec<i64>>>,
    env: Env,
}

/// A slot with its pack taken apart.
enum Slot {
    Point(i64),
    Index(Binder),
    /// A hidden index of a pack.
    Pack(Symbol, usize),
}

/// The points found so far.
struct Region {
    extents: Vec<usize>,
    points: HashMap<Vec<i64>, Vec<(ExprId, Env)>>,
}

impl Brute<'_> {
    /// The value of a definition made of these clauses.
    pub(super) fn define(&mut self, clauses: &[&Clause]) -> Result<V> {
        let mark = self.env.len();
        let mut region = Region { extents: Vec::new(), points: HashMap::new() };
        for clause in clauses {
            let (slots, extra) = self.slots(clause)?;
            self.env.extend(extra);
            if region.extents.is_empty() {
                region.extents = vec![0; slots.len()];
            }
            let bindings = self.env.split_off(mark);
            self.env.extend(bindings.clone());
            self.cover(clause, &slots, &mut Vec::new(), &mut region, mark)?;
            self.env.truncate(mark);
        }
        let lazy = Rc::new(Lazy {
            name: clauses[0].name.sym,
            extents: region.extents,
            points: region.points,
            done: RefCell::default(),
            busy: RefCell::default(),
            env: self.env.clone(),
        });
        let value = self.assemble(&lazy, &mut Vec::new())?;
        Ok(if value.is_typeless() { self.typed_zeros(&lazy, value) } else { value })
    }

    /// Zeros of the type that the body would have had at some point.
    fn typed_zeros(&mut self, lazy: &Rc<Lazy>, value: V) -> V {
        let ast = self.ast;
        for (body, bindings) in lazy.points.values().flatten() {
            let ExprKind::Where { body, items, .. } = &ast.expr[*body].kind else { continue };
            let mut env = lazy.env.clone();
            env.push((lazy.name, V::Lazy(lazy.clone())));
            env.extend(bindings.iter().cloned());
            let outside = std::mem::replace(&mut self.env, env);
            for item in items {
                if let WhereItem::Binding(name, e) = item
                    && let Ok(bound) = self.eval(*e).and_then(|value| value.settle(None))
                {
                    self.env.push((name.sym, bound));
                }
            }
            let sample = self.eval(*body).and_then(|value| value.settle(None));
            self.env = outside;
            if let Ok(sample) = sample {
                return value.replace_zeros(&sample.zero());
            }
        }
        value
    }

    /// The slots of a clause, and the ranges that its index variables have.
    fn slots(&mut self, clause: &Clause) -> Result<(Vec<Slot>, Env)> {
        let mut slots = Vec::new();
        let mut outer: Vec<Binder> = Vec::new();
        for slot in &clause.slots {
            match &slot.kind {
                LeftSlotKind::Literal(at) => slots.push(Slot::Point(*at)),
                LeftSlotKind::Index { name, domain } => {
                    outer.push((name.sym, *domain));
                    slots.push(Slot::Index((name.sym, *domain)));
                }
                LeftSlotKind::Pack(pack) => {
                    let shape = match self.pack_shape(pack.sym, clause.value) {
                        Some(shape) => shape,
                        None => return unknown("a pack that nothing fixes"),
                    };
                    // A pack without axes has a value, too.
                    self.env.push((pack.sym, V::Pack(Rc::default())));
                    slots.extend(shape.into_iter().map(|n| Slot::Pack(pack.sym, n)));
                }
                LeftSlotKind::Point(at) => slots.push(Slot::Point(self.eval(*at)?.int()?)),
                LeftSlotKind::Error => return unknown("a slot"),
            }
        }
        let ranges = self.infer(&outer, &[clause.value])?;
        Ok((slots, ranges.into_iter().map(|(var, lo, hi)| (var, V::Domain(lo, hi))).collect()))
    }

    /// The axes that a pack stands for, from the first read that uses it.
    fn pack_shape(&mut self, pack: Symbol, e: ExprId) -> Option<Vec<usize>> {
        let ast = self.ast;
        if let ExprKind::Index { base, slots } = &ast.expr[e].kind {
            let at =
                slots.iter().position(|s| matches!(&s.kind, SlotKind::Pack(p) if p.sym == pack));
            if let Some(at) = at
                && mentioned(ast, *base).into_iter().all(|name| self.find(name).is_some())
                && let Ok(value) = self.eval(*base)
            {
                let shape = value.shape();
                let length = (shape.len() + 1).checked_sub(slots.len())?;
                return Some(shape.get(at..at + length)?.to_vec());
            }
        }
        children(ast, e).into_iter().find_map(|e| self.pack_shape(pack, e))
    }

    /// Gives the points of a clause, from the slot after `point` on, to it.
    fn cover(
        &mut self,
        clause: &Clause,
        slots: &[Slot],
        point: &mut Vec<i64>,
        region: &mut Region,
        mark: usize,
    ) -> Result<()> {
        let axis = point.len();
        let Some(slot) = slots.get(axis) else {
            let candidate = (clause.value, self.env[mark..].to_vec());
            region.points.entry(point.clone()).or_default().push(candidate);
            return Ok(());
        };
        let (lo, hi) = match slot {
            Slot::Point(at) => (*at, at + 1),
            Slot::Pack(_, extent) => (0, *extent as i64),
            Slot::Index((_, Some(domain))) => self.domain(*domain)?,
            Slot::Index((var, None)) => match self.range_of(*var) {
                Some(range) => range,
                None => return unknown(format!("no range for `{var}`")),
            },
        };
        if lo < 0 {
            return fails("a definition that starts below zero");
        }
        region.extents[axis] = region.extents[axis].max(hi.max(0) as usize);
        let before = self.env.len();
        for at in lo..hi {
            match slot {
                Slot::Index((var, _)) => self.env.push((*var, V::index(at))),
                Slot::Pack(pack, _) => {
                    let mut indices = match self.find(*pack) {
                        Some(V::Pack(indices)) => indices.to_vec(),
                        _ => Vec::new(),
                    };
                    indices.push(at);
                    self.env.push((*pack, V::Pack(Rc::new(indices))));
                }
                Slot::Point(_) => {}
            }
            point.push(at);
            self.cover(clause, slots, point, region, mark)?;
            point.pop();
            self.env.truncate(before);
        }
        Ok(())
    }

    /// The range that was found for an index variable.
    pub(super) fn range_of(&self, var: Symbol) -> Option<(i64, i64)> {
        self.env.iter().rev().find_map(|(name, value)| match value {
            V::Domain(lo, hi) if *name == var => Some((*lo, *hi)),
            _ => None,
        })
    }

    fn assemble(&mut self, lazy: &Rc<Lazy>, point: &mut Vec<i64>) -> Result<V> {
        let Some(extent) = lazy.extents.get(point.len()) else { return self.point(lazy, point) };
        let mut items = Vec::new();
        for at in 0..*extent {
            point.push(at as i64);
            items.push(self.assemble(lazy, point)?);
            point.pop();
        }
        Ok(V::list(V::fill_zeros(items)))
    }

    /// The value of one point.
    pub(super) fn point(&mut self, lazy: &Rc<Lazy>, point: &[i64]) -> Result<V> {
        let inside = point.iter().zip(&lazy.extents).all(|(at, n)| (0..*n as i64).contains(at));
        if !inside {
            return fails(format!("`{}` has no point {point:?}", lazy.name));
        }
        if let Some(value) = lazy.done.borrow().get(point) {
            return Ok(value.clone());
        }
        let Some(candidates) = lazy.points.get(point) else { return Ok(V::Zero) };
        if !lazy.busy.borrow_mut().insert(point.to_vec()) {
            return unknown("a cycle");
        }
        // The last clause whose guard holds counts.
        let mut result = V::Zero;
        for (value, bindings) in candidates.iter().rev() {
            let mut env = lazy.env.clone();
            env.push((lazy.name, V::Lazy(lazy.clone())));
            env.extend(bindings.iter().cloned());
            let outside = std::mem::replace(&mut self.env, env);
            let found = self.guarded(*value).and_then(|value| match value {
                Some(value) => value.settle(None).map(Some),
                None => Ok(None),
            });
            self.env = outside;
            if let Some(value) = found? {
                result = value;
                break;
            }
        }
        lazy.done.borrow_mut().insert(point.to_vec(), result.clone());
        Ok(result)
    }

    /// The value of a body with its `where`.
    pub(super) fn qualified(&mut self, e: ExprId) -> Result<V> {
        Ok(self.guarded(e)?.unwrap_or(V::Zero))
    }

    /// The same; nothing where a guard fails and no `else` stands.
    fn guarded(&mut self, e: ExprId) -> Result<Option<V>> {
        let ast = self.ast;
        let ExprKind::Where { body, items, otherwise } = &ast.expr[e].kind else {
            return self.eval(e).map(Some);
        };
        let (own, inner) = self.share_out(*body, items);
        if let Some((reduction, inner)) = inner {
            self.attached.insert(reduction, inner);
        }
        let mark = self.env.len();
        let holds = self.items(&own);
        let result = match holds {
            Ok(true) => self.eval(*body).map(Some),
            Ok(false) => match otherwise {
                Some(otherwise) => self.eval(*otherwise).map(Some),
                None => Ok(None),
            },
            Err(stop) => Err(stop),
        };
        self.env.truncate(mark);
        result
    }

    /// Binds and tests the items of a `where`; the bindings stay.
    pub(super) fn items(&mut self, items: &[WhereItem]) -> Result<bool> {
        for item in items {
            match item {
                WhereItem::Binding(name, value) => {
                    let value = self.eval(*value)?.settle(None)?;
                    self.env.push((name.sym, value));
                }
                WhereItem::Guard(condition) => {
                    if !self.eval(*condition)?.truth()? {
                        return Ok(false);
                    }
                }
            }
        }
        Ok(true)
    }

    /// Which items belong to the definition, and which to the reduction at the end of its body.
    #[allow(clippy::type_complexity, reason = "used once, here")]
    fn share_out(
        &self,
        body: ExprId,
        items: &[WhereItem],
    ) -> (Vec<WhereItem>, Option<(ExprId, Vec<WhereItem>)>) {
        let mut last = body;
        while let ExprKind::Binary(_, _, right) = &self.ast.expr[last].kind {
            last = *right;
        }
        let ExprKind::BracketCall { slots, .. } = &self.ast.expr[last].kind else {
            return (items.to_vec(), None);
        };
        let mut inside: HashSet<Symbol> = HashSet::new();
        for slot in slots {
            match &slot.kind {
                SlotKind::Expr(e) => inside.extend(name(self.ast, *e)),
                SlotKind::Domain { name, .. } => {
                    inside.insert(name.sym);
                }
                _ => {}
            }
        }
        let (mut own, mut inner) = (Vec::new(), Vec::new());
        for item in items {
            let (WhereItem::Binding(_, e) | WhereItem::Guard(e)) = item;
            if mentioned(self.ast, *e).is_disjoint(&inside) {
                own.push(item.clone());
            } else {
                if let WhereItem::Binding(name, _) = item {
                    inside.insert(name.sym);
                }
                inner.push(item.clone());
            }
        }
        (own, Some((last, inner)))
    }
}
