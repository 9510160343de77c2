//! All statements of a program as one kernel, for those who call it again and again.

use super::plan::{Form, region_text};
use super::{Code, Kernels};
use ein_base::Diagnostic;
use ein_interp::{Environment, Value};
use ein_ir::tensor::{Program, Stmt, VarId};
use ein_transform::schedule::Use;
use std::ops::Deref;
use std::time::Instant;

use super::region;

/// Callers have stacks of their own size; kernels with larger buffers there get a thread.
const SMALL_STACK: i64 = 256 << 10;

/// Whether all of these statements might be one kernel.
pub(crate) fn is_candidate(program: &Program, stmts: &[Stmt]) -> bool {
    !stmts.is_empty() && stmts.iter().all(|stmt| region::is_plain(program, stmt))
}

impl<P: Deref<Target = Program>> Kernels<P> {
    /// The kernel of all these statements for the values that are there, if it was compiled.
    pub(crate) fn find_whole(&self, stmts: &[Stmt], env: &dyn Environment) -> Option<usize> {
        let key = stmts.as_ptr() as usize;
        let at = self.find(key, env)?;
        let compiled = &self.compiled[&key][at];
        let usable = compiled.count == stmts.len() && !matches!(compiled.code, Code::None);
        usable.then_some(at)
    }

    /// Compiles it; none if not all of them can be in it.
    pub(crate) fn add_whole(
        &mut self,
        stmts: &[Stmt],
        env: &dyn Environment,
    ) -> Result<Option<usize>, Box<Diagnostic>> {
        let key = stmts.as_ptr() as usize;
        let Some(first) = stmts.first() else { return Ok(None) };
        if self.declined.contains_key(&key) {
            return Ok(None);
        }
        if let Some(list) = self.compiled.get_mut(&key)
            && list.len() >= self.shapes
        {
            // The oldest shapes go: programs that grow an array do not come back to them.
            list.drain(..self.shapes / 2);
        }
        let started = Instant::now();
        let wanted = region::needed_after(&self.program, stmts);
        let wants = |var| wanted.contains(&var);
        let known = super::Known { env, program: &self.program };
        let flat =
            super::flatten::statements(&self.program, stmts, &known, &wants, self.arithmetic);
        let result = match flat {
            Ok(flat) => self.add(key, (stmts.len(), first.span), flat, env),
            Err((_, declined)) => {
                self.decline(key, declined.span, declined.why);
                Ok(None)
            }
        };
        self.compile_time += started.elapsed();
        result
    }

    /// Runs it; nothing if it trapped, if there was no memory or if it was interrupted.
    pub(crate) fn run_whole(
        &self,
        stmts: &[Stmt],
        at: usize,
        env: &mut dyn Environment,
    ) -> Option<Vec<(VarId, Value)>> {
        match self.execute(&self.compiled[&(stmts.as_ptr() as usize)][at], env) {
            super::Ran::Made(values) => Some(values),
            super::Ran::Trapped | super::Ran::Not => None,
        }
    }

    /// How many operations it takes, and whether it needs a stack of its own.
    pub(crate) fn cost_of_whole(&self, stmts: &[Stmt], at: usize) -> (f64, bool) {
        let lowered = &self.compiled[&(stmts.as_ptr() as usize)][at].lowered;
        let locals = lowered.uses.iter().zip(lowered.kernel.bufs.iter());
        let bytes: i64 = locals
            .filter(|(used, _)| matches!(used, Use::Local))
            .map(|(_, buffer)| buffer.len.saturating_mul(buffer.ty.size_bytes() as i64))
            .fold(0, i64::saturating_add);
        (lowered.work, bytes > SMALL_STACK)
    }

    /// Its loops as text.
    pub(crate) fn text_of_whole(&self, stmts: &[Stmt], at: usize, form: Form) -> String {
        region_text(&self.compiled[&(stmts.as_ptr() as usize)][at].lowered, form)
    }

    /// Why statements were left to the evaluator, in the order in which it was found out.
    pub(crate) fn reasons(&self) -> impl Iterator<Item = &str> {
        self.evaluated.iter().map(|evaluated| evaluated.why.as_str())
    }
}
