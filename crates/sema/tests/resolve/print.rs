//! The resolved root module as text. A local is its name; a second local of that name is `x'2`,
//! and so on. `@c` is a free coordinate, `..s` a pack, `?n` a size.

use ein_sema::hir::*;
use std::cell::RefCell;

/// Statements of the root module, then its functions and constants, one per line.
pub fn program(program: &Program) -> String {
    let printer = Printer { program, seen: RefCell::default() };
    let mut lines = Vec::new();
    for module in program.modules.iter().filter(|m| !m.library) {
        lines.extend(module.stmts.iter().map(|s| printer.stmt(s)));
        lines.extend(
            module.tests.iter().map(|t| format!("test {}: {}", t.name, printer.expr(t.body))),
        );
    }
    for def in program.defs.iter() {
        if !program.modules[def.module].library {
            lines.push(printer.def(def));
        }
    }
    lines.join("\n")
}

struct Printer<'a> {
    program: &'a Program,
    seen: RefCell<Vec<LocalId>>,
}

fn list<T>(items: &[T], f: impl Fn(&T) -> String) -> String {
    items.iter().map(f).collect::<Vec<_>>().join(", ")
}

impl Printer<'_> {
    fn local(&self, id: LocalId) -> String {
        let mut seen = self.seen.borrow_mut();
        if !seen.contains(&id) {
            seen.push(id);
        }
        let name = self.program.locals[id].name.sym;
        let same = |other: &&LocalId| self.program.locals[**other].name.sym == name;
        let number =
            seen.iter().filter(same).position(|other| *other == id).unwrap_or_default() + 1;
        if number == 1 { name.to_string() } else { format!("{name}'{number}") }
    }

    fn def(&self, def: &Def) -> String {
        match &def.kind {
            DefKind::Error => format!("error {}", def.name),
            DefKind::Const(c) => format!("const {} = {}", def.name, self.expr(c.value)),
            DefKind::Struct(s) => {
                format!("struct {} {{ {} }}", def.name, list(&s.fields, |f| self.field(f)))
            }
            DefKind::Enum(e) => {
                let variants = list(&e.variants, |v| {
                    format!("{}({})", v.name, list(&v.fields, |f| self.field(f)))
                });
                format!("enum {} {{ {variants} }}", def.name)
            }
            DefKind::Fn(f) => {
                let coords = f.coords.as_ref().map_or(String::new(), |coords| {
                    let coords = list(coords, |c| {
                        format!("{}{}", if c.pack.is_some() { ".." } else { "" }, c.name)
                    });
                    format!("[{coords}]")
                });
                let ret = f.ret.as_ref().map_or(String::new(), |t| format!(" -> {}", self.ty(t)));
                let params = list(&f.params, |p| self.param(p));
                let names = [("sizes", &f.sizes), ("packs", &f.packs)];
                let names = names.iter().filter(|(_, ids)| !ids.is_empty());
                let names: String = names
                    .map(|(what, ids)| format!(" {what} {}", list(ids, |id| self.local(*id))))
                    .collect();
                let rule = f.rule.as_ref().map_or(String::new(), |r| {
                    let params = list(&r.params, |p| self.param(p));
                    format!(" @({params}) {}", self.expr(r.body))
                });
                let body = self.expr(f.body);
                format!("fn {}{coords}({params}){ret}{names} {body}{rule}", def.name)
            }
        }
    }

    fn field(&self, field: &Field) -> String {
        format!("{}: {}", field.name, self.ty(&field.ty))
    }

    fn param(&self, param: &Param) -> String {
        let ty = param.ty.as_ref().map_or(String::new(), |t| format!(": {}", self.ty(t)));
        let default = param.default.map_or(String::new(), |e| format!(" = {}", self.expr(e)));
        format!("{}{ty}{default}", self.pat(&param.pat))
    }

    fn stmt(&self, stmt: &Stmt) -> String {
        match &stmt.kind {
            StmtKind::Expr(e) => self.expr(*e),
            StmtKind::Let { pat, ty, value } => {
                let ty = ty.as_ref().map_or(String::new(), |t| format!(": {}", self.ty(t)));
                let value = self.expr(*value);
                format!("let {}{ty} = {value}", self.pat(pat))
            }
            StmtKind::Define(d) => {
                let name = self.local(d.local);
                let clauses = d.clauses.iter().map(|c| {
                    let slots = list(&c.slots, |s| match &s.kind {
                        LeftSlotKind::Index(b) => self.binder(b),
                        LeftSlotKind::Literal(n) => n.to_string(),
                        LeftSlotKind::Point(point) => self.expr(*point),
                        LeftSlotKind::Error => "!".into(),
                    });
                    format!("{name}[{slots}] = {}", self.expr(c.body))
                });
                format!("define {}", clauses.collect::<Vec<_>>().join("; "))
            }
        }
    }

    fn binder(&self, binder: &Binder) -> String {
        let name = self.local(binder.local);
        let name = if binder.pack { format!("..{name}") } else { name };
        match &binder.domain {
            None => name,
            Some(Domain::Range { lo, hi, inclusive, .. }) => {
                let op = if *inclusive { "..=" } else { ".." };
                format!("{name} in {}{op}{}", self.expr(*lo), self.expr(*hi))
            }
            Some(Domain::Coord(c)) => format!("{name} in {}", self.coord(c)),
            Some(Domain::Other(e)) => format!("{name} over {}", self.expr(*e)),
        }
    }

    fn coord(&self, coord: &CoordRef) -> String {
        match coord.local {
            Some(local) => format!("@{}", self.local(local)),
            None => format!("@{}", coord.name),
        }
    }

    fn args(&self, args: &[Arg]) -> String {
        list(args, |arg| match arg.name {
            Some(name) => format!("{name} = {}", self.expr(arg.value)),
            None => self.expr(arg.value),
        })
    }

    fn name(&self, def: DefId) -> String {
        self.program.defs[def].name.to_string()
    }

    fn expr(&self, id: ExprId) -> String {
        let e = |id: &ExprId| self.expr(*id);
        match &self.program.exprs[id].kind {
            ExprKind::Int(value, _) => value.to_string(),
            ExprKind::Float(text, _) => text.to_string(),
            ExprKind::Bool(value) => value.to_string(),
            ExprKind::Str(parts) => {
                let parts = parts.iter().map(|part| match part {
                    StrPart::Text(text) => text.to_string(),
                    StrPart::Value(value, _) => format!("{{{}}}", self.expr(*value)),
                });
                format!("\"{}\"", parts.collect::<String>())
            }
            ExprKind::Local(local) => self.local(*local),
            ExprKind::Size(local) => format!("?{}", self.local(*local)),
            ExprKind::Fn(def) => format!("fn:{}", self.name(*def)),
            ExprKind::Const(def) => format!("const:{}", self.name(*def)),
            ExprKind::Variant(def, i) => match &self.program.defs[*def].kind {
                DefKind::Enum(data) => format!("{}::{}", self.name(*def), data.variants[*i].name),
                _ => "?".into(),
            },
            ExprKind::Builtin(Builtin::Unary(op)) => format!("intrinsic:{op}"),
            ExprKind::Builtin(builtin) => format!("{builtin:?}"),
            ExprKind::Coord(name) => format!("@{name}"),
            ExprKind::Unary(op, a) => format!("{op:?}({})", e(a)),
            ExprKind::Binary(op, a, b) => format!("({} {} {})", e(a), op.as_str(), e(b)),
            ExprKind::Range { lo, hi, inclusive } => {
                let op = if *inclusive { "..=" } else { ".." };
                let end = |x: &Option<ExprId>| x.as_ref().map_or(String::new(), e);
                format!("{}{op}{}", end(lo), end(hi))
            }
            ExprKind::Cast(a, ty) => format!("({} as {})", e(a), self.ty(ty)),
            ExprKind::At(a) => format!("d({})", e(a)),
            ExprKind::Call { callee, args } => format!("{}({})", e(callee), self.args(args)),
            ExprKind::CoordCall { callee, coords, args } => {
                let callee = e(callee);
                let coords = list(coords, |c| match c {
                    CoordArg::Coord(c) => self.coord(c),
                    CoordArg::Group(names, _) => format!("({})", list(names, |c| self.coord(c))),
                    CoordArg::Pack(local, _) => format!("..{}", self.local(*local)),
                    CoordArg::Axis(axis, _) => format!("#{axis}"),
                    CoordArg::Size(name, value) => format!("{name} = {}", self.expr(*value)),
                    CoordArg::Error => "!".into(),
                });
                format!("{callee}[{coords}]({})", self.args(args))
            }
            ExprKind::Reduce { op, binders, body, .. } => {
                let binders = list(binders, |b| self.binder(b));
                format!("{}[{binders}]({})", op.as_str(), e(body))
            }
            ExprKind::Extent { of, coord } => {
                let of = of.as_ref().map_or(String::new(), |of| format!("{}, ", e(of)));
                format!("extent({of}{})", self.coord(coord))
            }
            ExprKind::Index { base, slots } => {
                let base = e(base);
                let slots = list(slots, |s| match s {
                    Slot::Expr(expr) => self.expr(*expr),
                    Slot::Stepped(range, step) => {
                        format!("{}; {}", self.expr(*range), self.expr(*step))
                    }
                    Slot::Pack(local, _) => format!("..{}", self.local(*local)),
                });
                format!("{base}[{slots}]")
            }
            ExprKind::Field(a, name) => format!("{}.{name}", e(a)),
            ExprKind::TupleField(a, i, _) => format!("{}.{i}", e(a)),
            ExprKind::Array(items) => format!("[{}]", list(items, e)),
            ExprKind::Tuple(items) => format!("({})", list(items, e)),
            ExprKind::Comprehension { body, clauses } => {
                let clauses = list(clauses, |c| match c {
                    CompClause::Generator(pat, over) => {
                        let over = self.expr(*over);
                        format!("{} in {over}", self.pat(pat))
                    }
                    CompClause::Condition(cond) => self.expr(*cond),
                    CompClause::Binding(local, value) => {
                        format!("{} = {}", self.local(*local), self.expr(*value))
                    }
                });
                format!("[{clauses} | {}]", e(body))
            }
            ExprKind::Struct { def, variant, fields } => {
                let fields = list(fields, |(name, v)| format!("{name}: {}", self.expr(*v)));
                let variant = variant.map_or(String::new(), |v| format!("#{v}"));
                format!("{}{variant} {{ {fields} }}", self.name(*def))
            }
            ExprKind::Block { stmts, tail } => {
                let mut text: Vec<String> = stmts.iter().map(|s| self.stmt(s)).collect();
                text.extend(tail.as_ref().map(e));
                format!("{{ {} }}", text.join("; "))
            }
            ExprKind::If { cond, then, otherwise } => {
                let text = format!("if {} {}", e(cond), e(then));
                otherwise.as_ref().map_or(text.clone(), |o| format!("{text} else {}", e(o)))
            }
            ExprKind::Match { scrutinee, arms } => {
                let scrutinee = e(scrutinee);
                let arms = list(arms, |arm| {
                    let pat = self.pat(&arm.pat);
                    let guard =
                        arm.guard.map_or(String::new(), |g| format!(" where {}", self.expr(g)));
                    format!("{pat}{guard} => {}", self.expr(arm.body))
                });
                format!("match {scrutinee} {{ {arms} }}")
            }
            ExprKind::Closure { params, body, captures } => {
                let params = list(params, |p| self.param(p));
                let body = e(body);
                let captures = list(captures, |c| self.local(*c));
                format!("|{params}|<{captures}> {body}")
            }
            ExprKind::OptionPipe { value, local, call } => {
                let value = e(value);
                format!("({value} ?> {}. {})", self.local(*local), e(call))
            }
            ExprKind::ResultPipe { value, local, call } => {
                let value = e(value);
                format!("({value} !> {}. {})", self.local(*local), e(call))
            }
            ExprKind::OrElse(a, b) => format!("({} else {})", e(a), e(b)),
            ExprKind::Catch { value, param, handler } => {
                let value = e(value);
                format!("({value} catch |{}| {})", self.local(*param), e(handler))
            }
            ExprKind::Try(a) => format!("try {}", e(a)),
            ExprKind::Where { body, items, otherwise } => {
                let items = list(items, |item| match item {
                    WhereItem::Binding(local, value) => {
                        format!("{} = {}", self.local(*local), self.expr(*value))
                    }
                    WhereItem::Guard(guard) => self.expr(*guard),
                });
                let text = format!("({} where {items}", e(body));
                let end = otherwise.as_ref().map_or(String::new(), |o| format!(" else {}", e(o)));
                format!("{text}{end})")
            }
            ExprKind::Error => "!".into(),
        }
    }

    fn pat(&self, pat: &Pat) -> String {
        match &pat.kind {
            PatKind::Wild => "_".into(),
            PatKind::Bind(local, ty) => {
                let ty = ty.as_ref().map_or(String::new(), |t| format!(": {}", self.ty(t)));
                format!("{}{ty}", self.local(*local))
            }
            PatKind::Literal(e) => self.expr(*e),
            PatKind::Range { lo, hi, .. } => {
                let end = |x: &Option<ExprId>| x.map_or(String::new(), |e| self.expr(e));
                format!("{}..{}", end(lo), end(hi))
            }
            PatKind::Const(def) => format!("const:{}", self.name(*def)),
            PatKind::Tuple(pats) => format!("({})", list(pats, |p| self.pat(p))),
            PatKind::Array { before, rest, after } => {
                let before = list(before, |p| self.pat(p));
                let rest = rest.map_or(String::new(), |rest| {
                    format!(" ..{}", rest.map_or(String::new(), |r| self.local(r)))
                });
                format!("[{before}{rest} {}]", list(after, |p| self.pat(p)))
            }
            PatKind::Data { def, variant, fields, rest } => {
                let variant = variant.map_or(String::new(), |v| format!("#{v}"));
                let fields = list(fields, |(name, p)| format!("{name}: {}", self.pat(p)));
                let rest = if *rest { " .." } else { "" };
                format!("{}{variant} {{ {fields}{rest} }}", self.name(*def))
            }
            PatKind::Or(pats) => pats.iter().map(|p| self.pat(p)).collect::<Vec<_>>().join(" | "),
            PatKind::At(local, inner) => format!("{} @ {}", self.local(*local), self.pat(inner)),
            PatKind::Error => "!".into(),
        }
    }

    fn ty(&self, ty: &Type) -> String {
        match &ty.kind {
            TypeKind::Scalar(scalar) => scalar.name().into(),
            TypeKind::Str => "str".into(),
            TypeKind::Data(def, args) => {
                format!("{}<{}>", self.name(*def), list(args, |t| self.ty(t)))
            }
            TypeKind::Param(local) => self.local(*local),
            TypeKind::Array { elem, dims, no_broadcast } => {
                let dims = list(dims, |d| match &d.kind {
                    DimKind::Unknown => "?".into(),
                    DimKind::Size(e) => self.expr(*e),
                    DimKind::Pack(local) => format!("..{}", self.local(*local)),
                    DimKind::Coord { name, extent, over } => {
                        let extent =
                            extent.map_or(String::new(), |e| format!(": {}", self.expr(e)));
                        let over = over.map_or(String::new(), |o| format!(" in {o}"));
                        format!("@{name}{over}{extent}")
                    }
                });
                let mark = if *no_broadcast { "!" } else { "" };
                format!("[{}; {dims}]{mark}", self.ty(elem))
            }
            TypeKind::AnyRank(elem) => format!("[{}; *]", self.ty(elem)),
            TypeKind::Jagged(elem, depth) => format!("jagged[{}; {depth}d]", self.ty(elem)),
            TypeKind::Tuple(types) => format!("({})", list(types, |t| self.ty(t))),
            TypeKind::Function(params, ret) => {
                format!("({}) -> {}", list(params, |t| self.ty(t)), self.ty(ret))
            }
            TypeKind::Some(sizes, body) => {
                format!("some {}. {}", list(sizes, |s| self.local(*s)), self.ty(body))
            }
            TypeKind::Error => "!".into(),
        }
    }
}
