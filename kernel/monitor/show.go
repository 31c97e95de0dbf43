package monitor

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/ascii"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/fault"
	"github.com/zeroframe/zeroframe/kernel/goinfo"
	"github.com/zeroframe/zeroframe/kernel/stack"
	"github.com/zeroframe/zeroframe/kernel/thread"
	"github.com/zeroframe/zeroframe/tracer"
)

// The monitor's commands that list: goroutines, threads, stacks, registers.

// looked is the goroutine or thread whose line is being made. Under the kernel lock.
var looked fault.Details

func runGoroutines(args []byte) {
	if !stack.Running {
		console.String("there are none before the program starts\n")
		return
	}
	if !goinfo.Known() {
		console.String("they cannot be listed: the image was built without DWARF (-ldflags=-w)\n")
		return
	}
	all := false
	switch word, _ := Word(args); {
	case len(word) == 0:
	case ascii.Same(word, "all"):
		all = true
	case ascii.Same(word, "trace"):
		fault.ListGoroutines(0, false)
		return
	default:
		console.String("want `goroutines`, `goroutines all` or `goroutines trace`\n")
		return
	}
	found, left, hidden := fault.GroupGoroutines(0, all, true)
	for i := range found {
		if g, ok := found[i].First(); ok {
			lineOfGroup(&found[i], &g)
		}
	}
	if left > 0 {
		console.Printf("%d more are not shown\n", left)
	}
	if hidden > 0 {
		console.Printf("%d of the runtime's own are not shown; `goroutines all` does\n", hidden)
	}
}

// lineOfGroup writes the list's line for a group of goroutines that wait alike; g stands for the
// group.
func lineOfGroup(p *fault.Group, g *goinfo.G) {
	here := !idleStop() && g.Running() && fault.Stop.Goroutine == g.ID
	printMark(here)
	if p.N > 1 {
		console.Printf("%5d goroutines [", uint64(p.N))
	} else {
		console.Printf("%5d [", g.ID)
	}
	console.String(g.State())
	if s, ok := p.Waited(); ok {
		console.Printf(", %d s", s)
	}
	console.String("] ")
	ok := true
	switch {
	case here:
		looked = fault.Stop
	case g.Running():
		t := fault.ThreadOf(g)
		if ok = t != nil; ok {
			looked = fault.Details{}
			looked.FromThread(t)
		}
	default:
		looked = fault.Details{}
		ok = looked.FromGoroutine(g)
	}
	if ok {
		printUser(&looked)
	}
	if ids, more := p.Members(); p.N > 1 {
		for i, id := range ids {
			if i == 0 {
				console.String(": ")
			} else {
				console.String(", ")
			}
			console.Dec(id)
		}
		if more {
			console.String(", ...")
		}
	}
	console.String("\n")
}

// printMark begins a line of a list; a * marks what was interrupted.
func printMark(here bool) {
	mark := byte(' ')
	if here {
		mark = '*'
	}
	console.Byte(mark)
}

// printUser writes the innermost function that is the program's own, rather than the standard
// library's, and the file and line there.
func printUser(d *fault.Details) {
	d.FindStacks()
	stack.Walker.Plain = false
	fault.Walk(d)
	if !printFrames() {
		printPC(d.PC, d.Call)
	}
}

// printFrames is printUser for the frames that the walker has found. If none of them is in such a
// function, it writes nothing and returns false.
func printFrames() bool {
	t, ok := tracer.OwnTable()
	std := standardPath(&t)
	for i := 0; ok && i < stack.Walker.N; i++ {
		if f := &stack.Walker.Frames[i]; printIfOwn(&t, std, f.Kind, f.Addr) {
			return true
		}
	}
	return false
}

// printIfOwn writes the function, file and line of a frame and returns true, if the frame, or a
// call inlined in it, belongs to the program itself.
func printIfOwn(t *tracer.PCTable, std []byte, kind tracer.Kind, addr uintptr) bool {
	at := addr
	if kind != tracer.PC {
		at--
	}
	f, found := t.Find(at)
	if len(std) == 0 || kind == tracer.Trap || !found || ascii.HasPrefix(f.Name(), kernelPrefix) {
		return false
	}
	c, inlined := f.Inlined(at)
	for range maxInlined {
		if file, _, ok := f.FileLine(at); ok && len(file) > 0 && file[0] == '/' &&
			!startsWith(file, std) {
			if inlined {
				console.Bytes(c.Name())
			} else {
				printEntry(&f, addr)
			}
			printLine(&f, at)
			return true
		}
		if !inlined {
			break
		}
		if at, inlined = c.Outer(); inlined {
			c, inlined = f.Inlined(at)
		}
	}
	return false
}

// maxInlined bounds the depth of inlined calls that are examined.
const maxInlined = 64

// standardPath returns the folder of the standard library's sources: the path of runtime.goexit's
// file without "runtime/asm_amd64.s". It is empty if files have no folders (-trimpath).
func standardPath(t *tracer.PCTable) []byte {
	f, ok := t.Find(stack.Goexit)
	if !ok {
		return nil
	}
	file, _, ok := f.FileLine(stack.Goexit)
	for slashes := 0; ok && len(file) > 0; file = file[:len(file)-1] {
		if file[len(file)-1] == '/' {
			if slashes++; slashes == 2 {
				return file
			}
		}
	}
	return nil
}

func startsWith(b, prefix []byte) bool {
	return len(b) >= len(prefix) && ascii.Equal(b[:len(prefix)], prefix)
}

// kernelPrefix begins the names of the kernel's own functions, in all packages.
const kernelPrefix = "github.com/zeroframe/zeroframe/"

// argument reads the number that a command requires.
func argument(args []byte, what string) (v uint64, ok bool) {
	word, rest := Word(args)
	v, ok = Number(word)
	if !ok || len(rest) > 0 {
		console.String("want the number of a ")
		console.Line(what)
		return 0, false
	}
	return v, true
}

func runGoroutine(args []byte) {
	id, ok := argument(args, "goroutine: `goroutines` lists them")
	if !ok {
		return
	}
	for i := 0; i < goinfo.NumG(); i++ {
		g, ok := goinfo.GAt(i)
		if !ok || g.ID != id || g.Dead() {
			continue
		}
		if !g.Running() {
			fault.TraceGoroutine(&g)
			return
		}
		if t := fault.ThreadOf(&g); t != nil {
			traceThread(t)
			return
		}
	}
	console.String("there is no such goroutine\n")
}

func runThread(args []byte) {
	tid, ok := argument(args, "thread: `threads` lists them")
	if !ok {
		return
	}
	if t := thread.Get(int32(min(tid, thread.MaxThreads+1))); t != nil {
		traceThread(t)
		return
	}
	console.String("there is no such thread\n")
}

// traceThread writes a trace of a thread.
func traceThread(t *thread.Thread) {
	d := fault.NextStage(tracer.KindTrace)
	d.OfThread(t)
	d.Kind = tracer.KindTrace
	d.Reason.N = 0
	d.Reason.Str("thread ")
	d.Reason.Dec(uint64(t.TID))
	d.Reason.Str(": ")
	d.Reason.Str(t.State.String())
	fault.WriteTrace()
	fault.LeaveStages()
}

func runThreads() {
	if thread.Count() == 0 {
		console.String("there are none before the program starts\n")
		return
	}
	console.String("thread     CPU  does\n")
	for t := thread.Next(0); t != nil; t = thread.Next(t.TID) {
		printMark(t == thread.Current())
		console.DecPad(uint64(t.TID), 4)
		seconds(t.CPU, 4)
		console.String(" s  ")
		if t.State != thread.Waiting {
			console.String(t.State.String())
		} else {
			console.String(t.Why.String())
			switch t.Why {
			case thread.ForFutex:
				console.Printf(" %x", uint64(t.Key))
			case thread.ForEpoll, thread.ForFile:
				console.Printf(" %d", uint64(t.Key))
			}
		}
		console.String(": ")
		looked.OfThread(t)
		printUser(&looked)
		console.String("\n")
	}
}

func runStacks() {
	console.String("stack        size    used  limit\n")
	for i := range stack.All() {
		s := &stack.Table[i]
		console.String(s.Name)
		spaces(8 - len(s.Name))
		console.Printf("%9d%8d%7d  ", uint64(s.Size()), uint64(s.Used), uint64(s.Limit))
		const width = 32
		n := int(s.Used * width / s.Size())
		if s.Used > 0 && n == 0 {
			n = 1
		}
		for k := range width {
			if k < n {
				console.Byte('#')
			} else {
				console.Byte('.')
			}
		}
		if l := s.Level(); l >= tracer.LevelWarning {
			console.String(" !")
		}
		console.String("\n")
	}
}

func runRegs() {
	n := 0
	for i, name := range tracer.Native().Registers {
		if fault.Stop.Have>>uint(i)&1 == 0 {
			continue
		}
		if n > 0 && n%3 == 0 {
			console.String("\n")
		} else if n > 0 {
			console.String("   ")
		}
		n++
		spaces(6 - len(name))
		console.String(name)
		console.Byte(' ')
		hexDigits(uint64(fault.Stop.Regs[i]), 16)
	}
	console.String("\n")
	if fault.Stop.Have&(1<<arch.RegisterPC) != 0 {
		console.String("   rip is ")
		printPC(fault.Stop.Regs[arch.RegisterPC], fault.Stop.Call)
		console.String("\n")
	}
}

// hexDigits writes the n lowest digits of v in base 16.
func hexDigits(v uint64, n int) {
	for n--; n >= 0; n-- {
		console.Byte("0123456789abcdef"[v>>(4*uint(n))&15])
	}
}
