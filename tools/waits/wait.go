package waits

import (
	"iter"
	"strings"
)

// Kind is the kind of thing that a goroutine waits for.
type Kind string

// The kinds, as JSON has them.
const (
	Mutex     Kind = "mutex"
	RLock     Kind = "rwmutex-read"
	WLock     Kind = "rwmutex-write"
	WaitGroup Kind = "waitgroup"
	Once      Kind = "once"
	Cond      Kind = "cond"
	Receive   Kind = "receive"
	Send      Kind = "send"
	NilChan   Kind = "nil-channel"
	Nothing   Kind = "select-without-cases"
	Semaphore Kind = "semaphore"
	Poll      Kind = "io"
	Sleep     Kind = "sleep"
	Syscall   Kind = "syscall"
	Spin      Kind = "spin"
	Kernel    Kind = "kernel-lock"
	Other     Kind = "other"
)

// A Wait is what a goroutine waits for.
type Wait struct {
	Kind   Kind
	Select bool // any of the objects will do
	// Objects are several in a select alone.
	Objects []*Object
	// Why is what else is known of the wait, in words.
	Why   string
	IO    *IO  // of a wait for input or output, if anything is known of it
	place bool // Why says it all
}

// An Object is a lock, a channel or the like that is waited for.
type Object struct {
	Kind Kind
	Addr uint64 // 0 for a nil channel
	Name string // of the variable or field, "" if it is not known
	// State is what it holds, in words, such as "full, 2 of 2".
	State string
	// Holders are goroutines: those who have it, if Certain, else those who may have it. With
	// Certain and no holder, none has it.
	Holders []int64
	Certain bool
	// DeadlineAt is the address of the word in which a timer whose channel it is has its time, 0 if
	// it is none.
	DeadlineAt uint64
	// Partners are goroutines whose functions still come to what would end the wait, such as
	// a receive from a full channel, a Done or an Unlock: when and whether is not known.
	Partners []Partner

	timer   bool // the runtime sends on the channel when the time has come
	readers bool // holders have it for reading
	behind  bool // the holder is a writer that waits for it
	outside bool // what ends the wait comes from outside of the program
	free    bool // it is free: who waits is on the way
}

// A Partner is a goroutine that may end a wait later on.
type Partner struct {
	ID   int64  `json:"id"`
	What string `json:"by"`           // receive, send, close, Done, Signal
	At   string `json:"at,omitempty"` // function and line
}

// objects are those that goroutines wait for.
func objects(all []*Goroutine) iter.Seq2[*Goroutine, *Object] {
	return func(yield func(*Goroutine, *Object) bool) {
		for _, g := range all {
			if g.Wait == nil {
				continue
			}
			for _, o := range g.Wait.Objects {
				if !yield(g, o) {
					return
				}
			}
		}
	}
}

// waits finds what each goroutine waits for.
func (p *program) waits(all []*Goroutine) {
	p.semas = p.semaphores()
	for _, g := range all {
		g.Wait = p.wait(g)
	}
}

// semaphores returns, of each goroutine that waits for a semaphore, the address of the
// semaphore's word: runtime.semtable has a tree of them in each of its rows, with a list of
// goroutines at each node. From Go 1.26 on g.waiting says it too.
func (p *program) semaphores() map[uint64]uint64 {
	m := make(map[uint64]uint64)
	table := p.globals["runtime.semtable"]
	row, ok := p.field("runtime.semaRoot.treap")
	if table == nil || !ok {
		return m
	}
	size := int64(table.RealType.Size()) / 251 // semTabSize
	seen := make(map[uint64]bool)
	var walk func(s uint64, depth int)
	walk = func(s uint64, depth int) {
		for ; s != 0 && depth < 1000 && !seen[s]; depth++ {
			seen[s] = true
			addr := p.elem(s)
			for w := s; w != 0 && len(m) < 1<<20; w = p.get(w, "runtime.sudog.waitlink") {
				if g := p.get(w, "runtime.sudog.g"); m[g] == 0 {
					m[g] = addr
				} else if w != s {
					break
				}
			}
			walk(p.get(s, "runtime.sudog.prev"), depth+1)
			s = p.get(s, "runtime.sudog.next")
		}
	}
	for i := range int64(251) {
		walk(p.word(table.Addr+uint64(i*size+row.off)), 0)
	}
	return m
}

// elem returns sudog.elem, and channel sudog.c: from Go 1.26 on each is a struct of two words, the
// second of which is true.
func (p *program) elem(s uint64) uint64 { return p.maybe(s, "runtime.sudog.elem") }

func (p *program) channel(s uint64) uint64 { return p.maybe(s, "runtime.sudog.c") }

func (p *program) maybe(s uint64, name string) uint64 {
	if _, ok := p.field(name + ".vu"); ok {
		return p.get(s, name+".vu")
	}
	return p.get(s, name)
}

func (p *program) wait(g *Goroutine) *Wait {
	one := func(k Kind, addr uint64) *Wait {
		return &Wait{Kind: k, Objects: []*Object{{Kind: k, Addr: addr}}}
	}
	switch g.status {
	case gSyscall:
		return p.syscallWait(g)
	case gRunning, gRunnable, gPreempted:
		return p.spinWait(g)
	case gWaiting, gLeaked:
	default:
		return nil
	}
	first := p.get(g.g, "runtime.g.waiting")
	sema := p.semas[g.g]
	if sema == 0 && first != 0 {
		sema = p.elem(first)
		p.semas[g.g] = sema
	}
	state := strings.TrimSuffix(g.State, " (durable)")
	switch state {
	case "sync.Mutex.Lock":
		mu := p.holder(sema, "internal/sync.Mutex.sema")
		i := g.has("internal/sync.(*Mutex).lockSlow")
		for i++; i < len(g.frames); i++ {
			switch name := funcName(&g.frames[i]); name {
			case "internal/sync.(*Mutex).Lock", "sync.(*Mutex).Lock":
				continue
			case "sync.(*RWMutex).Lock":
				return one(WLock, p.holder(mu, "sync.RWMutex.w"))
			case "sync.(*Once).doSlow":
				return one(Once, p.holder(mu, "sync.Once.m"))
			}
			break
		}
		return one(Mutex, mu)
	case "sync.RWMutex.RLock":
		return one(RLock, p.holder(sema, "sync.RWMutex.readerSem"))
	case "sync.RWMutex.Lock":
		return one(WLock, p.holder(sema, "sync.RWMutex.writerSem"))
	case "sync.WaitGroup.Wait":
		return one(WaitGroup, p.holder(sema, "sync.WaitGroup.sema"))
	case "sync.Cond.Wait":
		if _, ok := p.field("runtime.sudog.elem.vu"); !ok {
			sema = p.condOf(g)
		}
		return one(Cond, p.holder(sema, "sync.Cond.notify"))
	case "semacquire":
		return one(Semaphore, sema)
	case "chan receive (nil chan)", "chan send (nil chan)":
		w := one(NilChan, 0)
		w.Why = strings.TrimSuffix(strings.TrimPrefix(state, "chan "), " (nil chan)")
		return w
	case "select (no cases)":
		return &Wait{Kind: Nothing}
	case "chan receive", "chan send", "select":
		w := &Wait{Kind: Receive, Select: state == "select"}
		if w.Select && first == 0 && p.has(g.g, "runtime.g.waiting") {
			// A case whose channel is nil is never queued: each of them is nil.
			w.Kind, w.Objects = NilChan, []*Object{{Kind: NilChan}}
			return w
		}
		for s := first; s != 0 && len(w.Objects) < 1<<16; s = p.get(s, "runtime.sudog.waitlink") {
			o := &Object{Kind: Receive, Addr: p.channel(s)}
			switch {
			case p.queued(o.Addr, "runtime.hchan.sendq", s):
				o.Kind = Send
			case state == "chan send", !p.queued(o.Addr, "runtime.hchan.recvq", s) && state == "select":
				return &Wait{Kind: Other, Why: state} // what it wants of which channel is not known
			}
			w.Objects = append(w.Objects, o)
		}
		if len(w.Objects) == 0 {
			return &Wait{Kind: Other, Why: state}
		}
		w.Kind = w.Objects[0].Kind
		return w
	case "IO wait":
		w := one(Poll, 0)
		if w.IO = p.ioWait(g); w.IO != nil {
			w.Why = w.IO.String()
		}
		return w
	case "sleep":
		return one(Sleep, 0)
	}
	return &Wait{Kind: Other, Why: g.State}
}

// queued reports whether the sudog s waits in a queue of the channel.
func (p *program) queued(c uint64, queue string, s uint64) bool {
	q := p.at(c, queue)
	n := 0
	for w := p.get(q, "runtime.waitq.first"); w != 0 && n < 1<<16; w = p.get(w, "runtime.sudog.next") {
		if w == s {
			return true
		}
		n++
	}
	return false
}

// condOf finds the list that a goroutine in Cond.Wait is on, for runtimes whose sudog does not
// say: sync.Cond's frame has the Cond.
func (p *program) condOf(g *Goroutine) uint64 {
	i := g.has("sync.(*Cond).Wait")
	if i < 0 {
		return 0
	}
	return p.at(p.receiver(g, i, "c"), "sync.Cond.notify")
}

// receiver returns the pointer with which a method was called: the variable of that name, or what
// the code has kept of its first register.
func (p *program) receiver(g *Goroutine, i int, name string) uint64 {
	if v := p.argument(g, i, name); v != 0 || p.code == nil {
		return v
	}
	points, _ := p.points(g)
	if points[i] == nil {
		return 0
	}
	v, _ := points[i].Argument()
	return v
}
