//! Loop IR to machine code in this process.
//!
//! Does not know: tensor IR, decisions about fusion or storage, the driver.
