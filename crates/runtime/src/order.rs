//! Order of numbers: NaN counts as greater than every number, and sorting is stable.

use std::cmp::Ordering;

/// Which of two numbers comes first.
fn compared<T: PartialOrd>(a: &T, b: &T) -> Ordering {
    a.partial_cmp(b).unwrap_or_else(|| {
        let nan = |it: &T| it.partial_cmp(it).is_none();
        nan(a).cmp(&nan(b))
    })
}

/// The places of the elements in ascending or in descending order; equal ones in theirs.
pub fn argsort<T: PartialOrd>(row: &[T], descending: bool, places: &mut [i32]) {
    for (at, place) in places.iter_mut().enumerate() {
        *place = i32::try_from(at).unwrap_or(i32::MAX);
    }
    let number = |place: &i32| &row[usize::try_from(*place).unwrap_or(0)];
    match descending {
        false => places.sort_by(|a, b| compared(number(a), number(b))),
        true => places.sort_by(|a, b| compared(number(b), number(a))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_ones_keep_their_order_and_nan_is_greatest() {
        let row = [2.0, f64::NAN, -0.0, 0.0, 2.0, f64::NEG_INFINITY];
        let mut places = [0; 6];
        argsort(&row, false, &mut places);
        assert_eq!(places, [5, 2, 3, 0, 4, 1]);
        argsort(&row, true, &mut places);
        assert_eq!(places, [1, 0, 4, 2, 3, 5]);
    }
}
