//! Every conversion, in vectors, against `ein-scalar`.

use ein_ir::loops::{Kernel, Op};
use ein_scalar::{ScalarType, cast};

use crate::builder::{Data, compiler, pointwise, pool};
use crate::ops::samples;

#[test]
fn conversions() {
    for from in ScalarType::ALL {
        let values = samples(from, 20_000);
        let cast_to = |to: ScalarType| {
            pointwise(&[from], to, values.len(), |b, x| b.let_(to, Op::Cast(x[0])))
        };
        let kernels: Vec<Kernel> = ScalarType::ALL.into_iter().map(cast_to).collect();
        let compiled = compiler().compile_all(&kernels.iter().collect::<Vec<_>>()).unwrap();
        let mut given = Data::new(from, &values);
        for (to, compiled) in ScalarType::ALL.into_iter().zip(compiled) {
            let mut out = Data::zeros(to, values.len());
            let pointers = [given.pointer(), out.pointer()];
            // SAFETY: the buffers are as long as the kernel says.
            unsafe {
                compiled.run(&pointers, &ein_runtime::Run::new(pool(), &|| false).interface())
            };
            for (i, &value) in values.iter().enumerate() {
                assert_eq!(out.get(i), cast(value, to), "{value:?} as {to}");
            }
        }
    }
}
