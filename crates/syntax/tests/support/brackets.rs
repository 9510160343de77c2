//! What stands in brackets and braces of a random expression.

use super::Gen;

impl Gen {
    pub(super) fn args(&mut self, depth: usize) {
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

    pub(super) fn slots(&mut self, depth: usize) {
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

    pub(super) fn comprehension(&mut self, depth: usize) {
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

    pub(super) fn if_expr(&mut self, depth: usize) {
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

    pub(super) fn match_expr(&mut self, depth: usize) {
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
