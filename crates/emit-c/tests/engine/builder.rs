//! Builds small kernels and runs them.

use std::path::Path;
use std::sync::OnceLock;

use ein_emit_c::Compiler;
use ein_ir::cost::Cost;
use ein_ir::loops::{
    Addr, Buf, Buffer, BufferKind, For, ForKind, Kernel, Op, Operand, Reg, Stmt, parse, print,
    vectorise, verify,
};
use ein_runtime::Pool;
use ein_scalar::{BinaryOp, Scalar, ScalarType, UnaryOp};

pub fn compiler() -> &'static Compiler {
    static COMPILER: OnceLock<Compiler> = OnceLock::new();
    COMPILER.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("engine");
        Compiler::find().expect("a C compiler").with_cache(&folder).expect("a folder")
    })
}

pub fn pool() -> &'static Pool {
    static POOL: OnceLock<Pool> = OnceLock::new();
    POOL.get_or_init(|| Pool::new(3))
}

/// A kernel whose code is written block by block.
#[derive(Default)]
pub struct Builder {
    pub kernel: Kernel,
    blocks: Vec<Vec<Stmt>>,
}

pub fn int(x: i64) -> Operand {
    Operand::Const(Scalar::I64(x))
}

pub fn value(x: impl Into<Scalar>) -> Operand {
    Operand::Const(x.into())
}

pub fn vector(reductions: &[(Reg, BinaryOp)]) -> ForKind {
    ForKind::Vector { reductions: reductions.to_vec() }
}

impl Builder {
    pub fn new() -> Builder {
        Builder { kernel: Kernel::default(), blocks: vec![Vec::new()] }
    }

    pub fn buffer(&mut self, ty: ScalarType, len: usize, kind: BufferKind) -> Buf {
        let name = format!("buffer {}", self.kernel.bufs.len());
        self.kernel.bufs.push(Buffer { name, ty, len: len as i64, kind })
    }

    pub fn input(&mut self, ty: ScalarType, len: usize) -> Buf {
        self.buffer(ty, len, BufferKind::Input)
    }

    pub fn output(&mut self, ty: ScalarType, len: usize) -> Buf {
        self.buffer(ty, len, BufferKind::Output)
    }

    pub fn push(&mut self, stmt: Stmt) {
        self.blocks.last_mut().expect("a block").push(stmt);
    }

    pub fn let_(&mut self, ty: ScalarType, op: Op) -> Operand {
        let reg = self.kernel.regs.push(ty);
        self.push(Stmt::Let(reg, op));
        Operand::Reg(reg)
    }

    fn ty(&self, operand: Operand) -> ScalarType {
        match operand {
            Operand::Reg(reg) => self.kernel.regs[reg],
            Operand::Const(value) => value.ty(),
        }
    }

    pub fn var(&mut self, first: Operand) -> Reg {
        let reg = self.kernel.regs.push(self.ty(first));
        self.push(Stmt::Var(reg, first));
        reg
    }

    pub fn set(&mut self, var: Reg, value: Operand) {
        self.push(Stmt::Set(var, value));
    }

    pub fn addr(&self, buf: Buf, terms: &[(Operand, i64)], offset: i64) -> Addr {
        let reg = |operand: Operand| match operand {
            Operand::Reg(reg) => reg,
            Operand::Const(_) => panic!("a constant in an address"),
        };
        let terms = terms.iter().map(|&(operand, factor)| (reg(operand), factor)).collect();
        Addr { buf, terms, offset }
    }

    pub fn load(&mut self, buf: Buf, terms: &[(Operand, i64)], offset: i64) -> Operand {
        let addr = self.addr(buf, terms, offset);
        self.let_(self.kernel.bufs[buf].ty, Op::Load(addr))
    }

    pub fn store(&mut self, buf: Buf, terms: &[(Operand, i64)], offset: i64, value: Operand) {
        let addr = self.addr(buf, terms, offset);
        self.push(Stmt::Store(addr, value));
    }

    pub fn unary(&mut self, op: UnaryOp, a: Operand) -> Operand {
        let ty = op.result_type(self.ty(a)).expect("an operand of the right type");
        self.let_(ty, Op::Unary(op, a))
    }

    pub fn binary(&mut self, op: BinaryOp, a: Operand, b: Operand) -> Operand {
        let ty = op.result_type(self.ty(a), self.ty(b)).expect("operands of the right types");
        self.let_(ty, Op::Binary(op, a, b))
    }

    /// `v = op(v, x)`.
    pub fn reduce(&mut self, var: Reg, op: BinaryOp, x: Operand) {
        let next = self.binary(op, Operand::Reg(var), x);
        self.set(var, next);
    }

    pub fn for_(
        &mut self,
        lo: Operand,
        hi: Operand,
        kind: ForKind,
        body: impl FnOnce(&mut Builder, Operand),
    ) {
        let var = self.kernel.regs.push(ScalarType::I64);
        self.blocks.push(Vec::new());
        body(self, Operand::Reg(var));
        let body = self.blocks.pop().expect("a block");
        self.push(Stmt::For(Box::new(For { var, lo, hi, kind, body })));
    }

    pub fn if_(
        &mut self,
        condition: Operand,
        yes: impl FnOnce(&mut Builder),
        no: impl FnOnce(&mut Builder),
    ) {
        self.blocks.push(Vec::new());
        yes(self);
        let yes = self.blocks.pop().expect("a block");
        self.blocks.push(Vec::new());
        no(self);
        let no = self.blocks.pop().expect("a block");
        self.push(Stmt::If(condition, yes, no));
    }

    pub fn finish(mut self) -> Kernel {
        self.kernel.body = self.blocks.pop().expect("a block");
        decided(self.kernel)
    }
}

/// A kernel whose loops are decided for this machine.
pub fn decided(mut kernel: Kernel) -> Kernel {
    vectorise::run(&mut kernel, Cost::host());
    assert_eq!(verify::verify(&kernel), [] as [&str; 0]);
    let text = print::print(&kernel);
    let again = parse::parse(&text).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
    assert_eq!(print::print(&again), text);
    kernel
}

/// A buffer with the alignment that kernels expect.
#[derive(Clone, Debug)]
pub struct Data {
    ty: ScalarType,
    len: usize,
    lines: Vec<Line>,
}

#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Line([u8; 64]);

impl Data {
    pub fn new(ty: ScalarType, values: &[Scalar]) -> Data {
        let mut data = Data::zeros(ty, values.len());
        for (i, value) in values.iter().enumerate() {
            assert_eq!(value.ty(), ty);
            let bytes = value.to_bits().to_le_bytes();
            let size = ty.size_bytes();
            // SAFETY: the element is inside.
            unsafe { data.pointer().add(i * size).copy_from(bytes.as_ptr(), size) };
        }
        data
    }

    pub fn zeros(ty: ScalarType, len: usize) -> Data {
        let lines = vec![Line([0; 64]); (len * ty.size_bytes()).div_ceil(64) + 1];
        Data { ty, len, lines }
    }

    pub fn floats(values: &[f32]) -> Data {
        let values: Vec<Scalar> = values.iter().map(|&x| x.into()).collect();
        Data::new(ScalarType::F32, &values)
    }

    pub fn doubles(values: &[f64]) -> Data {
        let values: Vec<Scalar> = values.iter().map(|&x| x.into()).collect();
        Data::new(ScalarType::F64, &values)
    }

    pub fn pointer(&mut self) -> *mut u8 {
        self.lines.as_mut_ptr().cast()
    }

    pub fn get(&self, i: usize) -> Scalar {
        let size = self.ty.size_bytes();
        let mut bytes = [0; 8];
        let base: *const u8 = self.lines.as_ptr().cast();
        // SAFETY: the element is inside.
        unsafe { base.add(i * size).copy_to(bytes.as_mut_ptr(), size) };
        Scalar::from_bits(self.ty, u64::from_le_bytes(bytes))
    }

    pub fn values(&self) -> Vec<Scalar> {
        (0..self.len).map(|i| self.get(i)).collect()
    }
}

/// Builds and runs a kernel; local buffers need no data.
pub fn run(kernel: &Kernel, given: &mut [&mut Data]) -> u32 {
    let compiled = match compiler().compile(kernel) {
        Ok(compiled) => compiled,
        Err(error) => {
            panic!("{error}\n{}\n{}", error.log, ein_emit_c::source(kernel, "kernel"))
        }
    };
    let mut given = given.iter_mut();
    let mut pointers = Vec::new();
    for buffer in kernel.bufs.iter() {
        pointers.push(match buffer.kind {
            BufferKind::Local => std::ptr::null_mut(),
            BufferKind::Input | BufferKind::Output | BufferKind::Scratch => {
                let data = given.next().expect("data for every buffer");
                assert!(data.len as i64 >= buffer.len && data.ty == buffer.ty);
                data.pointer()
            }
        });
    }
    // SAFETY: there is data for every buffer, and addresses of test kernels are inside.
    unsafe { compiled.run(&pointers, &ein_runtime::Run::new(pool(), &|| false).interface()) }
}

/// A kernel that applies a function to each element of its inputs.
pub fn pointwise(
    inputs: &[ScalarType],
    output: ScalarType,
    len: usize,
    f: impl FnOnce(&mut Builder, &[Operand]) -> Operand,
) -> Kernel {
    let mut b = Builder::new();
    let bufs: Vec<Buf> = inputs.iter().map(|&ty| b.input(ty, len)).collect();
    let out = b.output(output, len);
    b.for_(int(0), int(len as i64), vector(&[]), |b, i| {
        let loaded: Vec<Operand> = bufs.iter().map(|&buf| b.load(buf, &[(i, 1)], 0)).collect();
        let result = f(b, &loaded);
        b.store(out, &[(i, 1)], 0, result);
    });
    b.finish()
}
