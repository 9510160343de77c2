//! Random programs that use the whole grammar.

mod brackets;
mod expressions;
mod patterns;
mod statements;

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
}
