//! Decompression of a deflated stream, a little at a time.

use std::io::{self, Read};

use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZError, MZFlush, MZStatus};

/// No byte of a deflated stream stands for more than this many.
pub(super) const GREATEST_RATIO: u64 = 1032;

/// Reads what `input` holds deflated.
pub(super) struct Inflate<R> {
    input: R,
    state: Box<InflateState>,
    chunk: Vec<u8>,
    used: usize,
    filled: usize,
    ended: bool,
}

impl<R: Read> Inflate<R> {
    pub fn new(input: R) -> Inflate<R> {
        let state = InflateState::new_boxed(DataFormat::Raw);
        Inflate { input, state, chunk: vec![0; 1 << 16], used: 0, filled: 0, ended: false }
    }
}

impl<R: Read> Read for Inflate<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let corrupt = || io::Error::new(io::ErrorKind::InvalidData, "compressed data are corrupt");
        while !self.ended && !out.is_empty() {
            if self.used == self.filled {
                (self.used, self.filled) = (0, self.input.read(&mut self.chunk)?);
            }
            let input = &self.chunk[self.used..self.filled];
            let result = inflate(&mut self.state, input, out, MZFlush::None);
            self.used += result.bytes_consumed;
            match result.status {
                Ok(MZStatus::StreamEnd) => self.ended = true,
                Ok(MZStatus::Ok) | Err(MZError::Buf) => {
                    let stuck = result.bytes_consumed == 0 && result.bytes_written == 0;
                    if stuck && (self.used < self.filled || self.filled == 0) {
                        return Err(corrupt());
                    }
                }
                Ok(MZStatus::NeedDict) | Err(_) => return Err(corrupt()),
            }
            if result.bytes_written > 0 {
                return Ok(result.bytes_written);
            }
        }
        Ok(0)
    }
}
