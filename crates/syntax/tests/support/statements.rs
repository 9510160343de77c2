//! Random statements.

use super::Gen;

impl Gen {
    pub(super) fn stmt(&mut self, depth: usize, top: bool) {
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

    pub(super) fn block(&mut self, depth: usize) {
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
}
