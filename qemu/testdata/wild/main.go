// Wild touches addresses where a program has nothing, and says what came of it: the same on Linux and
// on the kernel, whatever RAM and devices there are at such physical addresses.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"unsafe"
)

const page = 4096

// addresses are those that are tried: where a PC has RAM and devices, at powers of two, in the kernel's
// half, and anywhere.
func addresses() (all []uintptr) {
	for a := uintptr(0); a <= 0x10000; a += page {
		all = append(all, a, a+0xff8)
	}
	all = append(all,
		0x90000, 0x9f000, 0x9fc00, 0xa0000, 0xb8000, 0xe0000, 0xf5a00, 0xfffff, // BIOS, video memory
		0x100000, 0x123000, 0x2000000, 0x7fe0000, 0x7ffff00, // RAM, its end, with ACPI's tables
		0xb0000000, 0xbffe0000, 0xc0000000, 0xe0000000, 0xfd000000, // ECAM, RAM below the hole, framebuffers
		0xfe000000, 0xfeb80000, 0xfebc0000, 0xfebd1000, 0xfeb00000, // base addresses
		0xfec00000, 0xfed00000, 0xfed1c000, 0xfee00000, 0xfee00020, 0xfffc0000, 0xfffffff0,
		0x800000000, 0x8_fe000000, 0x38_0000_0000, 0x7ffe_0000_0000, 1<<47-page, 1<<47-8)
	for a := uintptr(0x1000000); a < 128<<20; a += 5<<20 + page {
		all = append(all, a)
	}
	for a := uintptr(256 << 20); a < 9<<30; a += 311<<20 + 3*page + 16 {
		all = append(all, a)
	}
	for bit := 16; bit < 64; bit++ {
		all = append(all, 1<<bit, 1<<bit+8, -(1 << bit), -(1<<bit)+0x123000)
	}
	all = append(all, 0xdead_beef, 0xdead_beef_dead_beef, 0xcccc_cccc_cccc_cccc, 0xffff_8880_0000_1000,
		0xffff_ffff_8000_0000, 0xffff_ffff_8100_0000, ^uintptr(7), ^uintptr(page-1))
	r := rand.New(rand.NewPCG(30, 3))
	for range 100 {
		all = append(all, uintptr(r.Uint64()>>(17+r.IntN(20))&^7), uintptr(r.Uint64()&^7)|0xffff_8000_0000_0000, uintptr(r.Uint64()&^7))
	}
	return all
}

// own has the ranges in which the program has memory.
var own [][2]uintptr

// mapped reads the program's own ranges.
func mapped() {
	b, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		panic(err)
	}
	for l := range strings.Lines(string(b)) {
		var lo, hi uintptr
		if _, err := fmt.Sscanf(l, "%x-%x", &lo, &hi); err != nil {
			panic(err)
		}
		own = append(own, [2]uintptr{lo, hi})
	}
}

// near reports whether memory of the program's is at a, or so near that a stack or a heap could grow there.
func near(a uintptr) bool {
	const distance = 16 << 20
	for _, o := range own {
		lo, hi := o[0], o[1]
		if lo > 1<<40 {
			lo, hi = lo-min(lo, distance), hi+distance
		}
		if a+8 > lo && a < hi {
			return true
		}
	}
	return a >= 0xffff_ffff_ff60_0000 && a < 0xffff_ffff_ff60_1000 // Linux: vsyscall
}

// access reads, writes or calls what is at a, and returns what became of it.
//
//go:noinline
func access(how int, a uintptr) (outcome string) {
	debug.SetPanicOnFault(true)
	defer func() {
		switch e := recover().(type) {
		case nil:
		case error:
			outcome = e.Error()
			var at interface{ Addr() uintptr }
			if errors.As(e, &at) {
				outcome += fmt.Sprintf(" (%#x)", at.Addr())
			}
		default:
			outcome = fmt.Sprint(e)
		}
	}()
	p := *(*unsafe.Pointer)(unsafe.Pointer(&a))
	switch how {
	case 0:
		return fmt.Sprint("read ", *(*uint64)(p) != 0)
	case 1:
		*(*uint64)(p) = 0x5a5a
	case 2:
		code := &a
		(*(*func())(unsafe.Pointer(&code)))()
	}
	return "done"
}

var pipe [2]int

// calls names what is at a in system calls.
func calls(a uintptr) string {
	_, _, in := syscall.RawSyscall(syscall.SYS_WRITE, uintptr(pipe[1]), a, 8)
	if in == 0 {
		syscall.RawSyscall(syscall.SYS_READ, uintptr(pipe[0]), uintptr(unsafe.Pointer(new([8]byte))), 8)
	}
	_, _, out := syscall.RawSyscall(syscall.SYS_UNAME, a, 0, 0)
	_, _, word := syscall.RawSyscall6(202, a&^3, 128, 0, 0, 0, 0) // futex: wait
	return fmt.Sprintf("write %d uname %d futex %d", in, out, word)
}

// place maps a page at an address, uses it, and unmaps it.
func place(a uintptr) string {
	const noReplace = 0x100000
	at, _, e := syscall.Syscall6(syscall.SYS_MMAP, a, page, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_PRIVATE|syscall.MAP_ANON|syscall.MAP_FIXED|noReplace, ^uintptr(0), 0)
	if e != 0 {
		return e.Error()
	}
	s := fmt.Sprintf("at %#x: %s, %s, ", at, access(1, a), access(0, a))
	syscall.Syscall(syscall.SYS_MUNMAP, a, page, 0)
	return s + access(0, a)
}

func main() {
	mapped()
	if err := syscall.Pipe(pipe[:]); err != nil {
		panic(err)
	}
	var lines [4]strings.Builder
	var all sync.WaitGroup
	for how := range lines {
		all.Go(func() {
			for _, a := range addresses() {
				switch {
				case near(a):
				case how == 3:
					fmt.Fprintf(&lines[how], "%#x: %s\n", a, calls(a))
				default:
					fmt.Fprintf(&lines[how], "%#x %d: %s\n", a, how, access(how, a))
				}
			}
		})
	}
	all.Wait()
	w := bufio.NewWriter(os.Stdout)
	defer w.Flush()
	for how := range lines {
		w.WriteString(lines[how].String())
	}
	for _, a := range []uintptr{0x10000, 0x20000, 0x90000, 0xb8000, 0x123000, 0x2000000, 0x7fe0000, 0xfec00000, 0xfee00000, 1 << 32, 5 << 30, 1<<47 - 2*page, 1<<47 - page} {
		if !near(a) {
			fmt.Fprintf(w, "map %#x: %s\n", a, place(a))
		}
	}
	at, _, e := syscall.Syscall6(syscall.SYS_MMAP, 0x1000, page, 0, syscall.MAP_PRIVATE|syscall.MAP_ANON, ^uintptr(0), 0)
	fmt.Fprintf(w, "map near 0x1000: %#x %d\n", at, e)
	for a := uintptr(0); a < 0x10000; a += 0x3000 {
		fmt.Fprintf(w, "low %#x: %s\n", a, place(a))
	}
}
