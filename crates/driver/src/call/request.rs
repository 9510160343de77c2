//! Requests: what is wanted of a text, and the text that says so.

use ein_scalar::ScalarType;
use std::fmt::Write as _;

/// What kind of value an argument is: what the checker knows of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A number or truth value.
    Scalar(ScalarType),
    /// A text.
    Text,
    /// An array.
    Array {
        /// The type of its elements.
        ty: ScalarType,
        /// How many axes it has.
        rank: usize,
        /// What the caller calls its axes, if it has names for them.
        dims: Option<Vec<Option<String>>>,
    },
    /// A tuple.
    Tuple(Vec<Kind>),
    /// A struct, by the name of its type.
    Record(String, Vec<(String, Kind)>),
}

/// Statements over parameters, behind the text of a module.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Request {
    /// The names that the caller gives values for.
    pub params: Vec<String>,
    /// Statements before the parameters are there: what is imported.
    pub before: String,
    /// Statements that compute the outputs.
    pub body: String,
    /// The names of the outputs.
    pub outputs: Vec<String>,
}

impl Kind {
    /// How many numbers, arrays and texts it consists of.
    pub fn leaves(&self) -> usize {
        match self {
            Kind::Scalar(_) | Kind::Text | Kind::Array { .. } => 1,
            Kind::Tuple(items) => items.iter().map(Kind::leaves).sum(),
            Kind::Record(_, fields) => fields.iter().map(|(_, kind)| kind.leaves()).sum(),
        }
    }

    /// How it is put together from inputs, with their extents if these are given: the extents of each
    /// leaf, in order.
    fn parts(&self, extents: &mut dyn Iterator<Item = Option<&[usize]>>) -> Parts {
        match self {
            Kind::Scalar(ty) => {
                extents.next();
                Parts::Input(ty.to_string())
            }
            Kind::Text => {
                extents.next();
                Parts::Input("str".into())
            }
            Kind::Array { ty, rank, dims } => {
                Parts::Input(array(*ty, *rank, dims.as_deref(), extents.next().flatten()))
            }
            Kind::Tuple(items) => Parts::Tuple(items.iter().map(|it| it.parts(extents)).collect()),
            Kind::Record(name, fields) => {
                let fields =
                    fields.iter().map(|(field, kind)| (field.clone(), kind.parts(extents)));
                Parts::Record(name.clone(), fields.collect())
            }
        }
    }
}

/// The type of an array; with extents if they are given.
fn array(
    ty: ScalarType,
    rank: usize,
    dims: Option<&[Option<String>]>,
    extents: Option<&[usize]>,
) -> String {
    if rank == 0 {
        return ty.to_string();
    }
    let axis = |at: usize| {
        let extent = extents.and_then(|it| it.get(at)).map_or("?".to_owned(), usize::to_string);
        match dims.and_then(|dims| dims.get(at)?.as_ref()) {
            Some(name) => format!("{name}: {extent}"),
            None => extent,
        }
    };
    let axes: Vec<String> = (0..rank).map(axis).collect();
    format!("[{ty}; {}]", axes.join(", "))
}

/// How a value is put together from inputs.
pub(crate) enum Parts {
    /// It is an input of this type.
    Input(String),
    /// A tuple.
    Tuple(Vec<Parts>),
    /// A struct: its name and its fields.
    Record(String, Vec<(String, Parts)>),
}

/// The names that inputs have in a text, in the order of the leaves of the arguments.
#[derive(Default)]
pub(crate) struct Written {
    pub(crate) text: String,
    pub(crate) inputs: Vec<String>,
}

/// A request as text, for arguments of these kinds; with their extents if they are to be checked.
pub(super) fn write(request: &Request, kinds: &[Kind], extents: Option<&[Vec<usize>]>) -> Written {
    let mut written = Written { text: request.before.clone(), inputs: Vec::new() };
    let mut leaves = extents.into_iter().flatten().map(|it| Some(it.as_slice()));
    for (name, kind) in request.params.iter().zip(kinds) {
        declare(&mut written, name, &kind.parts(&mut leaves));
    }
    written.text.push_str(&request.body);
    written.text.push('\n');
    written
}

/// Binds a name to a value that is put together from inputs.
pub(crate) fn declare(written: &mut Written, name: &str, parts: &Parts) {
    let inner = |written: &mut Written, parts: &mut dyn Iterator<Item = (String, &Parts)>| {
        let mut names = Vec::new();
        for (field, parts) in parts {
            let part = format!("{name}_{field}");
            declare(written, &part, parts);
            names.push((field, part));
        }
        names
    };
    match parts {
        Parts::Input(ty) => {
            let _ = writeln!(written.text, "let {name}: {ty} = input();");
            written.inputs.push(name.to_owned());
        }
        Parts::Tuple(items) => {
            let fields = items.iter().enumerate();
            let names = inner(written, &mut fields.map(|(at, parts)| (at.to_string(), parts)));
            let names: Vec<String> = names.into_iter().map(|(_, part)| part).collect();
            let comma = if names.len() == 1 { "," } else { "" };
            let _ = writeln!(written.text, "let {name} = ({}{comma});", names.join(", "));
        }
        Parts::Record(ty, fields) => {
            let fields = fields.iter().map(|(field, parts)| (field.clone(), parts));
            let names = inner(written, &mut { fields });
            let names: Vec<String> =
                names.into_iter().map(|(field, part)| format!("{field}: {part}")).collect();
            let _ = writeln!(written.text, "let {name} = {ty} {{ {} }};", names.join(", "));
        }
    }
}
