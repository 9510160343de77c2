//! Mapped files that change under a run.
//!
//! Whoever cuts a file takes pages away that a kernel may be about to read, which the system answers
//! with a signal (`SIGBUS`) that would end the process, and Python's with it. Here the signal puts empty
//! pages in place of those that are gone and takes note; the run goes on, and ends with an error. A file
//! that changed without losing a page is found at the end of the run, by its length and its time.
//!
//! The handler takes no lock and allocates nothing: maps are listed in slots that are never freed, only
//! used again. A signal whose address lies in no map goes to whoever handled it before.

use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use memmap2::Mmap;

use crate::Memory;

/// The files that the arrays of a memory are mapped from.
#[derive(Debug, Default)]
pub(crate) struct Files {
    torn: AtomicBool,
    /// Those of this run, and of maps that live.
    known: Mutex<Vec<Arc<Known>>>,
}

/// A file that is mapped.
#[derive(Debug)]
struct Known {
    path: PathBuf,
    state: State,
    slot: &'static Slot,
    map: Arc<Mmap>,
}

impl Drop for Known {
    fn drop(&mut self) {
        self.slot.end.store(0, Ordering::Release);
        self.slot.used.store(false, Ordering::Release);
    }
}

/// What tells a file from another one, and from what it was.
#[derive(Debug)]
struct State {
    identity: (u64, u64),
    length: u64,
    modified: SystemTime,
}

impl State {
    fn of(about: &Metadata) -> Option<State> {
        let modified = about.modified().ok()?;
        Some(State { identity: identity(about), length: about.len(), modified })
    }

    /// Whether another file at the same path is the same one, with other contents. One that took its
    /// place is none of our business: the map is of the file that was there.
    fn differs(&self, other: &State) -> bool {
        self.identity == other.identity
            && (self.length != other.length || self.modified != other.modified)
    }
}

#[cfg(unix)]
fn identity(about: &Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (about.dev(), about.ino())
}

#[cfg(not(unix))]
fn identity(_: &Metadata) -> (u64, u64) {
    (0, 0)
}

impl Files {
    /// Takes note of a file that is mapped.
    fn know(&self, path: &Path, file: &File, map: &Arc<Mmap>) -> Option<Arc<Known>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        // Models have one file and hundreds of arrays; what was noted first stays.
        if let Some(before) = known.iter().rev().find(|it| Arc::ptr_eq(&it.map, map)) {
            return Some(Arc::clone(before));
        }
        let state = State::of(&file.metadata().ok()?)?;
        let flag = std::ptr::from_ref(&self.torn).cast_mut();
        let start = map.as_ptr().addr();
        let slot = Slot::take(flag, start, start + map.len());
        known.push(Arc::new(Known { path: path.into(), state, slot, map: Arc::clone(map) }));
        known.last().cloned()
    }

    /// Forgets what earlier runs mapped and let go.
    pub(crate) fn begin(&self) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|it| Arc::strong_count(it) > 1);
        if known.is_empty() {
            self.torn.store(false, Ordering::Release);
        }
    }

    pub(crate) fn torn(&self) -> bool {
        self.torn.load(Ordering::Acquire)
    }

    /// The first file that is not what it was.
    pub(crate) fn changed(&self) -> Option<PathBuf> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let now = |it: &Arc<Known>| State::of(&std::fs::metadata(&it.path).ok()?);
        let changed = known.iter().find(|it| now(it).is_some_and(|now| it.state.differs(&now)));
        // A page was lost: of a file that has no name any more, or by a disk that failed.
        let lost = || known.iter().find(|_| self.torn());
        changed.or_else(lost).map(|it| it.path.clone())
    }
}

/// A map whose pages may go away without harm.
pub(crate) struct Watched {
    _map: Arc<Known>,
    // The flag that the slot of the map points to is in it.
    _memory: Memory,
}

impl Watched {
    /// Watches a map of a file; nothing if the system does not say what would have to be compared.
    pub(crate) fn new(
        memory: &Memory,
        path: &Path,
        file: &File,
        map: &Arc<Mmap>,
    ) -> Option<Watched> {
        handler::install();
        let known = memory.files().know(path, file, map)?;
        Some(Watched { _map: known, _memory: memory.clone() })
    }
}

/// Where a map lies, for the handler.
#[derive(Debug)]
struct Slot {
    used: AtomicBool,
    start: AtomicUsize,
    /// 0 where there is no map.
    end: AtomicUsize,
    flag: AtomicPtr<AtomicBool>,
    next: Option<&'static Slot>,
}

static SLOTS: AtomicPtr<Slot> = AtomicPtr::new(std::ptr::null_mut());

/// The first of all slots.
fn slots() -> Option<&'static Slot> {
    // SAFETY: what is stored there was leaked below, so it is there for ever.
    unsafe { SLOTS.load(Ordering::Acquire).as_ref() }
}

impl Slot {
    /// A slot for a map: one that is free, or another one.
    fn take(flag: *mut AtomicBool, start: usize, end: usize) -> &'static Slot {
        let free = std::iter::successors(slots(), |slot| slot.next)
            .find(|slot| !slot.used.swap(true, Ordering::AcqRel));
        if let Some(slot) = free {
            slot.start.store(start, Ordering::Relaxed);
            slot.flag.store(flag, Ordering::Relaxed);
            // Last: the handler looks at nothing else before.
            slot.end.store(end, Ordering::Release);
            return slot;
        }
        let fresh = Box::leak(Box::new(Slot {
            used: AtomicBool::new(true),
            start: AtomicUsize::new(start),
            end: AtomicUsize::new(end),
            flag: AtomicPtr::new(flag),
            next: slots(),
        }));
        let place = std::ptr::from_mut(fresh);
        loop {
            let before =
                fresh.next.map_or(std::ptr::null_mut(), |it| std::ptr::from_ref(it).cast_mut());
            match SLOTS.compare_exchange(before, place, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return fresh,
                Err(_) => fresh.next = slots(),
            }
        }
    }
}

#[cfg(not(unix))]
mod handler {
    /// Other systems do not let a mapped file be cut.
    pub(super) fn install() {}
}

#[cfg(unix)]
mod handler {
    use super::slots;
    use std::mem::MaybeUninit;
    use std::sync::OnceLock;
    use std::sync::atomic::Ordering;

    /// What was done with the signal before.
    static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

    /// Handles the signal from now on.
    pub(super) fn install() {
        BEFORE.get_or_init(|| {
            let mut before = MaybeUninit::<libc::sigaction>::zeroed();
            // SAFETY: zeros are a `sigaction`, whose fields are set to what the system asks for; the
            // handler calls nothing that a handler may not call.
            unsafe {
                let mut ours: libc::sigaction = std::mem::zeroed();
                ours.sa_sigaction = on_signal as *const () as usize;
                ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
                libc::sigemptyset(&raw mut ours.sa_mask);
                // A fault before the value below is stored comes again, and finds it then.
                libc::sigaction(libc::SIGBUS, &raw const ours, before.as_mut_ptr());
                before.assume_init()
            }
        });
    }

    extern "C" fn on_signal(
        signal: libc::c_int,
        info: *mut libc::siginfo_t,
        context: *mut libc::c_void,
    ) {
        // SAFETY: the system passes what `SA_SIGINFO` promises.
        let address = unsafe { (*info).si_addr() }.addr();
        if !replaced(address) {
            pass_on(signal, info, context);
        }
    }

    /// Puts empty pages in place of those from this address to the end of its map.
    fn replaced(address: usize) -> bool {
        let inside = |slot: &&super::Slot| {
            let end = slot.end.load(Ordering::Acquire);
            let start = slot.start.load(Ordering::Relaxed);
            start <= address && address < end
        };
        // Several runs may read one map.
        let mut end = 0;
        for slot in std::iter::successors(slots(), |slot| slot.next).filter(inside) {
            end = end.max(slot.end.load(Ordering::Acquire));
            // SAFETY: the flag is in the memory that whoever took the slot keeps.
            unsafe { &*slot.flag.load(Ordering::Relaxed) }.store(true, Ordering::Release);
        }
        // SAFETY: a call of the system that a handler may make.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        let Some(page) = usize::try_from(page).ok().filter(|it| it.is_power_of_two()) else {
            return false;
        };
        let from = address & !(page - 1);
        let Some(length) = end.next_multiple_of(page).checked_sub(from).filter(|_| end > 0) else {
            return false;
        };
        let flags = libc::MAP_FIXED | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let place = std::ptr::with_exposed_provenance_mut(from);
        // SAFETY: these pages are a part of the map of these slots, which nobody writes to and which
        // lives: somebody has just read from it. `mmap` is one call of the system.
        let fresh = unsafe { libc::mmap(place, length, libc::PROT_READ, flags, -1, 0) };
        fresh != libc::MAP_FAILED
    }

    /// Leaves a signal that is not ours to whoever had it before.
    fn pass_on(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
        let Some(before) = BEFORE.get() else { return };
        let default = [libc::SIG_DFL, libc::SIG_IGN].contains(&before.sa_sigaction);
        if default || before.sa_flags & libc::SA_SIGINFO == 0 {
            // SAFETY: as it was; the instruction is tried again and comes to it.
            unsafe { libc::sigaction(signal, before, std::ptr::null_mut()) };
            return;
        }
        type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);
        // SAFETY: not one of the two constants, and `SA_SIGINFO` says that it takes these.
        let handler: Handler = unsafe { std::mem::transmute(before.sa_sigaction) };
        handler(signal, info, context);
    }
}

#[cfg(all(test, unix))]
mod tests {
    use crate::Memory;
    use crate::format::{read, write};

    #[test]
    fn a_file_that_is_cut_is_told_and_not_fatal() {
        let folder = std::env::temp_dir().join(format!("ein-torn-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join("w.safetensors");
        let memory = Memory::unlimited();
        let elements: Vec<f32> = (0..100_000).map(|at| 1.0 + at as f32).collect();
        let tensor = memory.from_slice(&elements, &[100_000]).expect("room");
        write(&path, &[("w", &tensor)]).expect("written");
        for _ in 0..3 {
            write(&path, &[("w", &tensor)]).expect("written");
            let fresh = Memory::unlimited();
            let mapped = read(&path, Some("w"), &fresh).expect("readable");
            assert_eq!((fresh.torn(), fresh.changed_file()), (false, None));
            let file = std::fs::File::options().write(true).open(&path).expect("writable");
            file.set_len(50_000).expect("cut");
            let cells = mapped.as_slice::<f32>().expect("contiguous");
            assert_eq!((cells[0], cells[99_999]), (1.0, 0.0));
            assert_eq!((fresh.torn(), fresh.changed_file().as_ref()), (true, Some(&path)));
        }
        // Cut within the last page: no page is lost, and it is known all the same.
        write(&path, &[("w", &tensor)]).expect("written");
        let fresh = Memory::unlimited();
        let _mapped = read(&path, Some("w"), &fresh).expect("readable");
        let file = std::fs::File::options().write(true).open(&path).expect("writable");
        file.set_len(file.metadata().expect("there").len() - 4).expect("cut");
        assert_eq!((fresh.torn(), fresh.changed_file().as_ref()), (false, Some(&path)));
        // A file that takes its place changes nothing.
        write(&path, &[("w", &tensor)]).expect("written");
        assert_eq!(fresh.changed_file(), None);
        std::fs::remove_dir_all(&folder).expect("removed");
    }
}
