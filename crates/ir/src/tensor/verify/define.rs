//! Definitions, reductions and comprehensions: everything that binds index variables.

use super::Verifier;
use crate::tensor::infer::reduced;
use crate::tensor::{
    Binder, Clause, ClauseSlot, CompClause, Expr, Item, Recurrence, Reduce, ReduceOp, Scatter,
    Tensor, Type,
};

impl Verifier<'_> {
    pub(super) fn tensor(&mut self, tensor: &Tensor, e: &Expr) {
        let rank = tensor.shape.len() + tensor.inner_rank;
        self.check(e.ty.rank() == rank, || {
            format!("a definition of {rank} axes has a type of rank {}", e.ty.rank())
        });
        tensor.shape.iter().flatten().for_each(|extent| self.size(extent));
        tensor.requires.iter().for_each(|require| self.require(require));
        if let Some(recurrence) = &tensor.recurrence {
            self.recurrence(recurrence, tensor.shape.len());
        }
        let start = self.scope.len();
        if let Some(var) = tensor.self_var {
            if let Some(ty) = self.var_type(var) {
                self.agrees(&e.ty, ty, "what a recurrence reads itself by");
            }
            self.bind(var);
        }
        for clause in &tensor.clauses {
            self.clause(clause, tensor, e);
        }
        self.leave(start);
    }

    fn recurrence(&mut self, recurrence: &Recurrence, rank: usize) {
        for (position, axis) in recurrence.axes.iter().enumerate() {
            let at = axis.axis;
            self.check(at < rank, || format!("a recurrence runs along axis {at} of {rank}"));
            let before = &recurrence.axes[..position];
            let once = before.iter().all(|other| other.axis != at);
            self.check(once, || format!("a recurrence runs twice along axis {at}"));
        }
    }

    fn clause(&mut self, clause: &Clause, tensor: &Tensor, e: &Expr) {
        let (slots, rank) = (clause.slots.len(), tensor.shape.len());
        self.check(slots == rank, || format!("a clause has {slots} slots for {rank} axes"));
        let start = self.scope.len();
        for slot in &clause.slots {
            match slot {
                ClauseSlot::Point(_) => {}
                ClauseSlot::Loop(binder) => self.binder(binder),
            }
        }
        self.items(&clause.items);
        for value in std::iter::once(&clause.value).chain(&clause.otherwise) {
            self.expr(value);
            let inner = value.ty.rank();
            // A scalar fills the inner axes.
            self.check(inner == tensor.inner_rank || inner == 0, || {
                format!("the value of a clause has {inner} axes, expected {}", tensor.inner_rank)
            });
            self.agrees(e.ty.elem(), value.ty.elem(), "the value of a clause");
        }
        if let Some(until) = &clause.until {
            self.truth(&until.cond, "what ends a recurrence");
            until.otherwise.iter().for_each(|message| self.expr(message));
            let ordered = tensor.recurrence.is_some();
            self.check(ordered, || "steps that end have no order".to_owned());
        }
        self.leave(start);
    }

    fn binder(&mut self, binder: &Binder) {
        self.int(&binder.lo, "the start of a domain");
        self.int(&binder.hi, "the end of a domain");
        if let Some(ty) = self.var_type(binder.var) {
            let name = self.name(binder.var);
            self.agrees(&Type::I32, ty, &format!("the index {name}"));
        }
        self.bind(binder.var);
    }

    fn items(&mut self, items: &[Item]) {
        for item in items {
            match item {
                Item::Let(var, value) => self.let_var(*var, value),
                Item::Guard(cond) => self.truth(cond, "a guard"),
            }
        }
    }

    pub(super) fn reduce(&mut self, reduce: &Reduce, e: &Expr) {
        reduce.requires.iter().for_each(|require| self.require(require));
        let start = self.scope.len();
        reduce.binders.iter().for_each(|binder| self.binder(binder));
        self.items(&reduce.items);
        self.expr(&reduce.value);
        self.leave(start);
        let op = reduce.op.as_str();
        match &reduce.value.ty {
            Type::Scalar(scalar) => {
                let fits = match reduce.op {
                    ReduceOp::Any | ReduceOp::All | ReduceOp::Count => scalar.is_bool(),
                    ReduceOp::Sum | ReduceOp::Prod | ReduceOp::Mean => scalar.is_numeric(),
                    ReduceOp::Max | ReduceOp::Min | ReduceOp::Argmax | ReduceOp::Argmin => true,
                };
                self.check(fits, || format!("`{op}` of {}", scalar.name()));
            }
            Type::Error => {}
            _ => self.report(format!("`{op}` reduces something that is not a scalar")),
        }
        self.agrees(&reduced(reduce), &e.ty, &format!("the result of `{op}`"));
    }

    pub(super) fn scatter(&mut self, scatter: &Scatter, e: &Expr) {
        scatter.shape.iter().for_each(|extent| self.size(extent));
        let start = self.scope.len();
        scatter.binders.iter().for_each(|binder| self.binder(binder));
        self.items(&scatter.items);
        for index in &scatter.indices {
            self.int(&index.value, "the cell of a scatter");
        }
        self.expr(&scatter.value);
        self.leave(start);
        let (rank, cells) = (scatter.shape.len(), scatter.indices.len());
        self.check(e.ty.rank() == rank && rank > 0, || {
            format!("a scatter of {rank} axes has a type of rank {}", e.ty.rank())
        });
        self.check(cells == rank, || format!("a scatter names {cells} of {rank} axes"));
        let number = matches!(scatter.value.ty, Type::Scalar(scalar) if scalar.is_numeric());
        self.check(number, || "a scatter adds something that is not a number".into());
        self.agrees(e.ty.elem(), &scatter.value.ty, "what a scatter adds");
    }

    pub(super) fn comprehension(&mut self, clauses: &[CompClause], body: &Expr) {
        let start = self.scope.len();
        for clause in clauses {
            match clause {
                CompClause::Generator(pattern, source) => {
                    self.expr(source);
                    self.generator(pattern, &source.ty);
                }
                CompClause::Condition(cond) => self.truth(cond, "a condition"),
                CompClause::Binding(var, value) => self.let_var(*var, value),
            }
        }
        self.expr(body);
        self.leave(start);
    }

    /// The pattern of a generator takes the parts of its source.
    fn generator(&mut self, pattern: &crate::tensor::Pattern, source: &Type) {
        match source {
            Type::Array(array) => {
                let axes = array.axes.iter().skip(1).cloned().collect();
                self.pattern(pattern, &Type::array(array.elem.clone(), axes));
            }
            Type::Range => self.pattern(pattern, &Type::I32),
            Type::Str => self.pattern(pattern, &Type::Str),
            Type::Jagged(elem, levels) => {
                let part = match levels {
                    3.. => Type::Jagged(elem.clone(), levels - 1),
                    _ => Type::AnyRank(elem.clone()),
                };
                self.pattern(pattern, &part);
            }
            Type::AnyRank(elem) => self.pattern(pattern, &Type::AnyRank(elem.clone())),
            Type::Error => {}
            Type::Unit
            | Type::Scalar(_)
            | Type::Tuple(_)
            | Type::Data(..)
            | Type::Template(..)
            | Type::Signature(_) => {
                self.report("a generator runs over something that has no parts".into());
            }
        }
    }
}
