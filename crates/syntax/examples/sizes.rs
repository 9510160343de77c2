//! Development aid.
use ein_base::{FileId, Idx};
use ein_syntax::ast::*;
fn main() {
    let text = std::fs::read_to_string(std::env::args().nth(1).unwrap()).unwrap();
    let p = ein_syntax::parse(FileId::from_usize(0), &text);
    println!("expr {} x {}, stmt {} x {}, ty {} x {}, pat {} x {}, slot {} arg {} dim {}", p.ast.expr.len(), size_of::<Expr>(), p.ast.stmt.len(), size_of::<Stmt>(), p.ast.ty.len(), size_of::<Type>(), p.ast.pat.len(), size_of::<Pat>(), size_of::<Slot>(), size_of::<Arg>(), size_of::<Dim>());
    println!("paths {}", p.ast.expr.iter().filter(|e| matches!(e.kind, ExprKind::Path(_))).count());
    let v: Vec<(usize,usize)> = p.ast.expr.iter().filter_map(|e| match &e.kind { ExprKind::Index{slots,..} => Some((slots.len(), slots.capacity())), _ => None}).collect();
    println!("index {} len {} cap {}", v.len(), v.iter().map(|x| x.0).sum::<usize>(), v.iter().map(|x| x.1).sum::<usize>());
}
