//! The system's C compiler: finding it, building kernels with it, loading what it built.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use ein_ir::loops::Kernel;
use ein_ir::target::{Target, Vectors};
use ein_runtime::kernel::{Interface, KernelFn};
use libloading::Library;

use crate::cache::{self, Cache};
use crate::{children, emit, with_prelude};

/// What holds for every build. Vectors need no errno and no floating-point traps; not-a-numbers,
/// infinities and the signs of zeros stay as they are, and only marked reductions are reordered. What
/// belongs into vectors is in marked loops; scalars that are gathered into short ones beside these
/// wait for each other. Rows of accumulators stay in registers, if steps of the loops around them are
/// not taken together.
const FLAGS: &[&str] = &[
    "-std=gnu11",
    "-O3",
    "-fPIC",
    "-fopenmp-simd",
    "-ffp-contract=fast",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fno-tree-slp-vectorize",
    "-fno-predictive-commoning",
    "-w",
];

/// A C compiler for this machine.
#[derive(Debug)]
pub struct Compiler {
    program: String,
    flags: Vec<&'static str>,
    /// All that a built library depends on but its source.
    identity: String,
    cache: Cache,
}

/// There is no usable C compiler.
#[derive(Clone, Debug)]
pub struct Unavailable {
    /// One sentence for people.
    pub message: String,
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Unavailable {}

/// A kernel could not be built: a fault of ours or of the compiler.
#[derive(Clone, Debug)]
pub struct BuildError {
    /// One sentence for people.
    pub message: String,
    /// What the compiler said.
    pub log: String,
}

/// The sentence, with the first error of the compiler.
impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        let lines = || self.log.lines().map(str::trim).filter(|line| !line.is_empty());
        match lines().find(|line| line.contains("error")).or_else(|| lines().next()) {
            Some(line) => write!(f, ": {line}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for BuildError {}

/// A kernel in machine code; it keeps its library loaded.
#[derive(Clone, Debug)]
pub struct Compiled {
    function: KernelFn,
    _library: Arc<Library>,
}

impl Compiled {
    /// Runs the kernel. Gives zero unless something trapped.
    ///
    /// # Safety
    ///
    /// There is a pointer for each buffer of the kernel, to as many elements as it has, and they
    /// overlap only as [`BufferKind`](ein_ir::loops::BufferKind) allows. The functions of the
    /// interface may be called: its pool still exists.
    pub unsafe fn run(&self, bufs: &[*mut u8], interface: &Interface) -> u32 {
        // SAFETY: as the caller promises.
        unsafe { (self.function)(bufs.as_ptr(), interface) }
    }
}

impl Compiler {
    /// The compiler that `CC` names, or the first one found of `cc`, `gcc` and `clang`.
    pub fn find() -> Result<Compiler, Unavailable> {
        let named = std::env::var("CC").ok().filter(|it| !it.trim().is_empty());
        let candidates = match &named {
            Some(named) => vec![named.as_str()],
            None => vec!["cc", "gcc", "clang"],
        };
        let found = candidates.iter().find_map(|program| Some((program, version(program)?)));
        let Some((program, version)) = found else {
            let message = format!("no C compiler: tried {}", candidates.join(", "));
            return Err(Unavailable { message });
        };
        let cache = Cache::open().map_err(|error| Unavailable {
            message: format!("no folder for built code: {error}"),
        })?;
        let flags = flags(&version);
        let machine = machine();
        let identity = [program, version.as_str(), &flags.join(" "), &machine].join("\n");
        Ok(Compiler { program: (*program).to_string(), flags, identity, cache })
    }

    /// The same compiler with its cache in another folder.
    pub fn with_cache(self, folder: &Path) -> std::io::Result<Compiler> {
        Ok(Compiler { cache: Cache::at(folder)?, ..self })
    }

    /// What the compiler calls itself, in one line.
    pub fn name(&self) -> &str {
        self.identity.lines().nth(1).unwrap_or(&self.program)
    }

    /// Builds a kernel, or takes it from the cache.
    pub fn compile(&self, kernel: &Kernel) -> Result<Compiled, BuildError> {
        let mut compiled = self.compile_all(&[kernel])?;
        compiled.pop().ok_or_else(|| fault("nothing was built", ""))
    }

    /// Builds kernels in one go, which is faster than one after another.
    pub fn compile_all(&self, kernels: &[&Kernel]) -> Result<Vec<Compiled>, BuildError> {
        let name = |i: usize| format!("ein_kernel{i}");
        let functions: Vec<String> = kernels
            .iter()
            .enumerate()
            .map(|(i, kernel)| emit::functions(kernel, &name(i), emit::Caller::Loader))
            .collect();
        let source = with_prelude(&functions.join("\n"));
        let library = Arc::new(self.library(&source)?);
        (0..kernels.len())
            .map(|i| {
                // SAFETY: the source defines a function of this name with this signature.
                let symbol = unsafe { library.get::<KernelFn>(name(i).as_bytes()) };
                match symbol {
                    Ok(symbol) => {
                        Ok(Compiled { function: *symbol, _library: Arc::clone(&library) })
                    }
                    Err(error) => Err(fault("the built code lacks a kernel", &error.to_string())),
                }
            })
            .collect()
    }

    fn library(&self, source: &str) -> Result<Library, BuildError> {
        let key = cache::key(&[&self.identity, source]);
        if let Some(path) = self.cache.get(&key) {
            match load(&path) {
                Ok(library) => return Ok(library),
                Err(_) => self.cache.forget(&key),
            }
        }
        let built = self.cache.temporary();
        let result = self.build(source, &built).and_then(|()| {
            let put = self.cache.put(&key, &built);
            put.map_err(|error| fault("the built code could not be kept", &error.to_string()))
        });
        match result {
            Ok(path) => load(&path),
            Err(error) => {
                // It may not be there.
                let _ = std::fs::remove_file(&built);
                Err(error)
            }
        }
    }

    fn build(&self, source: &str, to: &Path) -> Result<(), BuildError> {
        self.translate(source, &["-shared"], to)
    }

    /// Builds a C file into an object file.
    pub fn object(&self, source: &str, to: &Path) -> Result<(), BuildError> {
        self.translate(source, &["-c"], to)
    }

    /// Builds a C file with a `main` into a program.
    pub fn program(&self, source: &str, to: &Path) -> Result<(), BuildError> {
        self.translate(source, &[], to)
    }

    /// Puts an object file into a new archive, with the archiver that `AR` names, or `ar`.
    pub fn archive(&self, object: &Path, to: &Path) -> Result<(), BuildError> {
        let named = std::env::var("AR").ok().filter(|it| !it.trim().is_empty());
        let program = named.unwrap_or_else(|| "ar".into());
        let mut command = Command::new(&program);
        command.arg("rcs").arg(to).arg(object).env("LC_ALL", "C").stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        match children::run(&mut command, &[]) {
            Ok(output) if output.status.success() => Ok(()),
            Ok(output) => {
                let log = String::from_utf8_lossy(&output.stderr);
                Err(fault(&format!("`{program}` made no archive"), &log))
            }
            Err(error) => Err(fault(&format!("`{program}` could not be run"), &error.to_string())),
        }
    }

    fn translate(&self, source: &str, mode: &[&str], to: &Path) -> Result<(), BuildError> {
        let mut command = self.command();
        command.args(mode).args(["-x", "c", "-", "-o"]).arg(to).arg("-lm");
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let failed = |error: std::io::Error| {
            fault(&format!("`{}` could not be run", self.program), &error.to_string())
        };
        let output = children::run(&mut command, source.as_bytes()).map_err(failed)?;
        if output.status.success() {
            return Ok(());
        }
        let log = String::from_utf8_lossy(&output.stderr);
        Err(fault(&format!("`{}` refused a generated kernel", self.program), &log))
    }

    fn command(&self) -> Command {
        let mut words = self.program.split_whitespace();
        let mut command = Command::new(words.next().unwrap_or("cc"));
        command.args(words).args(&self.flags).env("LC_ALL", "C");
        command
    }
}

fn fault(message: &str, log: &str) -> BuildError {
    BuildError { message: message.to_string(), log: log.to_string() }
}

fn load(path: &PathBuf) -> Result<Library, BuildError> {
    // SAFETY: it is what the compiler made of our source; it has no initialisers.
    unsafe { Library::new(path) }
        .map_err(|error| fault("the built code could not be loaded", &error.to_string()))
}

/// The first line of what a compiler says of its version, if it is there and works.
fn version(program: &str) -> Option<String> {
    let mut words = program.split_whitespace();
    let output = Command::new(words.next()?)
        .args(words)
        .arg("--version")
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().next()?.trim().to_string();
    (output.status.success() && !line.is_empty()).then_some(line)
}

/// The flags for this machine, of a compiler that calls itself so.
fn flags(version: &str) -> Vec<&'static str> {
    let mut flags = FLAGS.to_vec();
    if !version.contains("clang") {
        // What the first turn of a loop knows by itself is not to be computed for the next one at the
        // end of each: such a loop has no vectors.
        flags.push("-fno-tree-pre");
    }
    if cfg!(target_arch = "x86_64") && !version.contains("clang") {
        // A position between two limits stays in an integer register: the way through a vector
        // register and back takes longer than the element that it is the position of.
        flags.push("-mno-stv");
    }
    let vectors = Target::host().vectors;
    if cfg!(target_arch = "x86_64") && vectors < Vectors::longest() {
        flags.push(if vectors == Vectors::Bits256 {
            "-march=x86-64-v3"
        } else {
            "-march=x86-64-v2"
        });
    } else if cfg!(any(target_arch = "x86_64", target_arch = "x86")) {
        flags.push("-march=native");
    } else {
        flags.push("-mcpu=native");
    }
    if vectors == Vectors::Bits512 {
        flags.push("-mprefer-vector-width=512");
        if !version.contains("clang") {
            // Of processors that it does not know the compiler thinks that they gather slowly.
            flags.push("-mtune-ctrl=use_gather");
        }
    }
    flags
}

/// What distinguishes this kind of processor from others that may share the cache.
fn machine() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let told = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap_or_default();
    let lines = ["model name", "flags", "CPU part", "Features"].map(told);
    format!("{}\n{}", std::env::consts::ARCH, lines.join("\n"))
}
