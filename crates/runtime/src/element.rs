//! The Rust types that a tensor's elements have in memory.

use ein_scalar::{Scalar, ScalarType, bf16, f16};

/// A Rust type that is the storage of one scalar type.
///
/// # Safety
///
/// Size and alignment must be those of [`ScalarType::size_bytes`], every stored element must be
/// valid, and all zero bytes must be the zero of the type.
pub unsafe trait Element: Copy + Send + Sync + Into<Scalar> + 'static {
    /// The scalar type that is stored this way.
    const TYPE: ScalarType;
}

/// Pairs Rust types with scalar types.
macro_rules! elements {
    ($($rust:ty => $variant:ident),* $(,)?) => {$(
        // SAFETY: the scalar type is defined to be stored as this type; tensors keep `bool`
        // bytes at 0 and 1.
        unsafe impl Element for $rust {
            const TYPE: ScalarType = ScalarType::$variant;
        }
    )*};
}

elements!(bool => Bool, i8 => I8, i16 => I16, i32 => I32, i64 => I64);
elements!(u8 => U8, u16 => U16, u32 => U32, u64 => U64);
elements!(f16 => F16, bf16 => BF16, f32 => F32, f64 => F64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_agree() {
        fn check<T: Element>() {
            assert_eq!(size_of::<T>(), T::TYPE.size_bytes());
            assert_eq!(align_of::<T>(), T::TYPE.size_bytes());
        }
        check::<bool>();
        check::<i64>();
        check::<f16>();
        check::<bf16>();
        check::<f64>();
    }
}
