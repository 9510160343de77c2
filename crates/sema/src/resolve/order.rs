//! What must come before what: constants that depend on themselves, modules that import each
//! other, functions that are called before what they read is bound.

use super::{Resolver, endless, listed};
use crate::hir::{DefId, DefKind, LocalId, ModuleId, Program};
use ein_base::{Code, Diagnostic, Idx, IndexVec, Name, SourceMap, Span};
use rustc_hash::FxHashSet;

/// What was noted while names were resolved.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// An item and an item it mentions.
    pub(super) needs: Vec<(DefId, DefId)>,
    /// An item and a top-level binding it reads.
    pub(super) globals: Vec<(DefId, LocalId)>,
    /// The items that statements of modules mention.
    pub(super) statement_calls: Vec<StatementCall>,
    /// The number of the statement that binds a local of the top level.
    pub(super) bound_at: IndexVec<LocalId, u32>,
}

/// An item mentioned by a statement.
#[derive(Clone, Copy, Debug)]
pub(super) struct StatementCall {
    pub(super) module: ModuleId,
    pub(super) stmt: u32,
    pub(super) def: DefId,
    pub(super) span: Span,
}

/// When something is bound: the module's place in the order of running, then the statement.
type Time = (usize, u32);

impl Resolver<'_> {
    /// Checks all orders, and decides in which one modules run.
    pub(super) fn check_order(&mut self) {
        self.check_import_cycles();
        self.order_modules();
        let graph = Graph::new(self.program.defs.len(), &self.facts.needs);
        let components = graph.components();
        let Resolver { program, files, facts, diagnostics, .. } = self;
        check_constants(program, &graph, &components, diagnostics);
        check_calls((program, files), facts, &graph, &components, diagnostics);
        diagnostics.extend(endless::check(program));
    }

    /// What a module uses runs before it; the root runs last.
    fn order_modules(&mut self) {
        let mut seen = FxHashSet::default();
        let mut order = Vec::new();
        let mut stack = vec![(self.root(), 0)];
        seen.insert(self.root());
        while let Some((module, next)) = stack.pop() {
            match self.modules[module].uses.get(next) {
                Some(&used) => {
                    stack.push((module, next + 1));
                    if seen.insert(used) {
                        stack.push((used, 0));
                    }
                }
                None => order.push(module),
            }
        }
        let root = self.root();
        order.retain(|m| *m == root || !self.program.modules[*m].stmts.is_empty());
        self.program.init_order = order;
    }

    /// Two files that import each other, neither of which contains the other.
    fn check_import_cycles(&mut self) {
        let mut edges: Vec<(ModuleId, ModuleId)> = Vec::new();
        let mut spans: Vec<Span> = Vec::new();
        for module in self.modules.ids() {
            if self.program.modules[module].library {
                continue;
            }
            for &(target, span) in &self.modules[module].imported {
                let (from, to) = (self.file_module(module), self.file_module(target));
                if !self.sees(from, to) && !self.sees(to, from) {
                    edges.push((from, to));
                    spans.push(span);
                }
            }
        }
        let graph = Graph::new(self.modules.len(), &edges);
        for component in graph.components().iter() {
            if component.len() > 1 {
                self.import_cycle(component, &edges, &spans);
            }
        }
    }

    /// The module whose file a module stands in.
    pub(super) fn file_module(&self, module: ModuleId) -> ModuleId {
        let mut at = module;
        while let Some(parent) = self.program.modules[at].parent {
            if self.program.modules[parent].file != self.program.modules[at].file {
                break;
            }
            at = parent;
        }
        at
    }

    fn import_cycle(
        &mut self,
        component: &[usize],
        edges: &[(ModuleId, ModuleId)],
        spans: &[Span],
    ) {
        let inside: FxHashSet<usize> = component.iter().copied().collect();
        let Some(&start) = component.iter().min() else { return };
        // Follow the first import that stays in the component until a module comes again.
        let mut path: Vec<(usize, Span)> = Vec::new();
        let mut at = start;
        let cycle = loop {
            if let Some(first) = path.iter().position(|(module, _)| *module == at) {
                break path.split_off(first);
            }
            let next = edges
                .iter()
                .zip(spans)
                .find(|((from, to), _)| from.index() == at && inside.contains(&to.index()));
            let Some(((_, to), span)) = next else { return };
            path.push((at, *span));
            at = to.index();
        };
        let names: Vec<String> =
            cycle.iter().map(|(m, _)| self.module_path(ModuleId::from_usize(*m))).collect();
        let Some(((_, first), rest)) = cycle.split_first() else { return };
        let mut diagnostic = Diagnostic::new(
            Code::E0209,
            *first,
            format!("the modules {} import each other", listed(&names)),
        )
        .here(format!("`{}` imports `{}` here", names[0], names[1 % names.len()]));
        for (i, (_, span)) in rest.iter().enumerate() {
            let target = &names[(i + 2) % names.len()];
            let text = format!("`{}` imports `{target}` here", names[i + 1]);
            diagnostic = diagnostic.label(*span, text);
        }
        self.report(diagnostic.help("move what both need into a third module"));
    }
}

/// Constants that depend on themselves.
fn check_constants(
    program: &Program,
    graph: &Graph,
    components: &Components,
    diagnostics: &mut Vec<Diagnostic>,
) {
    for component in components.iter() {
        let cyclic = match *component {
            [one] => graph.edges(one).contains(&one),
            _ => true,
        };
        if !cyclic {
            continue;
        }
        let mut constants: Vec<DefId> = component
            .iter()
            .map(|d| DefId::from_usize(*d))
            .filter(|d| matches!(program.defs[*d].kind, DefKind::Const(_)))
            .collect();
        constants.sort();
        let Some((&first, rest)) = constants.split_first() else { continue };
        let name = program.defs[first].name;
        let text = if rest.is_empty() {
            format!("the constant `{name}` depends on itself")
        } else {
            let names: Vec<_> = constants.iter().map(|d| program.defs[*d].name).collect();
            format!("the constants {} depend on each other", listed(&names))
        };
        let mut diagnostic = Diagnostic::new(Code::E0211, name.span, text)
            .here(format!("`{name}` needs its own value"));
        for other in rest {
            let name = program.defs[*other].name;
            diagnostic = diagnostic.label(name.span, format!("`{name}` is part of the cycle"));
        }
        diagnostics.push(diagnostic.help("give one of them a value that needs no other"));
    }
}

/// A statement that mentions a function above a binding which the function reads.
fn check_calls(
    (program, files): (&Program, &SourceMap),
    facts: &Facts,
    graph: &Graph,
    components: &Components,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let mut ranks: IndexVec<ModuleId, usize> = IndexVec::filled(usize::MAX, program.modules.len());
    for (rank, module) in program.init_order.iter().enumerate() {
        ranks[*module] = rank;
    }
    // The last binding that each item needs, directly or through others.
    let mut last: Vec<Option<(Time, LocalId)>> = vec![None; program.defs.len()];
    for &(def, local) in &facts.globals {
        let time = (ranks[program.defs[def].module], facts.bound_at[local]);
        let entry = &mut last[def.index()];
        *entry = (*entry).max(Some((time, local)));
    }
    for component in components.iter() {
        let direct = component.iter().map(|d| last[*d]).max().flatten();
        let through = component.iter().flat_map(|d| graph.edges(*d)).map(|d| last[*d]);
        let latest = through.max().flatten().max(direct);
        for def in component {
            last[*def] = latest;
        }
    }
    for call in facts.statement_calls.iter().copied() {
        let Some((time, local)) = last[call.def.index()] else { continue };
        if time >= (ranks[call.module], call.stmt) {
            diagnostics.push(called_too_early((program, files), facts, call, local));
        }
    }
}

fn called_too_early(
    (program, files): (&Program, &SourceMap),
    facts: &Facts,
    call: StatementCall,
    local: LocalId,
) -> Diagnostic {
    let function = program.defs[call.def].name;
    let bound = program.locals[local].name;
    let line = files.position(bound.span).0;
    let inside = bound.span.file() == function.span.file()
        && bound.span.lo() < function.span.lo()
        && facts.bound_at[local] == call.stmt;
    if inside {
        return reads_what_is_defined(function, bound, call.span);
    }
    Diagnostic::new(
        Code::E0202,
        call.span,
        format!("`{function}` is used here before `{bound}`, which it needs, is bound"),
    )
    .here(format!("needs `{bound}`"))
    .label(bound.span, format!("`{bound}` is bound here, on line {line}"))
    .help(format!("move this statement below line {line}"))
}

/// A function inside of a clause reads the tensor that the clause defines.
pub(crate) fn reads_what_is_defined(function: Name, value: Name, at: Span) -> Diagnostic {
    let message = format!("`{function}` reads `{value}`, which is being defined where it is used");
    Diagnostic::new(Code::E0202, at, message)
        .here(format!("only single points of `{value}` are there"))
        .label(value.span, format!("`{value}` is defined here"))
        .help(format!(
            "write it as a closure, which is checked where it is called: `let {function} = |…| …;`"
        ))
}

/// The strongly connected components of a graph, one after the other.
pub(super) struct Components {
    members: Vec<usize>,
    /// Where each component ends in `members`.
    ends: Vec<usize>,
}

impl Components {
    pub(super) fn iter(&self) -> impl Iterator<Item = &[usize]> {
        let starts = std::iter::once(&0).chain(&self.ends);
        starts.zip(&self.ends).map(|(start, end)| &self.members[*start..*end])
    }
}

/// A directed graph over small numbers.
pub(super) struct Graph {
    starts: Vec<usize>,
    targets: Vec<usize>,
}

impl Graph {
    fn new<I: Idx>(nodes: usize, edges: &[(I, I)]) -> Self {
        let edges: Vec<(usize, usize)> =
            edges.iter().map(|(from, to)| (from.index(), to.index())).collect();
        Self::over(nodes, &edges)
    }

    /// A graph over the numbers below `nodes`.
    pub(super) fn over(nodes: usize, edges: &[(usize, usize)]) -> Self {
        let mut starts = vec![0; nodes + 1];
        for (from, _) in edges {
            starts[from + 1] += 1;
        }
        for i in 0..nodes {
            starts[i + 1] += starts[i];
        }
        let mut next = starts.clone();
        let mut targets = vec![0; edges.len()];
        for (from, to) in edges {
            targets[next[*from]] = *to;
            next[*from] += 1;
        }
        Self { starts, targets }
    }

    fn edges(&self, node: usize) -> &[usize] {
        &self.targets[self.starts[node]..self.starts[node + 1]]
    }

    /// The strongly connected components, each after those it leads to (Tarjan, without
    /// recursion: chains of items may be long).
    pub(super) fn components(&self) -> Components {
        const UNSEEN: usize = usize::MAX;
        let nodes = self.starts.len() - 1;
        let mut number = vec![UNSEEN; nodes];
        let mut low = vec![0; nodes];
        let mut open = vec![false; nodes];
        let mut stack = Vec::new();
        let mut found = Components { members: Vec::with_capacity(nodes), ends: Vec::new() };
        let mut visits = Vec::new();
        let mut count = 0;
        for root in 0..nodes {
            if number[root] != UNSEEN {
                continue;
            }
            visits.push((root, 0));
            while let Some((node, edge)) = visits.pop() {
                if edge == 0 {
                    number[node] = count;
                    low[node] = count;
                    count += 1;
                    stack.push(node);
                    open[node] = true;
                } else {
                    let child = self.edges(node)[edge - 1];
                    if open[child] {
                        low[node] = low[node].min(low[child]);
                    }
                }
                let unseen = self.edges(node)[edge..].iter().position(|t| {
                    if number[*t] == UNSEEN {
                        return true;
                    }
                    if open[*t] {
                        low[node] = low[node].min(number[*t]);
                    }
                    false
                });
                if let Some(skip) = unseen {
                    let next = edge + skip;
                    visits.push((node, next + 1));
                    visits.push((self.edges(node)[next], 0));
                } else if low[node] == number[node] {
                    while let Some(member) = stack.pop() {
                        open[member] = false;
                        found.members.push(member);
                        if member == node {
                            break;
                        }
                    }
                    found.ends.push(found.members.len());
                }
            }
        }
        found
    }
}
