//! Loop IR to C, built by the system's compiler and kept in a cache.
//!
//! Does not know: tensor IR, decisions about fusion or storage, the driver.
