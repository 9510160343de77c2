//! The public functions of a program as functions of C.
//!
//! A function is built as a program that calls it: statements behind the text take its parameters as
//! inputs, part by part where they are tuples or structs, and bind its result, part by part as well. What
//! is said about those statements is said of the function.

use super::lower::refused;
use crate::call::{Parts, Written, declare};
use crate::{FileSources, Input, InternalError, Options, Session};
use ein_base::{Diagnostic, FileId, Idx as _, Span};
use ein_ir::tensor::{Program, Type, VarId};
use ein_syntax::ast::{Ast, Function, PatKind, StmtKind, TypeId, TypeKind};
use rustc_hash::FxHashSet;

/// Structs and tuples within each other are taken apart so deep.
const DEEPEST: usize = 8;

/// A function that is to be built.
pub(super) struct Wanted {
    /// Its name.
    pub(super) name: String,
    /// Where that stands.
    pub(super) span: Span,
    /// The statements that call it, if all of its parameters say what they are.
    call: Option<Call>,
}

struct Call {
    text: String,
    /// The name that its result gets.
    result: String,
}

/// What came of a function.
pub(super) enum Called {
    /// The program that calls it; its outputs are the parts of the result.
    Program(Box<Program>),
    /// Its parameters leave open what they are.
    Open(Box<Diagnostic>),
}

/// The functions of a text that are public, or those that are asked for; or the name of one that there
/// is not.
pub(super) fn wanted(
    ast: &Ast,
    text: &str,
    names: Option<&[String]>,
) -> Result<Vec<Wanted>, String> {
    let mut found = Vec::new();
    for stmt in &ast.stmts {
        let StmtKind::Fn(function) = &ast.stmt[*stmt].kind else { continue };
        let name = function.name.to_string();
        let is_wanted = match names {
            Some(names) => names.contains(&name),
            None => function.public,
        };
        if is_wanted {
            let span = function.name.span;
            found.push(Wanted { call: Caller { ast, text }.call(function), name, span });
        }
    }
    let is_missing = |name: &&String| !found.iter().any(|it| it.name == **name);
    match names.into_iter().flatten().find(is_missing) {
        Some(missing) => Err(missing.clone()),
        None => Ok(found),
    }
}

/// Writes calls.
struct Caller<'a> {
    ast: &'a Ast,
    text: &'a str,
}

impl Caller<'_> {
    fn call(&self, function: &Function) -> Option<Call> {
        let mut taken = vec![function.name.to_string()];
        let mut free = |like: String| {
            let mut name = like;
            while taken.contains(&name) {
                name.push('_');
            }
            taken.push(name.clone());
            name
        };
        let mut written = Written::default();
        let mut arguments = Vec::new();
        for param in &function.params {
            let PatKind::Bind { name, .. } = &self.ast.pat[param.pat].kind else { return None };
            let name = free(name.to_string());
            declare(&mut written, &name, &self.parts(param.ty?, DEEPEST));
            arguments.push(name);
        }
        let result = free("result".into());
        let call = format!("let {result} = {}({});\n", function.name, arguments.join(", "));
        Some(Call { text: format!("\n{}{call}", written.text), result })
    }

    fn shown(&self, ty: TypeId) -> String {
        let span = self.ast.ty[ty].span;
        self.text.get(span.lo() as usize..span.hi() as usize).unwrap_or_default().to_owned()
    }

    /// How a parameter of a type is put together.
    fn parts(&self, ty: TypeId, depth: usize) -> Parts {
        let Some(depth) = depth.checked_sub(1) else { return Parts::Input(self.shown(ty)) };
        match &self.ast.ty[ty].kind {
            TypeKind::Tuple(items) => {
                Parts::Tuple(items.iter().map(|item| self.parts(*item, depth)).collect())
            }
            TypeKind::Path { .. } => match self.fields(&self.shown(ty)) {
                Some(fields) => {
                    let part = |(name, ty)| (name, self.parts(ty, depth));
                    Parts::Record(self.shown(ty), fields.into_iter().map(part).collect())
                }
                None => Parts::Input(self.shown(ty)),
            },
            TypeKind::Array { .. }
            | TypeKind::AnyRank(_)
            | TypeKind::Jagged { .. }
            | TypeKind::Function { .. }
            | TypeKind::Some { .. }
            | TypeKind::Error => Parts::Input(self.shown(ty)),
        }
    }

    /// The fields of a struct of the text.
    fn fields(&self, name: &str) -> Option<Vec<(String, TypeId)>> {
        self.ast.stmts.iter().find_map(|stmt| match &self.ast.stmt[*stmt].kind {
            StmtKind::Struct(it) if it.alias.is_none() && it.name.to_string() == name => {
                Some(it.fields.iter().map(|field| (field.name.to_string(), field.ty)).collect())
            }
            _ => None,
        })
    }
}

impl Wanted {
    /// The program that calls it, behind this text. Compilations that read the same files number them
    /// alike, so what is found can be told of the text itself.
    pub(super) fn program(
        &self,
        sources: &FileSources,
        input: &Input,
        text: &str,
    ) -> Result<Called, InternalError> {
        let open = || Called::Open(Box::new(self.open()));
        let Some(call) = &self.call else { return Ok(open()) };
        let mut more = call.text.clone();
        let mut leaves = vec![call.result.clone()];
        for _ in 0..DEEPEST {
            let Some(mut program) = compile(sources, input, &format!("{text}\n{more}"))? else {
                return Ok(open());
            };
            let mut parts = Vec::new();
            for leaf in &leaves {
                match binding(&program, leaf).map(|var| inside(&program, &program.vars[var].ty)) {
                    Some(Some(fields)) => {
                        for field in fields {
                            more.push_str(&format!("let {leaf}_{field} = {leaf}.{field};\n"));
                            parts.push(format!("{leaf}_{field}"));
                        }
                    }
                    Some(None) | None => parts.push(leaf.clone()),
                }
            }
            if parts == leaves {
                program.outputs = leaves.iter().filter_map(|it| binding(&program, it)).collect();
                program.main = None;
                return Ok(Called::Program(Box::new(program)));
            }
            leaves = parts;
        }
        Ok(open())
    }

    /// What is said about the statements that call it, said of the function.
    pub(super) fn told(&self, mut diagnostic: Diagnostic, text: &str) -> Diagnostic {
        let root = self.span.file();
        if diagnostic.primary.span.file() != root
            || diagnostic.primary.span.lo() as usize >= text.len()
        {
            diagnostic.primary.span = self.span;
        }
        diagnostic
    }

    fn open(&self) -> Diagnostic {
        let why = format!("the parameters of `{}` leave open what they are", self.name);
        refused(self.span, &why)
            .help("declare each of them with a type, and every extent as a number: `[f32; 4, 8]`")
    }
}

/// A program without errors.
fn compile(
    sources: &FileSources,
    input: &Input,
    text: &str,
) -> Result<Option<Program>, InternalError> {
    let mut sources = sources.clone();
    let input = match input {
        Input::File(path) => {
            sources.insert(path, text);
            Input::File(path.clone())
        }
        Input::Text { name, .. } => Input::Text { name: name.clone(), text: text.into() },
    };
    let mut diagnostics = Vec::new();
    let mut session = Session::new(Options::default(), sources);
    let compiled = session.compile(&input, &FxHashSet::default(), &mut diagnostics)?;
    let is_right = !diagnostics.iter().any(Diagnostic::is_error);
    Ok(compiled.filter(|_| is_right).map(|it| it.program))
}

/// The last binding of a name.
fn binding(program: &Program, name: &str) -> Option<VarId> {
    program.outputs.iter().rev().copied().find(|var| program.vars[*var].name.as_str() == name)
}

/// The names of the parts of a value that is made of some.
fn inside(program: &Program, ty: &Type) -> Option<Vec<String>> {
    match ty {
        Type::Tuple(items) => Some((0..items.len()).map(|at| at.to_string()).collect()),
        Type::Data(id, _) if !program.data[*id].is_enum => {
            let variant = program.data[*id].variants.first()?;
            Some(variant.fields.iter().map(ToString::to_string).collect())
        }
        _ => None,
    }
}

/// The first file of a compilation is its program.
pub(super) fn root() -> FileId {
    FileId::from_usize(0)
}
