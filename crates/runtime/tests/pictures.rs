//! PNG files: what we write, what others wrote, and what nobody should have written.

#![allow(clippy::unwrap_used, reason = "a test may stop at what it did not expect")]

use std::fs;
use std::path::{Path, PathBuf};

use ein_runtime::format::{read_png, write_png};
use ein_runtime::{FileErrorKind, Memory, Tensor};

fn place(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pictures");
    fs::create_dir_all(&folder).unwrap();
    folder.join(name)
}

fn sample(rows: usize, cols: usize, channels: usize) -> Tensor {
    let count = rows * cols * channels;
    let bytes: Vec<u8> = (0..count).map(|at| (at * 37 % 256) as u8).collect();
    Tensor::from_vec(bytes, &[rows, cols, channels]).unwrap()
}

#[test]
fn what_we_write_reads_back() {
    for channels in 1..=4 {
        let path = place(&format!("round{channels}.png"));
        let picture = sample(5, 7, channels);
        write_png(&path, &picture).unwrap();
        let read = read_png(&path, &Memory::unlimited()).unwrap();
        assert_eq!(read.shape(), [5, 7, channels]);
        let back: Vec<u8> =
            read.to_vec::<f32>().unwrap().iter().map(|x| (x * 255.0).round() as u8).collect();
        assert_eq!(back, picture.to_vec::<u8>().unwrap());
    }
}

#[test]
fn what_is_no_picture_is_not_written() {
    let path = place("never.png");
    let _ = fs::remove_file(&path);
    for shape in [&[2, 3][..], &[0, 3, 3], &[3, 0, 1], &[2, 2, 5]] {
        let count = shape.iter().product();
        let picture = Tensor::from_vec(vec![0u8; count], shape).unwrap();
        assert!(write_png(&path, &picture).is_err(), "{shape:?}");
    }
    let floats = Tensor::from_vec(vec![0f32; 4], &[2, 2, 1]).unwrap();
    assert!(write_png(&path, &floats).is_err());
    assert!(!path.exists());
}

/// The sum that ends a part of a PNG file.
fn check_sum(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| {
            (sum >> 1) ^ (0xedb8_8320 & (sum & 1).wrapping_neg())
        })
    })
}

#[test]
fn a_lying_header_takes_no_memory() {
    let path = place("lying.png");
    write_png(&path, &sample(2, 2, 3)).unwrap();
    let mut content = fs::read(&path).unwrap();
    // The header begins at 16 with the width and the height; its sum covers `IHDR` and 13 bytes.
    content[16..24].copy_from_slice(&[0x7f, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff]);
    let sum = check_sum(&content[12..29]);
    content[29..33].copy_from_slice(&sum.to_be_bytes());
    fs::write(&path, content).unwrap();
    let memory = Memory::unlimited();
    let error = read_png(&path, &memory).unwrap_err();
    assert_eq!((error.kind, memory.peak()), (FileErrorKind::Malformed, 0), "{error}");
}

#[test]
fn a_limit_holds() {
    let path = place("large.png");
    write_png(&path, &sample(200, 200, 3)).unwrap();
    let error = read_png(&path, &Memory::new(Some(1000))).unwrap_err();
    assert_eq!(error.kind, FileErrorKind::TooLarge, "{error}");
}

#[test]
fn damaged_files_are_survived() {
    let path = place("seed.png");
    write_png(&path, &sample(6, 5, 3)).unwrap();
    let content = fs::read(&path).unwrap();
    let damaged = place("damaged.png");
    let survive = |bytes: &[u8]| {
        let _ = fs::remove_file(&damaged);
        fs::write(&damaged, bytes).unwrap();
        let memory = Memory::unlimited();
        let read = read_png(&damaged, &memory);
        assert!(memory.peak() <= 4 * 4 * 1100 * bytes.len() as u64 + 64);
        read.is_ok()
    };
    for length in 0..content.len() - 12 {
        assert!(!survive(&content[..length]), "cut to {length}");
    }
    for at in 0..content.len() {
        for value in [0, 0xff, content[at] ^ 1, content[at] ^ 0x80] {
            let mut other = content.clone();
            other[at] = value;
            survive(&other);
        }
    }
}
