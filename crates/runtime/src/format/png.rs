//! Pictures as PNG files.
//!
//! A picture is an array `[row, col, channel]` with one channel (grey), two (grey and opacity), three
//! (red, green, blue) or four (and opacity). It is read as `f32` from 0 to 1, whatever the depth of
//! the file, and written from `u8`. Palettes are looked up; of an animation the first picture is read.

use std::io::BufReader;
use std::path::Path;

use ein_scalar::ScalarType;
use png::{BitDepth, ColorType, Decoder, DecodingError, Encoder, Limits, Transformations};

use super::inflate::GREATEST_RATIO;
use super::{Fault, FileError, FileErrorKind, atomic, open};
use crate::{Memory, Tensor};

/// Reads a picture as `[row, col, channel]`.
pub fn read_png(path: &Path, memory: &Memory) -> Result<Tensor, FileError> {
    read(path, memory).map_err(|fault| fault.at(path))
}

/// Writes a picture `[row, col, channel]` of `u8`.
pub fn write_png(path: &Path, picture: &Tensor) -> Result<(), FileError> {
    write(path, picture).map_err(|fault| fault.at(path))
}

fn read(path: &Path, memory: &Memory) -> Result<Tensor, Fault> {
    let (file, length) = open(path)?;
    // What is not the picture (texts, profiles) is skipped, and may not take room either.
    let limits = Limits { bytes: 1 << 26 };
    let mut decoder = Decoder::new_with_limits(BufReader::new(file), limits);
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    decoder.set_transformations(Transformations::EXPAND);
    let about = decoder.read_header_info().map_err(fault)?;
    let (rows, cols) = (about.height as usize, about.width as usize);
    let bits = u64::from(about.width) * about.bits_per_pixel() as u64;
    // A header is believed if what follows it could be as much as it says.
    let packed = u64::from(about.height).saturating_mul(bits / 8 + 1);
    if packed > length.saturating_mul(GREATEST_RATIO) {
        let detail =
            format!("{length} bytes cannot hold a picture of {rows} rows and {cols} columns");
        return Err(Fault::malformed(detail));
    }
    // Expanding a palette gives four bytes for each of its colours.
    let samples = rows.saturating_mul(cols).saturating_mul(4);
    memory.room(ScalarType::U8, &[samples])?;
    let mut reader = decoder.read_info().map_err(fault)?;
    let (color, depth) = reader.output_color_type();
    let channels = color.samples();
    let mut out = memory.zeros(ScalarType::F32, &[rows, cols, channels])?;
    let size = reader.output_buffer_size();
    let size = size.ok_or_else(|| Fault::malformed("the picture is too large"))?;
    let mut bytes = vec![0; size];
    reader.next_frame(&mut bytes).map_err(fault)?;
    let cells = out.as_mut_slice::<f32>()?;
    match depth {
        BitDepth::Sixteen => {
            for (cell, pair) in cells.iter_mut().zip(bytes.chunks_exact(2)) {
                *cell = f32::from(u16::from_be_bytes([pair[0], pair[1]])) / 65535.0;
            }
        }
        BitDepth::One | BitDepth::Two | BitDepth::Four | BitDepth::Eight => {
            for (cell, byte) in cells.iter_mut().zip(&bytes) {
                *cell = f32::from(*byte) / 255.0;
            }
        }
    }
    Ok(out)
}

fn write(path: &Path, picture: &Tensor) -> Result<(), Fault> {
    let refused = |detail: String| Fault::new(FileErrorKind::UnsupportedType, detail);
    let [rows, cols, channels] = *picture.shape() else {
        return Err(refused(format!("a picture has three axes, not {}", picture.rank())));
    };
    let color = match channels {
        1 => ColorType::Grayscale,
        2 => ColorType::GrayscaleAlpha,
        3 => ColorType::Rgb,
        4 => ColorType::Rgba,
        _ => return Err(refused(format!("a picture has 1 to 4 channels, not {channels}"))),
    };
    let side = |n: usize| u32::try_from(n).ok().filter(|n| (1..=i32::MAX as u32).contains(n));
    let (Some(height), Some(width)) = (side(rows), side(cols)) else {
        return Err(refused(format!("no PNG file has {rows} rows and {cols} columns")));
    };
    let whole = picture.contiguous()?;
    let Some(bytes) = whole.as_slice::<u8>() else {
        return Err(refused(format!("a picture is written from `u8`, not `{}`", picture.ty())));
    };
    atomic::write(path, |out| {
        let mut encoder = Encoder::new(out, width, height);
        encoder.set_color(color);
        encoder.set_depth(BitDepth::Eight);
        let unwritten =
            |error: png::EncodingError| Fault::new(FileErrorKind::Unreadable, error.to_string());
        let mut writer = encoder.write_header().map_err(unwritten)?;
        writer.write_image_data(bytes).map_err(unwritten)?;
        writer.finish().map_err(unwritten)
    })
}

fn fault(error: DecodingError) -> Fault {
    match error {
        DecodingError::IoError(error) => error.into(),
        DecodingError::Format(error) => Fault::malformed(error.to_string()),
        DecodingError::Parameter(error) => Fault::malformed(error.to_string()),
        DecodingError::LimitsExceeded => {
            Fault::new(FileErrorKind::TooLarge, "a part of it is longer than any picture needs")
        }
    }
}
