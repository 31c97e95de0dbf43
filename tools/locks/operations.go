package locks

import (
	"maps"
	"slices"
)

// What ends the wait of another goroutine, besides an unlock: an operation on a channel, a group
// or a condition that a frame may still come to from where it stands.

// An Operation is a call that a frame may come to.
type Operation struct {
	// What is receive, send, close, Done or Signal.
	What string
	// At is the address of the call, which may be in a function that the frame's calls.
	At   uint64
	addr value
}

type op struct {
	what string
	addr value
	at   uint64
}

// operations are the functions, with the register of the argument and where it points to in the
// object.
var operations = map[string]struct {
	what string
	reg  int
	off  int64
}{
	"runtime.chansend1":                {"send", 0, 0},
	"runtime.chanrecv1":                {"receive", 0, 0},
	"runtime.chanrecv2":                {"receive", 0, 0},
	"runtime.closechan":                {"close", 0, 0},
	"runtime.selectnbsend":             {"send", 0, 0},
	"runtime.selectnbrecv":             {"receive", 3, 0},
	"runtime.selectgo":                 {"select", 0, 0},
	"sync.(*WaitGroup).Done":           {"Done", 0, 0},
	"sync.(*WaitGroup).Add":            {"Add", 0, 0},
	"sync.(*Cond).Signal":              {"Signal", 0, 0},
	"sync.(*Cond).Broadcast":           {"Signal", 0, 0},
	"sync.runtime_notifyListNotifyOne": {"Signal", 0, condNotify},
	"sync.runtime_notifyListNotifyAll": {"Signal", 0, condNotify},
}

// condNotify is where sync.Cond has its list, from sync/cond.go: behind L and nothing else.
const condNotify = 16

// Registers of arguments.
const (
	argB = 3 // RBX, the second
	argD = 7 // RDI, the fourth
	argE = 6 // RSI, the fifth
)

// operation notes an operation that in calls.
func (p *Program) operation(f *function, s *state, in *inst, name string) {
	o := operations[name]
	addr := f.add(s.regs[o.reg], -o.off)
	f.ops[in.pc] = nil
	switch o.what {
	case "":
	case "Add":
		if n := f.nodes[s.regs[argB]]; n.kind == konst && n.n < 0 {
			f.ops[in.pc] = []op{{"Done", addr, in.pc}}
		}
	case "select":
		// selectgo(cases, order, pc0, sends, receives, block): a case is a channel and an element.
		cases, sends, receives := f.nodes[addr], f.nodes[s.regs[argD]], f.nodes[s.regs[argE]]
		if cases.kind != frame || sends.kind != konst || receives.kind != konst || sends.n+receives.n > 1<<16 {
			return
		}
		for i := range sends.n + receives.n {
			what := "send"
			if i >= sends.n {
				what = "receive"
			}
			f.ops[in.pc] = append(f.ops[in.pc], op{what, s.slot(f.values, cases.n+i*16), in.pc})
		}
	default:
		f.ops[in.pc] = []op{{o.what, addr, in.pc}}
	}
}

// later lists the operations behind the instruction at stop, which is in the block at start.
func (f *function) later(start, stop uint64) []Operation {
	seen := make(map[uint64]bool)
	var visit func(block, from uint64)
	var list []Operation
	ends := slices.Sorted(maps.Keys(f.leads))
	visit = func(block, from uint64) {
		i, found := slices.BinarySearch(ends, block)
		if found {
			i++
		}
		end := f.end
		if i < len(ends) {
			end = ends[i]
		}
		for pc, ops := range f.ops {
			if pc > from && pc < end || pc == from && from == block {
				for _, o := range ops {
					list = append(list, Operation{o.what, o.at, o.addr})
				}
			}
		}
		for _, to := range f.next[block] {
			if !seen[to] {
				seen[to] = true
				visit(to, to)
			}
		}
	}
	visit(start, stop)
	slices.SortFunc(list, func(a, b Operation) int { return int(int64(a.At - b.At)) })
	return list
}

// Of returns the address of an operation's object, as Address does that of a lock.
func (q *Point) Of(o Operation) (uint64, bool) { return q.eval(o.addr, 0) }

// Argument returns what the frame's function was called with in the register AX, if a frame that
// stands at the point still has it.
func (q *Point) Argument() (uint64, bool) {
	if q.f == nil {
		return 0, false
	}
	return q.eval(q.f.entry(0), 0)
}
