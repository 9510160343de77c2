//! What pays on a machine: the questions that the schedule and the engines ask before they decide.
//!
//! What follows from the caches of a [`Target`] is said in terms of them. The other numbers were chosen on
//! the benchmarks, and are the same for all machines so far. Limits of the compiler's own work (how many
//! copies of a body, how many rounds of a pass) stay with the passes.

use crate::target::{Target, Vectors};

/// The bytes that all sets of the nearest cache hold with one line each.
const PAGE: i64 = 4096;

/// Answers for a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    target: Target,
}

impl Default for Cost {
    fn default() -> Cost {
        Cost::of(Target::REFERENCE)
    }
}

impl Cost {
    /// What pays on a machine.
    pub const fn of(target: Target) -> Cost {
        Cost { target }
    }

    /// What pays on this machine.
    pub fn host() -> Cost {
        Cost::of(Target::host())
    }

    // Threads.

    /// Work (in operations) from which a second thread pays.
    pub fn thread_work(self) -> f64 {
        60_000.0
    }

    /// Matrix products of fewer multiplications run one per thread, and are not shared by several.
    pub fn shared_product_work(self) -> f64 {
        200_000.0
    }

    /// The parts of a long reduction that threads share. It does not depend on how many threads there
    /// are: neither may the result.
    pub fn reduction_parts(self) -> i64 {
        64
    }

    /// The extent of the tiles of a table along both axes.
    pub fn table_tile(self) -> i64 {
        256
    }

    /// The steps that a loop is taken to have if only the run knows how many.
    pub fn usual_steps(self) -> f64 {
        1000.0
    }

    // Vectors.

    /// The bytes of a vector.
    pub fn vector_bytes(self) -> i64 {
        self.target.vectors.bytes() as i64
    }

    /// The bytes of the accumulators for the lanes of a variable, on any machine: shorter vectors take as
    /// many registers as have room for them.
    pub fn accumulator_bytes(self) -> i64 {
        64
    }

    /// Whether scans of `i32` are faster in vectors: there are permutations of eight lanes.
    pub fn scans_integers(self) -> bool {
        self.target.vectors >= Vectors::Bits256
    }

    // Caches.

    /// What a row may take that is read again and again.
    pub fn near_bytes(self) -> i64 {
        self.target.nearest_cache
    }

    /// What intermediate values of a vector loop may take together: beside them are what the loop reads
    /// and writes.
    pub fn tile_bytes(self) -> i64 {
        self.target.nearest_cache / 2
    }

    /// The longest row that is asked for while another one is computed: it must find room in the nearest
    /// cache.
    pub fn fetched_row_bytes(self) -> i64 {
        self.target.nearest_cache / 4
    }

    /// The bytes of a line of a cache.
    pub fn line_bytes(self) -> i64 {
        self.target.line
    }

    /// The lines that a set of the nearest cache holds: the sets together hold a page for each.
    pub fn lines_in_a_set(self) -> i64 {
        self.target.nearest_cache / PAGE
    }

    /// How many of so many elements that lie this far from each other share a set of the nearest cache,
    /// each with a line of its own.
    pub fn lines_of_a_set(self, stride: i64, count: i64) -> i64 {
        let mut step = PAGE;
        while step > 1 && stride % step != 0 {
            step /= 2;
        }
        if stride.abs() < self.target.line { 0 } else { count * step / PAGE }
    }

    /// Histories of fewer bytes are stored if recurrences run forward over them.
    pub fn short_history_bytes(self) -> u64 {
        2 * self.target.nearest_cache.unsigned_abs()
    }

    /// Copied matrices that are larger are made in parts, each used while it is in the second cache.
    pub fn part_bytes(self) -> i64 {
        self.target.second_cache
    }

    /// Arrays of fewer bytes are in a cache anyway: nothing is asked for before it is read.
    pub fn distant_bytes(self) -> i64 {
        self.target.second_cache
    }

    /// So many bytes are a large history.
    pub fn large_history_bytes(self) -> u64 {
        self.target.second_cache.unsigned_abs()
    }

    /// Arrays of more elements are read across memory as they are, and not turned first.
    pub fn turned_elements(self) -> i64 {
        self.target.second_cache / 4
    }

    /// Rings of at most so many bytes stay in the caches of the cores by themselves.
    pub fn ring_bytes(self) -> i64 {
        2 * self.target.second_cache
    }

    /// A result of a contraction smaller than this is written whole.
    pub fn whole_result_bytes(self) -> i64 {
        4 * self.target.second_cache
    }

    /// The bytes of a ring that a tile may touch while it moves over time, and the fewest steps for which
    /// that pays: in the nearest cache, or in half of the second one.
    pub fn skewed_tiles(self) -> [(i64, i64); 2] {
        [(self.target.nearest_cache, 8), (self.target.second_cache / 2, 4)]
    }

    /// The tiles of two indices, one that runs along memory and one that runs across it. Along it, a few
    /// lines are fetched at once; across it as many as there are pieces, often from places that exclude
    /// each other from the nearest cache.
    pub fn crossed_tiles(self) -> [i64; 2] {
        [self.target.line, self.target.line / 4]
    }

    /// What intermediate arrays of a fused nest may take of the stack.
    pub fn local_bytes(self) -> i64 {
        self.target.stack
    }

    // Computing again, or storing.

    /// A formula of at most this cost is computed wherever it is read.
    pub fn cheap(self) -> f64 {
        16.0
    }

    /// A formula of at most this cost takes no longer than to read its value from memory.
    pub fn as_cheap_as_a_read(self) -> f64 {
        4.0
    }

    /// A matrix product does so many multiplications in the time of one in a loop.
    pub fn product_speed(self) -> f64 {
        8.0
    }

    /// A copy that lies in order pays if every element is read at least so many times.
    pub fn reads_of_a_copy(self) -> f64 {
        32.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_follows_the_caches() {
        let reference = Cost::default();
        let small = Target { nearest_cache: 16 << 10, ..Target::REFERENCE };
        assert_eq!(reference.near_bytes(), 2 * Cost::of(small).near_bytes());
        assert_eq!(reference.part_bytes(), Cost::of(small).part_bytes());
        assert!(reference.tile_bytes() + reference.fetched_row_bytes() < reference.near_bytes());
    }
}
