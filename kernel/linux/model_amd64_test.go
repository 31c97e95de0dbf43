package linux

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/percpu/percputest"
	"github.com/zeroframe/zeroframe/kernel/thread"
)

// These system calls are compared with Linux: some threads make the same random calls on Linux and
// in this package, which runs in this process as it does in the kernel, until it would leave for a
// thread or wait for an interrupt. After each call both must agree on which threads wait, and on
// the results of the calls that have returned. This package's clock stands still: times are either
// over or never come.

// A worker is a thread of Linux and one of this package.
type worker struct {
	m     *model
	room  [2][]byte // its calls point into it: this package's, Linux's
	stack []byte

	th       *thread.Thread
	returned bool // the call of this package has; result is what
	result   int64
	handled  int // signals

	tid  int // Linux's
	jobs chan [7]uintptr
	done chan int64
	busy atomic.Bool // it makes a call on Linux

	what    string            // the call
	call    [7]uintptr        // its number and arguments for Linux
	waits   bool              // it has not returned
	answers func(r int64) int // how much of the room is to be the same when it returns r
}

const (
	roomSize = 160 << 10
	codeAt   = 0x5000   // where the calls are made
	handleAt = 0x123000 // the handler
)

type model struct {
	t       testing.TB
	r       *rand.Rand
	name    string
	workers []*worker
	words   [2][]byte // memory that the workers share
	slots   []slot
	lastFD  int
	log     []string
	seen    map[string]int
}

// slot is a descriptor in both systems.
type slot struct {
	fd   [2]int
	kind kind
	obj  int // dups and both ends of a pipe have the same number
}

// Arguments of a call whose numbers differ between the two.
type (
	at     int // an offset in the worker's room
	shared int // an offset in the words
	fd     int // a slot
	tid    int // a worker
	pids   struct{}
)

func (m *model) arg(w *worker, v any, side int) uintptr {
	switch v := v.(type) {
	case int:
		return uintptr(v)
	case at:
		return uintptr(unsafe.Pointer(&w.room[side][v]))
	case shared:
		return uintptr(unsafe.Pointer(&m.words[side][v]))
	case fd:
		return uintptr(m.slots[v].fd[side])
	case tid:
		return uintptr([2]int{int(m.workers[v].th.TID), m.workers[v].tid}[side])
	case pids:
		return uintptr([2]int{pid, os.Getpid()}[side])
	}
	panic("type")
}

// gone is the panic value of a thread that goes on, killed that of the program's end.
type gone struct{ t *thread.Thread }
type killed struct{ signal int }

func goesOn(t *thread.Thread) {
	deliver(t)
	panic(gone{t})
}
func kills(_ *thread.Thread, signal int) { panic(killed{signal}) }

func setCurrent(tid int32) { percpu.This().Thread = tid }

// until calls f, which may return, end when a thread goes on, or wait for an interrupt (an
// instruction that a program may not execute).
func (m *model) until(f func()) (next *thread.Thread, returned bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		switch v := recover().(type) {
		case nil:
		case gone:
			next = v.t
		case runtime.Error:
			if thread.Current() != nil {
				panic(v)
			}
		default:
			panic(v)
		}
	}()
	f()
	return nil, true
}

// enter makes a call of this package, and runs the threads that can run until none can.
func (m *model) enter(w *worker, args [7]uintptr) {
	if w.th.Pending&^w.th.Mask != 0 && args[0] != syscall.SYS_GETTID {
		m.enter(w, [7]uintptr{syscall.SYS_GETTID}) // takes the signal, as it does before the next call
	}
	setCurrent(w.th.TID)
	w.th.State = thread.Running
	f := new(arch.TrapFrame)
	f.InitThread()
	f.PC, f.SP = codeAt+arch.SyscallSize, uintptr(unsafe.Pointer(&w.stack[len(w.stack)/2]))
	f.AX, f.Error, f.DI, f.SI, f.DX, f.R10, f.R8, f.R9 = args[0], args[0], args[1], args[2], args[3], args[4], args[5], args[6]
	w.returned = false
	m.run(f)
	for thread.AnyReady() {
		next, _ := m.until(thread.Run)
		m.goOn(next)
	}
}

// run makes the call of f, for the current thread.
func (m *model) run(f *arch.TrapFrame) {
	t := thread.Current()
	next, returned := m.until(func() { Handle(f, arch.ThisCPU()) })
	if returned {
		m.ends(t, int64(f.Result()))
	} else {
		m.goOn(next)
	}
}

// goOn does what a thread does when it goes on: it handles a signal, makes its call again, or takes
// its result. With nil, no thread goes on.
func (m *model) goOn(t *thread.Thread) {
	if t == nil {
		return
	}
	f := new(arch.TrapFrame)
	*f = t.Frame
	switch f.PC {
	case handleAt:
		m.worker(t).handled++
		f.SP += 8
		f.AX, f.Error, f.PC = syscall.SYS_RT_SIGRETURN, syscall.SYS_RT_SIGRETURN, handleAt
		m.run(f)
	case codeAt:
		f.PC, f.Error = codeAt+arch.SyscallSize, f.AX
		m.run(f)
	default:
		m.ends(t, int64(f.Result()))
	}
}

func (m *model) ends(t *thread.Thread, result int64) {
	w := m.worker(t)
	w.returned, w.result = true, result
	setCurrent(0)
}

func (m *model) worker(t *thread.Thread) *worker {
	for _, w := range m.workers {
		if w.th == t {
			return w
		}
	}
	panic("no worker's")
}

// serve makes the calls on Linux.
func (w *worker) serve(ready chan<- struct{}) {
	runtime.LockOSThread()
	w.tid = syscall.Gettid()
	ready <- struct{}{}
	for a := range w.jobs {
		w.busy.Store(true)
		r, _, e := syscall.Syscall6(a[0], a[1], a[2], a[3], a[4], a[5], a[6])
		if e != 0 {
			r = uintptr(-int64(e))
		}
		w.busy.Store(false)
		w.done <- int64(r)
	}
}

// settle waits until the worker's call on Linux has returned, or waits. If the call of this package
// has returned, Linux is given time to return, too: a call whose time is over may still wait for a
// moment.
func (w *worker) settle() (result int64, returned bool) {
	if w.returned {
		select {
		case r := <-w.done:
			return r, true
		case <-time.After(time.Minute):
			w.m.fail("%s is %d; with Linux it waits", w.what, w.result)
		}
	}
	want := fmt.Sprintf("%d %#x %#x %#x %#x %#x %#x ", w.call[0], w.call[1], w.call[2], w.call[3], w.call[4], w.call[5], w.call[6])
	for path := fmt.Sprintf("/proc/self/task/%d/syscall", w.tid); ; {
		select {
		case r := <-w.done:
			return r, true
		default:
		}
		b, err := os.ReadFile(path)
		if err != nil {
			w.m.t.Fatal(err)
		}
		if strings.HasPrefix(string(b), want) && w.busy.Load() {
			return 0, false
		}
		runtime.Gosched()
	}
}

// do lets a worker make a call in both systems, and compares the results and the first answers(r)
// bytes of the worker's room. It returns both results, or waits.
func (m *model) do(i int, answers func(r int64) int, name string, number uintptr, args ...any) (ours, linux int64, waits bool) {
	m.t.Helper()
	w := m.workers[i]
	w.what, w.answers = name, answers
	for _, v := range args {
		switch v := v.(type) {
		case fd:
			s := m.slots[v]
			w.what += fmt.Sprintf(" fd%d(%d:%d)", v, s.kind, s.obj)
		case int:
			w.what += fmt.Sprint(" ", v)
		default:
			w.what += fmt.Sprintf(" %T%v", v, v)
		}
	}
	m.log = append(m.log, fmt.Sprintf("%d: %s", i, w.what))
	var call [2][7]uintptr
	for side := range call {
		call[side][0] = number
		for j, v := range args {
			call[side][j+1] = m.arg(w, v, side)
		}
	}
	w.call, w.waits = call[1], true
	w.jobs <- call[1]
	m.enter(w, call[0])
	// A thread that goes on may let others go on.
	var results = make([]int64, len(m.workers))
	for same := 0; same <= len(m.workers); same++ {
		for j, w := range m.workers {
			if !w.waits {
				continue
			}
			if r, returned := w.settle(); returned {
				results[j], w.waits, same = r, false, 0
				if !w.returned {
					m.fail("%d: %s waits; Linux has %d", j, w.what, r)
				}
				if w.result != r && !strings.HasPrefix(w.what, "new ") {
					m.fail("%d: %s is %d; Linux has %d", j, w.what, w.result, r)
				}
				m.log = append(m.log, fmt.Sprintf("   %d: %d", j, r))
				name, _, _ := strings.Cut(strings.TrimPrefix(w.what, "new "), " ")
				m.seen[fmt.Sprint(name, " ", min(r, 0))]++
				n := 0
				if w.answers != nil {
					n = w.answers(r)
				}
				if a, b := w.room[0][:n], w.room[1][:n]; !bytes.Equal(a, b) {
					k := 0
					for a[k] == b[k] {
						k++
					}
					m.fail("%d: %s = %d: at %d there is %x; Linux has %x", j, w.what, r, k, a[k:min(k+24, len(a))], b[k:min(k+24, len(b))])
				}
			}
		}
	}
	for j, w := range m.workers {
		if w.waits && j == i {
			m.seen[name+" waits"]++
		}
	}
	return w.result, results[i], w.waits
}

func (m *model) fail(format string, args ...any) {
	m.t.Helper()
	m.t.Fatalf("%s: %s\nbefore it:\n%s", m.name, fmt.Sprintf(format, args...), strings.Join(m.log[max(0, len(m.log)-60):], "\n"))
}

// idle returns a worker that does not wait, at random.
func (m *model) idle() (int, bool) {
	i := m.r.IntN(len(m.workers))
	return i, !m.workers[i].waits
}

// oneIdle returns a worker that does not wait.
func (m *model) oneIdle() int {
	for {
		if i, ok := m.idle(); ok {
			return i
		}
	}
}

// pages returns memory at an address for good.
func pages(t testing.TB, n int) []byte {
	b, err := syscall.Mmap(-1, 0, n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// newModel makes a model with that many threads.
func newModel(t testing.TB, name string, seed uint64, threads int) *model {
	m := &model{t: t, name: fmt.Sprint(name, ", seed ", seed), r: rand.New(rand.NewPCG(seed, 1)), seen: map[string]int{}}
	percputest.Use(t)
	m.words = [2][]byte{pages(t, pageSize), pages(t, pageSize)}
	ready := make(chan struct{})
	for range threads {
		w := &worker{m: m, room: [2][]byte{pages(t, roomSize), pages(t, roomSize)}, stack: pages(t, 64<<10), jobs: make(chan [7]uintptr), done: make(chan int64, 1)}
		w.th = thread.New()
		go w.serve(ready)
		<-ready
		m.workers = append(m.workers, w)
	}
	return m
}

// close lets the threads end: none of them waits.
func (m *model) close() {
	for i, w := range m.workers {
		if w.waits {
			m.fail("%d: %s still waits", i, w.what)
		}
		close(w.jobs)
		w.th.State = thread.Ready
		setCurrent(w.th.TID)
		thread.End(w.th)
	}
	for _, s := range m.slots {
		if s.kind != closed {
			syscall.Close(s.fd[1])
			closeFD(uintptr(s.fd[0]))
		}
	}
}

// child is the environment variable that makes this program make the calls: the Go runtime is told
// not to send signals of its own.
const child = "ZEROFRAME_LINUX_MODEL"

func TestAgainstLinux(t *testing.T) {
	if os.Getenv(child) == "" {
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestAgainstLinux$", "-test.v")
		cmd.Env = append(os.Environ(), child+"=1", "GODEBUG=asyncpreemptoff=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		} else if testing.Verbose() {
			t.Logf("%s", out)
		}
		return
	}
	room := pages(t, 32<<20)
	lo := uintptr(unsafe.Pointer(unsafe.SliceData(room)))
	mem.AddFrames(lo, lo+uintptr(len(room)))
	if _, e := mem.Map(16*pageSize, 1<<47-17*pageSize, mem.ProtRead|mem.ProtWrite, true, false); e != 0 {
		t.Fatal(e)
	}
	Start()
	thread.OnResume(goesOn)
	OnKill(kills)
	actions[sigPIPE].handler = sigIgnore
	signal.Ignore(syscall.SIGPIPE)
	handlers()
	for _, part := range models {
		t.Run(part.name, func(t *testing.T) {
			seen := map[string]int{}
			for seed := range uint64(part.seeds) {
				m := newModel(t, part.name, seed, part.threads)
				part.run(m)
				m.close()
				for k, n := range m.seen {
					seen[k] += n
				}
			}
			t.Log(seen)
		})
	}
}
