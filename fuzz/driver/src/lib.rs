//! Fuzz targets: functions that take any bytes and must neither panic nor go on for long.
//!
//! The same functions are behind `cargo fuzz` (in the folder above, with a nightly compiler) and behind
//! the driver here, which needs nothing but this repository: it changes programs and files that are
//! there, by words and by bytes, and is as good at finding what a parser or checker did not expect.
//!
//! Does not know: what a right answer would be. Other tests compare values.

#![forbid(unsafe_code)]

pub mod mutate;
pub mod seeds;
pub mod targets;

/// Random numbers that depend on the seed only: SplitMix64.
pub struct Rng(u64);

impl Rng {
    /// The numbers of a seed.
    pub fn new(seed: u64) -> Rng {
        Rng(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5851_F42D_4C95_7F2D)
    }

    /// The next number.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// From 0 up to but not including `end`; 0 if that is empty.
    pub fn below(&mut self, end: usize) -> usize {
        (self.draw() % end.max(1) as u64) as usize
    }

    /// One of these, if there is one.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.below(items.len()))
    }
}
