//! Built-ins.

mod arrays;
mod einsum;

use super::{Cx, error};
use crate::hir::{Arg, Builtin, CoordArg, ExprId};
use ein_base::{Code, Span, Symbol};
use ein_ir::size;
use ein_ir::tensor::{Expr, ExprKind, HostOp, IoOp, PlainOp, ReduceOp, Type};
use ein_scalar::{BinaryOp, ScalarType, UnaryOp};

impl Cx<'_> {
    /// A call of a built-in by name.
    pub(super) fn builtin_call(
        &mut self,
        builtin: Builtin,
        coords: &[CoordArg],
        args: &[Arg],
        want: Option<&Type>,
        span: Span,
    ) -> Expr {
        if let Some(name) = args.iter().find_map(|arg| arg.name) {
            let d = error(
                Code::E0509,
                name.span,
                format!("built-ins take no named arguments: `{name}`"),
            )
            .here("named")
            .help("pass it by position");
            return self.fail(d);
        }
        match builtin {
            Builtin::Rerank => self.rerank(args, span),
            Builtin::Blocks => self.split_blocks(args, span),
            Builtin::Input => self.fail(
                error(
                    Code::E0516,
                    span,
                    "`input()` stands alone on the right of a `let` with a type",
                )
                .here("a value from outside")
                .help("write `let x: [f32; ?, ?] = input();` at the top level"),
            ),
            Builtin::Python(path) => self.python_call(path, args, want, span),
            Builtin::Jvp | Builtin::Vjp | Builtin::Hessian => {
                self.derivative_product(builtin, args, span)
            }
            Builtin::Binary(op) => {
                let (a, b) = match args {
                    [a, b] => (a.value, b.value),
                    _ => return self.wrong_count(op.as_str(), 2, args.len(), span),
                };
                let (x, y) = self.two_numbers(a, b, want);
                match self.is_record(&x.ty) || self.is_record(&y.ty) {
                    true => self.of_records(op, x, y, span),
                    false => self.scalar_binary(op, x, y, span),
                }
            }
            Builtin::Reduction(op @ (ReduceOp::Max | ReduceOp::Min)) if args.len() == 2 => {
                let (x, y) = self.two_numbers(args[0].value, args[1].value, want);
                let op = match op {
                    ReduceOp::Max => BinaryOp::Max,
                    _ => BinaryOp::Min,
                };
                self.scalar_binary(op, x, y, span)
            }
            Builtin::Join if args.len() == 2 => {
                let mapped = self.enter_coords(coords);
                let (a, b) = self.two_pieces(args[0].value, args[1].value, &mapped);
                self.leave_coords(&mapped);
                self.join(coords, a, b, span)
            }
            Builtin::Append if args.len() == 2 => {
                let (a, b) = self.two_pieces(args[0].value, args[1].value, &[]);
                self.apply_builtin(builtin, vec![a, b], span)
            }
            Builtin::Reduce | Builtin::Scan if args.len() == 3 => {
                let op = self.expr(args[0].value, None);
                // The start value is one more element.
                let (zero, array) = self.two_pieces(args[1].value, args[2].value, &[]);
                self.apply_builtin(builtin, vec![op, zero, array], span)
            }
            _ => {
                let want = match builtin {
                    Builtin::Unary(_) => want,
                    _ => None,
                };
                let mapped = self.enter_coords(coords);
                let args: Vec<Expr> =
                    args.iter().map(|arg| self.closed_argument(arg.value, want, &mapped)).collect();
                self.leave_coords(&mapped);
                self.apply_with(builtin, coords, args, span)
            }
        }
    }

    /// A call of a function of Python. What it gives is what the place asks for, checked there.
    fn python_call(&mut self, path: Symbol, args: &[Arg], want: Option<&Type>, span: Span) -> Expr {
        let args: Vec<Expr> =
            args.iter().map(|arg| self.closed_argument(arg.value, None, &[])).collect();
        if args.iter().any(|arg| arg.ty.has_error()) {
            return Expr::error(span);
        }
        let ty = match want {
            Some(Type::Array(array)) => Type::AnyRank(Box::new(array.elem.clone())),
            Some(ty @ (Type::AnyRank(_) | Type::Scalar(_) | Type::Str)) => ty.clone(),
            _ => {
                let text = format!("nothing says what `{path}` of Python gives");
                let d = error(Code::E0516, span, text)
                    .here("a value of any type")
                    .help("write its type: `let y: f64 = python::…;`");
                return self.fail(d);
            }
        };
        Expr::new(ExprKind::Host(HostOp::Python(path), args), ty, span)
    }

    /// A built-in on checked arguments, as a function value.
    pub(super) fn apply_builtin(&mut self, builtin: Builtin, args: Vec<Expr>, span: Span) -> Expr {
        self.apply_with(builtin, &[], args, span)
    }

    fn apply_with(
        &mut self,
        builtin: Builtin,
        coords: &[CoordArg],
        args: Vec<Expr>,
        span: Span,
    ) -> Expr {
        if args.iter().any(|arg| arg.ty.is_broken()) {
            return Expr::error(span);
        }
        match builtin {
            Builtin::Print => Expr::new(ExprKind::Host(HostOp::Print, args), Type::Unit, span),
            Builtin::Assert => self.assertion(args, span),
            Builtin::Len => match self.one("len", args, span) {
                Ok(arg) => self.length(arg, span),
                Err(e) => e,
            },
            Builtin::Shape => match self.one("shape", args, span) {
                Ok(arg) => self.shape_call(arg, span),
                Err(e) => e,
            },
            Builtin::Typeof => match self.one("typeof", args, span) {
                Ok(arg) => self.type_name(&arg, span),
                Err(e) => e,
            },
            Builtin::ArrayAppend => self.array_append(args, span),
            Builtin::Reduction(op) => self.whole_reduction(op, args, span),
            Builtin::Reduce | Builtin::Scan => self.fold_array(builtin, args, span),
            Builtin::Append => match <[Expr; 2]>::try_from(args) {
                Ok([a, b]) => self.join(&[CoordArg::Axis(0, span)], a, b, span),
                Err(args) => self.wrong_count("append", 2, args.len(), span),
            },
            Builtin::Rotate => self.rotate(args, span),
            Builtin::Reverse => match self.one("reverse", args, span) {
                Ok(arg) => self.reverse(arg, span),
                Err(e) => e,
            },
            Builtin::Reshape => self.reshape(args, span),
            Builtin::Filter => self.filter(args, span),
            Builtin::Iota => match self.one("iota", args, span) {
                Ok(arg) => self.iota(arg, span),
                Err(e) => e,
            },
            Builtin::First
            | Builtin::Last
            | Builtin::Rest
            | Builtin::Init
            | Builtin::Take
            | Builtin::Drop => self.split(builtin, coords, args, span),
            Builtin::Join => match <[Expr; 2]>::try_from(args) {
                Ok([a, b]) => self.join(coords, a, b, span),
                Err(args) => self.wrong_count("join", 2, args.len(), span),
            },
            Builtin::Unblocks => match self.one("unblocks", args, span) {
                Ok(arg) => self.join_blocks(arg, span),
                Err(e) => e,
            },
            Builtin::Unary(op) => match self.one(op.as_str(), args, span) {
                Ok(arg) => self.scalar_unary(op, arg, span),
                Err(e) => e,
            },
            Builtin::Binary(op) => match <[Expr; 2]>::try_from(args) {
                Ok([a, b]) => self.scalar_binary(op, a, b, span),
                Err(args) => self.wrong_count(op.as_str(), 2, args.len(), span),
            },
            Builtin::Einsum => self.einsum(args, span),
            Builtin::Io(io) => self.io(io, args, span),
            Builtin::Plain(op) => self.plain(op, args, span),
            Builtin::Rerank
            | Builtin::Blocks
            | Builtin::Input
            | Builtin::Python(_)
            | Builtin::Jvp
            | Builtin::Vjp
            | Builtin::Hessian => self.fail(
                error(Code::E0510, span, "this built-in cannot be used as a function value")
                    .here("used as a value")
                    .help("call it by name"),
            ),
        }
    }

    /// The one argument of a built-in.
    fn one(&mut self, name: &str, args: Vec<Expr>, span: Span) -> Result<Expr, Expr> {
        match <[Expr; 1]>::try_from(args) {
            Ok([arg]) => Ok(arg),
            Err(args) => Err(self.wrong_count(name, 1, args.len(), span)),
        }
    }

    /// Two numbers, literals taking the type of the other.
    fn two_numbers(&mut self, a: ExprId, b: ExprId, want: Option<&Type>) -> (Expr, Expr) {
        match (self.literal_class(a), self.literal_class(b)) {
            (Some(p), Some(q)) => {
                let ty = Type::Scalar(self.literal_type(p.max(q), want));
                (self.expr(a, Some(&ty)), self.expr(b, Some(&ty)))
            }
            (Some(class), None) => {
                let y = self.expr(b, want);
                let hint = self.literal_hint(Some(class), &y, want);
                (self.expr(a, hint.as_ref()), y)
            }
            (None, class) => {
                let x = self.expr(a, want);
                let hint = self.literal_hint(class, &x, want);
                let y = self.expr(b, hint.as_ref().or(want));
                (x, y)
            }
        }
    }

    fn two_pieces(
        &mut self,
        a: ExprId,
        b: ExprId,
        mapped: &[(Symbol, super::IndexId)],
    ) -> (Expr, Expr) {
        // `[]` is like the other one.
        if self.is_nothing(a) && !self.is_nothing(b) {
            let y = self.closed_argument(b, None, mapped);
            let like = Some(&y.ty).filter(|ty| !ty.has_error());
            return (self.closed_argument(a, like, mapped), y);
        }
        if self.is_nothing(b) && !self.is_nothing(a) {
            let x = self.closed_argument(a, None, mapped);
            let like = Some(&x.ty).filter(|ty| !ty.has_error());
            let y = self.closed_argument(b, like, mapped);
            return (x, y);
        }
        match (self.literal_class(a), self.literal_class(b)) {
            (Some(class), None) => {
                let y = self.closed_argument(b, None, mapped);
                let hint = self.literal_hint(Some(class), &y, None);
                (self.closed_argument(a, hint.as_ref(), mapped), y)
            }
            (_, class) => {
                let x = self.closed_argument(a, None, mapped);
                let hint = self.literal_hint(class, &x, None);
                let y = self.closed_argument(b, hint.as_ref(), mapped);
                (x, y)
            }
        }
    }

    fn scalar_unary(&mut self, op: UnaryOp, arg: Expr, span: Span) -> Expr {
        let result = arg.ty.scalar().and_then(|ty| op.result_type(ty));
        match result {
            Some(ty) => self.pointwise(vec![arg], span, |_, mut args| {
                let arg = args.pop().unwrap_or_else(|| Expr::error(span));
                Expr::new(ExprKind::Unary(op, arg), Type::Scalar(ty), span)
            }),
            None => {
                let have = self.show(&arg.ty);
                let d = error(Code::E0501, arg.span, format!("`{op}` does not take `{have}`"))
                    .here(format!("this is `{have}`"));
                let d = match arg.ty.scalar() {
                    Some(ty) if ty.is_int() => {
                        d.fix("convert it: `… as f32`", arg.span.end(), " as f32")
                    }
                    _ => d.help("pass a float, or an array of floats"),
                };
                self.fail(d)
            }
        }
    }

    pub(super) fn scalar_binary(&mut self, op: BinaryOp, x: Expr, y: Expr, span: Span) -> Expr {
        if x.ty.has_error() || y.ty.has_error() {
            return Expr::error(span);
        }
        let result = match (x.ty.scalar(), y.ty.scalar()) {
            (Some(s), Some(t)) => op.result_type(s, t).map(|ty| (ty, None)),
            _ => None,
        };
        let result = result.or_else(|| {
            let to = self.meet(&x, &y)?;
            Some((op.result_type(to, to)?, Some(to)))
        });
        match result {
            Some((ty, to)) => self.pointwise(vec![x, y], span, |cx, mut args| {
                let b = args.pop().unwrap_or_else(|| Expr::error(span));
                let a = args.pop().unwrap_or_else(|| Expr::error(span));
                let (a, b) = match to {
                    Some(to) => (super::widen::cast(a, to), super::widen::cast(b, to)),
                    None => (a, b),
                };
                let value = Expr::new(ExprKind::Binary(op, a, b), Type::Scalar(ty), span);
                match cx.as_one_size(&value) {
                    Some(size) if ty == ScalarType::I32 => Expr::size(size, span),
                    _ => value,
                }
            }),
            None => {
                let (a, b) = (self.show(&x.ty), self.show(&y.ty));
                let d = error(Code::E0501, span, format!("`{op}` does not take `{a}` and `{b}`"))
                    .here("called here")
                    .label(x.span, format!("this is `{a}`"))
                    .label(y.span, format!("this is `{b}`"))
                    .help("pass two numbers of one type");
                let d = self.numeric_help(d, &x, &y);
                self.fail(d)
            }
        }
    }

    fn assertion(&mut self, args: Vec<Expr>, span: Span) -> Expr {
        if args.is_empty() || args.len() > 2 {
            return self.wrong_count("assert", 1, args.len(), span);
        }
        if args[0].ty.scalar() != Some(ScalarType::Bool) {
            return self.expect_bool(args[0].clone(), "an assertion");
        }
        if let Some(message) = args.get(1)
            && message.ty != Type::Str
        {
            let d = self.mismatch(message, &Type::Str, "the message of `assert`");
            return self.fail(d);
        }
        Expr::new(ExprKind::Host(HostOp::Assert, args), Type::Unit, span)
    }

    fn length(&mut self, arg: Expr, span: Span) -> Expr {
        match &arg.ty {
            Type::Array(_) | Type::Tuple(_) => self.length_of(arg, span),
            Type::Str | Type::Jagged(..) | Type::AnyRank(_) => {
                Expr::new(ExprKind::Host(HostOp::Len, vec![arg]), Type::I32, span)
            }
            ty => {
                let have = self.show(ty);
                let d = error(Code::E0501, arg.span, format!("`{have}` has no length"))
                    .here("not an array, string or tuple")
                    .help("`len` counts elements, characters or components");
                self.fail(d)
            }
        }
    }

    fn shape_call(&mut self, arg: Expr, span: Span) -> Expr {
        match &arg.ty {
            Type::Array(_) => self.shape_of(arg, span),
            Type::AnyRank(_) => {
                let size = self.unknown_size(true);
                let ty = Type::array(Type::I32, vec![super::anonymous(size)]);
                Expr::new(ExprKind::Host(HostOp::Shape, vec![arg]), ty, span)
            }
            Type::Scalar(_) => {
                let ty = Type::array(Type::I32, vec![super::anonymous(size::Expr::zero())]);
                Expr::new(ExprKind::Array(Vec::new()), ty, span)
            }
            ty => {
                let have = self.show(ty);
                let d = error(Code::E0501, arg.span, format!("`{have}` has no shape"))
                    .here("not an array")
                    .help("only rectangular arrays have extents");
                self.fail(d)
            }
        }
    }

    /// `typeof(x)` is decided here.
    fn type_name(&mut self, arg: &Expr, span: Span) -> Expr {
        let text = match &arg.ty {
            Type::Scalar(ty) => ty.name().to_string(),
            Type::Str => "str".into(),
            Type::Array(_) | Type::AnyRank(_) => "rectangular".into(),
            Type::Jagged(..) => "jagged".into(),
            Type::Tuple(_) => "tuple".into(),
            Type::Template(..) | Type::Signature(_) => "function".into(),
            Type::Data(id, _) => self.out.data[*id].name.to_string(),
            Type::Unit => "unit".into(),
            Type::Range => "range".into(),
            Type::Error => return Expr::error(span),
        };
        Expr::new(ExprKind::Str(Symbol::intern(&text)), Type::Str, span)
    }

    fn io(&mut self, op: IoOp, args: Vec<Expr>, span: Span) -> Expr {
        let (count, ty) = match op {
            IoOp::LoadNpy => (1, Type::AnyRank(Box::new(Type::F32))),
            IoOp::LoadSafetensors => (2, Type::AnyRank(Box::new(Type::F32))),
            IoOp::SaveNpy => (2, Type::BOOL),
            IoOp::CurrentDir => (0, Type::Str),
            IoOp::ScriptDir => (0, Type::Str),
            IoOp::FileExists => (1, Type::BOOL),
            IoOp::IsFile => (1, Type::BOOL),
            IoOp::IsDir => (1, Type::BOOL),
            IoOp::FileSize => (1, Type::Scalar(ScalarType::I64)),
            IoOp::ListDir => (1, self.fresh_array(Type::Str, 1)),
            IoOp::AbsolutePath => (1, Type::Str),
            IoOp::CreateDir => (1, Type::BOOL),
            IoOp::RemoveDir => (1, Type::BOOL),
            IoOp::DeleteFile => (1, Type::BOOL),
            IoOp::CopyFile => (2, Type::BOOL),
            IoOp::MoveFile => (2, Type::BOOL),
            IoOp::ReadFile => (1, Type::Str),
            IoOp::WriteFile => (2, Type::BOOL),
            IoOp::AppendFile => (2, Type::BOOL),
            IoOp::LoadPng => (1, self.fresh_array(Type::F32, 3)),
            IoOp::SavePng => (2, Type::BOOL),
            IoOp::Now | IoOp::Monotonic => (0, Type::Scalar(ScalarType::F64)),
        };
        if args.len() != count {
            return self.wrong_count("this file function", count, args.len(), span);
        }
        if let Some(path) = args.first()
            && path.ty != Type::Str
        {
            let d = self.mismatch(path, &Type::Str, "a path");
            return self.fail(d);
        }
        Expr::new(ExprKind::Host(HostOp::Io(op), args), ty, span)
    }

    /// A function that the library computes with the help of the run-time library.
    fn plain(&mut self, op: PlainOp, args: Vec<Expr>, span: Span) -> Expr {
        let (count, ty) = match op {
            PlainOp::TextCodes => (1, self.fresh_array(Type::I32, 1)),
            PlainOp::TextOf | PlainOp::TextUpper | PlainOp::TextLower => (1, Type::Str),
            PlainOp::TextFind => (3, Type::I32),
            PlainOp::TextSplit => (2, self.fresh_array(Type::Str, 1)),
            PlainOp::TextJoin => (2, Type::Str),
            PlainOp::TextNumber => (1, Type::Scalar(ScalarType::F64)),
            PlainOp::TextInteger => (1, Type::Scalar(ScalarType::I64)),
            PlainOp::TextFormat => (3, Type::Str),
            PlainOp::Paint => (2, args.first().map_or(Type::Error, |it| it.ty.clone())),
        };
        if args.len() != count {
            return self.wrong_count("this function", count, args.len(), span);
        }
        Expr::new(ExprKind::Host(HostOp::Plain(op), args), ty, span)
    }

    /// An array whose extents are known when the program runs.
    fn fresh_array(&mut self, elem: Type, rank: usize) -> Type {
        let axes = (0..rank).map(|_| super::anonymous(self.unknown_size(true))).collect();
        Type::array(elem, axes)
    }
}
