//! Panics without an operating system: a bug of this library stops the kernel by the kernel's own
//! function.
#![allow(unsafe_code)]

use core::panic::PanicInfo;

unsafe extern "C" {
    /// Supplied by the kernel.
    fn pageout_panic(message: *const u8, len: usize) -> !;
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    // The message is not formatted, since that would be most of the library. Without a message, it
    // is the file.
    let file = info.location().map_or("", |at| at.file());
    let message = info.message().as_str().unwrap_or(file);
    // SAFETY: the bytes live for as long as the call, which does not return.
    unsafe { pageout_panic(message.as_ptr(), message.len()) }
}
