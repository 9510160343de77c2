//! Random patterns and types.

use super::Gen;

impl Gen {
    pub(super) fn let_pattern(&mut self, depth: usize) {
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

    pub(super) fn pattern(&mut self, depth: usize) {
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

    pub(super) fn ty(&mut self, depth: usize) {
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
}
