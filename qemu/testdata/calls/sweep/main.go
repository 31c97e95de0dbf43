// Sweep makes every system call with arguments of all kinds, and says how each was answered.
// It runs on Linux just as well, where the same is to come out.
//
// With "pointers", it makes each call that takes a pointer with pointers that are bad in many
// ways: a line for each argument of a call, with the error number for each way to be bad.
// With "files", "process" or "memory", it makes the calls of that section of calls.txt: a line
// for each, with what came of it.
// A second argument is the folder to work in.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"syscall"
	"time"
	"unsafe"

	_ "github.com/zeroframe/zeroframe/kernel"
)

// An attempt is a call with a bad pointer as one of its arguments.
type attempt struct {
	name   string // and the argument's
	number uintptr
	kind   kind
	args   func(bad uintptr) [6]uintptr
}

// A kind of argument says which ways of being bad make sense for it.
type kind int

const (
	in   kind = iota // the kernel reads there
	out              // it writes there
	size             // the length of a buffer whose end is that of the page
	span             // a piece of the address space
	base             // what a segment register is to hold
)

// A way to be bad.
type way struct {
	name  string
	kinds []kind
	value uintptr
}

// Memory to be bad with: one page that may be used, and behind it one that may not, at
// an address that nobody else comes to.
const (
	page     = 4096
	edge     = 0x6000_0000_0000
	readOnly = edge + 4*page
	hole     = edge + 8*page
)

func ways() []way {
	text := **(**uintptr)(unsafe.Pointer(&function))
	constant := uintptr(unsafe.Pointer(unsafe.StringData("a constant of some length, to write to")))
	both := []kind{in, out}
	return []way{
		{"nil", both, 0},
		{"one", both, 1},
		{"page0", both, page - 16},
		{"ram", both, 0x3000_0000}, // RAM or nothing, with a kernel that is the machine's
		{"apic", both, 0xfee0_0020},
		{"vga", both, 0xb8000},
		{"hole", []kind{in, out, span}, hole},
		{"none", both, edge + page},
		{"cross", both, edge + page - 4},
		{"end", []kind{in, out, span}, 1<<47 - page},
		{"over", both, 1<<47 - 4},
		{"gap", []kind{in, out, span, base}, 1 << 47},
		{"bit63", []kind{in, out, span, base}, 1 << 63},
		{"upper", []kind{in, out, span, base}, 0xffff_8000_0000_0000},
		{"last", both, ^uintptr(7)},
		{"text", []kind{out}, text},
		{"constant", []kind{out}, constant},
		{"readonly", []kind{out}, readOnly},
		{"2^31", []kind{size}, 1 << 31},
		{"2^40", []kind{size}, 1 << 40},
		{"2^47", []kind{size}, 1 << 47},
		{"2^62", []kind{size}, 1 << 62},
		{"2^63", []kind{size}, 1 << 63},
		{"-1", []kind{size, span}, ^uintptr(0)},
		{"-4096", []kind{size}, ^uintptr(page - 1)},
	}
}

// function is one, whose code nobody may write to.
var function = must

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// memory maps the pages.
func memory() {
	const anonymous, fixed = syscall.MAP_PRIVATE | syscall.MAP_ANON, syscall.MAP_FIXED
	for _, m := range []struct{ at, size, prot uintptr }{
		{edge, page, syscall.PROT_READ | syscall.PROT_WRITE},
		{edge + page, page, syscall.PROT_NONE},
		{readOnly, page, syscall.PROT_READ},
	} {
		if _, _, e := syscall.Syscall6(syscall.SYS_MMAP, m.at, m.size, m.prot, anonymous|fixed, ^uintptr(0), 0); e != 0 {
			panic(e)
		}
	}
	for i := range usable() {
		usable()[i] = 'a' // a name that does not end
	}
}

// usable is the page that may be used.
func usable() []byte {
	at := uintptr(edge)
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&at)), page)
}

// The calls come from the process's first thread: main is on it still if an init has said so.
func init() { runtime.LockOSThread() }

func main() {
	if len(os.Args) > 2 {
		must(os.Chdir(os.Args[2]))
	} else {
		must(os.Chdir(os.TempDir()))
	}
	remember()
	if os.Args[1] != "pointers" {
		values("[" + os.Args[1] + "]")
		return
	}
	debug.SetGCPercent(-1)
	memory()
	signal.Ignore(syscall.SIGUSR1)
	must(os.WriteFile("file", make([]byte, 2*page), 0o600))
	calls := 0
	for _, a := range attempts() {
		line := a.name + ":"
		for _, w := range ways() {
			for _, k := range w.kinds {
				if k != a.kind {
					continue
				}
				line += " " + w.name + "=" + answer(&a, w.value)
				calls++
			}
		}
		fmt.Println(line)
	}
	threads()
	alive()
	fmt.Println("alive after", calls, "calls")
}

// answer makes the call, and returns its error number.
func answer(a *attempt, bad uintptr) string {
	args := a.args(bad)
	r, _, e := syscall.RawSyscall6(a.number, args[0], args[1], args[2], args[3], args[4], args[5])
	restore()
	if e != 0 {
		return fmt.Sprint(int(e))
	}
	if a.kind == size && r <= 2*page {
		return fmt.Sprintf("+%d", r) // how much of it has been moved
	}
	return "0"
}

// threads lets threads end that have named bad places to be cleared then.
func threads() {
	for _, w := range ways() {
		if !slices.Contains(w.kinds, out) {
			continue
		}
		done := make(chan struct{})
		go func() {
			runtime.LockOSThread() // and never unlocks, so the thread ends
			defer close(done)
			syscall.RawSyscall(syscall.SYS_SET_TID_ADDRESS, w.value, 0, 0)
		}()
		<-done
	}
}

// alive uses what has been maltreated.
func alive() {
	debug.SetGCPercent(100)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			name := fmt.Sprint("file", i)
			must(os.WriteFile(name, make([]byte, 10000), 0o600))
			b, err := os.ReadFile(name)
			must(err)
			if len(b) != 10000 {
				panic("the file is not as long as it was written")
			}
			must(os.Remove(name))
			time.Sleep(time.Millisecond)
		})
	}
	wg.Wait()
	runtime.GC()
	r, w, err := os.Pipe()
	must(err)
	go func() { time.Sleep(time.Millisecond); w.Write([]byte("x")) }()
	_, err = r.Read(make([]byte, 1))
	must(err)
	entries, err := os.ReadDir(".")
	must(err)
	for _, e := range entries {
		if e.Name() != "file" {
			fmt.Println("left over:", e.Name())
		}
	}
}
