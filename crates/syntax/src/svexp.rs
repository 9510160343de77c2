//! svexp
use crate::Parsed;
use ein_base::FileId;
pub(crate) fn parse(file: FileId, text: &str) -> Parsed {
    crate::parser::parse(file, text)
}
