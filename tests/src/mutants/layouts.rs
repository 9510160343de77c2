//! What the declarations of a program say about layouts: enough to know that a change is wrong.

use super::walk::{bare, shifted};
use ein_base::Symbol;
use ein_syntax::ast::{
    Arg, Ast, Clause, DimKind, ExprId, ExprKind, Function, LeftSlotKind, PatKind, Slot, SlotKind,
    TypeId, TypeKind,
};

/// An axis, or a pack of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Its coordinate.
    pub name: Option<Symbol>,
    /// The coordinate that it is a role of.
    pub over: Option<Symbol>,
    /// Whether names are held to it.
    pub contract: bool,
    /// Whether a type declares it; else a definition made it.
    pub declared: bool,
    /// Stands for any number of axes.
    pub pack: bool,
}

impl Axis {
    /// The coordinate without its role.
    pub fn root(&self) -> Option<Symbol> {
        self.over.or(self.name)
    }
}

/// The axes of a tensor, in order.
pub type Layout = Vec<Axis>;

/// What a function takes and gives.
#[derive(Clone, Debug)]
pub struct Signature {
    /// Coordinate parameters; `None` if one is a pack.
    pub coords: Option<Vec<Symbol>>,
    /// Layouts of the parameters.
    pub params: Vec<Option<Layout>>,
    /// Layout of the result.
    pub ret: Option<Layout>,
}

/// What matching arguments with a signature gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Matched {
    /// The coordinates cannot be what the signature says.
    Conflict,
    /// The names of the result.
    Result(Vec<Symbol>),
    /// Nothing can be said.
    Unknown,
}

/// The layout that a type declares.
pub fn of_type(ast: &Ast, id: TypeId) -> Option<Layout> {
    let TypeKind::Array { dims: Some(dims), .. } = &ast.ty[id].kind else { return None };
    let axis = |name, over, pack| Axis { name, over, contract: true, declared: true, pack };
    let axes = dims.iter().map(|dim| match &dim.kind {
        DimKind::Size(_) => Axis { contract: false, ..axis(None, None, false) },
        DimKind::Coord { name, over, .. } => axis(Some(name.sym), over.map(|over| over.sym), false),
        DimKind::Pack(name) => axis(Some(name.sym), None, true),
    });
    Some(axes.collect())
}

/// The signature of a function.
pub fn of_function(ast: &Ast, function: &Function) -> Signature {
    let coords = function.coords.iter().flatten();
    Signature {
        coords: coords.map(|coord| (!coord.pack).then_some(coord.name.sym)).collect(),
        params: function.params.iter().map(|param| of_type(ast, param.ty?)).collect(),
        ret: function.ret.and_then(|ret| of_type(ast, ret)),
    }
}

/// The name that a parameter binds.
pub fn param_name(ast: &Ast, param: &ein_syntax::ast::Param) -> Option<Symbol> {
    match &ast.pat[param.pat].kind {
        PatKind::Bind { name, .. } => Some(name.sym),
        _ => None,
    }
}

/// Names with what is known of them, innermost last.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    tensors: Vec<(Symbol, Option<Layout>)>,
    functions: Vec<(Symbol, Signature)>,
}

impl Scope {
    /// Binds a name.
    pub fn bind(&mut self, name: Symbol, layout: Option<Layout>) {
        self.tensors.push((name, layout));
    }

    /// Declares a function.
    pub fn declare(&mut self, name: Symbol, signature: Signature) {
        self.functions.push((name, signature));
    }

    /// How many names are bound: what `truncate` goes back to.
    pub fn depth(&self) -> usize {
        self.tensors.len()
    }

    /// Forgets the names bound since.
    pub fn truncate(&mut self, len: usize) {
        self.tensors.truncate(len);
    }

    /// The layout of a name, if it is known.
    pub fn layout(&self, name: Symbol) -> Option<&Layout> {
        self.tensors.iter().rev().find(|(it, _)| *it == name)?.1.as_ref()
    }

    /// The signature of a function.
    pub fn function(&self, name: Symbol) -> Option<&Signature> {
        Some(&self.functions.iter().rev().find(|(it, _)| *it == name)?.1)
    }

    /// The layout of an indexed definition.
    pub fn of_clause(&self, ast: &Ast, clause: &Clause) -> Layout {
        let mut axes = Vec::new();
        for slot in &clause.slots {
            let mut axis =
                Axis { name: None, over: None, contract: false, declared: false, pack: false };
            match &slot.kind {
                LeftSlotKind::Index { name, domain } => {
                    axis.name = Some(name.sym);
                    axis.over = domain.and_then(|domain| bare(ast, domain));
                    axis.contract = self.grounds(ast, clause, name.sym);
                }
                LeftSlotKind::Pack(name) => {
                    axis.name = Some(name.sym);
                    axis.pack = true;
                }
                LeftSlotKind::Literal(_) | LeftSlotKind::Point(_) | LeftSlotKind::Error => {}
            }
            axes.push(axis);
        }
        axes
    }

    /// Whether a clause uses an index variable directly at a contract axis of another tensor.
    fn grounds(&self, ast: &Ast, clause: &Clause, name: Symbol) -> bool {
        super::walk::all(ast, clause.value).into_iter().any(|id| {
            let ExprKind::Index { base, slots } = &ast.expr[id].kind else { return false };
            let layout = bare(ast, *base)
                .filter(|base| *base != clause.name.sym)
                .and_then(|base| self.layout(base));
            let Some(layout) = layout else { return false };
            slots.iter().zip(layout).any(|(slot, axis)| {
                let SlotKind::Expr(index) = &slot.kind else { return false };
                axis.contract && shifted(ast, *index) == Some(name)
            })
        })
    }

    /// The layout of a value, where it is a name, a call, or a slice of a name.
    pub fn of_value(&self, ast: &Ast, id: ExprId) -> Option<Layout> {
        if let Some(name) = bare(ast, id) {
            return self.layout(name).cloned();
        }
        let (callee, slots, args): (_, &[Slot], &[Arg]) = match &ast.expr[id].kind {
            ExprKind::Call { callee, args } => (callee, &[], args),
            ExprKind::BracketCall { callee, slots, args } => (callee, slots, args),
            _ => return None,
        };
        let signature = self.function(bare(ast, *callee)?)?;
        let coords = coord_args(ast, slots)?;
        let args: Vec<Option<Layout>> =
            args.iter().map(|arg| self.of_value(ast, arg.value)).collect();
        match matched(signature, &coords, &args) {
            Matched::Result(names) => {
                let axis = |name| Axis {
                    name: Some(name),
                    over: None,
                    contract: true,
                    declared: true,
                    pack: false,
                };
                Some(names.into_iter().map(axis).collect())
            }
            Matched::Conflict | Matched::Unknown => None,
        }
    }
}

/// The coordinates in the bracket of a call, if they are all plain names.
pub fn coord_args(ast: &Ast, slots: &[Slot]) -> Option<Vec<Symbol>> {
    slots
        .iter()
        .map(|slot| match &slot.kind {
            SlotKind::Expr(e) => bare(ast, *e),
            _ => None,
        })
        .collect()
}

/// Matches coordinates and arguments with a signature.
pub fn matched(signature: &Signature, coords: &[Symbol], args: &[Option<Layout>]) -> Matched {
    let Some(declared) = &signature.coords else { return Matched::Unknown };
    let mut bound: Vec<(Symbol, Vec<Symbol>)> = Vec::new();
    for (param, coord) in declared.iter().zip(coords) {
        bound.push((*param, vec![*coord]));
    }
    for (param, arg) in signature.params.iter().zip(args) {
        let (Some(param), Some(arg)) = (param, arg) else { return Matched::Unknown };
        if arg.iter().any(|axis| !axis.contract || axis.pack) {
            return Matched::Unknown;
        }
        let names: Option<Vec<Symbol>> = arg.iter().map(|axis| axis.name).collect();
        let Some(names) = names else { return Matched::Unknown };
        match fit(param, &names, &mut bound) {
            Some(true) => {}
            Some(false) => return Matched::Conflict,
            None => return Matched::Unknown,
        }
    }
    let Some(ret) = &signature.ret else { return Matched::Unknown };
    let mut result = Vec::new();
    for axis in ret {
        match bound.iter().find(|(param, _)| Some(*param) == axis.name) {
            Some((_, names)) => result.extend(names),
            None => return Matched::Unknown,
        }
    }
    Matched::Result(result)
}

/// Fits the names of an argument to a parameter; `None` if the ranks differ.
fn fit(param: &[Axis], names: &[Symbol], bound: &mut Vec<(Symbol, Vec<Symbol>)>) -> Option<bool> {
    let packs = param.iter().filter(|axis| axis.pack).count();
    let spare = (names.len() + packs).checked_sub(param.len())?;
    if packs > 1 || (packs == 0 && spare > 0) {
        return None;
    }
    let mut names = names.iter().copied();
    for axis in param {
        let count = if axis.pack { spare } else { 1 };
        let taken: Vec<Symbol> = names.by_ref().take(count).collect();
        let key = axis.name?;
        match bound.iter().find(|(it, _)| *it == key) {
            Some((_, before)) if *before != taken => return Some(false),
            Some(_) => {}
            None => bound.push((key, taken)),
        }
    }
    Some(true)
}
