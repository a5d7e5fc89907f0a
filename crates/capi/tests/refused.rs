//! The engine's functions with mistakes of the caller, as C could make them: each is refused by its
//! error. The tests are small enough for Miri.

mod common;

use std::cell::{Cell, RefCell};
use std::ffi::{CStr, c_char, c_void};
use std::ptr::{null, null_mut};
use std::rc::Rc;

use common::Draw;
use pageout_capi::engine::handle::{Cpu, Engine};
use pageout_capi::engine::memcg::*;
use pageout_capi::engine::pages::*;
use pageout_capi::engine::reclaim::*;
use pageout_capi::engine::setup::*;
use pageout_capi::engine::space::*;
use pageout_capi::engine::stat::*;
use pageout_capi::engine::types::{
    Access, Advice, Events, Fault, Folio, Growth, Io, Kind, Limits, LruGen, NO_FOLIO, NO_FRAME,
    Outcome, Setup, Stat, Transfer, Vm, Vma,
};
use pageout_capi::engine::world::{WORLD_VERSION, World};
use pageout_capi::entry_points::pageout_error_text;
use pageout_capi::types::{Error, Format};

const FIRST: u64 = 0x100;
const FRAMES: usize = 32;
const START: u64 = 0x10_0000;

/// A frame.
#[derive(Clone)]
#[repr(C, align(4096))]
struct Page([u64; 512]);

/// The memory of the world: frames, of which some are free, and the calls that it makes back.
struct Ram {
    pages: *mut Page,
    free: RefCell<Vec<u64>>,
    pending: Cell<bool>,
    asked: RefCell<Vec<Io>>,
    /// The context that `relax` makes a call with, which the contract forbids.
    calls_back: Cell<*mut Cpu>,
    answer: Cell<i32>,
}

/// Returns the memory behind a context.
fn ram<'c>(context: *mut c_void) -> &'c Ram {
    // SAFETY: every world below is given one, which outlives it.
    unsafe { &*context.cast::<Ram>() }
}

unsafe extern "C" fn alloc(context: *mut c_void, order: u32) -> u64 {
    let frame = ram(context).free.borrow_mut().pop().filter(|_| order == 0);
    frame.unwrap_or(NO_FRAME)
}

unsafe extern "C" fn free(context: *mut c_void, pfn: u64, _: u32) {
    ram(context).free.borrow_mut().push(pfn);
}

unsafe extern "C" fn table(context: *mut c_void, pfn: u64) -> *mut u64 {
    match pfn.checked_sub(FIRST).filter(|k| *k < FRAMES as u64) {
        // SAFETY: the frame is one of the memory's.
        Some(k) => unsafe { ram(context).pages.add(k as usize).cast() },
        None => null_mut(),
    }
}

unsafe extern "C" fn zero(context: *mut c_void, pfn: u64, nr: usize) {
    for k in 0..nr as u64 {
        // SAFETY: the frame is one of the memory's, and aligned.
        unsafe { table(context, pfn + k).cast::<Page>().write(Page([0; 512])) };
    }
}

unsafe extern "C" fn alloc_table(context: *mut c_void) -> u64 {
    // SAFETY: as the engine calls it.
    let pfn = unsafe { alloc(context, 0) };
    if pfn != NO_FRAME {
        // SAFETY: as above.
        unsafe { zero(context, pfn, 1) };
    }
    pfn
}

unsafe extern "C" fn free_table(context: *mut c_void, pfn: u64) {
    // SAFETY: as the engine calls it.
    unsafe { free(context, pfn, 0) };
}

unsafe extern "C" fn copy(_: *mut c_void, _: u64, _: u64, _: usize) {}

unsafe extern "C" fn wake(_: *mut c_void, _: *const u32) {}

unsafe extern "C" fn free_pages(context: *mut c_void) -> usize {
    ram(context).free.borrow().len()
}

unsafe extern "C" fn transfer(context: *mut c_void, io: *const Io) -> u32 {
    // SAFETY: the structure lives for the call.
    ram(context).asked.borrow_mut().push(unsafe { *io });
    let pending = ram(context).pending.get();
    if pending { Transfer::Pending as u32 } else { Transfer::Done as u32 }
}

unsafe extern "C" fn try_lock_table(_: *mut c_void, _: u64) -> i32 {
    1
}

unsafe extern "C" fn of_frame(_: *mut c_void, _: u64) {}

unsafe extern "C" fn relax(context: *mut c_void) {
    let cpu = ram(context).calls_back.get();
    if !cpu.is_null() {
        // SAFETY: the context is live. The call is refused.
        ram(context).answer.set(unsafe { pageout_balance(cpu, 0) });
    }
}

unsafe extern "C" fn free_pages_on(_: *mut c_void, _: u32) -> usize {
    0
}

unsafe extern "C" fn nothing(_: *mut c_void) {}

unsafe extern "C" fn now_ms(_: *mut c_void) -> u64 {
    0
}

unsafe extern "C" fn of_asid(_: *mut c_void, _: u32) {}

unsafe extern "C" fn invalidate_range(_: *mut c_void, _: u32, _: u64, _: usize, _: u32) {}

fn world(ram: &Rc<Ram>) -> World {
    World {
        size: size_of::<World>() as u32,
        version: WORLD_VERSION,
        context: Rc::as_ptr(ram).cast_mut().cast(),
        alloc: Some(alloc),
        free: Some(free),
        alloc_table: Some(alloc_table),
        free_table: Some(free_table),
        zero: Some(zero),
        copy: Some(copy),
        free_pages: Some(free_pages),
        free_pages_on: Some(free_pages_on),
        read: Some(transfer),
        write: Some(transfer),
        table: Some(table),
        try_lock_table: Some(try_lock_table),
        unlock_table: Some(of_frame),
        relax: Some(relax),
        now_ms: Some(now_ms),
        invalidate_range: Some(invalidate_range),
        invalidate_address_space: Some(of_asid),
        invalidate_everything: Some(nothing),
        publish: Some(nothing),
        complete: Some(nothing),
        range_limit: 512,
        hardware: 3,
        cpus: 1,
        invalidate_local: None,
        remote: None,
        defer: None,
        need_resched: None,
        lock_table: None,
        sleep: None,
        wake: None,
        signal_pending: None,
        corrupted: None,
        block_at: None,
        alloc_at: None,
        has_block: None,
        low_watermark: None,
    }
}

const LIMITS: Limits = Limits {
    frames: FRAMES as u64,
    folios: FRAMES as u64,
    vmas: 8,
    mms: 2,
    mappings: 4,
    memcgs: 2,
    nodes: 2,
    shadows: 8,
    slots: 16,
    filters: 0,
};

const SETUP: Setup = Setup {
    size: size_of::<Setup>() as u32,
    format: Format::X86_64 as u32,
    limits: LIMITS,
    first_frame: FIRST,
    zone_starts: [0; 2],
    thp: 0,
    pmd_leaves: 0,
};

/// An engine with the context of a CPU, and its memory.
struct Made {
    engine: *mut Engine,
    cpu: *mut Cpu,
    ram: Rc<Ram>,
    /// The bytes that the handles point into.
    _bytes: [Vec<u8>; 2],
    _pages: Vec<Page>,
}

fn memory() -> (Rc<Ram>, Vec<Page>) {
    let mut pages = vec![Page([0; 512]); FRAMES];
    let free = RefCell::new((FIRST..FIRST + FRAMES as u64).collect());
    let ram = Ram {
        pages: pages.as_mut_ptr(),
        free,
        pending: Cell::new(false),
        asked: RefCell::default(),
        calls_back: Cell::new(null_mut()),
        answer: Cell::new(0),
    };
    (Rc::new(ram), pages)
}

fn size() -> usize {
    let mut size = 0;
    // SAFETY: both are ours.
    assert_eq!(unsafe { pageout_engine_size(&LIMITS, &mut size) }, 0);
    size
}

fn make() -> Made {
    let (ram, pages) = memory();
    let mut bytes = [vec![0_u8; size()], vec![0_u8; pageout_cpu_size()]];
    let (mut engine, mut cpu) = (null_mut(), null_mut());
    let (at, len) = (bytes[0].as_mut_ptr(), bytes[0].len());
    // SAFETY: the bytes live as long as the handles, and the callbacks do what they should.
    let made = unsafe { pageout_engine_init(at, len, &SETUP, &world(&ram), &mut engine) };
    assert_eq!(made, 0);
    let (at, len) = (bytes[1].as_mut_ptr(), bytes[1].len());
    // SAFETY: as above.
    assert_eq!(unsafe { pageout_cpu_init(engine, at, len, &mut cpu) }, 0);
    Made { engine, cpu, ram, _bytes: bytes, _pages: pages }
}

/// A process with one range of anonymous memory.
struct Process {
    mm: u64,
    root: u64,
    mapping: u64,
}

impl Made {
    fn root(&self) -> u64 {
        // SAFETY: the context is the memory.
        unsafe { alloc_table(Rc::as_ptr(&self.ram).cast_mut().cast()) }
    }

    fn process(&self, kind: Kind) -> Process {
        let (root, mut mm, mut mapping) = (self.root(), 0, 0);
        // SAFETY: handles are live, results ours, and the root is an empty table.
        unsafe {
            assert_eq!(pageout_add_mm(self.cpu, root, 1, &mut mm), 0);
            assert_eq!(pageout_add_mapping(self.cpu, kind as u32, &mut mapping), 0);
            assert_eq!(pageout_mmap(self.cpu, &range_of(mm, mapping)), 0);
        }
        Process { mm, root, mapping }
    }

    fn fault(&self, mm: u64, addr: u64, access: u32) -> Result<Fault, i32> {
        let mut fault = Fault { outcome: 99, folio: 0, memcg: 0, failure: 0 };
        // SAFETY: handles are live, and the result is ours.
        let done = unsafe { pageout_handle_fault(self.cpu, mm, addr, access, &mut fault) };
        if done == 0 { Ok(fault) } else { Err(done) }
    }
}

fn range_of(mm: u64, mapping: u64) -> Vma {
    let flags = Vm::Read as u32 | Vm::Write as u32;
    Vma { mm, start: START, end: START + 0x4000, mapping, pgoff: 0, flags }
}

#[track_caller]
fn refused(answer: i32, expected: Error) {
    assert_eq!(answer, expected as i32, "{expected:?}");
}

#[test]
fn an_engine_is_made_only_of_good_parts() {
    let (ram, _pages) = memory();
    let mut bytes = vec![0_u8; size()];
    let mut init = |len, setup: *const Setup, world: *const World, null: bool| {
        let mut engine = null_mut();
        let to = if null { null_mut() } else { &mut engine };
        // SAFETY: pointers are null or to structures of the caller; the bytes are ours.
        unsafe { pageout_engine_init(bytes.as_mut_ptr(), len, setup, world, to) }
    };
    let (len, good) = (size(), world(&ram));
    refused(init(len, null(), &good, false), Error::Null);
    refused(init(len, &SETUP, null(), false), Error::Null);
    refused(init(len, &SETUP, &good, true), Error::Null);
    refused(init(100, &SETUP, &good, false), Error::Bytes);
    refused(init(len / 2, &SETUP, &good, false), Error::Bytes);
    refused(init(usize::MAX, &SETUP, &good, false), Error::Bytes);
    let of = |setup: Setup| setup;
    for (setup, error) in [
        (of(Setup { size: 8, ..SETUP }), Error::Version),
        (of(Setup { format: 9, ..SETUP }), Error::Format),
        (of(Setup { format: Format::Riscv64 as u32, ..SETUP }), Error::EngineFormat),
        (of(Setup { thp: 2, ..SETUP }), Error::Number),
        (of(Setup { pmd_leaves: 2, ..SETUP }), Error::Number),
        (of(Setup { first_frame: u64::MAX, ..SETUP }), Error::Limits),
        (of(Setup { limits: Limits { memcgs: 65535, ..LIMITS }, ..SETUP }), Error::Limits),
        (of(Setup { limits: Limits { nodes: 17, ..LIMITS }, ..SETUP }), Error::Limits),
        (of(Setup { limits: Limits { vmas: 1 << 40, ..LIMITS }, ..SETUP }), Error::Limits),
    ] {
        refused(init(len, &setup, &good, false), error);
    }
    for (world, error) in [
        (World { size: 64, ..good }, Error::Version),
        (World { version: WORLD_VERSION + 1, ..good }, Error::Version),
        (World { write: None, ..good }, Error::Callback),
        (World { complete: None, ..good }, Error::Callback),
        (World { free_pages_on: None, ..good }, Error::Callback),
        (World { wake: Some(wake), ..good }, Error::Callback),
        (World { low_watermark: Some(free_pages), ..good }, Error::Callback),
        (World { hardware: 32, ..good }, Error::Number),
        (World { cpus: 0, ..good }, Error::Number),
    ] {
        refused(init(len, &SETUP, &world, false), error);
    }
    assert_eq!(init(len, &SETUP, &good, false), 0);
    let (mut size, most) = (0, Limits { frames: u64::MAX, ..LIMITS });
    // SAFETY: pointers are null or to integers and structures of ours.
    unsafe {
        refused(pageout_engine_size(null(), &mut size), Error::Null);
        refused(pageout_engine_size(&LIMITS, null_mut()), Error::Null);
        refused(pageout_engine_size(&most, &mut size), Error::Limits);
    }
}

/// Tables grow by the caller's bytes, and what was full goes on.
#[test]
fn tables_grow() {
    let made = make();
    let (more, mut size) = (Growth { vmas: 4, mms: 1, mappings: 3 }, 0);
    // SAFETY: handles are live; pointers are null or to integers, structures and bytes of ours,
    // which live as long as the engine.
    unsafe {
        refused(pageout_growth_size(null(), &mut size), Error::Null);
        refused(pageout_growth_size(&more, null_mut()), Error::Null);
        let most = Growth { mms: u64::MAX, ..more };
        refused(pageout_growth_size(&most, &mut size), Error::Limits);
        assert_eq!(pageout_growth_size(&more, &mut size), 0);
        let mut run = vec![0_u8; 20 * size];
        let (mut mapping, mut nr) = (0, 0);
        while pageout_add_mapping(made.cpu, Kind::File as u32, &mut mapping) == 0 {
            nr += 1;
        }
        assert_eq!(nr, 4, "as many as the limits say");
        let mut parts = run.chunks_mut(size).map(|part| part.as_mut_ptr());
        let mut part = || parts.next().expect("there are twenty");
        refused(pageout_grow(made.cpu, null_mut(), size, &more), Error::Null);
        refused(pageout_grow(made.cpu, part(), size, null()), Error::Null);
        refused(pageout_grow(made.cpu, part(), size / 2, &more), Error::Bytes);
        for _ in 0..16 {
            assert_eq!(pageout_grow(made.cpu, part(), size, &more), 0);
        }
        refused(pageout_grow(made.cpu, part(), size, &more), Error::TableFull);
        for _ in 0..48 {
            let kind = Kind::File as u32;
            assert_eq!(pageout_add_mapping(made.cpu, kind, &mut mapping), 0);
        }
        let full = pageout_add_mapping(made.cpu, Kind::File as u32, &mut mapping);
        refused(full, Error::TableFull);
        assert_eq!((pageout_cpu_end(made.cpu), pageout_engine_end(made.engine)), (0, 0));
    }
}

#[test]
fn handles_that_ended_or_never_were_are_refused() {
    let made = make();
    let (mut more, mut cpu) = (vec![0_u8; pageout_cpu_size()], null_mut());
    let mut forged = [0_u64; 1024];
    let start = forged.as_mut_ptr();
    let fake: *mut Cpu = start.cast();
    let crooked: *mut Cpu = start.cast::<u8>().wrapping_add(1).cast();
    let (at, len) = (more.as_mut_ptr(), more.len());
    // SAFETY: handles are null, live, ended with their bytes as they were, or zeros.
    unsafe {
        refused(pageout_balance(null_mut(), 0), Error::Null);
        refused(pageout_balance(fake, 0), Error::Handle);
        refused(pageout_balance(crooked, 0), Error::Handle);
        refused(pageout_engine_end(start.cast()), Error::Handle);
        refused(pageout_cpu_init(null_mut(), at, len, &mut cpu), Error::Null);
        refused(pageout_cpu_init(made.engine, at, 8, &mut cpu), Error::Bytes);
        refused(pageout_cpu_init(made.engine, at, len, null_mut()), Error::Null);
        refused(pageout_cpu_init(made.engine, null_mut(), len, &mut cpu), Error::Null);
        assert_eq!(pageout_cpu_init(made.engine, at, len, &mut cpu), 0);
        assert_eq!((pageout_balance(cpu, 0), pageout_cpu_end(cpu)), (1, 0));
        refused(pageout_balance(cpu, 0), Error::Handle);
        refused(pageout_cpu_end(cpu), Error::Handle);
        assert_eq!((pageout_balance(made.cpu, 0), pageout_engine_end(made.engine)), (1, 0));
        refused(pageout_balance(made.cpu, 0), Error::Handle);
        refused(pageout_engine_end(made.engine), Error::Handle);
    }
}

#[test]
fn a_call_from_a_callback_is_refused() {
    let made = make();
    made.ram.calls_back.set(made.cpu);
    // SAFETY: the handle is live.
    assert_eq!(unsafe { pageout_lru_gen_enable(made.cpu, LruGen::Core as u32) }, 0);
    refused(made.ram.answer.get(), Error::InUse);
}

#[test]
fn numbers_of_address_spaces_and_mappings_are_checked() {
    let made = make();
    let Process { mm, root, mapping } = made.process(Kind::Anon);
    let (cpu, mut to) = (made.cpu, 0);
    for bad in [0, 1, u64::MAX, mm + 1, mm ^ 1 << 40, mm + (2 << 32)] {
        assert_eq!(made.fault(bad, START, 0), Err(Error::AddressSpace as i32));
        // SAFETY: handles are live, and results ours.
        unsafe {
            refused(pageout_exit_mm(cpu, bad), Error::AddressSpace);
            refused(pageout_fork(cpu, bad, made.root(), 2, &mut to), Error::AddressSpace);
            refused(pageout_set_memcg(cpu, bad, 0), Error::AddressSpace);
            refused(pageout_lru_gen_use_mm(cpu, bad), Error::AddressSpace);
            refused(pageout_set_fault_around(cpu, bad, 0), Error::AddressSpace);
            refused(pageout_munmap(cpu, bad, START, START + 4096), Error::AddressSpace);
            refused(pageout_mmap(cpu, &range_of(bad, mapping)), Error::AddressSpace);
        }
        if bad != mm + 1 {
            // SAFETY: as above.
            refused(unsafe { pageout_set_size(cpu, bad, 1) }, Error::Mapping);
        }
    }
    // SAFETY: as above.
    unsafe {
        refused(pageout_add_mm(cpu, 0, 2, &mut to), Error::Table);
        refused(pageout_fork(cpu, mm, root, 2, &mut to), Error::Table);
        refused(pageout_add_mm(cpu, root, 2, null_mut()), Error::Null);
        refused(pageout_remove_mapping(cpu, mapping), Error::MappingUsed);
        assert_eq!((pageout_exit_mm(cpu, mm), pageout_remove_mapping(cpu, mapping)), (0, 0));
        refused(pageout_exit_mm(cpu, mm), Error::AddressSpace);
        refused(pageout_remove_mapping(cpu, mapping), Error::Mapping);
    }
    assert_eq!(made.fault(mm, START, 0), Err(Error::AddressSpace as i32));
}

#[test]
fn ranges_and_numbers_without_a_name_are_refused() {
    let made = make();
    let Process { mm, mapping, .. } = made.process(Kind::Anon);
    let (cpu, good) =
        (made.cpu, Vma { start: START * 2, end: START * 2 + 4096, ..range_of(mm, mapping) });
    let (end, mut to) = (START + 0x4000, 0);
    for (vma, error) in [
        (Vma { end: good.start, ..good }, Error::Addresses),
        (Vma { start: good.start + 1, ..good }, Error::Addresses),
        (Vma { end: 1 << 49, ..good }, Error::Addresses),
        (Vma { flags: 256, ..good }, Error::Number),
        (Vma { flags: Vm::Shared as u32, ..good }, Error::Kind),
        (Vma { pgoff: u64::MAX, ..good }, Error::Pages),
        (Vma { mapping: 7, ..good }, Error::Mapping),
        (range_of(mm, mapping), Error::Overlap),
    ] {
        // SAFETY: the handle is live.
        refused(unsafe { pageout_mmap(cpu, &vma) }, error);
    }
    // SAFETY: handles are live, and results ours or null.
    unsafe {
        refused(pageout_mmap(cpu, null()), Error::Null);
        refused(pageout_munmap(cpu, mm, 0, u64::MAX), Error::Addresses);
        refused(pageout_mprotect(cpu, mm, START, end, 8), Error::Number);
        refused(pageout_mprotect(cpu, mm, START, end + 4096, 1), Error::NotMapped);
        refused(pageout_madvise(cpu, mm, START, end, 7), Error::Number);
        refused(pageout_mlock(cpu, mm, end, START), Error::Addresses);
        refused(pageout_munlock(cpu, mm, START + 1, end), Error::Addresses);
        refused(pageout_set_uffd_wp(cpu, mm, START, end, 2), Error::Number);
        refused(pageout_mremap(cpu, mm, START, end, 1 << 50, 1 << 51), Error::Addresses);
        refused(pageout_add_mapping(cpu, 3, &mut to), Error::Number);
        refused(pageout_set_size(cpu, mapping, 1 << 53), Error::Pages);
        refused(pageout_set_order(cpu, mapping, 10), Error::Pages);
        refused(pageout_set_order(cpu, mapping, 256), Error::Pages);
        refused(pageout_lru_gen_enable(cpu, 8), Error::Number);
        refused(pageout_lru_gen_enable(cpu, 256), Error::Number);
        refused(pageout_handle_fault(cpu, mm, START, 0, null_mut()), Error::Null);
    }
    assert_eq!(made.fault(mm, START, 3), Err(Error::Number as i32));
    let outcome = |addr, access: Access| made.fault(mm, addr, access as u32).map(|f| f.outcome);
    assert_eq!(outcome(u64::MAX, Access::Read), Ok(Outcome::BadAddress as u32));
    assert_eq!(outcome(START, Access::Exec), Ok(Outcome::BadAddress as u32));
    assert_eq!(outcome(START, Access::Write), Ok(Outcome::Minor as u32));
    // SAFETY: as above.
    assert_eq!(unsafe { pageout_madvise(cpu, mm, START, end, Advice::DontNeed as u32) }, 0);
}

#[test]
fn folios_are_checked_as_they_are_named() {
    let made = make();
    let Process { mm, mapping, .. } = made.process(Kind::File);
    let (cpu, pfn) = (made.cpu, made.root());
    let good = Folio { mapping, index: 9, pfn, order: 0, memcg: 0 };
    let (mut folio, mut none, mut frame, mut order, mut nr) = (0, 0, 0, 0, 0);
    made.ram.pending.set(true);
    let fault = made.fault(mm, START, Access::Read as u32).expect("the call is right");
    assert_eq!(fault.outcome, Outcome::Pending as u32);
    // SAFETY: handles are live, and results ours or null.
    unsafe {
        // Out of the table, of no generation, and of one that the entry never had.
        for bad in [1 << 32 | FRAMES as u64, u64::MAX, 20, 99 << 32] {
            refused(pageout_release(cpu, bad, 1), Error::Folio);
            refused(pageout_mark_accessed(cpu, bad), Error::Folio);
            refused(pageout_note_dirty(cpu, bad), Error::Folio);
            refused(pageout_folio_frames(cpu, bad, &mut frame, &mut order), Error::Folio);
        }
        refused(pageout_read_done(cpu, 1 << 32 | FRAMES as u64, 0), Error::Folio);
        refused(pageout_transfer_is_pending(cpu, 20), Error::Folio);
        assert_eq!(pageout_transfer_is_pending(cpu, 99 << 32), 0);
        refused(pageout_read_done(cpu, fault.folio, 1), Error::Number);
        refused(pageout_write_done(cpu, fault.folio, 6), Error::Number);
        refused(pageout_write_done(cpu, fault.folio, 0), Error::NotPending);
        assert_eq!(pageout_transfer_is_pending(cpu, fault.folio), 1);
        refused(pageout_truncate(cpu, mapping, 0, &mut folio), Error::Pending);
        assert_eq!((folio, pageout_read_done(cpu, fault.folio, 0)), (fault.folio, 0));
        refused(pageout_read_done(cpu, fault.folio, 0), Error::NotPending);
        refused(pageout_truncate(cpu, mapping, 1 << 60, &mut folio), Error::Pages);
        refused(pageout_get_folio(cpu, mapping, u64::MAX, &mut folio), Error::Pages);
        for (new, error) in [
            (Folio { order: 10, ..good }, Error::Pages),
            (Folio { order: 1, ..good }, Error::Pages),
            (Folio { index: u64::MAX, ..good }, Error::Pages),
            (Folio { pfn: 3, ..good }, Error::Pages),
            (Folio { memcg: 1, ..good }, Error::Memcg),
            (Folio { mapping: 3, ..good }, Error::Mapping),
        ] {
            refused(pageout_add_folio(cpu, &new, &mut folio), error);
        }
        assert_eq!(pageout_add_folio(cpu, &good, &mut folio), 0);
        refused(pageout_add_folio(cpu, &good, &mut none), Error::FrameInUse);
        refused(
            pageout_add_folio(cpu, &Folio { pfn: made.root(), ..good }, &mut none),
            Error::Exists,
        );
        refused(pageout_release(cpu, folio, 2), Error::References);
        assert_eq!(pageout_release(cpu, folio, 1), 0);
        refused(pageout_release(cpu, folio, 1), Error::References);
        refused(pageout_remove_mapping(cpu, mapping), Error::MappingUsed);
        assert_eq!(pageout_exit_mm(cpu, mm), 0);
        refused(pageout_remove_mapping(cpu, mapping), Error::MappingUsed);
        assert_eq!(pageout_truncate(cpu, mapping, 0, &mut none), 0);
        assert_eq!((none, pageout_remove_mapping(cpu, mapping)), (NO_FOLIO, 0));
        refused(pageout_release(cpu, folio, 1), Error::Folio);
        refused(pageout_write_back(cpu, mapping, 1, &mut nr), Error::Mapping);
    }
}

#[test]
fn cgroups_and_texts_are_checked() {
    let made = make();
    let (cpu, mut memcg, mut nr, mut oldest) = (made.cpu, 0, 0, [0; 2]);
    let text = |text: &'static str| (text.as_ptr().cast::<c_char>(), text.len());
    // SAFETY: handles are live, texts constants, and results ours or null.
    unsafe {
        assert_eq!(pageout_add_memcg(cpu, 0, &mut memcg), 0);
        for bad in [2, 3, 65535, 65536, u32::MAX] {
            let (request, len) = text("4K");
            refused(pageout_add_memcg(cpu, bad, &mut memcg), Error::Memcg);
            refused(pageout_remove_memcg(cpu, bad), Error::Memcg);
            refused(pageout_set_max(cpu, bad, 1), Error::Memcg);
            refused(pageout_set_min(cpu, bad, 1), Error::Memcg);
            refused(pageout_set_low(cpu, bad, 1), Error::Memcg);
            refused(pageout_set_swappiness(cpu, bad, 1), Error::Memcg);
            refused(pageout_usage(cpu, bad, &mut nr), Error::Memcg);
            refused(pageout_memory_stat(cpu, bad, null_mut(), 0), Error::Memcg);
            refused(pageout_memory_events(cpu, bad, null_mut(), 0), Error::Memcg);
            refused(pageout_memory_reclaim(cpu, bad, request, len, &mut nr), Error::Memcg);
            refused(pageout_lru_gen_seqs(cpu, bad, 0, &mut nr, &mut oldest), Error::Memcg);
        }
        for bad in [2, 256, u32::MAX] {
            refused(pageout_balance(cpu, bad), Error::Node);
            refused(pageout_set_high_watermark(cpu, bad, 1), Error::Node);
            refused(pageout_set_node_start(cpu, FIRST, bad), Error::Node);
            refused(pageout_lru_gen_seqs(cpu, 0, bad, &mut nr, &mut oldest), Error::Node);
        }
        assert_eq!(pageout_set_node_start(cpu, FIRST + 8, 1), 0);
        refused(pageout_set_node_start(cpu, FIRST + 8, 0), Error::NodeStart);
        refused(pageout_set_max(cpu, 0, 1), Error::Memcg);
        refused(pageout_set_swappiness(cpu, memcg, 201), Error::Number);
        refused(pageout_set_swappiness(cpu, memcg, 256), Error::Number);
        refused(pageout_set_recursive_protection(cpu, 2), Error::Number);
        refused(pageout_remove_memcg(cpu, 0), Error::MemcgUsed);
        assert_eq!(pageout_remove_memcg(cpu, memcg), 0);
        refused(pageout_set_max(cpu, memcg, 1), Error::Memcg);
        for bad in ["", "junk", "1M swappiness=202", "-1", "\u{e9}"] {
            let (request, len) = text(bad);
            refused(pageout_memory_reclaim(cpu, 0, request, len, &mut nr), Error::Text);
            refused(pageout_lru_gen_write(cpu, request, len), Error::Text);
        }
        let (request, len) = text("+ 9 0 3");
        refused(pageout_lru_gen_write(cpu, request, len), Error::Text);
        refused(pageout_lru_gen_write(cpu, c"\xff".as_ptr(), 1), Error::Text);
        refused(pageout_lru_gen_write(cpu, request, usize::MAX), Error::Text);
        refused(pageout_lru_gen_write(cpu, null(), 3), Error::Null);
        refused(pageout_memory_reclaim(cpu, 0, null(), 0, &mut nr), Error::Null);
        refused(pageout_try_to_free_pages(cpu, null_mut()), Error::Null);
    }
}

#[test]
fn counters_fit_the_room_that_is_given() {
    let (made, mut events) = (make(), None::<Events>);
    let blank = Stat { name: null(), name_len: 0, value: 7 };
    let mut lines = [blank; 2];
    // SAFETY: handles are live, and there is room for as many lines as is said.
    unsafe {
        let all = pageout_vmstat(made.cpu, null_mut(), 0);
        assert!(all > 20, "{all} lines");
        refused(pageout_vmstat(made.cpu, null_mut(), 1), Error::Null);
        assert_eq!(pageout_vmstat(made.cpu, lines.as_mut_ptr(), 1), all);
        let mut room = std::mem::MaybeUninit::<Events>::uninit();
        assert_eq!(pageout_events(made.cpu, room.as_mut_ptr()), 0);
        events.replace(room.assume_init());
        refused(pageout_events(made.cpu, null_mut()), Error::Null);
    }
    // SAFETY: the name is a constant of this length.
    let name = unsafe { std::slice::from_raw_parts(lines[0].name.cast::<u8>(), lines[0].name_len) };
    assert_eq!((name, lines[0].value), (&b"nr_free_pages"[..], FRAMES as u64));
    assert_eq!((lines[1], events.map(|e| e.out_of_memory)), (blank, Some(0)));
}

/// Numbers that a caller may forge, among them those of what lives.
struct Forged {
    draw: Draw,
    known: [u64; 4],
}

impl Forged {
    fn number(&mut self) -> u64 {
        let shift = self.draw.below(64);
        match self.draw.below(8) {
            0 => self.draw.next(),
            1 => u64::MAX - self.draw.below(3),
            2 => (1_u64 << shift).wrapping_sub(self.draw.below(3)),
            3 => START + 4096 * self.draw.below(8),
            4 => self.draw.below(2 * FRAMES as u64),
            5 => self.draw.below(8),
            _ => self.known[self.draw.index(4)],
        }
    }

    /// Returns an address space or a mapping that lives, or a forged one.
    fn of(&mut self, known: usize) -> u64 {
        if self.draw.below(4) == 0 { self.number() } else { self.known[known] }
    }

    fn range(&mut self) -> (u64, u64) {
        let start = self.number() & !0xfff;
        let near = start.wrapping_add(4096 * self.draw.below(8));
        (start, if self.draw.below(4) == 0 { self.number() } else { near })
    }
}

/// Makes a call with forged numbers. References, frames and ends of transfers that the caller does
/// not have are not among them: those are the promise.
///
/// # Safety
/// The handle is live.
unsafe fn forged_call(cpu: *mut Cpu, from: &mut Forged) -> i32 {
    let k = 1 + from.draw.index(3);
    let (mm, map) = (from.of(0), from.of(k));
    let ((start, end), (n, m)) = (from.range(), (from.number(), from.number()));
    let (mut nr, mut folio, mut pair) = (0, 0, [0; 2]);
    let mut fault = Fault { outcome: 0, folio: 0, memcg: 0, failure: 0 };
    let vma = Vma { mm, start, end, mapping: map, pgoff: n, flags: m as u32 & 0x1ff };
    let text = format!("{} {} 0 {n} {} {m}", if n % 2 == 0 { '+' } else { '-' }, m % 4, n % 202);
    let command = text.as_ptr().cast::<c_char>();
    // SAFETY: the handle is live, and results are ours.
    unsafe {
        match from.draw.below(30) {
            0..6 => pageout_handle_fault(cpu, mm, n, m as u32 % 4, &mut fault),
            6..9 => pageout_mmap(cpu, &vma),
            9 => pageout_munmap(cpu, mm, start, end),
            10 => pageout_mprotect(cpu, mm, start, end, m as u32),
            11 => pageout_mremap(cpu, mm, start, end, n & !0xfff, m & !0xfff),
            12 => pageout_madvise(cpu, mm, start, end, m as u32 % 8),
            13 => pageout_mlock(cpu, mm, start, end),
            14 => pageout_munlock(cpu, mm, start, end),
            15 => pageout_set_uffd_wp(cpu, mm, start, end, m as u32 % 3),
            16 => pageout_set_size(cpu, map, n),
            17 => pageout_set_order(cpu, map, n as u32),
            18 => pageout_truncate(cpu, map, n, &mut folio),
            19 => pageout_write_back(cpu, map, n, &mut nr),
            20 => pageout_mark_accessed(cpu, (n << 32) | (m % (2 * FRAMES as u64))),
            21 => pageout_set_max(cpu, n as u32, m),
            22 => pageout_set_low(cpu, n as u32, m),
            23 => pageout_set_swappiness(cpu, n as u32, m as u32),
            24 => pageout_set_memcg(cpu, mm, n as u32),
            25 if n % 8 == 0 => pageout_set_node_start(cpu, n, m as u32 % 4),
            25 => {
                let node = m as u32 % 4;
                pageout_set_high_watermark(cpu, node, n) + pageout_balance(cpu, node)
            }
            26 => pageout_lru_gen_write(cpu, command, text.len()),
            27 => pageout_lru_gen_enable(cpu, n as u32 % 10),
            28 => pageout_memory_reclaim(cpu, n as u32, command.add(2), 1, &mut nr),
            _ => pageout_lru_gen_seqs(cpu, n as u32, m as u32 % 4, &mut nr, &mut pair),
        }
    }
}

/// Forged numbers are refused or do what they say: none ends in a panic, which would end the test.
#[test]
fn forged_numbers_are_no_panic() {
    let made = make();
    let (anon, mut maps) = (made.process(Kind::Anon), [0; 2]);
    for (kind, map) in [Kind::File, Kind::Shmem].into_iter().zip(&mut maps) {
        // SAFETY: the handle is live, and the result ours.
        assert_eq!(unsafe { pageout_add_mapping(made.cpu, kind as u32, map) }, 0);
    }
    let known = [anon.mm, anon.mapping, maps[0], maps[1]];
    let mut from = Forged { draw: Draw(5), known };
    let calls = if cfg!(miri) { 300 } else { 100_000 };
    // SAFETY: the handle is live.
    let answers: Vec<_> = (0..calls).map(|_| unsafe { forged_call(made.cpu, &mut from) }).collect();
    let refused = answers.iter().filter(|answer| **answer < 0).count();
    assert!((calls / 4..calls).contains(&refused), "{refused} of {calls} were refused");
}

/// The flags of C are those of Rust, bit for bit.
#[test]
fn flags_have_rusts_bits() {
    use pageout_reclaim::{VmFlags, mglru::LruGenCaps};
    for (c, rust) in [
        (Vm::Read, VmFlags::READ),
        (Vm::Write, VmFlags::WRITE),
        (Vm::Exec, VmFlags::EXEC),
        (Vm::Locked, VmFlags::LOCKED),
        (Vm::SeqRead, VmFlags::SEQ_READ),
        (Vm::RandRead, VmFlags::RAND_READ),
        (Vm::Noreuse, VmFlags::NOREUSE),
        (Vm::Shared, VmFlags::SHARED),
    ] {
        assert_eq!(c as u32, rust.bits(), "{c:?}");
    }
    assert_eq!(LruGen::Core as u8, LruGenCaps::CORE.bits());
    assert_eq!(LruGen::MmWalk as u8, LruGenCaps::MM_WALK.bits());
    assert_eq!(LruGen::NonleafYoung as u8, LruGenCaps::NONLEAF_YOUNG.bits());
}

#[test]
fn errors_speak() {
    // SAFETY: the text is a constant.
    let text = unsafe { CStr::from_ptr(pageout_error_text(Error::AddressSpace as i32)) };
    assert_eq!(text, c"no such address space: it has ended, or never was");
}
