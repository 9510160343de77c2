//! The symbolic integer algebra against brute force.

mod size_suite {
    pub mod bounds;
    pub mod expr;
    pub mod range;
    pub mod region;
    pub mod solver;
    pub mod support;
}
