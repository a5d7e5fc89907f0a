//! Panics where there is no operating system: a bug of this library stops the kernel by a function
//! of its own.
#![allow(unsafe_code)]

use core::panic::PanicInfo;

unsafe extern "C" {
    /// Supplied by the kernel.
    fn pageout_panic(message: *const u8, len: usize) -> !;
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    // Without formatting, which would be most of the library: the message, or where it was.
    let file = info.location().map_or("", |at| at.file());
    let message = info.message().as_str().unwrap_or(file);
    // SAFETY: the bytes live for as long as the call, which does not return.
    unsafe { pageout_panic(message.as_ptr(), message.len()) }
}
