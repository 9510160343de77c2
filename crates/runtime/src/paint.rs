//! Marks on a picture: strokes with round ends, and rectangles, with smooth edges.
//!
//! A mark is a row of ten numbers: its kind, `x0 y0 x1 y1`, its width, and `red green blue opacity`.
//! Kind 0 is the stroke from the one point to the other (a disc if they are the same), kind 1 the
//! rectangle between them. Places are counted in pixels from the upper left corner, `x` to the
//! right and `y` down; the middle of the first pixel is at (0.5, 0.5). Later marks lie over earlier ones.

/// How many numbers describe a mark.
pub const MARK: usize = 10;

/// The picture that marks are painted on, `rows * cols * channels` cells.
#[derive(Debug)]
pub struct Canvas<'a> {
    /// The cells, row by row.
    pub cells: &'a mut [f32],
    /// How many rows it has.
    pub rows: usize,
    /// How many columns.
    pub cols: usize,
    /// How many channels: 1 or 3. One channel takes the mean of the colours.
    pub channels: usize,
}

impl Canvas<'_> {
    /// Paints marks in order. Marks with a number that is not finite are left out.
    pub fn paint(&mut self, marks: &[f32]) {
        for mark in marks.chunks_exact(MARK) {
            if mark.iter().all(|number| number.is_finite()) {
                self.mark(mark);
            }
        }
    }

    fn mark(&mut self, mark: &[f32]) {
        let (from, to) = ((mark[1], mark[2]), (mark[3], mark[4]));
        let stroke = mark[0] == 0.0;
        let half = if stroke { mark[5].max(0.0) / 2.0 } else { 0.0 };
        // Strokes thinner than a pixel are fainter, not broken.
        let (half, faint) = if stroke && half < 0.5 { (0.5, 2.0 * half) } else { (half, 1.0) };
        let colour = [mark[6], mark[7], mark[8]];
        let opacity = mark[9].clamp(0.0, 1.0) * faint;
        let cols = span(from.0.min(to.0) - half, from.0.max(to.0) + half, self.cols);
        for row in span(from.1.min(to.1) - half, from.1.max(to.1) + half, self.rows) {
            for col in cols.clone() {
                let cover = if stroke {
                    let at = (col as f32 + 0.5, row as f32 + 0.5);
                    (half + 0.5 - distance(at, from, to)).clamp(0.0, 1.0)
                } else {
                    shared(col as f32, from.0, to.0) * shared(row as f32, from.1, to.1)
                };
                if cover > 0.0 {
                    self.blend(row, col, colour, cover * opacity);
                }
            }
        }
    }

    fn blend(&mut self, row: usize, col: usize, colour: [f32; 3], share: f32) {
        let start = (row * self.cols + col) * self.channels;
        let grey = [colour.iter().sum::<f32>() / 3.0];
        let colour: &[f32] = if self.channels == 1 { &grey } else { &colour };
        for (cell, new) in self.cells[start..].iter_mut().zip(colour) {
            *cell += share * (new - *cell);
        }
    }
}

/// The pixels that a span of places touches, with one more at each end.
fn span(from: f32, to: f32, extent: usize) -> std::ops::Range<usize> {
    let first = (from.floor() - 1.0).clamp(0.0, extent as f32) as usize;
    let last = (to.ceil() + 1.0).clamp(0.0, extent as f32) as usize;
    first..last
}

/// How much of the pixel that begins at `at` lies between two places.
fn shared(at: f32, from: f32, to: f32) -> f32 {
    let (low, high) = (from.min(to), from.max(to));
    (high.min(at + 1.0) - low.max(at)).clamp(0.0, 1.0)
}

/// How far a place is from the line between two points.
fn distance(at: (f32, f32), from: (f32, f32), to: (f32, f32)) -> f32 {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let (px, py) = (at.0 - from.0, at.1 - from.1);
    let length = dx * dx + dy * dy;
    let along = if length > 0.0 { ((px * dx + py * dy) / length).clamp(0.0, 1.0) } else { 0.0 };
    (px - along * dx).hypot(py - along * dy)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn painted(rows: usize, cols: usize, marks: &[f32]) -> Vec<f32> {
        let mut cells = vec![1.0; rows * cols];
        Canvas { cells: &mut cells, rows, cols, channels: 1 }.paint(marks);
        cells
    }

    #[test]
    fn a_rectangle_covers_its_share_of_each_pixel() {
        let cells = painted(2, 3, &[1.0, 0.5, 0.0, 2.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
        assert_eq!(cells, [0.5, 0.0, 1.0, 1.0, 1.0, 1.0]);
    }

    #[test]
    fn a_stroke_is_as_wide_as_it_says() {
        let cells = painted(3, 1, &[0.0, -5.0, 1.5, 5.0, 1.5, 1.0, 0.0, 0.0, 0.0, 1.0]);
        assert_eq!(cells, [1.0, 0.0, 1.0]);
    }

    #[test]
    fn marks_outside_and_without_end_do_no_harm() {
        let far = [0.0, -1e30, -1e30, 1e30, -1e30, 1.0, 0.0, 0.0, 0.0, 1.0];
        let endless = [0.0, f32::NAN, 0.0, f32::INFINITY, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
        assert_eq!(painted(2, 2, &far), [1.0; 4]);
        assert_eq!(painted(2, 2, &endless), [1.0; 4]);
        assert_eq!(painted(0, 0, &far), [0.0; 0]);
    }
}
