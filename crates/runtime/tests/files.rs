//! Array files: what others wrote, what we write, and what nobody should have written.

#![allow(clippy::unwrap_used, reason = "a test may stop at what it did not expect")]

use std::fs;
use std::path::{Path, PathBuf};

use ein_runtime::format::{names, read, write};
use ein_runtime::{FileErrorKind, Memory, Tensor};
use ein_scalar::{Scalar, ScalarType};

/// A folder of its own for each test.
fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn load(path: &Path, name: Option<&str>) -> Result<Tensor, FileErrorKind> {
    read(path, name, &Memory::unlimited()).map_err(|error| {
        assert!(error.to_string().contains(&*path.file_name().unwrap().to_string_lossy()));
        error.kind
    })
}

/// The matrix that the files under `data` hold.
fn quarters(ty: ScalarType) -> Tensor {
    let x = Tensor::from_vec((0..6).map(|x| f64::from(x) / 4.0).collect(), &[2, 3]).unwrap();
    x.cast(ty).unwrap()
}

/// A tensor of a type with many different bits.
fn sample(ty: ScalarType, shape: &[usize]) -> Tensor {
    let mut state = 12345u64;
    let count: usize = shape.iter().product();
    let elements = (0..count).map(|_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        Scalar::from_bits(ty, state >> 11)
    });
    Memory::unlimited().from_scalars(ty, shape, elements).unwrap()
}

#[test]
fn files_of_other_programs() {
    for (name, ty) in [
        ("plain.npy", ScalarType::F64),
        ("fortran.npy", ScalarType::F64),
        ("big_endian.npy", ScalarType::F64),
        ("version2.npy", ScalarType::F32),
        ("version3.npy", ScalarType::F32),
    ] {
        assert_eq!(load(&data(name), None), Ok(quarters(ty)), "{name}");
    }
    assert_eq!(load(&data("scalar.npy"), None), Ok(Tensor::scalar(Scalar::I16(7))));
    let bools = load(&data("bools.npy"), None).unwrap();
    assert_eq!(bools.to_vec::<bool>().unwrap(), [true, false, true]);
    assert_eq!(load(&data("complex.npy"), None), Err(FileErrorKind::UnsupportedType));
    for archive in ["stored.npz", "deflated.npz", "arrays.safetensors"] {
        assert_eq!(load(&data(archive), Some("a")), Ok(quarters(ScalarType::F64)), "{archive}");
        assert_eq!(load(&data(archive), Some("c")), Err(FileErrorKind::NoSuchArray));
        assert_eq!(load(&data(archive), None), Err(FileErrorKind::NoSuchArray));
    }
    let zeros = load(&data("deflated.npz"), Some("zeros")).unwrap();
    assert_eq!(zeros, Tensor::zeros(ScalarType::I32, &[50, 50]).unwrap());
    let halves = load(&data("arrays.safetensors"), Some("h"));
    assert_eq!(halves, Ok(quarters(ScalarType::F16)));
    assert_eq!(names(&data("stored.npz")).unwrap(), ["a", "b"]);
}

#[test]
fn floats_of_eight_bits_are_read_as_f32() {
    let folder = folder("float8");
    let header = r#"{"w":{"dtype":"F8_E4M3","shape":[2,3],"data_offsets":[0,6]},"e":{"dtype":"F8_E4M3","shape":[0],"data_offsets":[6,6]},"g":{"dtype":"F8_E5M2","shape":[4],"data_offsets":[6,10]}}"#;
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.as_bytes());
    file.extend([0x38, 0xb8, 0x01, 0x7e, 0x00, 0x3c]);
    file.extend([0x3c, 0xc0, 0x7c, 0x01]);
    let path = folder.join("x.safetensors");
    fs::write(&path, file).unwrap();
    let w = load(&path, Some("w")).unwrap();
    assert_eq!((w.ty(), w.shape()), (ScalarType::F32, &[2, 3][..]));
    assert_eq!(w.to_vec::<f32>().unwrap(), [1.0, -1.0, 0.001953125, 448.0, 0.0, 1.5]);
    let g = load(&path, Some("g")).unwrap().to_vec::<f32>().unwrap();
    assert_eq!(g, [1.0, -2.0, f32::INFINITY, 2f32.powi(-16)]);
    assert_eq!(load(&path, Some("e")).unwrap().shape(), [0]);
    let small = Memory::new(Some(20));
    let error = read(&path, Some("w"), &small).unwrap_err();
    assert_eq!((error.kind, small.used()), (FileErrorKind::TooLarge, 0));
}

#[test]
fn what_we_write_reads_back() {
    let folder = folder("round");
    for ty in ScalarType::ALL {
        for shape in [&[][..], &[0], &[5], &[3, 4], &[2, 0, 3], &[2, 3, 4, 5]] {
            let x = sample(ty, shape);
            let turned = x.permute(&(0..shape.len()).rev().collect::<Vec<_>>()).unwrap();
            for x in [&x, &turned] {
                for ending in ["npy", "npz", "safetensors"] {
                    let path = folder.join(format!("x.{ending}"));
                    let result = write(&path, &[("x", x)]);
                    if ty == ScalarType::BF16 && ending != "safetensors" {
                        assert_eq!(result.unwrap_err().kind, FileErrorKind::UnsupportedType);
                        continue;
                    }
                    result.unwrap();
                    assert_eq!(load(&path, None).as_ref(), Ok(x), "{ty} {shape:?} {ending}");
                }
            }
        }
    }
    let table = sample(ScalarType::I32, &[4, 3]).cast(ScalarType::F64).unwrap();
    let path = folder.join("x.csv");
    write(&path, &[("x", &table)]).unwrap();
    assert_eq!(load(&path, None), Ok(table));
    let many = [("a", &sample(ScalarType::U8, &[3])), ("b", &sample(ScalarType::F64, &[2]))];
    for ending in ["npz", "safetensors"] {
        let path = folder.join(format!("many.{ending}"));
        write(&path, &many).unwrap();
        for (name, x) in many {
            assert_eq!(load(&path, Some(name)).as_ref(), Ok(x));
        }
    }
    assert!(write(&folder.join("many.npy"), &many).is_err());
    let left: Vec<_> = fs::read_dir(&folder).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().ends_with(".tmp")), "{left:?}");
}

#[test]
fn faults_have_kinds() {
    let folder = folder("kinds");
    assert_eq!(load(&folder.join("none.npy"), None), Err(FileErrorKind::Missing));
    assert_eq!(load(&folder.join("x.txt"), None), Err(FileErrorKind::Unreadable));
    fs::create_dir(folder.join("folder.npy")).unwrap();
    assert_eq!(load(&folder.join("folder.npy"), None), Err(FileErrorKind::Unreadable));
    for ending in ["npy", "npz", "safetensors", "csv"] {
        let path = folder.join(format!("bad.{ending}"));
        for content in [&b""[..], b"\x00", b"hello, this is not an array\n", &[0xff; 100]] {
            fs::write(&path, content).unwrap();
            assert_eq!(load(&path, None), Err(FileErrorKind::Malformed), "{ending} {content:?}");
        }
    }
    let small = Memory::new(Some(100));
    let error = read(&data("deflated.npz"), Some("zeros"), &small).unwrap_err();
    assert_eq!((error.kind, small.used()), (FileErrorKind::TooLarge, 0));
    assert!(
        write(&folder.join("no/such/folder.npy"), &[("x", &quarters(ScalarType::F32))]).is_err()
    );
}

/// An `.npy` file with this header and as many bytes of elements.
fn npy(header: &str, bytes: usize) -> Vec<u8> {
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.as_bytes());
    file.extend(vec![0; bytes]);
    file
}

/// A byte of an archive in which the array `b` is called `a` like the other one.
fn renamed(archive: &[u8], at: usize, byte: u8) -> u8 {
    if byte == b'b' && archive[at..].starts_with(b"b.npy") { b'a' } else { byte }
}

#[test]
fn lying_headers_are_refused_without_allocating() {
    let folder = folder("lies");
    let memory = Memory::new(Some(1 << 20));
    let check = |name: &str, content: &[u8]| {
        let path = folder.join(name);
        fs::write(&path, content).unwrap();
        let error = read(&path, None, &memory).unwrap_err();
        assert_eq!(error.kind, FileErrorKind::Malformed, "{error}");
        assert_eq!(memory.peak(), 0, "{error}");
    };
    let header =
        |shape: &str| format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({shape}), }}\n");
    check("x.npy", &npy(&header("1000000000000000000,"), 80));
    check("x.npy", &npy(&header("4294967296, 4294967296, 4294967296"), 80));
    check("x.npy", &npy(&header("10,"), 79));
    check("x.npy", &npy(&header("10,"), 81));
    check("x.npy", &npy(&header("-10,"), 80));
    check("x.npy", &npy(&header("2305843009213693952, 8"), 0));
    let safe = |header: &str, bytes: usize| {
        [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &vec![0; bytes]].concat()
    };
    for (header, bytes) in [
        (r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,9]}}"#, 9),
        (r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}}"#, 8),
        (r#"{"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}}"#, 8),
        (r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#, 9),
        (r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#, 7),
        (r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[1,9]}}"#, 9),
        (r#"{"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}}"#, 0),
        (
            r#"{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},
                "b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}}"#,
            6,
        ),
        (r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0]}}"#, 8),
        (r#"{"a":{"dtype":"F8_E4M3","shape":[2],"data_offsets":[0,8]}}"#, 8),
        (r#"{"a":7}"#, 0),
        (r"[1]", 0),
        (
            r#"{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},
                "a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}"#,
            4,
        ),
    ] {
        check("x.safetensors", &safe(header, bytes));
    }
    check("x.safetensors", &[&[0xff; 8][..], b"{}"].concat());
    let twice = fs::read(data("stored.npz")).unwrap();
    let twice: Vec<u8> =
        twice.iter().enumerate().map(|(at, byte)| renamed(&twice, at, *byte)).collect();
    check("x.npz", &twice);
    let nested = "[".repeat(100_000);
    check("x.safetensors", &safe(&nested, 0));
}

#[test]
fn a_bomb_is_bounded_by_the_file() {
    let folder = folder("bomb");
    let content = fs::read(data("deflated.npz")).unwrap();
    // Every 32-bit size of 10128 (header and zeros) becomes a thousand times as much.
    let claimed = 10_128u32.to_le_bytes();
    let found: Vec<usize> =
        (0..content.len() - 4).filter(|i| content[*i..*i + 4] == claimed).collect();
    assert!(!found.is_empty());
    let mut lying = content.clone();
    for at in found {
        lying[at..at + 4].copy_from_slice(&4_000_000_000u32.to_le_bytes());
    }
    let path = folder.join("x.npz");
    fs::write(&path, lying).unwrap();
    let memory = Memory::unlimited();
    let error = read(&path, Some("zeros"), &memory).unwrap_err();
    assert_eq!((error.kind, memory.peak()), (FileErrorKind::Malformed, 0), "{error}");
}

/// A simple generator: the tests must not depend on chance.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }
}

/// Reads a damaged file: any answer will do, but it must be one, and within the file's size.
fn survive(path: &Path, content: &[u8]) -> bool {
    // A new file each time: some systems wait for the disk when an old one is overwritten.
    let _ = fs::remove_file(path);
    fs::write(path, content).unwrap();
    let memory = Memory::unlimited();
    let mut accepted = false;
    let mut wanted: Vec<Option<String>> = vec![None, Some("a".to_owned())];
    wanted.extend(names(path).unwrap_or_default().into_iter().map(Some));
    for name in wanted {
        accepted |= read(path, name.as_deref(), &memory).is_ok();
        assert!(memory.peak() <= 1100 * content.len() as u64, "{} bytes", memory.peak());
    }
    accepted
}

#[test]
fn damaged_files_are_survived() {
    let folder = folder("damaged");
    let table = folder.join("seed.csv");
    fs::write(&table, "a,b,c\n1.5,2,3\n-4,5e3,6\n").unwrap();
    let seeds = ["plain.npy", "fortran.npy", "version2.npy", "stored.npz", "deflated.npz"];
    let mut seeds: Vec<PathBuf> = seeds.iter().map(|name| data(name)).collect();
    seeds.extend([data("arrays.safetensors"), table]);
    let mut random = Random(88_172_645_463_325_252);
    for seed in seeds {
        let content = fs::read(&seed).unwrap();
        let path = folder.join("x").with_extension(seed.extension().unwrap());
        let is_text = seed.extension().unwrap() == "csv";
        for length in 0..content.len() {
            let accepted = survive(&path, &content[..length]);
            assert!(is_text || !accepted, "{} cut to {length}", seed.display());
        }
        for _ in 0..2000 {
            let mut damaged = content.clone();
            for _ in 0..=random.below(4) {
                let at = random.below(damaged.len());
                match random.below(6) {
                    0 => damaged[at] ^= 1 << random.below(8),
                    1 => damaged[at] = [0, 0xff, 0x7f, b'9', b'-', b'('][random.below(6)],
                    2 => damaged.insert(at, random.below(256) as u8),
                    3 => drop(damaged.remove(at)),
                    4 => {
                        let end = (at + random.below(8)).min(damaged.len());
                        damaged[at..end].fill([0, 0xff][random.below(2)]);
                    }
                    _ => {
                        let (from, count) = (random.below(damaged.len()), random.below(32));
                        let piece: Vec<u8> = damaged[from..].iter().take(count).copied().collect();
                        damaged.splice(at..at, piece);
                    }
                }
            }
            survive(&path, &damaged);
        }
    }
}
