//! The values of the entries that were accepted.
//!
//! Every entry is compiled together with the text before it, so ids change from entry to entry;
//! places in that text do not. A value is therefore kept with the place of its name. Function values
//! refer to code of one compilation: what holds one is evaluated again.

use ein_base::{FileId, IndexVec, Symbol};
use ein_interp::{DataValue, Objects, Value, bound_by};
use ein_ir::tensor::{Data, DataId, Program, Stmt, VarId};
use ein_scalar::ScalarType;
use std::sync::Arc;

/// What the variables of the accepted text are bound to, in the order of its statements.
#[derive(Debug, Default)]
pub(super) struct Values {
    known: Vec<Known>,
    /// The structs and enums that the values refer to.
    data: IndexVec<DataId, Data>,
}

#[derive(Debug)]
struct Known {
    key: Key,
    /// Absent if it holds a function.
    value: Option<Value>,
}

/// What tells one variable from another, and a value that fits from one that does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key {
    name: Symbol,
    place: u32,
    scalar: Option<ScalarType>,
    rank: usize,
}

/// The statements of a program and an entry behind it.
pub(super) struct Parts {
    /// Those of the accepted text, and those of other files.
    pub(super) old: Vec<Stmt>,
    /// Those of the entry that stay.
    pub(super) new: Vec<Stmt>,
    /// Its last expression.
    pub(super) shown: Vec<Stmt>,
}

impl Parts {
    /// Takes the statements out of a program: the entry begins at `entry`, its last expression at
    /// `shown`.
    pub(super) fn of(program: &mut Program, root: FileId, entry: usize, shown: usize) -> Parts {
        let mut parts = Parts { old: Vec::new(), new: Vec::new(), shown: Vec::new() };
        for stmt in std::mem::take(&mut program.top) {
            let place = stmt.span.lo() as usize;
            match stmt.span.file() == root {
                true if place >= shown => parts.shown.push(stmt),
                true if place >= entry => parts.new.push(stmt),
                _ => parts.old.push(stmt),
            }
        }
        parts
    }
}

/// What is known of the statements before an entry.
#[derive(Default)]
pub(super) struct Recalled {
    /// Their variables.
    pub(super) known: Vec<(VarId, Value)>,
    /// Those that have to run again, for the variables that are missing.
    pub(super) again: Vec<Stmt>,
}

impl Values {
    /// What is known of old statements. `None` if the text before means something else now.
    pub(super) fn recall(&self, program: &Program, root: FileId, old: &[Stmt]) -> Option<Recalled> {
        let mut recalled = Recalled::default();
        let mut rest = self.known.iter();
        for stmt in old {
            if stmt.span.file() != root {
                recalled.again.push(stmt.clone());
                continue;
            }
            let mut missing = false;
            for var in bound_by(stmt) {
                let kept = rest.next().filter(|kept| kept.key == key(program, var))?;
                match &kept.value {
                    Some(value) => recalled.known.push((var, self.translate(value, program)?)),
                    None => missing = true,
                }
            }
            if missing {
                recalled.again.push(stmt.clone());
            }
        }
        rest.next().is_none().then_some(recalled)
    }

    /// The values of these statements.
    pub(super) fn keep<'a>(
        program: &Program,
        root: FileId,
        stmts: impl Iterator<Item = &'a Stmt>,
        values: &[(VarId, Value)],
    ) -> Values {
        let value = |var| values.iter().rev().find(|(it, _)| *it == var).map(|(_, it)| it.clone());
        let known = stmts
            .filter(|stmt| stmt.span.file() == root)
            .flat_map(bound_by)
            .map(|var| Known {
                key: key(program, var),
                value: value(var).filter(|value| !holds_function(value)),
            })
            .collect();
        Values { known, data: program.data.clone() }
    }

    /// A value with the ids of this program; `None` if a type it refers to is not there.
    fn translate(&self, value: &Value, program: &Program) -> Option<Value> {
        let all = |items: &[Value]| {
            items.iter().map(|item| self.translate(item, program)).collect::<Option<Vec<_>>>()
        };
        Some(match value {
            Value::Objects(it) => {
                let items = all(&it.items)?;
                Value::Objects(Arc::new(Objects { shape: it.shape.clone(), items }))
            }
            Value::Jagged(items) => Value::Jagged(Arc::new(all(items)?)),
            Value::Tuple(items) => Value::Tuple(Arc::new(all(items)?)),
            Value::Data(it) => {
                let old = &self.data[it.data];
                let same = |data: &&DataId| is_same(&program.data[**data], old);
                let ids: Vec<DataId> = program.data.ids().collect();
                let data = *ids.iter().find(same)?;
                let (variant, fields) = (it.variant, all(&it.fields)?);
                Value::Data(Arc::new(DataValue { data, variant, fields }))
            }
            Value::Unit | Value::Scalar(_) | Value::Str(_) | Value::Tensor(_) => value.clone(),
            Value::Range(_) => value.clone(),
            Value::Closure(_) | Value::Pending(_) | Value::History(_) => return None,
        })
    }
}

fn key(program: &Program, var: VarId) -> Key {
    let var = &program.vars[var];
    Key { name: var.name, place: var.span.lo(), scalar: var.ty.scalar(), rank: var.ty.rank() }
}

fn is_same(one: &Data, other: &Data) -> bool {
    let shape = |data: &Data| -> Vec<_> {
        data.variants.iter().map(|it| (it.name, it.fields.clone(), it.positional)).collect()
    };
    one.name == other.name && one.is_enum == other.is_enum && shape(one) == shape(other)
}

fn holds_function(value: &Value) -> bool {
    match value {
        Value::Closure(_) | Value::Pending(_) | Value::History(_) => true,
        Value::Objects(it) => it.items.iter().any(holds_function),
        Value::Jagged(items) | Value::Tuple(items) => items.iter().any(holds_function),
        Value::Data(it) => it.fields.iter().any(holds_function),
        Value::Unit | Value::Scalar(_) | Value::Str(_) | Value::Tensor(_) => false,
        Value::Range(_) => false,
    }
}
