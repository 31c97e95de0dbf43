// Goroutines starts goroutines that wait in different ways, and prints what package goinfo reads of
// them, then what the runtime says of them: the test of goinfo compares the two. Its table of the
// runtime's layout is filled in the file, like that of a kernel.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"github.com/zeroframe/zeroframe/kernel/goinfo"
)

// Report is what the program prints, as JSON. The test has a copy.
type Report struct {
	Known   bool
	Missing []string // items of the table that are not known
	Gs      []Goroutine
	Stacks  string // runtime.Stack of all goroutines

	Self  Thread   // the thread and the goroutine that reported
	TID   uint64   // of that thread, by the operating system
	Names []string // of status 0, 1, 2 and so on, and of one that does not exist
	Bad   string   // accepted addresses without a goroutine
}

// Goroutine is a goinfo.G, with the results of its methods and the runtime's tables.
type Goroutine struct {
	goinfo.G
	State, Status, Reason string
	Start, Go             string // functions of StartPC and GoPC
	Dead, Running         bool
	InSyscall, Waiting    bool
	Saved                 bool
	SavedPC               string // its function
	SavedSP               uintptr
}

// Thread is the runtime.m of the goroutine that reported.
type Thread struct {
	FS, G, M      uintptr
	Curg          uintptr
	ProcID        uint64
	StackHasLocal bool // a local variable lies within the goroutine's stack
}

// What the goroutines wait for; none of it happens. The functions below have no parameters, so that
// a goroutine begins with the function itself.
var (
	nothing, never = make(chan int), make(chan int)
	mutex          sync.Mutex
	group          sync.WaitGroup
	readFD         int      // of a pipe
	readFile       *os.File // likewise, one of the network poller
)

func onReceive() { <-nothing }
func onSend()    { never <- 1 }
func onMutex()   { mutex.Lock() }
func onGroup()   { group.Wait() }
func onSleep()   { time.Sleep(time.Hour) }
func onForever() { select {} }

func onSelect() {
	select {
	case <-nothing:
	case never <- 1:
	}
}

func onLocked() {
	runtime.LockOSThread()
	<-nothing
}

func onRead() {
	var b [1]byte
	syscall.Read(readFD, b[:])
}

func onFile() {
	var b [1]byte
	readFile.Read(b[:])
}

func parent() {
	go child()
	<-nothing
}

func child() { <-nothing }

func name(pc uintptr) string {
	if f := runtime.FuncForPC(pc); f != nil {
		return f.Name()
	}
	return ""
}

func describe(g goinfo.G) Goroutine {
	r := Goroutine{
		G: g, State: g.State(), Status: goinfo.StatusName(g.Status), Reason: string(g.WaitReason()),
		Start: name(g.StartPC), Go: name(g.GoPC - 1),
		Dead: g.Dead(), Running: g.Running(), InSyscall: g.InSyscall(), Waiting: g.Waiting(),
	}
	pc, sp, _, ok := goinfo.SavedState(&g)
	r.Saved, r.SavedSP = ok, sp
	if ok {
		r.SavedPC = name(pc)
	}
	return r
}

func main() {
	debug.SetGCPercent(-1) // so that the collector's workers stay as they are
	mutex.Lock()
	group.Add(1)
	var pipe [2]int
	if err := syscall.Pipe(pipe[:]); err != nil {
		panic(err)
	}
	readFD = pipe[0]
	var err error
	if readFile, _, err = os.Pipe(); err != nil {
		panic(err)
	}
	// The goroutine that receives signals is the runtime's and in a system call.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGUSR1)
	for _, f := range []func(){onReceive, onSend, onSelect, onMutex, onGroup, onSleep, onForever, onLocked, onRead, onFile, parent} {
		go f()
	}
	// More goroutines end than the runtime can reuse meanwhile.
	var ended sync.WaitGroup
	for range 20 {
		ended.Add(1)
		go ended.Done()
	}
	ended.Wait()
	time.Sleep(100 * time.Millisecond)

	runtime.LockOSThread()
	var rep Report
	rep.Known = goinfo.Known()
	for i := range goinfo.NumItems() {
		if n, known := goinfo.Item(i); !known {
			rep.Missing = append(rep.Missing, n)
		}
	}
	for i := range goinfo.NumG() {
		g, ok := goinfo.GAt(i)
		if !ok {
			fmt.Fprintf(os.Stderr, "goroutine %d of %d cannot be read\n", i, goinfo.NumG())
			continue
		}
		rep.Gs = append(rep.Gs, describe(g))
	}
	stacks := make([]byte, 1<<20)
	rep.Stacks = string(stacks[:runtime.Stack(stacks, true)])

	rep.TID = uint64(syscall.Gettid())
	rep.Self = self()
	for s := range uint32(12) {
		rep.Names = append(rep.Names, goinfo.StatusName(s))
	}
	rep.Names = append(rep.Names, goinfo.StatusName(1<<31))

	if _, ok := goinfo.GAt(goinfo.NumG()); ok {
		rep.Bad += "GAt(NumG()) "
	}
	if _, ok := goinfo.GAt(-1); ok {
		rep.Bad += "GAt(-1) "
	}
	for _, a := range []uintptr{0, 8, rep.Self.G + 1} {
		if _, ok := goinfo.ReadG(a); ok {
			rep.Bad += fmt.Sprintf("ReadG(%#x) ", a)
		}
	}
	if _, ok := goinfo.GofFS(0); ok {
		rep.Bad += "GofFS(0) "
	}
	if err := json.NewEncoder(os.Stdout).Encode(&rep); err != nil {
		panic(err)
	}

	// With a limit of 1 MiB this dies with the runtime's own message.
	if len(os.Args) > 1 {
		if !goinfo.SetMaxStack(1 << 20) {
			fmt.Fprintln(os.Stderr, "SetMaxStack failed")
		}
		deep(0)
	}
}

func deep(n int) int { return deep(n+1) + 1 }

// self describes the thread that it runs on.
func self() (t Thread) {
	const getFS = 0x1003 // ARCH_GET_FS of arch_prctl(2)
	if _, _, e := syscall.RawSyscall(syscall.SYS_ARCH_PRCTL, getFS, uintptr(unsafe.Pointer(&t.FS)), 0); e != 0 {
		panic(e)
	}
	t.G, _ = goinfo.GofFS(t.FS)
	g, ok := goinfo.ReadG(t.G)
	if !ok {
		return t
	}
	here := uintptr(unsafe.Pointer(&ok))
	t.StackHasLocal = g.StackLo <= here && here < g.StackHi
	t.M = g.M
	t.Curg, _ = goinfo.Curg(g.M)
	t.ProcID, _ = goinfo.ProcID(g.M)
	return t
}
