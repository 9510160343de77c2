//! Fourier transforms, by `rustfft`. A complex row is a pair of rows: its real, then its imaginary part.

use rustfft::FftPlanner;
use rustfft::num_complex::Complex;

/// Numbers that rows have here.
pub use rustfft::FftNum as Number;

/// The transform `Σ z[k] exp(-2 π i j k / n)`.
pub fn transform<T: Number>(pair: &[T], result: &mut [T]) {
    let n = pair.len() / 2;
    let (re, im) = pair.split_at(n);
    let mut row: Vec<Complex<T>> =
        re.iter().zip(im).map(|(re, im)| Complex::new(*re, *im)).collect();
    FftPlanner::new().plan_fft_forward(n).process(&mut row);
    let (re, im) = result.split_at_mut(n);
    for ((re, im), z) in re.iter_mut().zip(im).zip(&row) {
        (*re, *im) = (z.re, z.im);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transform_is_its_sum() {
        for n in [1usize, 2, 7, 64, 131] {
            let pair: Vec<f64> = (0..2 * n).map(|k| ((k * k + 3 * k) % 17) as f64 - 8.0).collect();
            let mut found = vec![0.0; 2 * n];
            transform(&pair, &mut found);
            for j in 0..n {
                let (mut re, mut im) = (0.0, 0.0);
                for k in 0..n {
                    let angle = std::f64::consts::TAU * (j * k % n) as f64 / n as f64;
                    let (s, c) = angle.sin_cos();
                    re += pair[k] * c + pair[n + k] * s;
                    im += pair[n + k] * c - pair[k] * s;
                }
                assert!((found[j] - re).abs() < 1e-9 && (found[n + j] - im).abs() < 1e-9);
            }
        }
    }
}
