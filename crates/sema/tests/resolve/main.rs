//! Name resolution, tested through its one entry point: programs in, diagnostics or the resolved
//! tree out.

mod brackets;
mod coordinates;
mod definitions;
mod modules;
mod names;
mod pages;
mod print;
mod speed;
mod support;
