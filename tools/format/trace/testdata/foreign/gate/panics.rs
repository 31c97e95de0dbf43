// A program that panics two calls deep.
#[inline(never)]
fn inner(v: &[i32], i: usize) -> i32 {
    v[i]
}

#[inline(never)]
fn outer(n: usize) -> i32 {
    inner(&[1, 2, 3], n) + 1
}

fn main() {
    let n = std::env::args().count() + 5;
    std::process::exit(outer(n));
}
