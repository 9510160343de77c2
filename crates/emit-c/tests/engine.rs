//! Kernels built by the system's C compiler, against what `ein-scalar` says and plain loops.

#[path = "engine/builder.rs"]
mod builder;
#[path = "engine/casts.rs"]
mod casts;
#[path = "engine/fetches.rs"]
mod fetches;
#[path = "engine/kernels.rs"]
mod kernels;
#[path = "engine/lanes.rs"]
mod lanes;
#[path = "engine/near.rs"]
mod near;
#[path = "engine/ops.rs"]
mod ops;
#[path = "engine/scans.rs"]
mod scans;
