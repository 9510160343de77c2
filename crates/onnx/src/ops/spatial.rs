//! To come.

use crate::cx::Cx;
use crate::node::{Done, Node};

/// Writes a node of this family.
pub fn write(_cx: &mut Cx<'_>, _node: &Node<'_>) -> Option<Done> {
    None
}
