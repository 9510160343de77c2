//! Random expressions.

use super::Gen;

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

impl Gen {
    pub(super) fn expr_where(&mut self, depth: usize) {
        self.expr(depth);
        if depth > 0 && self.rng.chance(25) {
            self.where_items(depth);
        }
    }

    pub(super) fn where_items(&mut self, depth: usize) {
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
    pub(super) fn expr(&mut self, depth: usize) {
        let start = self.out.len();
        self.expr_at(depth);
        let _ = start;
    }

    /// An operand of level `min` or tighter.
    pub(super) fn operand(&mut self, depth: usize, min: u8) {
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
}
