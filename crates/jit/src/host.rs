//! The machine that the code is for: this one.

use crate::Unsupported;
use cranelift_codegen::isa::{CallConv, OwnedTargetIsa};
use cranelift_codegen::settings::{self, Configurable};
use std::sync::OnceLock;

/// What is known of this machine.
pub(crate) struct Host {
    pub(crate) isa: OwnedTargetIsa,
    /// Whether a fused multiply-add is one instruction.
    pub(crate) has_fma: bool,
}

impl Host {
    /// This machine, looked at once.
    pub(crate) fn get() -> Result<&'static Host, Unsupported> {
        static HOST: OnceLock<Result<Host, Unsupported>> = OnceLock::new();
        HOST.get_or_init(Host::new).as_ref().map_err(Clone::clone)
    }

    fn new() -> Result<Host, Unsupported> {
        let mut flags = settings::builder();
        let wanted = [
            ("opt_level", "speed"),
            ("is_pic", "false"),
            ("use_colocated_libcalls", "false"),
            ("unwind_info", "false"),
            // Frames may be larger than the page that guards a stack.
            ("enable_probestack", "true"),
            ("probestack_strategy", "inline"),
            ("enable_verifier", if cfg!(debug_assertions) { "true" } else { "false" }),
        ];
        for (name, value) in wanted {
            flags.set(name, value).map_err(|error| Unsupported::new(error.to_string()))?;
        }
        let isa = cranelift_native::builder()
            .map_err(Unsupported::new)?
            .finish(settings::Flags::new(flags))
            .map_err(|error| Unsupported::new(error.to_string()))?;
        Ok(Host { isa, has_fma: has_fma() })
    }

    /// How functions of the system's C compiler are called.
    pub(crate) fn call_conv(&self) -> CallConv {
        self.isa.default_call_conv()
    }
}

#[cfg(target_arch = "x86_64")]
fn has_fma() -> bool {
    std::is_x86_feature_detected!("fma")
}

#[cfg(not(target_arch = "x86_64"))]
fn has_fma() -> bool {
    cfg!(target_arch = "aarch64")
}
