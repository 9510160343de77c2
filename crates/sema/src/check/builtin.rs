//! Built-ins.

use super::{Cx, error};
use crate::hir::{Arg, Builtin, CoordArg, ExprId};
use ein_base::{Code, Span, Symbol};
use ein_ir::size;
use ein_ir::tensor::{Bounds, Expr, ExprKind, HostOp, IoOp, Reduce, ReduceOp, Type};
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
            Builtin::Jvp | Builtin::Vjp | Builtin::Hessian => {
                self.derivative_product(builtin, args, span)
            }
            Builtin::Binary(op) => {
                let (a, b) = match args {
                    [a, b] => (a.value, b.value),
                    _ => return self.wrong_count(op.as_str(), 2, args.len(), span),
                };
                let (x, y) = self.two_numbers(a, b, want);
                self.scalar_binary(op, x, y, span)
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
            Builtin::Io(io) => self.io(io, args, span),
            Builtin::Rerank
            | Builtin::Blocks
            | Builtin::Input
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

    fn scalar_binary(&mut self, op: BinaryOp, x: Expr, y: Expr, span: Span) -> Expr {
        if x.ty.has_error() || y.ty.has_error() {
            return Expr::error(span);
        }
        let result = match (x.ty.scalar(), y.ty.scalar()) {
            (Some(s), Some(t)) => op.result_type(s, t),
            _ => None,
        };
        match result {
            Some(ty) => self.pointwise(vec![x, y], span, |cx, mut args| {
                let b = args.pop().unwrap_or_else(|| Expr::error(span));
                let a = args.pop().unwrap_or_else(|| Expr::error(span));
                let value = Expr::new(ExprKind::Binary(op, a, b), Type::Scalar(ty), span);
                match cx.to_size(&value) {
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

    fn array_append(&mut self, args: Vec<Expr>, span: Span) -> Expr {
        let [array, item] = match <[Expr; 2]>::try_from(args) {
            Ok(args) => args,
            Err(args) => return self.wrong_count("array_append", 2, args.len(), span),
        };
        self.join(&[CoordArg::Axis(0, span)], array, item, span)
    }

    /// `sum(a)`: over every element.
    fn whole_reduction(&mut self, op: ReduceOp, args: Vec<Expr>, span: Span) -> Expr {
        let name = op.as_str();
        let arg = match self.one(name, args, span) {
            Ok(arg) => arg,
            Err(e) => return e,
        };
        if !arg.ty.is_array() {
            let have = self.show(&arg.ty);
            let d = error(
                Code::E0501,
                arg.span,
                format!("`{name}` of a whole array needs an array, not `{have}`"),
            )
            .here(format!("this is `{have}`"))
            .help(format!("write `{name}[i](…)` to reduce along an index"));
            return self.fail(d);
        }
        let scalar = arg.ty.scalar();
        let fits = match op {
            ReduceOp::Any | ReduceOp::All | ReduceOp::Count => scalar == Some(ScalarType::Bool),
            ReduceOp::Mean => scalar.is_some_and(ScalarType::is_float),
            ReduceOp::Argmax | ReduceOp::Argmin => {
                scalar.is_some_and(super::is_numeric) && arg.ty.rank() == 1
            }
            _ => scalar.is_some_and(super::is_numeric),
        };
        if !fits {
            let have = self.show(&arg.ty);
            let d = error(Code::E0502, arg.span, format!("`{name}` is not defined for `{have}`"))
                .here(format!("this is `{have}`"))
                .help(match op {
                    ReduceOp::Mean => "`mean` needs floats",
                    ReduceOp::Argmax | ReduceOp::Argmin => "name the axis: `argmax[c](x)`",
                    _ => "`any`, `all` and `count` take booleans, the others numbers",
                });
            return self.fail(d);
        }
        let ty = match op {
            ReduceOp::Any | ReduceOp::All => Type::BOOL,
            ReduceOp::Count | ReduceOp::Argmax | ReduceOp::Argmin => Type::I32,
            _ => arg.ty.elem().clone(),
        };
        let arg = self.atomise(arg);
        let axes = arg.ty.axes().to_vec();
        let mut binders = Vec::new();
        let mut indices = Vec::new();
        for (position, axis) in axes.iter().enumerate() {
            let name = ein_base::Name { sym: Symbol::intern(&format!("${position}")), span };
            let index = self.new_index(name, super::Declared::Any);
            binders.push(self.full_binder(self.indices[index].var, &axis.size, span));
            indices.push(self.index_expr(index, span));
        }
        let value = self.read(arg, indices, Bounds::Proved, span);
        let reduce = Reduce { op, binders, items: Vec::new(), value, requires: Vec::new() };
        Expr::new(ExprKind::Reduce(reduce), ty, span)
    }

    /// `reduce(op, zero, array)` and `scan(op, zero, array)` along the leading axis, as a
    /// recurrence over its positions.
    fn fold_array(&mut self, builtin: Builtin, args: Vec<Expr>, span: Span) -> Expr {
        let name = if builtin == Builtin::Scan { "scan" } else { "reduce" };
        let [op, zero, array] = match <[Expr; 3]>::try_from(args) {
            Ok(args) => args,
            Err(args) => return self.wrong_count(name, 3, args.len(), span),
        };
        self.fold_recurrence(builtin == Builtin::Scan, op, zero, array, span)
    }

    fn rotate(&mut self, args: Vec<Expr>, span: Span) -> Expr {
        let [array, amount] = match <[Expr; 2]>::try_from(args) {
            Ok(args) => args,
            Err(args) => return self.wrong_count("rotate", 2, args.len(), span),
        };
        let (array, amount) = if array.ty.is_array() { (array, amount) } else { (amount, array) };
        if !array.ty.is_array() {
            return self.needs_array("rotate", &array, span);
        }
        let amount = self.expect_integer(amount, "the amount to rotate by");
        if amount.ty.has_error() {
            return Expr::error(span);
        }
        let array = self.settle_expr(array);
        let array = self.atomise(array);
        let amount = self.atomise(amount);
        let axes = vec![array.ty.axes()[0].clone()];
        let length = axes[0].size.clone();
        self.tabulate(axes, span, |cx, indices| {
            let length = Expr::size(length, span);
            let plain = |op, a, b| Expr::new(ExprKind::Binary(op, a, b), Type::I32, span);
            let amount = within_length(amount, &length);
            let shifted = plain(BinaryOp::Add, indices[0].clone(), amount);
            let at = plain(BinaryOp::FloorMod, shifted, length);
            cx.read(array, vec![at], Bounds::Checked, span)
        })
    }

    fn reverse(&mut self, array: Expr, span: Span) -> Expr {
        if !array.ty.is_array() {
            return self.needs_array("reverse", &array, span);
        }
        let array = self.settle_expr(array);
        let array = self.atomise(array);
        let axes = vec![array.ty.axes()[0].clone()];
        let last = axes[0].size.offset(-1);
        self.tabulate(axes, span, |cx, indices| {
            let at = match cx.to_size(&indices[0]) {
                Some(index) => Expr::size(last.sub(&index), span),
                None => return Expr::error(span),
            };
            cx.read(array, vec![at], Bounds::Checked, span)
        })
    }

    pub(super) fn needs_array(&mut self, name: &str, value: &Expr, span: Span) -> Expr {
        let have = self.show(&value.ty);
        let d = error(Code::E0501, span, format!("`{name}` takes an array, not `{have}`"))
            .here("called here")
            .label(value.span, format!("this is `{have}`"))
            .help("pass an array");
        self.fail(d)
    }

    fn reshape(&mut self, args: Vec<Expr>, span: Span) -> Expr {
        let [a, b] = match <[Expr; 2]>::try_from(args) {
            Ok(args) => args,
            Err(args) => return self.wrong_count("reshape", 2, args.len(), span),
        };
        let is_shape = |e: &Expr| {
            matches!(&*e.kind, ExprKind::Array(items) if items.iter().all(|item| item.ty.scalar().is_some_and(|ty| ty.is_int())))
                && e.ty.rank() == 1
        };
        let (array, shape) = if is_shape(&b) || !is_shape(&a) { (a, b) } else { (b, a) };
        let ExprKind::Array(items) = &*shape.kind else {
            let d = error(Code::E0410, shape.span, "the shape of `reshape` must be written out")
                .here("its length is the rank of the result")
                .help("write the extents: `reshape(a, [2, 3])`");
            return self.fail(d);
        };
        let mut axes = Vec::new();
        let mut total = size::Expr::one();
        for item in items {
            let size = match self.to_size(item) {
                Some(size) => size,
                None => self.unknown_size(true),
            };
            total = total.mul(&size);
            axes.push(super::anonymous(size));
        }
        let have = array.ty.axes().iter().fold(size::Expr::one(), |a, axis| a.mul(&axis.size));
        if let (Some(p), Some(q)) = (have.as_constant(), total.as_constant())
            && p != q
        {
            let d = error(Code::E0405, span, format!("{p} elements cannot be reshaped to {q}"))
                .here(format!("asks for {q} elements"))
                .label(array.span, format!("this is `{}`", self.show(&array.ty)))
                .help("the product of the extents must stay the same");
            return self.fail(d);
        }
        let ty = Type::array(array.ty.elem().clone(), axes);
        Expr::new(ExprKind::Host(HostOp::Reshape, vec![array, shape]), ty, span)
    }

    /// `filter(p, xs)` with a predicate, `filter(mask, xs)` with an array of `bool`.
    fn filter(&mut self, args: Vec<Expr>, span: Span) -> Expr {
        let [keep, array] = match <[Expr; 2]>::try_from(args) {
            Ok(args) => args,
            Err(args) => return self.wrong_count("filter", 2, args.len(), span),
        };
        if !array.ty.is_array() {
            return self.needs_array("filter", &array, span);
        }
        let array = self.settle_expr(array);
        let array = self.atomise(array);
        let mask = match &keep.ty {
            Type::Template(id, _) => {
                let id = *id;
                let axes = vec![array.ty.axes()[0].clone()];
                let base = array.clone();
                self.tabulate(axes, span, |cx, indices| {
                    let item = cx.read(base, indices.to_vec(), Bounds::Proved, span);
                    cx.apply_template(id, keep, vec![item], span)
                })
            }
            Type::Signature(..) => {
                let axes = vec![array.ty.axes()[0].clone()];
                let base = array.clone();
                self.tabulate(axes, span, |cx, indices| {
                    let item = cx.read(base, indices.to_vec(), Bounds::Proved, span);
                    Expr::new(
                        ExprKind::CallValue { callee: keep, args: vec![item] },
                        Type::BOOL,
                        span,
                    )
                })
            }
            _ => keep,
        };
        if mask.ty.has_error() {
            return Expr::error(span);
        }
        if mask.ty.rank() != 1 || mask.ty.scalar() != Some(ScalarType::Bool) {
            let have = self.show(&mask.ty);
            let d = error(
                Code::E0501,
                mask.span,
                format!("`filter` takes a predicate or an array of `bool`, not `{have}`"),
            )
            .here(format!("this is `{have}`"))
            .help("write `filter(|x| x > 0.0, xs)`");
            return self.fail(d);
        }
        let mut axes = array.ty.axes().to_vec();
        axes[0].size = self.unknown_size(false);
        let ty = Type::array(array.ty.elem().clone(), axes);
        Expr::new(ExprKind::Host(HostOp::Compress, vec![array, mask]), ty, span)
    }

    fn iota(&mut self, arg: Expr, span: Span) -> Expr {
        let sizes: Vec<size::Expr> = match &*arg.kind {
            ExprKind::Array(items) => items
                .clone()
                .iter()
                .map(|item| match self.to_size(item) {
                    Some(size) => size,
                    None => self.unknown_size(true),
                })
                .collect(),
            _ => {
                let arg = self.expect_integer(arg.clone(), "the length of `iota`");
                if arg.ty.has_error() {
                    return Expr::error(span);
                }
                vec![match self.to_size(&arg) {
                    Some(size) => size,
                    None => self.unknown_size(false),
                }]
            }
        };
        let axes = sizes.into_iter().map(super::anonymous).collect();
        Expr::new(ExprKind::Host(HostOp::Iota, vec![arg]), Type::array(Type::I32, axes), span)
    }

    fn io(&mut self, op: IoOp, args: Vec<Expr>, span: Span) -> Expr {
        let (count, ty) = match op {
            IoOp::LoadNpy => (1, Type::AnyRank(Box::new(Type::F32))),
            IoOp::SaveNpy => (2, Type::BOOL),
            IoOp::CurrentDir => (0, Type::Str),
            IoOp::ScriptDir => (0, Type::Str),
            IoOp::FileExists => (1, Type::BOOL),
            IoOp::IsFile => (1, Type::BOOL),
            IoOp::IsDir => (1, Type::BOOL),
            IoOp::FileSize => (1, Type::Scalar(ScalarType::I64)),
            IoOp::ListDir => {
                let size = self.unknown_size(true);
                (1, Type::array(Type::Str, vec![super::anonymous(size)]))
            }
            IoOp::AbsolutePath => (1, Type::Str),
            IoOp::CreateDir => (1, Type::BOOL),
            IoOp::RemoveDir => (1, Type::BOOL),
            IoOp::DeleteFile => (1, Type::BOOL),
            IoOp::CopyFile => (2, Type::BOOL),
            IoOp::MoveFile => (2, Type::BOOL),
            IoOp::ReadFile => (1, Type::Str),
            IoOp::WriteFile => (2, Type::BOOL),
            IoOp::AppendFile => (2, Type::BOOL),
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
}

/// An integer of any type as the position in an array of this length that is as far from the start.
fn within_length(amount: Expr, length: &Expr) -> Expr {
    let span = amount.span;
    let convert = |e: Expr, ty: &Type| match e.ty == *ty {
        true => e,
        false => Expr::new(ExprKind::Cast(e), ty.clone(), span),
    };
    // Lengths fit in each of these types.
    let ty = match amount.ty {
        Type::I32 | Type::Scalar(ScalarType::U64) => amount.ty.clone(),
        _ => Type::Scalar(ScalarType::I64),
    };
    let (amount, length) = (convert(amount, &ty), convert(length.clone(), &ty));
    let rest = Expr::new(ExprKind::Binary(BinaryOp::FloorMod, amount, length), ty, span);
    convert(rest, &Type::I32)
}
