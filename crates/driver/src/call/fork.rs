//! Forks of the process while threads are at work.
//!
//! Whoever forks holds every lock that all runs share, so that the child finds them open. Locks of
//! modules may be held by threads that the child does not have: it leaves such modules alone, and
//! begins anew with their texts ([`Own`]).

use super::module::{Pools, pools};
pub use ein_runtime::fork::{Here, Own};
use std::any::Any;
use std::sync::{MutexGuard, PoisonError};

/// The locks that all runs share, held across a fork.
pub struct Forking {
    pools: MutexGuard<'static, Pools>,
    _others: Box<dyn Any>,
}

impl std::fmt::Debug for Forking {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Forking").finish_non_exhaustive()
    }
}

impl Forking {
    /// Waits for the locks. Drop it in the parent after the fork, and call [`Forking::in_child`] in the
    /// child, on the thread that asked for it.
    pub fn begin() -> Forking {
        // In the order in which runs take them: compiling a kernel interns names.
        let pools = pools().lock().unwrap_or_else(PoisonError::into_inner);
        let compilers = ein_emit_c::locked_compilers();
        Forking { pools, _others: Box::new((compilers, ein_base::locked_tables())) }
    }

    /// The fork is done, and this is the child.
    pub fn in_child(mut self) {
        ein_runtime::fork::note_fork();
        // Their threads are those of the parent.
        self.pools.clear();
    }
}
