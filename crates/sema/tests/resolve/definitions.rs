//! Which clauses form one definition, and where it stands.

use crate::support::{check, check_tree};

#[test]
fn clauses_of_one_name_and_rank_stand_together() {
    check_tree(
        "let f[0] = 0;\nlet f[1] = 1;\nlet f[n in 2..9] = f[n - 1] + f[n - 2];\nlet a = f[8];",
        &["define f[0] = 0; f[1] = 1; f[n in 2..9] = (f[(n - 1)] + f[(n - 2)])", "let a = f[8]"],
    );
}

#[test]
fn other_statements_may_stand_between_and_the_last_clause_decides_the_place() {
    check_tree(
        "let f[0] = 0;\nlet k = 2;\nlet f[n in 1..9] = f[n - 1] * k;",
        &["let k = 2", "define f[0] = 0; f[n in 1..9] = (f[(n - 1)] * k)"],
    );
}

#[test]
fn a_use_ends_a_definition() {
    check_tree(
        "let f[0] = 0;\nlet a = f[0];\nlet f[n in 1..9] = f[n - 1];",
        &["define f[0] = 0", "let a = f[0]", "define f'2[n in 1..9] = f'2[(n - 1)]"],
    );
    check_tree(
        "let f[0] = 0;\nfn g() { f[0] }\nlet f[1] = 1;",
        &["define f[0] = 0", "define f'2[1] = 1", "fn g() { f[0] }"],
    );
}

#[test]
fn another_rank_or_another_binding_starts_a_new_one() {
    check_tree(
        "let f[0] = 0;\nlet f[0, 1] = 1;\nlet f[1, 1] = 2;",
        &["define f[0] = 0", "define f'2[0, 1] = 1; f'2[1, 1] = 2"],
    );
    check_tree(
        "let f[0] = 0;\nlet f = 3;\nlet f[1] = 1;",
        &["define f[0] = 0", "let f'2 = 3", "define f'3[1] = 1"],
    );
}

#[test]
fn definitions_in_bodies() {
    check_tree(
        "fn f(c, x) { let n = len(c); let acc[0] = c[n - 1]; let acc[k in 1..n] = acc[k - 1] * x; acc[n - 1] }",
        &[
            "fn f(c, x) { let n = Len(c); define acc[0] = c[(n - 1)]; acc[k in 1..n] = (acc[(k - 1)] * x); acc[(n - 1)] }",
        ],
    );
}

#[test]
fn index_variables_see_those_before_them() {
    check_tree(
        "let t[i in 0..5, j in 0..i + 1] = i * j;",
        &["define t[i in 0..5, j in 0..(i + 1)] = (i * j)"],
    );
    check("let t[i in 0..j, j in 0..5] = i * j;", &["1 E0201 unknown name `j`"]);
}
