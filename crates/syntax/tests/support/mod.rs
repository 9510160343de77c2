//! Random programs that use the whole grammar.

/// A small random number generator, so that a program is a function of its seed.
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Self {
        Self(seed ^ 0x9e37_79b9_7f4a_7c15)
    }
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
    pub fn pick<'a>(&mut self, items: &[&'a str]) -> &'a str {
        items[self.below(items.len())]
    }
}

const NAMES: &[&str] = &[
    "x",
    "y",
    "z",
    "foo",
    "batch",
    "in",
    "where",
    "as",
    "test",
    "some",
    "mod",
    "catch",
    "λ",
    "été",
    "_t",
    "sum",
    "max",
    "a_rather_long_name",
    "another_name_that_is_long",
    "i",
    "j",
    "k",
    "W",
    "self",
    "crate",
];
const LITERALS: &[&str] = &[
    "0",
    "1",
    "42",
    "0xff",
    "0b1010",
    "0o17",
    "1_000_000",
    "7i64",
    "255u8",
    "1.5",
    "2.5e3",
    "1e-5",
    "2.5f64",
    "3f32",
    "1bf16",
    "true",
    "false",
    "\"\"",
    "\"plain\"",
    "\"a{x}b\"",
    "\"{x:.2f}|{n:05d}\"",
    "\"{{}}\\n\\u{3b1}\"",
    "\"{(3, \"y\")}\"",
    "\"{if a { 1 } else { \"{b:>8}\" }}\"",
    "\"{x[i]:*^+08.3e}\"",
];
const BINARY: &[(&str, u8)] = &[
    ("||", 2),
    ("&&", 3),
    ("==", 4),
    ("!=", 4),
    ("<", 5),
    (">", 5),
    ("<=", 5),
    (">=", 5),
    ("in", 5),
    ("+", 7),
    ("-", 7),
    ("*", 8),
    ("/", 8),
    ("%", 8),
    ("**", 9),
];

/// Writes a random program. With comments, some stand between any two tokens.
pub fn program(seed: u64, comments: bool) -> String {
    let mut gen_ = Gen { rng: Rng::new(seed), out: Vec::new() };
    let count = 1 + gen_.rng.below(5);
    for _ in 0..count {
        gen_.stmt(4, true);
    }
    let Gen { mut rng, out } = gen_;
    let mut text = String::new();
    for token in out {
        if comments && rng.chance(7) {
            text.push_str(rng.pick(&[
                "// line\n",
                "/* block */",
                "/* two\n   lines */",
                "/// doc\n",
                "//! file\n",
                "\n// own line\n",
                "\n\n/// doc own\n",
                "/* a */ /* b */",
                "\n/* own */\n",
            ]));
        }
        text.push_str(&token);
        text.push_str(rng.pick(&[" ", " ", " ", "\n", "  ", "\n\n\n", "\t", "\r\n"]));
    }
    text
}

struct Gen {
    rng: Rng,
    out: Vec<String>,
}

impl Gen {
    fn t(&mut self, token: &str) {
        self.out.push(token.to_string());
    }
    fn name(&mut self) {
        let name = self.rng.pick(NAMES).to_string();
        self.out.push(name);
    }
    fn plain_name(&mut self) {
        let name = self.rng.pick(&["x", "y", "foo", "batch", "λ", "k"]).to_string();
        self.out.push(name);
    }
    fn list(&mut self, max: usize, trailing: bool, mut item: impl FnMut(&mut Self)) -> usize {
        let count = self.rng.below(max + 1);
        for i in 0..count {
            if i > 0 {
                self.t(",");
            }
            item(self);
        }
        if count > 0 && trailing && self.rng.chance(20) {
            self.t(",");
        }
        count
    }

    // Statements.

    fn stmt(&mut self, depth: usize, top: bool) {
        if self.rng.chance(10) {
            let doc = self
                .rng
                .pick(&["\n/// documented\n", "\n//! file\n", "\n// remark\n", "\n\n/* block */\n"])
                .to_string();
            self.out.push(doc);
        }
        match self.rng.below(if top { 16 } else { 10 }) {
            0..=2 => {
                self.t("let");
                self.let_pattern(2);
                if self.rng.chance(40) {
                    self.t(":");
                    self.ty(2);
                }
                self.t("=");
                self.expr_where(depth);
                self.t(";");
            }
            3 | 4 => {
                self.t("let");
                self.name();
                self.t("[");
                self.list(3, true, |g| match g.rng.below(5) {
                    0 => g.name(),
                    1 => {
                        g.name();
                        g.t("in");
                        g.expr(depth.min(2));
                    }
                    2 => {
                        if g.rng.chance(30) {
                            g.t("-");
                        }
                        let literal = g.rng.pick(&["0", "1", "0x10", "1_0"]).to_string();
                        g.out.push(literal);
                    }
                    _ => {
                        g.t("..");
                        g.name();
                    }
                });
                self.t("]");
                self.t("=");
                self.expr_where(depth);
                self.t(";");
            }
            5 | 6 => {
                self.expr_stmt(depth);
                self.t(";");
            }
            7 => self.function(depth),
            8 => {
                self.if_expr(depth);
                if self.rng.chance(40) {
                    self.t(";");
                } else {
                    // What follows must not continue it.
                    self.t("let");
                    self.t("after");
                    self.t("=");
                    self.t("1");
                    self.t(";");
                }
            }
            9 => {
                self.t("const");
                self.plain_name();
                if self.rng.chance(50) {
                    self.t(":");
                    self.ty(1);
                }
                self.t("=");
                self.expr(depth);
                self.t(";");
            }
            10 => {
                if self.rng.chance(40) {
                    self.t("pub");
                }
                self.t("use");
                self.use_tree(2);
                self.t(";");
            }
            11 => {
                if self.rng.chance(40) {
                    self.t("pub");
                }
                self.t("mod");
                self.plain_name();
                if self.rng.chance(50) {
                    self.t(";");
                } else {
                    self.t("{");
                    for _ in 0..self.rng.below(3) {
                        self.stmt(depth - 1, depth > 2);
                    }
                    self.t("}");
                }
            }
            12 => {
                self.t("struct");
                self.name();
                self.generics();
                self.fields();
            }
            13 => {
                if self.rng.chance(40) {
                    self.t("pub");
                }
                self.t("enum");
                self.name();
                self.generics();
                self.t("{");
                self.list(3, true, |g| {
                    g.name();
                    match g.rng.below(3) {
                        0 => {}
                        1 => {
                            g.t("(");
                            g.list(2, true, |g| g.ty(1));
                            g.t(")");
                        }
                        _ => g.fields(),
                    }
                });
                self.t("}");
            }
            14 => {
                self.t("test");
                self.t("\"a test\"");
                self.block(depth);
            }
            _ => {
                self.t("@");
                self.t("fn");
                self.name();
                self.t("(");
                self.list(2, true, |g| g.name());
                self.t(")");
                self.block(depth);
            }
        }
    }

    /// An expression that may start a statement.
    fn expr_stmt(&mut self, depth: usize) {
        self.t("(");
        self.expr(depth);
        self.t(")");
        if self.rng.chance(50) {
            self.t("+");
            self.operand(depth.saturating_sub(1), 8);
        }
    }

    fn fields(&mut self) {
        self.t("{");
        self.list(3, true, |g| {
            g.name();
            g.t(":");
            g.ty(2);
        });
        self.t("}");
    }

    fn generics(&mut self) {
        if self.rng.chance(30) {
            self.t("<");
            self.t("T");
            if self.rng.chance(50) {
                self.t(",");
                self.t("U");
            }
            self.t(">");
        }
    }

    fn function(&mut self, depth: usize) {
        if self.rng.chance(30) {
            self.t("pub");
        }
        self.t("fn");
        self.name();
        self.generics();
        if self.rng.chance(30) {
            self.t("[");
            self.list(3, true, |g| {
                if g.rng.chance(40) {
                    g.t("..");
                }
                g.name();
            });
            self.t("]");
        }
        self.t("(");
        self.list(4, true, |g| {
            g.name();
            if g.rng.chance(60) {
                g.t(":");
                g.ty(2);
            }
            if g.rng.chance(20) {
                g.t("=");
                g.expr(1);
            }
        });
        self.t(")");
        if self.rng.chance(50) {
            self.t("->");
            self.ty(2);
        }
        self.block(depth);
    }

    fn use_tree(&mut self, depth: usize) {
        for _ in 0..self.rng.below(3) {
            self.plain_name();
            self.t("::");
        }
        match self.rng.below(4) {
            0 => self.t("*"),
            1 if depth > 0 => {
                self.t("{");
                self.list(3, true, |g| g.use_tree(depth - 1));
                self.t("}");
            }
            _ => {
                self.name();
                if self.rng.chance(30) {
                    self.t("as");
                    self.name();
                }
            }
        }
    }

    fn block(&mut self, depth: usize) {
        self.t("{");
        if depth > 0 {
            for _ in 0..self.rng.below(3) {
                self.stmt(depth - 1, false);
            }
        }
        if self.rng.chance(70) {
            self.t("(");
            self.expr(depth.saturating_sub(1));
            self.t(")");
        }
        self.t("}");
    }

    // Patterns.

    fn let_pattern(&mut self, depth: usize) {
        match self.rng.below(6) {
            0 => self.t("_"),
            1 if depth > 0 => {
                self.t("(");
                self.list(3, true, |g| {
                    g.let_pattern(depth - 1);
                });
                self.t(")");
            }
            2 if depth > 0 => {
                self.t("(");
                self.plain_name();
                self.t(":");
                self.ty(1);
                self.t(",");
                self.plain_name();
                self.t(")");
            }
            _ => self.plain_name(),
        }
    }

    fn pattern(&mut self, depth: usize) {
        if depth == 0 {
            return match self.rng.below(3) {
                0 => self.t("_"),
                1 => self.plain_name(),
                _ => self.literal_pattern(),
            };
        }
        match self.rng.below(12) {
            0 => self.t("_"),
            1 | 2 => self.plain_name(),
            3 => self.literal_pattern(),
            4 => {
                if self.rng.chance(70) {
                    self.literal_pattern();
                    let op = self.rng.pick(&["..", "..="]).to_string();
                    self.out.push(op);
                    self.literal_pattern();
                } else {
                    self.t("..=");
                    self.t("5");
                }
            }
            5 => {
                self.t("(");
                self.list(3, true, |g| g.pattern(depth - 1));
                self.t(")");
            }
            6 => {
                self.t("[");
                self.pattern(depth - 1);
                self.t(",");
                self.t("..");
                if self.rng.chance(50) {
                    self.plain_name();
                }
                if self.rng.chance(50) {
                    self.t(",");
                    self.pattern(depth - 1);
                }
                self.t("]");
            }
            7 => {
                self.t("Shape");
                self.t("::");
                self.t("Dot");
            }
            8 => {
                self.t("Circle");
                self.t("(");
                self.list(2, true, |g| g.pattern(depth - 1));
                self.t(")");
            }
            9 => {
                self.t("Rect");
                self.t("{");
                let count = self.list(2, false, |g| {
                    g.plain_name();
                    if g.rng.chance(50) {
                        g.t(":");
                        g.pattern(depth - 1);
                    }
                });
                if self.rng.chance(40) {
                    if count > 0 {
                        self.t(",");
                    }
                    self.t("..");
                }
                self.t("}");
            }
            10 => {
                self.plain_name();
                self.t("@");
                self.t("(");
                self.pattern(depth - 1);
                self.t(")");
            }
            _ => {
                self.t("(");
                self.pattern(depth - 1);
                self.t("|");
                self.pattern(depth - 1);
                self.t(")");
            }
        }
    }

    fn literal_pattern(&mut self) {
        match self.rng.below(4) {
            0 => {
                self.t("-");
                self.t("1");
            }
            1 => self.t("2.5"),
            2 => self.t("\"a\""),
            _ => self.t("7"),
        }
    }

    // Types.

    fn ty(&mut self, depth: usize) {
        if depth == 0 {
            let ty = self.rng.pick(&["f32", "i32", "bool", "str", "Point"]).to_string();
            return self.out.push(ty);
        }
        match self.rng.below(10) {
            0 | 1 => self.ty(0),
            2 => {
                self.t("[");
                self.ty(depth - 1);
                self.t("]");
            }
            3..=5 => {
                self.t("[");
                self.ty(depth - 1);
                self.t(";");
                if self.rng.chance(10) {
                    self.t("*");
                    self.t("]");
                    return;
                }
                self.list(4, true, Self::dim);
                self.t("]");
                if self.rng.chance(20) {
                    self.t("!");
                }
            }
            6 => {
                self.t("jagged");
                self.t("[");
                self.ty(depth - 1);
                if self.rng.chance(50) {
                    self.t(";");
                    self.t("2d");
                }
                self.t("]");
            }
            7 => {
                self.t("(");
                self.list(3, true, |g| g.ty(depth - 1));
                self.t(")");
                if self.rng.chance(50) {
                    self.t("->");
                    self.ty(depth - 1);
                }
            }
            8 => {
                self.t("some");
                self.plain_name();
                if self.rng.chance(40) {
                    self.plain_name();
                }
                self.t(".");
                self.ty(depth - 1);
            }
            _ => {
                self.t("std");
                self.t("::");
                self.t("Option");
                self.t("<");
                self.ty(depth - 1);
                self.t(">");
            }
        }
    }

    fn dim(&mut self) {
        match self.rng.below(8) {
            0 => self.t("3"),
            1 => self.t("?"),
            2 => {
                self.t("?");
                self.name();
            }
            3 => self.name(),
            4 => {
                self.name();
                self.t(":");
                self.t("?");
                self.plain_name();
                self.t("+");
                self.t("1");
            }
            5 => {
                self.name();
                self.t("in");
                self.name();
            }
            6 => {
                self.t("..");
                self.name();
            }
            _ => {
                self.t("(");
                self.plain_name();
                self.t(")");
                if self.rng.chance(50) {
                    self.t("*");
                    self.t("2");
                }
            }
        }
    }

    // Expressions.

    fn expr_where(&mut self, depth: usize) {
        self.expr(depth);
        if depth > 0 && self.rng.chance(25) {
            self.where_items(depth);
        }
    }

    fn where_items(&mut self, depth: usize) {
        self.t("where");
        let count = 1 + self.rng.below(3);
        for i in 0..count {
            if i > 0 {
                self.t(",");
            }
            if self.rng.chance(50) {
                self.name();
                self.t("=");
            }
            self.operand(depth - 1, 2);
        }
        if self.rng.chance(40) {
            self.t("else");
            self.operand(depth - 1, 2);
        }
    }

    /// Any expression without `where`.
    fn expr(&mut self, depth: usize) {
        let start = self.out.len();
        self.expr_at(depth);
        let _ = start;
    }

    /// An operand of level `min` or tighter.
    fn operand(&mut self, depth: usize, min: u8) {
        let start = self.out.len();
        let level = self.expr_at(depth);
        let parens = level < min || self.rng.chance(10);
        if parens {
            self.out.insert(start, "(".into());
            self.t(")");
        }
    }

    /// Writes an expression and returns its level; 0 for what must always be in parentheses.
    fn expr_at(&mut self, depth: usize) -> u8 {
        if depth == 0 {
            return match self.rng.below(6) {
                0 | 1 => {
                    self.name();
                    13
                }
                2 => {
                    self.t("?");
                    self.name();
                    13
                }
                _ => {
                    let literal = self.rng.pick(LITERALS).to_string();
                    self.out.push(literal);
                    13
                }
            };
        }
        let d = depth - 1;
        match self.rng.below(26) {
            0..=4 => {
                let (op, level) = BINARY[self.rng.below(BINARY.len())];
                let (lhs, rhs) = match level {
                    4 => (5, 5),
                    5 => (6, 6),
                    9 => (12, 9),
                    _ => (level, level + 1),
                };
                self.operand(d, lhs);
                self.t(op);
                self.operand(d, rhs);
                level
            }
            5 => {
                let op = self.rng.pick(&["-", "!", "@"]).to_string();
                self.out.push(op);
                self.operand(d, 11);
                11
            }
            6 => self.range(d),
            7 => {
                self.operand(d, 10);
                self.t("as");
                match self.rng.below(4) {
                    0 => {
                        self.t("(");
                        self.ty(2);
                        self.t(")");
                    }
                    1 => {
                        self.t("[");
                        self.ty(1);
                        self.t("]");
                    }
                    _ => self.ty(0),
                }
                10
            }
            8..=10 => {
                self.operand(d, 12);
                self.t("(");
                self.args(d);
                self.t(")");
                12
            }
            11..=13 => {
                self.operand(d, 12);
                self.slots(d);
                if self.rng.chance(40) {
                    self.t("(");
                    self.args(d);
                    self.t(")");
                }
                12
            }
            14 => {
                self.operand(d, 12);
                self.t(".");
                match self.rng.below(3) {
                    0 => self.t("0"),
                    1 => {
                        self.t("1");
                        self.t(".");
                        self.t("2");
                    }
                    _ => self.name(),
                }
                12
            }
            15 => {
                self.t("[");
                self.list(4, true, |g| g.expr(d));
                self.t("]");
                13
            }
            16 => {
                self.t("(");
                self.list(3, true, |g| g.expr(d));
                self.t(")");
                13
            }
            17 => {
                self.comprehension(d);
                13
            }
            18 => {
                self.t("Point");
                self.t("{");
                self.list(3, true, |g| {
                    g.name();
                    g.t(":");
                    g.expr(d);
                });
                self.t("}");
                // In a head it needs parentheses; as an operand it may have them anywhere.
                0
            }
            19 => {
                self.block(d);
                0
            }
            20 => {
                self.if_expr(d);
                0
            }
            21 => {
                self.match_expr(d);
                0
            }
            22 => {
                if self.rng.chance(15) {
                    self.t("||");
                } else {
                    self.t("|");
                    self.list(2, true, |g| {
                        g.let_pattern(1);
                        if g.rng.chance(30) {
                            g.t(":");
                            g.ty(1);
                        }
                    });
                    self.t("|");
                }
                self.expr(d);
                0
            }
            23 => {
                self.operand(d, 2);
                let mut plain = true;
                for _ in 0..1 + self.rng.below(2) {
                    let op = self.rng.pick(&["|>", "?>", "!>"]).to_string();
                    plain = op == "|>";
                    self.out.push(op);
                    self.operand(d, 2);
                }
                match self.rng.below(3) {
                    0 => {}
                    1 if plain => {}
                    1 => {
                        self.t("else");
                        self.operand(d, 2);
                    }
                    _ => {
                        self.t("catch");
                        self.t("|");
                        self.name();
                        self.t("|");
                        self.operand(d, 2);
                    }
                }
                1
            }
            24 => {
                self.t("try");
                self.operand(d, 2);
                0
            }
            _ => {
                self.t("(");
                self.expr_where(d);
                self.t(")");
                13
            }
        }
    }

    fn range(&mut self, depth: usize) -> u8 {
        let op = self.rng.pick(&["..", "..="]).to_string();
        match self.rng.below(5) {
            0 => {
                self.out.push(op);
                self.operand(depth, 7);
                6
            }
            1 => {
                // Where a name follows, it would be the end of the range.
                self.t("(");
                self.operand(depth, 7);
                self.t("..");
                self.t(")");
                13
            }
            _ => {
                self.operand(depth, 7);
                self.out.push(op);
                self.operand(depth, 7);
                6
            }
        }
    }

    fn args(&mut self, depth: usize) {
        let count = self.rng.below(4);
        for i in 0..count {
            if i > 0 {
                self.t(",");
            }
            if self.rng.chance(20) {
                self.name();
                self.t("=");
            }
            self.expr(depth);
        }
        if count > 0 && depth > 0 && self.rng.chance(15) {
            self.where_items(depth);
        }
        if count > 0 && self.rng.chance(15) {
            self.t(",");
        }
    }

    fn slots(&mut self, depth: usize) {
        self.t("[");
        self.list(3, true, |g| match g.rng.below(10) {
            0 => {
                g.t("..");
                g.name();
            }
            1 => {
                g.name();
                g.t("in");
                g.expr(depth);
            }
            2 => {
                g.t("#");
                g.t("1");
            }
            3 => {
                g.name();
                g.t("=");
                g.expr(depth);
            }
            4 => {
                g.t("(");
                g.list(3, true, |g| g.name());
                g.t(")");
            }
            5 => {
                g.t("..");
                g.t("(");
                g.name();
                g.t(")");
            }
            6 => {
                g.operand(depth, 7);
                g.t("..");
            }
            _ => g.expr(depth),
        });
        self.t("]");
    }

    fn comprehension(&mut self, depth: usize) {
        self.t("[");
        self.expr_where(depth);
        self.t("|");
        for i in 0..1 + self.rng.below(3) {
            if i > 0 {
                self.t(",");
            }
            match self.rng.below(5) {
                0 => {
                    self.name();
                    self.t("=");
                    self.expr(depth);
                }
                1 => self.expr(depth),
                2 => {
                    self.t("(");
                    self.plain_name();
                    self.t(",");
                    self.t("_");
                    self.t(")");
                    self.t("in");
                    self.expr(depth);
                }
                _ => {
                    // The name may be bound already, and then this is a comparison.
                    self.name();
                    self.t("in");
                    self.operand(depth, 6);
                }
            }
        }
        self.t("]");
    }

    fn if_expr(&mut self, depth: usize) {
        self.t("if");
        self.operand(depth.saturating_sub(1), 1);
        self.block(depth.saturating_sub(1));
        if self.rng.chance(60) {
            self.t("else");
            if depth > 1 && self.rng.chance(30) {
                self.if_expr(depth - 1);
            } else {
                self.block(depth.saturating_sub(1));
            }
        }
    }

    fn match_expr(&mut self, depth: usize) {
        self.t("match");
        self.operand(depth.saturating_sub(1), 1);
        self.t("{");
        let count = self.rng.below(4);
        for i in 0..count {
            if self.rng.chance(20) {
                self.t("|");
            }
            self.pattern(2);
            if self.rng.chance(25) {
                self.t("where");
                self.operand(depth.saturating_sub(1), 1);
            }
            self.t("=>");
            if self.rng.chance(25) {
                self.block(depth.saturating_sub(1));
                if self.rng.chance(50) {
                    self.t(",");
                }
            } else {
                self.expr(depth.saturating_sub(1));
                if i + 1 < count || self.rng.chance(50) {
                    self.t(",");
                }
            }
        }
        self.t("}");
    }
}
