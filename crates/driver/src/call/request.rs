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

    /// As a type; with extents if they are given.
    pub(super) fn as_type(&self, extents: Option<&[usize]>) -> String {
        match self {
            Kind::Scalar(ty) => ty.to_string(),
            Kind::Text => "str".into(),
            Kind::Array { ty, rank: 0, .. } => ty.to_string(),
            Kind::Array { ty, rank, dims } => {
                let axis = |at: usize| {
                    let extent = extents
                        .and_then(|extents| extents.get(at))
                        .map_or("?".to_owned(), usize::to_string);
                    match dims.as_ref().and_then(|dims| dims.get(at)?.as_ref()) {
                        Some(name) => format!("{name}: {extent}"),
                        None => extent,
                    }
                };
                let axes: Vec<String> = (0..*rank).map(axis).collect();
                format!("[{ty}; {}]", axes.join(", "))
            }
            Kind::Tuple(items) => {
                let items: Vec<String> = items.iter().map(|it| it.as_type(None)).collect();
                format!("({})", items.join(", "))
            }
            Kind::Record(name, _) => name.clone(),
        }
    }
}

/// The names that inputs have in a text, in the order of the leaves of the arguments.
pub(super) struct Written {
    pub(super) text: String,
    pub(super) inputs: Vec<String>,
}

/// A request as text, for arguments of these kinds; with their extents if they are to be checked.
pub(super) fn write(request: &Request, kinds: &[Kind], extents: Option<&[Vec<usize>]>) -> Written {
    let mut written = Written { text: request.before.clone(), inputs: Vec::new() };
    for (name, kind) in request.params.iter().zip(kinds) {
        declare(&mut written, name, kind, extents);
    }
    written.text.push_str(&request.body);
    written.text.push('\n');
    written
}

fn declare(written: &mut Written, name: &str, kind: &Kind, extents: Option<&[Vec<usize>]>) {
    let parts = |written: &mut Written, parts: &mut dyn Iterator<Item = (String, &Kind)>| {
        let mut names = Vec::new();
        for (field, kind) in parts {
            let part = format!("{name}_{field}");
            declare(written, &part, kind, extents);
            names.push((field, part));
        }
        names
    };
    match kind {
        Kind::Scalar(_) | Kind::Text | Kind::Array { .. } => {
            let at = written.inputs.len();
            let extents = extents.and_then(|all| all.get(at)).map(Vec::as_slice);
            let _ = writeln!(written.text, "let {name}: {} = input();", kind.as_type(extents));
            written.inputs.push(name.to_owned());
        }
        Kind::Tuple(items) => {
            let fields = items.iter().enumerate();
            let names = parts(written, &mut fields.map(|(at, kind)| (at.to_string(), kind)));
            let names: Vec<String> = names.into_iter().map(|(_, part)| part).collect();
            let comma = if names.len() == 1 { "," } else { "" };
            let _ = writeln!(written.text, "let {name} = ({}{comma});", names.join(", "));
        }
        Kind::Record(ty, fields) => {
            let fields = fields.iter().map(|(field, kind)| (field.clone(), kind));
            let names = parts(written, &mut { fields });
            let names: Vec<String> =
                names.into_iter().map(|(field, part)| format!("{field}: {part}")).collect();
            let _ = writeln!(written.text, "let {name} = {ty} {{ {} }};", names.join(", "));
        }
    }
}
