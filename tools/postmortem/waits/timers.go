package waits

import (
	"fmt"
	"strings"

	"github.com/go-delve/delve/pkg/proc"
)

// When the time of a timer has come, the runtime sends to its channel or calls its function. What
// such a function will do is not known; what it can get at is: what it has captured, and what
// pointers lead to from there. Of a context with a deadline it is the channels of the context and
// of those that were made of it.

// timerHops is over how many pointers a timer's function is followed, or one more of a context's
// children: farther on it may come to all that the program has.
const timerHops = 4

// alarms reports whether a function is to be called when a time has come, as time.AfterFunc and
// contexts with a deadline ask for: each P has a heap of timers. It marks the objects that
// goroutines wait for and that such a function leads to.
func (p *program) alarms(all []*Goroutine) (any bool) {
	allp := p.globals["runtime.allp"]
	if p.list != nil {
		return len(p.t.BinInfo().LookupFunc()["time.goFunc"]) > 0 // it may be so
	}
	if allp == nil {
		return true // not known
	}
	n := p.newNamer()
	n.timers = true
	for _, x := range p.pointers(allp.Addr, 1<<12) {
		any = any || p.schedules(x)
		heap := p.at(p.at(x, "runtime.p.timers"), "runtime.timers.heap")
		list, count := p.word(heap), p.word(heap+8)
		for i := range min(count, 1<<16) {
			t := p.get(list+i*timerWhenSize, "runtime.timerWhen.timer")
			if p.get(t, "runtime.timer.when") == 0 {
				continue
			}
			fn := p.word(p.get(t, "runtime.timer.f")) // a func value points to its code's address
			if f := p.t.BinInfo().PCToFunc(fn); f != nil && f.Name == "time.goFunc" {
				any = true
				// Its argument is the function, in an interface.
				n.closure(region{addr: p.at(t, "runtime.timer.arg") + 8, name: &path{root: "timer"}})
			}
		}
	}
	if n.want(all); len(n.wanted) == 0 || len(n.queue) == 0 {
		return any
	}
	n.run(n.queue)
	for _, o := range objects(all) {
		if n.names[o.Addr] != "" && !o.timer {
			o.timer = true
			if o.State != "" {
				o.State += ", "
			}
			o.State += "to be served by a timer's function"
		}
	}
	return any
}

const timerWhenSize = 16 // a pointer and an int64

// schedules reports whether a thread has the P at addr, and no goroutine: one that has left its
// goroutine to find another. It may have taken a timer out of the heap, and not have made the
// goroutine of its function yet.
func (p *program) schedules(addr uint64) bool {
	const running = 1 // runtime._Prunning
	m := p.get(addr, "runtime.p.m")
	return p.get(addr, "runtime.p.status") == running && m != 0 && p.get(m, "runtime.m.curg") == 0
}

// closure queues what a function has captured, of which a word at r.addr has the address: its
// variables, or the receiver of a method value, whose closure has no debug information.
func (n *namer) closure(r region) {
	f := n.p.t.BinInfo().PCToFunc(n.p.word(n.p.word(r.addr)))
	if !n.timers || f == nil {
		return
	}
	if method, ok := strings.CutSuffix(f.Name, "-fm"); ok {
		receiver := method[:strings.LastIndexByte(method, '.')]
		name := strings.NewReplacer("(*", "", ")", "").Replace(receiver)
		t, err := n.p.t.BinInfo().FindType(name)
		at := n.p.word(r.addr) + 8
		if strings.Contains(method, "(*") {
			at = n.p.word(at)
		}
		if err == nil {
			n.push(region{at, t, r.name, "", r.hops})
		}
		return
	}
	scope := n.p.scope()
	v, err := scope.EvalExpression(fmt.Sprintf("*(*func())(%#x)", r.addr),
		proc.LoadConfig{MaxStructFields: -1})
	if err != nil {
		return
	}
	for i := range v.Children {
		if c := &v.Children[i]; c.Addr != 0 && c.RealType != nil {
			n.push(region{c.Addr, c.RealType, r.name, "", r.hops})
		}
	}
}

// cancels reports whether a field of a struct, if that is a context's, is one by which the
// context's end gets on: not to its parent, nor to its values.
func cancels(of, field string) bool {
	switch field {
	case "cancelCtx", "done", "children", "f":
		return true
	}
	return !strings.HasPrefix(of, "context.")
}
