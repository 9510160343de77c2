//! The lines around the places a diagnostic points at, and nothing else: what rendering costs
//! does not depend on the length of the file or of its lines.

use super::clean;
use super::view::View;
use std::ops::Range;

/// Lines longer than this many bytes are cut.
const LONG_LINE: usize = 400;
/// So much stays on both sides of a place on a line that is cut.
const CONTEXT: usize = 80;
/// What stands where something was cut out.
const ELLIPSIS: &str = "...";
/// Places further apart than this many lines are shown separately.
const MAX_GAP: usize = 1000;
/// Of a span over many lines, so many at its start and its end may be shown.
const KEPT_LINES: usize = 6;

/// A place and what to say there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    /// Bytes of the file, or of the excerpt.
    pub(super) range: Range<usize>,
    /// What to say, or nothing.
    pub(super) text: String,
    /// Whether it is the place at fault.
    pub(super) primary: bool,
}

/// Some lines of a file.
#[derive(Debug)]
pub(super) struct Excerpt {
    /// The one-based number of the first of them.
    pub(super) first_line: usize,
    /// The lines, long ones cut, those that will not be shown empty.
    pub(super) source: String,
    /// The places, as bytes of `source`.
    pub(super) marks: Vec<Mark>,
    /// The one-based line of the first place.
    pub(super) line: usize,
    /// Its one-based column in the file.
    pub(super) column: usize,
    /// Its one-based column in the excerpt, which is another one where a line was cut.
    pub(super) shown_column: usize,
}

/// A mark with its zero-based lines.
struct Placed {
    mark: Mark,
    first: usize,
    last: usize,
}

/// The excerpts that show all marks of a file; the one with the place at fault comes first.
pub(super) fn excerpts(view: &mut View<'_>, marks: Vec<Mark>) -> Vec<Excerpt> {
    let mut placed: Vec<Placed> = marks.into_iter().map(|mark| place(view, mark)).collect();
    placed.sort_by_key(|it| (it.first, it.mark.range.start));

    let mut groups: Vec<Vec<Placed>> = Vec::new();
    let mut end = 0;
    for it in placed {
        let last = it.last;
        match groups.last_mut() {
            Some(group) if it.first <= end + MAX_GAP => group.push(it),
            _ => groups.push(vec![it]),
        }
        end = end.max(last);
    }
    groups.sort_by_key(|group| !group.iter().any(|it| it.mark.primary));
    groups.into_iter().map(|group| excerpt(view, group)).collect()
}

/// Brings a mark inside its file and finds its lines.
fn place(view: &View<'_>, mut mark: Mark) -> Placed {
    let lo = view.clamp(mark.range.start);
    let hi = view.clamp(mark.range.end).max(lo);
    let first = view.line(lo);
    let last = view.line(hi.saturating_sub(1).max(lo));
    // A span over a whole file says no more than its first line.
    let last = if last - first > MAX_GAP { first } else { last };
    // A span may end in a line break, which is not part of any line's text.
    let lo = lo.min(view.line_range(first).end);
    let hi = hi.min(view.line_range(last).end).max(lo);
    mark.range = lo..hi;
    Placed { mark, first, last }
}

fn excerpt(view: &mut View<'_>, group: Vec<Placed>) -> Excerpt {
    let first = group.iter().map(|it| it.first).min().unwrap_or(0);
    let last = group.iter().map(|it| it.last).max().unwrap_or(first);
    let mut source = String::new();
    let mut marks: Vec<Mark> = group.iter().map(|it| it.mark.clone()).collect();

    for line in first..=last {
        if line > first {
            source.push('\n');
        }
        let near = |at: usize| line.abs_diff(at) <= KEPT_LINES;
        if !group.iter().any(|it| near(it.first) || near(it.last)) {
            continue;
        }
        let range = view.line_range(line);
        let points = group.iter().flat_map(|it| {
            let start = (it.first == line).then_some(it.mark.range.start);
            let end = (it.last == line).then_some(it.mark.range.end);
            start.into_iter().chain(end)
        });
        let shown = shorten(view, range.clone(), points.collect());
        let at = source.len();
        for (mark, it) in marks.iter_mut().zip(&group) {
            if it.first == line {
                mark.range.start = at + shown.offset(it.mark.range.start);
            }
            if it.last == line {
                mark.range.end = at + shown.offset(it.mark.range.end);
            }
        }
        source.push_str(&shown.text);
    }

    let head = group.iter().position(|it| it.mark.primary).unwrap_or(0);
    let offset = group[head].mark.range.start;
    let shown = marks[head].range.start;
    let line_start = source[..shown].rfind('\n').map_or(0, |it| it + 1);
    Excerpt {
        first_line: first + 1,
        line: view.line(offset) + 1,
        column: view.column(offset) + 1,
        shown_column: source[line_start..shown].chars().count() + 1,
        source,
        marks,
    }
}

/// A line as it is shown.
struct Shown {
    text: String,
    // Pieces of the file, each with where it begins in `text`.
    pieces: Vec<(Range<usize>, usize)>,
}

impl Shown {
    /// Where an offset of the file is in the text shown.
    fn offset(&self, offset: usize) -> usize {
        let piece = self.pieces.iter().find(|(range, _)| offset <= range.end);
        piece.map_or(self.text.len(), |(range, at)| at + offset.saturating_sub(range.start))
    }
}

/// Cuts a long line down to what lies around some points of it.
fn shorten(view: &View<'_>, line: Range<usize>, mut points: Vec<usize>) -> Shown {
    let mut pieces: Vec<Range<usize>> = Vec::new();
    if line.len() <= LONG_LINE {
        pieces.push(line.clone());
    } else if points.is_empty() {
        pieces.push(line.start..view.clamp(line.start + 2 * CONTEXT));
    } else {
        points.sort_unstable();
        for point in points {
            let start = view.clamp(point.saturating_sub(CONTEXT).max(line.start));
            let end = view.clamp((point + CONTEXT).min(line.end));
            match pieces.last_mut() {
                Some(before) if start <= before.end => before.end = before.end.max(end),
                _ => pieces.push(start..end),
            }
        }
    }
    let mut shown = Shown { text: String::new(), pieces: Vec::new() };
    let mut end = line.start;
    for piece in pieces {
        if piece.start > end {
            shown.text.push_str(ELLIPSIS);
        }
        end = piece.end;
        let at = shown.text.len();
        clean::source(view.text(piece.clone()), &mut shown.text);
        shown.pieces.push((piece, at));
    }
    if end < line.end {
        shown.text.push_str(ELLIPSIS);
    }
    shown
}
