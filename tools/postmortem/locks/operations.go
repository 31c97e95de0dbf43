package locks

import (
	"maps"
	"slices"

	"github.com/zeroframe/zeroframe/tools/symbol/flow"
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

// operation notes an operation that in calls.
func (f *function) operation(s *flow.State, in *flow.Inst, name string) {
	o := operations[name]
	addr := f.Add(s.Reg(o.reg), -o.off)
	f.ops[in.PC] = nil
	argument := func(n int) flow.Node { return f.Node(s.Reg(flow.Arguments[n])) }
	switch o.what {
	case "":
	case "Add":
		if n := argument(1); n.Kind == flow.Const && n.N < 0 {
			f.ops[in.PC] = []Operation{{"Done", in.PC, addr}}
		}
	case "select":
		// selectgo(cases, order, pc0, sends, receives, block): a case is a channel and an element.
		cases, sends, receives := f.Node(addr), argument(3), argument(4)
		if cases.Kind != flow.Frame || sends.Kind != flow.Const || receives.Kind != flow.Const ||
			sends.N+receives.N > 1<<16 {
			return
		}
		for i := range sends.N + receives.N {
			what := "send"
			if i >= sends.N {
				what = "receive"
			}
			f.ops[in.PC] = append(f.ops[in.PC], Operation{what, in.PC, f.Load(s, f.Frame(cases.N+i*16))})
		}
	default:
		f.ops[in.PC] = []Operation{{o.what, in.PC, addr}}
	}
}

// later lists the operations after the instruction at stop, which is in the block at start.
func (f *function) later(start, stop uint64) (list []Operation) {
	seen := make(map[uint64]bool)
	ends := append(slices.Sorted(maps.Keys(f.Leads)), f.End)
	var visit func(block, from uint64)
	visit = func(block, from uint64) {
		i, _ := slices.BinarySearch(ends, block+1)
		end := ends[min(i, len(ends)-1)]
		for pc, ops := range f.ops {
			if pc > from && pc < end || pc == from && from == block {
				list = append(list, ops...)
			}
		}
		for _, to := range f.Nexts[block] {
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
	return q.eval(q.f.Entry(0), 0)
}
