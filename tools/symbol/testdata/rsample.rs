// A program in Rust without a library: generics, closures, methods of traits and what
// core has inlined into them. objects/rust.linked was made of it by
//
//	rustc -O -g -C panic=abort -C symbol-mangling-version=v0 --emit=obj
//	      --remap-path-prefix=$PWD=/src --target x86_64-unknown-linux-gnu
//	ld --gc-sections -e _start
#![no_std]
#![no_main]

use core::panic::PanicInfo;
use core::sync::atomic::{AtomicU32, Ordering};

static SINK: AtomicU32 = AtomicU32::new(3);

trait Shape {
    fn area(&self) -> u32;
}

struct Square(u32);

struct Twice<T: Shape>(T, T);

impl Shape for Square {
    #[inline(never)]
    fn area(&self) -> u32 {
        self.0.wrapping_mul(self.0).rotate_left(SINK.load(Ordering::Relaxed) & 7)
    }
}

impl<T: Shape> Shape for Twice<T> {
    #[inline(never)]
    fn area(&self) -> u32 {
        self.0.area() ^ self.1.area()
    }
}

#[inline(always)]
fn fold<F: Fn(u32, u32) -> u32>(n: u32, f: F) -> u32 {
    (0..n).filter(|i| i % 3 != 0).fold(1, |a, b| f(a, b))
}

mod nested {
    #[inline(never)]
    pub fn bits<const N: usize>(mut words: [u32; N]) -> u32 {
        words.reverse();
        words.iter().map(|w| w.count_ones()).sum()
    }
}

#[no_mangle]
pub extern "C" fn _start() -> ! {
    let n = SINK.load(Ordering::SeqCst);
    let s = Twice(Square(n), Square(n + 1));
    let sum = fold(n, |a, b| a.wrapping_mul(31) + b) + s.area();
    SINK.store(sum + nested::bits([n, sum, 3, 4]), Ordering::SeqCst);
    loop {}
}

#[panic_handler]
fn panic(_: &PanicInfo) -> ! {
    loop {}
}
