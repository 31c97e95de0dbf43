package kernel

import (
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/goinfo"
	"github.com/zeroframe/zeroframe/kernel/monitor"
	"github.com/zeroframe/zeroframe/kernel/sched"
	"github.com/zeroframe/zeroframe/tracer"
)

// The monitor's commands that list: goroutines, threads, stacks, registers.

// looked is a goroutine or thread that a list has a line for.
var looked death

func monitorGoroutines(args []byte) {
	if !running {
		console.String("there are none before the program starts\n")
		return
	}
	if !goinfo.Known() {
		console.String("they cannot be listed: the image was built without DWARF (-ldflags=-w)\n")
		return
	}
	all := false
	switch word, _ := monitor.Word(args); {
	case len(word) == 0:
	case Same(word, "all"):
		all = true
	case Same(word, "trace"):
		listGoroutines(0, false)
		return
	default:
		console.String("want `goroutines`, `goroutines all` or `goroutines trace`\n")
		return
	}
	hidden := uint64(0)
	for i := 0; i < goinfo.NumG(); i++ {
		g, ok := goinfo.GAt(i)
		if !ok || g.Dead() {
			continue
		}
		if !all && systemGoroutine(&g) {
			hidden++
			continue
		}
		lineOfGoroutine(&g)
	}
	if hidden > 0 {
		console.Dec(hidden)
		console.String(" of the runtime's own are not shown; `goroutines all` does\n")
	}
}

// lineOfGoroutine writes a goroutine's line of the list.
func lineOfGoroutine(g *goinfo.G) {
	here := !idleStop() && g.Running() && stop.goroutine == g.ID
	mark := byte(' ')
	if here {
		mark = '*'
	}
	console.Byte(mark)
	console.DecPad(g.ID, 5)
	console.String(" [")
	if b := g.WaitReason(); g.Waiting() && len(b) > 0 {
		console.Bytes(b)
	} else {
		console.String(g.State())
	}
	if now := clock.Now(); g.Waiting() && g.WaitSince > 0 && uint64(g.WaitSince) < now {
		console.String(", ")
		console.Dec((now - uint64(g.WaitSince)) / 1e9)
		console.String(" s")
	}
	console.String("] ")
	ok := true
	switch {
	case here:
		looked = stop
	case g.Running():
		tid, found := goinfo.ProcID(g.M)
		t := sched.Get(int32(tid))
		if ok = found && t != nil && tid <= sched.MaxThreads; ok {
			looked = death{}
			looked.fromThread(t)
		}
	default:
		looked = death{}
		ok = looked.from(g)
	}
	if ok {
		tellUser(&looked)
	}
	console.String("\n")
}

// tellUser writes where something is: in the innermost function that is the program's
// own, not the standard library's; then there is the file and line there.
func tellUser(d *death) {
	threadStacks(d)
	walker.Plain = false
	walk(d)
	if !tellFrames() {
		tellPC(d.pc, d.call)
	}
}

// tellFrames is tellUser for the frames that the walker has found. It reports false, and
// writes nothing, if none of them is in such a function.
func tellFrames() bool {
	t, ok := tracer.OwnTable()
	std := standardPath(&t)
	for i := 0; ok && i < walker.N; i++ {
		if f := &walker.Frames[i]; tellIfOwn(&t, std, f.Kind, f.Addr) {
			return true
		}
	}
	return false
}

// tellIfOwn writes the function, file and line of a frame and returns true, if the frame,
// or a call that is inlined in it, is of the program itself.
func tellIfOwn(t *tracer.PCTable, std []byte, kind tracer.Kind, addr uintptr) bool {
	at := addr
	if kind != tracer.PC {
		at--
	}
	f, found := t.Find(at)
	if len(std) == 0 || kind == tracer.Trap || !found || hasPrefix(f.Name(), kernelPrefix) {
		return false
	}
	c, inlined := f.Inlined(at)
	for n := 0; n < maxInlined; n++ {
		if file, _, ok := f.FileLine(at); ok && len(file) > 0 && file[0] == '/' && !startsWith(file, std) {
			if inlined {
				console.Bytes(c.Name())
			} else {
				tellEntry(&f, addr)
			}
			tellLine(&f, at)
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

// maxInlined bounds how deep inlined calls are looked through.
const maxInlined = 64

// standardPath returns the folder of the standard library's sources: that of the file of
// runtime.goexit, without "runtime/asm_amd64.s". It is empty if files have no folders
// (-trimpath).
func standardPath(t *tracer.PCTable) []byte {
	f, ok := t.Find(goexit)
	if !ok {
		return nil
	}
	file, _, ok := f.FileLine(goexit)
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
	return len(b) >= len(prefix) && sameBytes(b[:len(prefix)], prefix)
}

// kernelPrefix begins the names of our own functions, of the kernel and below it.
const kernelPrefix = "github.com/zeroframe/zeroframe/"

// fromThread makes the death start where a thread that does not run was left.
func (d *death) fromThread(t *sched.Thread) {
	d.fromTrap(&t.Frame)
	d.cause = false
	d.context = tracer.ContextGoroutine
	d.thread = uint32(t.TID)
	d.fs = t.Frame.FSBase
}

// ofThread is fromThread for any thread.
func (d *death) ofThread(t *sched.Thread) {
	if t == sched.Current() && stopWhy == stopKey {
		*d = stop
		return
	}
	*d = death{}
	d.fromThread(t)
}

// argument reads the number that a command wants.
func argument(args []byte, what string) (v uint64, ok bool) {
	word, rest := monitor.Word(args)
	v, ok = monitor.Number(word)
	if !ok || len(rest) > 0 {
		console.String("want the number of a ")
		console.String(what)
		console.String("\n")
		return 0, false
	}
	return v, true
}

func monitorGoroutine(args []byte) {
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
			traceGoroutine(&g)
			return
		}
		if tid, ok := goinfo.ProcID(g.M); ok && tid <= sched.MaxThreads {
			if t := sched.Get(int32(tid)); t != nil {
				traceThread(t)
				return
			}
		}
	}
	console.String("there is no such goroutine\n")
}

func monitorThread(args []byte) {
	tid, ok := argument(args, "thread: `threads` lists them")
	if !ok {
		return
	}
	if t := sched.Get(int32(min(tid, sched.MaxThreads+1))); t != nil {
		traceThread(t)
		return
	}
	console.String("there is no such thread\n")
}

// traceThread writes a trace of a thread.
func traceThread(t *sched.Thread) {
	d := climb(tracer.KindTrace)
	d.ofThread(t)
	d.kind = tracer.KindTrace
	d.reason.n = 0
	d.reason.str("thread ")
	d.reason.dec(uint64(t.TID))
	d.reason.str(": ")
	d.reason.str(t.State.String())
	perform()
	descend()
}

func monitorThreads() {
	if sched.Count() == 0 {
		console.String("there are none before the program starts\n")
		return
	}
	console.String("thread     CPU  does\n")
	for tid := int32(1); tid <= sched.MaxTID(); tid++ {
		t := sched.Get(tid)
		if t == nil {
			continue
		}
		mark := byte(' ')
		if t == sched.Current() {
			mark = '*'
		}
		console.Byte(mark)
		console.DecPad(uint64(tid), 4)
		console.DecPad(t.CPU/1e9, 4)
		console.Byte('.')
		for div := uint64(1e8); div >= 1e6; div /= 10 {
			console.Byte('0' + byte(t.CPU/div%10))
		}
		console.String(" s  ")
		if t.State != sched.Waiting {
			console.String(t.State.String())
		} else {
			console.String(t.Why.String())
			switch t.Why {
			case sched.ForFutex:
				console.String(" ")
				console.Hex(uint64(t.Key))
			case sched.ForEpoll, sched.ForFile:
				console.String(" ")
				console.Dec(uint64(t.Key))
			}
		}
		console.String(": ")
		looked.ofThread(t)
		tellUser(&looked)
		console.String("\n")
	}
}

func monitorStacks() {
	console.String("stack        size    used  limit\n")
	for i := range Stacks() {
		s := &stacks[i]
		console.String(s.Name)
		spaces(8 - len(s.Name))
		console.DecPad(uint64(s.Size()), 9)
		console.DecPad(uint64(s.Used), 8)
		console.DecPad(uint64(s.Limit), 7)
		console.String("  ")
		const width = 32
		n := int(s.Used * width / s.Size())
		if s.Used > 0 && n == 0 {
			n = 1
		}
		for k := 0; k < width; k++ {
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

func monitorRegs() {
	n := 0
	for i, name := range tracer.RegisterNames {
		if stop.have>>uint(i)&1 == 0 {
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
		hexDigits(uint64(stop.regs[i]), 16)
	}
	console.String("\n")
	if stop.have&(1<<regRIP) != 0 {
		console.String("   rip is ")
		tellPC(stop.regs[regRIP], stop.call)
		console.String("\n")
	}
}

// hexDigits writes the n lowest digits of v in base 16.
func hexDigits(v uint64, n int) {
	for n--; n >= 0; n-- {
		console.Byte("0123456789abcdef"[v>>(4*uint(n))&15])
	}
}
