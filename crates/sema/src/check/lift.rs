//! Lifting: a call on arguments with extra axes happens once for each point of the frame.
//!
//! Before:  `dot(v, M)` with cells of rank 1, `v`: `[n]`, `M`: `[m, n]`
//! After:   a definition over the frame: `t[f] = dot(v, M[f])`

use super::matching::Cell;
use super::symbolic::SizeRelation;
use super::{Cx, error};
use ein_base::{Code, Span, Symbol};
use ein_ir::tensor::{Axis, Bounds, Expr};

impl Cx<'_> {
    /// Applies `build` to the cells of the arguments, over the frame that they share.
    pub(super) fn lift(
        &mut self,
        function: Symbol,
        args: Vec<Expr>,
        cells: &[Cell],
        span: Span,
        build: impl FnOnce(&mut Self, Vec<Expr>) -> Expr,
    ) -> Expr {
        let Some(frame) = self.common_frame(function, &args, cells, span) else {
            return Expr::error(span);
        };
        if frame.is_empty() {
            let args = args
                .into_iter()
                .zip(cells)
                .map(|(arg, cell)| self.permute(arg, cell.cell.clone(), span))
                .collect();
            return build(self, args);
        }
        let args: Vec<(Expr, usize)> = args
            .into_iter()
            .zip(cells)
            .map(|(arg, cell)| {
                let arg = self.atomise(arg);
                let mut order = cell.frame.clone();
                order.extend(&cell.cell);
                (self.permute(arg, order, span), cell.frame.len())
            })
            .collect();
        self.tabulate(frame, span, |cx, indices| {
            let cells = args
                .into_iter()
                .map(|(arg, depth)| match depth {
                    0 => arg,
                    _ => cx.read(arg, indices[..depth].to_vec(), Bounds::Proved, span),
                })
                .collect();
            build(cx, cells)
        })
    }

    /// The frame of which every argument's frame is a prefix.
    fn common_frame(
        &mut self,
        function: Symbol,
        args: &[Expr],
        cells: &[Cell],
        span: Span,
    ) -> Option<Vec<Axis>> {
        let axes_of = |at: usize| -> Vec<Axis> {
            cells[at].frame.iter().map(|axis| args[at].ty.axes()[*axis].clone()).collect()
        };
        if args.is_empty() {
            return Some(Vec::new());
        }
        let longest = (0..args.len()).max_by_key(|at| (cells[*at].frame.len(), usize::MAX - at))?;
        let mut frame = axes_of(longest);
        for at in 0..args.len() {
            if at == longest {
                continue;
            }
            for (position, axis) in axes_of(at).into_iter().enumerate() {
                let known = frame[position].clone();
                if let (Some(a), Some(b)) = (known.coord, axis.coord)
                    && a.contract
                    && b.contract
                    && a.root() != b.root()
                    && a.name != b.name
                {
                    let d = error(
                        Code::E0409,
                        span,
                        format!(
                            "`{function}` is lifted over `{}` in one argument and over `{}` in another",
                            a.name, b.name
                        ),
                    )
                    .label(args[longest].span, format!("extra axis `{}`", a.name))
                    .label(args[at].span, format!("extra axis `{}`", b.name))
                    .help("the extra leading axes of all arguments must be the same");
                    self.report_at(d);
                    return None;
                }
                match self.compare_sizes(&known.size, &axis.size) {
                    SizeRelation::Equal => {}
                    SizeRelation::AtRunTime => {
                        let what = format!("axis {position} of the frame of `{function}`");
                        self.require(known.size.clone(), axis.size.clone(), what, span);
                    }
                    SizeRelation::Different => {
                        let (p, q) = (self.show_size(&known.size), self.show_size(&axis.size));
                        let d = error(
                            Code::E0409,
                            span,
                            format!(
                                "`{function}` is lifted over {p} positions in one argument and over {q} in another"
                            ),
                        )
                        .label(args[longest].span, format!("extra axes of `{}`", self.show(&args[longest].ty)))
                        .label(args[at].span, format!("extra axes of `{}`", self.show(&args[at].ty)))
                        .help("one frame must be a prefix of the other: compare the leading axes");
                        self.report_at(d);
                        return None;
                    }
                }
                if frame[position].coord.is_none() {
                    frame[position].coord = axis.coord;
                }
            }
        }
        Some(frame)
    }
}
