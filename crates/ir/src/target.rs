//! The machine that kernels are made for.
//!
//! What decisions depend on is here and nowhere else: engines ask a [`Target`] how long vectors are,
//! and the schedule asks [`Cost`](crate::cost::Cost) what pays on it. Plans in tests are made for
//! [`Target::REFERENCE`], so that they do not depend on the machine that runs the test.
//!
//! `EINLANG_VECTORS` (128, 256 or 512) asks for shorter vectors than the machine has.

use std::sync::OnceLock;

/// The vectors of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Vectors {
    /// Those of 128 bits, which every machine has.
    Bits128,
    /// 256 bits and fused products (AVX2 and FMA).
    Bits256,
    /// 512 bits with masks (AVX-512 F, DQ, VL and BW).
    Bits512,
}

impl Vectors {
    /// All of them, the shortest first.
    pub const ALL: [Vectors; 3] = [Vectors::Bits128, Vectors::Bits256, Vectors::Bits512];

    /// How many bytes a vector has.
    pub fn bytes(self) -> usize {
        match self {
            Vectors::Bits128 => 16,
            Vectors::Bits256 => 32,
            Vectors::Bits512 => 64,
        }
    }

    /// How many registers for them there are.
    pub fn registers(self) -> usize {
        match self {
            Vectors::Bits128 | Vectors::Bits256 => 16,
            Vectors::Bits512 => 32,
        }
    }

    /// The longest that this machine has.
    pub fn longest() -> Vectors {
        #[cfg(target_arch = "x86_64")]
        {
            let has256 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
            let has512 = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("bmi2");
            match (has256, has512) {
                (true, true) => return Vectors::Bits512,
                (true, false) => return Vectors::Bits256,
                (false, _) => {}
            }
        }
        Vectors::Bits128
    }

    /// Those that a text asks for.
    fn asked(text: &str) -> Option<Vectors> {
        let bits: usize = text.trim().parse().ok()?;
        Vectors::ALL.into_iter().find(|it| it.bytes() * 8 == bits)
    }
}

/// A machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// The vectors that loops use.
    pub vectors: Vectors,
    /// What the nearest cache of a core surely holds, in bytes.
    pub nearest_cache: i64,
    /// What the cache behind it surely holds.
    pub second_cache: i64,
    /// The bytes that a cache fetches at a time.
    pub line: i64,
    /// The bytes of the stack of a thread that the arrays of a loop may take.
    pub stack: i64,
}

impl Target {
    /// The machine that plans in tests are made for.
    pub const REFERENCE: Target = Target {
        vectors: Vectors::Bits512,
        nearest_cache: 32 << 10,
        second_cache: 1 << 20,
        line: 64,
        stack: 400 << 10,
    };

    /// This machine, as far as code depends on it; its caches are taken to be those of the reference,
    /// which few machines do not have. It has the vectors that `EINLANG_VECTORS` asks for, if
    /// there are such.
    pub fn host() -> Target {
        static HOST: OnceLock<Target> = OnceLock::new();
        *HOST.get_or_init(|| {
            let asked = std::env::var("EINLANG_VECTORS").ok();
            let asked = asked.and_then(|text| Vectors::asked(&text)).unwrap_or(Vectors::Bits512);
            Target { vectors: asked.min(Vectors::longest()), ..Target::REFERENCE }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_by_their_bits() {
        assert_eq!(Vectors::asked(" 256\n"), Some(Vectors::Bits256));
        assert_eq!(Vectors::asked("64"), None);
        assert_eq!(Vectors::asked("wide"), None);
        assert!(Target::host().vectors <= Vectors::longest());
    }
}
