//! Arrays as people read them.

/// Arrays with more elements show their corners only.
const MOST: usize = 1000;

/// How many indices a corner has along each axis.
const EDGE: usize = 3;

/// The text of an array: nested brackets, each row on its own line, columns aligned at the right.
///
/// An array of more than 1000 elements shows the first and last three along each axis, with `...`
/// between. Matrices of a higher array are separated by an empty line. `element` gives the text of
/// one element; an array of rank 0 is that text alone.
pub fn print_array(shape: &[usize], element: impl Fn(&[usize]) -> String) -> String {
    // Rows without elements count as well, or a shape like 10^9 by 0 would be endless.
    let size = shape.iter().fold(1usize, |size, extent| size.saturating_mul((*extent).max(1)));
    let shown: Vec<Vec<Option<usize>>> =
        shape.iter().map(|extent| indices(*extent, size > MOST)).collect();
    let mut widths = vec![0; shown.last().map_or(0, Vec::len)];
    let mut rows = Vec::new();
    collect(&shown, &mut Vec::new(), &element, &mut rows);
    if shape.len() > 1 {
        for row in &rows {
            for (width, text) in widths.iter_mut().zip(row) {
                *width = (*width).max(text.chars().count());
            }
        }
    }
    let mut text = String::new();
    write(&shown, 0, &widths, &mut rows.into_iter(), &mut text);
    text
}

/// The indices to show of an axis; `None` stands for those left out.
fn indices(extent: usize, elide: bool) -> Vec<Option<usize>> {
    if !elide || extent <= 2 * EDGE {
        return (0..extent).map(Some).collect();
    }
    let (first, last) = ((0..EDGE).map(Some), (extent - EDGE..extent).map(Some));
    first.chain([None]).chain(last).collect()
}

/// The texts of all rows of the last axis that are shown, in order.
fn collect(
    shown: &[Vec<Option<usize>>],
    index: &mut Vec<usize>,
    element: &impl Fn(&[usize]) -> String,
    rows: &mut Vec<Vec<String>>,
) {
    let Some(axis) = shown.get(index.len()) else {
        rows.push(vec![element(index)]);
        return;
    };
    let last = index.len() + 1 == shown.len();
    let mut row = Vec::new();
    for i in axis {
        match i {
            Some(i) => index.push(*i),
            None if last => {
                row.push("...".to_owned());
                continue;
            }
            None => continue,
        }
        if last {
            row.push(element(index));
        } else {
            collect(shown, index, element, rows);
        }
        index.pop();
    }
    if last {
        rows.push(row);
    }
}

/// Writes the part of the array at `depth` axes down.
fn write(
    shown: &[Vec<Option<usize>>],
    depth: usize,
    widths: &[usize],
    rows: &mut impl Iterator<Item = Vec<String>>,
    text: &mut String,
) {
    let Some(axis) = shown.get(depth) else {
        text.extend(rows.next().unwrap_or_default());
        return;
    };
    text.push('[');
    if depth + 1 == shown.len() {
        for (at, item) in rows.next().unwrap_or_default().iter().enumerate() {
            if at > 0 {
                text.push_str(", ");
            }
            let width = widths.get(at).copied().unwrap_or(0);
            text.push_str(&format!("{item:>width$}"));
        }
    } else {
        for (at, i) in axis.iter().enumerate() {
            if at > 0 {
                text.push(',');
                text.push_str(&"\n".repeat(shown.len() - 1 - depth));
                text.push_str(&" ".repeat(depth + 1));
            }
            match i {
                Some(_) => write(shown, depth + 1, widths, rows, text),
                None => text.push_str("..."),
            }
        }
    }
    text.push(']');
}

#[cfg(test)]
mod tests {
    use crate::Tensor;
    use ein_scalar::{Scalar, ScalarType};

    #[track_caller]
    fn check(tensor: &Tensor, expected: &str) {
        assert_eq!(tensor.to_string(), expected);
    }

    #[test]
    fn small_arrays() {
        check(&Tensor::scalar(Scalar::F32(0.1)), "0.1");
        check(&Tensor::from_vec(vec![1.0, 2.5, 100.0], &[3]).unwrap(), "[1.0, 2.5, 100.0]");
        let matrix = Tensor::from_vec(vec![1.0f32, 2.5, 30.0, 4.0], &[2, 2]).unwrap();
        check(&matrix, "[[ 1.0, 2.5],\n [30.0, 4.0]]");
        let cube = Tensor::from_vec((0..8).collect::<Vec<i32>>(), &[2, 2, 2]).unwrap();
        check(&cube, "[[[0, 1],\n  [2, 3]],\n\n [[4, 5],\n  [6, 7]]]");
        check(&Tensor::from_vec(vec![true, false], &[2]).unwrap(), "[true, false]");
    }

    #[test]
    fn empty_arrays() {
        check(&Tensor::zeros(ScalarType::F32, &[0]).unwrap(), "[]");
        check(&Tensor::zeros(ScalarType::F32, &[0, 3]).unwrap(), "[]");
        check(&Tensor::zeros(ScalarType::F32, &[2, 0]).unwrap(), "[[],\n []]");
        let rows = Tensor::zeros(ScalarType::F32, &[1 << 40, 0]).unwrap();
        check(&rows, "[[],\n [],\n [],\n ...,\n [],\n [],\n []]");
    }

    #[test]
    fn long_arrays_show_their_corners() {
        let line = Tensor::from_vec((0..1001).collect::<Vec<i32>>(), &[1001]).unwrap();
        check(&line, "[0, 1, 2, ..., 998, 999, 1000]");
        let all = Tensor::from_vec((0..1000).collect::<Vec<i32>>(), &[1000]).unwrap();
        assert!(!all.to_string().contains("..."));
        let grid = Tensor::from_vec((0..10_000).collect::<Vec<i32>>(), &[100, 100]).unwrap();
        check(
            &grid,
            "[[   0,    1,    2, ...,   97,   98,   99],\n \
             [ 100,  101,  102, ...,  197,  198,  199],\n \
             [ 200,  201,  202, ...,  297,  298,  299],\n \
             ...,\n \
             [9700, 9701, 9702, ..., 9797, 9798, 9799],\n \
             [9800, 9801, 9802, ..., 9897, 9898, 9899],\n \
             [9900, 9901, 9902, ..., 9997, 9998, 9999]]",
        );
    }
}
