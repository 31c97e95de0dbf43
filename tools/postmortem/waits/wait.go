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
	size := table.RealType.Size() / 251 // semTabSize
	seen := make(map[uint64]bool)
	var walk func(s uint64, depth int)
	walk = func(s uint64, depth int) {
		for ; s != 0 && depth < 1000 && !seen[s]; depth++ {
			seen[s] = true
			addr := p.sudog(s, "elem")
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

// sudog returns a field of a sudog: from Go 1.26 on elem and c are structs of two words, the second
// of which is true.
func (p *program) sudog(s uint64, name string) uint64 {
	name = "runtime.sudog." + name
	if _, ok := p.field(name + ".vu"); ok {
		name += ".vu"
	}
	return p.get(s, name)
}

// states are the runtime's words for waits, with the field of what is waited for whose address the
// runtime has.
var states = map[string]struct {
	kind  Kind
	field string
}{
	"sync.Mutex.Lock":         {Mutex, "internal/sync.Mutex.sema"},
	"sync.RWMutex.RLock":      {RLock, "sync.RWMutex.readerSem"},
	"sync.RWMutex.Lock":       {WLock, "sync.RWMutex.writerSem"},
	"sync.WaitGroup.Wait":     {WaitGroup, "sync.WaitGroup.sema"},
	"sync.Cond.Wait":          {kind: Cond},
	"semacquire":              {kind: Semaphore},
	"chan receive (nil chan)": {kind: NilChan},
	"chan send (nil chan)":    {kind: NilChan},
	"IO wait":                 {kind: Poll},
	"sleep":                   {kind: Sleep},
}

// around are the functions whose lock is made of a mutex, with the field that this is.
var around = map[string]struct {
	kind  Kind
	field string
}{
	"sync.(*RWMutex).Lock": {WLock, "sync.RWMutex.w"},
	"sync.(*Once).doSlow":  {Once, "sync.Once.m"},
}

func (p *program) wait(g *Goroutine) *Wait {
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
	if p.semas[g.g] == 0 && first != 0 {
		p.semas[g.g] = p.sudog(first, "elem")
	}
	state := strings.TrimSuffix(g.State, " (durable)")
	x, ok := states[state]
	switch {
	case state == "select (no cases)":
		return &Wait{Kind: Nothing}
	case !ok:
		return p.channelWait(g, state, first)
	}
	o := &Object{Kind: x.kind}
	w := &Wait{Objects: []*Object{o}}
	switch x.kind {
	case NilChan:
		w.Why = strings.TrimSuffix(strings.TrimPrefix(state, "chan "), " (nil chan)")
	case Semaphore:
		o.Addr = p.semas[g.g]
	case Cond:
		o.Addr = p.condOf(g)
	case Poll:
		if w.IO = p.ioWait(g); w.IO != nil {
			w.Why = w.IO.String()
		}
	default:
		o.Addr = p.holder(p.semas[g.g], x.field)
	}
	if x.kind == Mutex {
		i := g.has("internal/sync.(*Mutex).lockSlow") + 1
		for i < len(g.frames) && strings.HasSuffix(funcName(&g.frames[i]), "sync.(*Mutex).Lock") {
			i++
		}
		if i > 0 && i < len(g.frames) {
			if y, ok := around[funcName(&g.frames[i])]; ok {
				o.Kind, o.Addr = y.kind, p.holder(o.Addr, y.field)
			}
		}
	}
	w.Kind = o.Kind
	return w
}

// channelWait is a wait for channels, or one that is not known; first is the first sudog.
func (p *program) channelWait(g *Goroutine, state string, first uint64) *Wait {
	w := &Wait{Kind: NilChan, Select: state == "select"}
	switch {
	case w.Select && first == 0 && p.has(g.g, "runtime.g.waiting") && g.has("runtime.selectgo") >= 0:
		// A case whose channel is nil is never queued: each of them is nil.
		w.Objects = []*Object{{Kind: NilChan}}
		return w
	case !w.Select && state != "chan receive" && state != "chan send":
		return &Wait{Kind: Other, Why: g.State}
	}
	for s := first; s != 0 && len(w.Objects) < 1<<16; s = p.get(s, "runtime.sudog.waitlink") {
		o := &Object{Kind: Receive, Addr: p.sudog(s, "c")}
		switch {
		case p.queued(o.Addr, "runtime.hchan.sendq", s):
			o.Kind = Send
		case state == "chan send", !p.queued(o.Addr, "runtime.hchan.recvq", s) && w.Select:
			return &Wait{Kind: Other, Why: state} // what it wants of which channel is not known
		}
		w.Objects = append(w.Objects, o)
	}
	if len(w.Objects) == 0 {
		return &Wait{Kind: Other, Why: state}
	}
	w.Kind = w.Objects[0].Kind
	return w
}

// queued reports whether the sudog s waits in a queue of the channel.
func (p *program) queued(c uint64, queue string, s uint64) bool {
	w := p.get(p.at(c, queue), "runtime.waitq.first")
	for n := 0; w != 0 && w != s && n < 1<<16; n++ {
		w = p.get(w, "runtime.sudog.next")
	}
	return w == s
}

// condOf finds the Cond that a goroutine waits for: by the list that it is on, or by the frame of
// Wait, for runtimes whose sudog does not say.
func (p *program) condOf(g *Goroutine) uint64 {
	if _, ok := p.field("runtime.sudog.elem.vu"); ok {
		return p.holder(p.semas[g.g], "sync.Cond.notify")
	}
	if i := g.has("sync.(*Cond).Wait"); i >= 0 {
		return p.receiver(g, i, "c")
	}
	return 0
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
