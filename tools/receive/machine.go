package receive

// The machines. There is no end of source addresses that a hostile sender can make
// up, so their number is bounded: the one that was heard least recently goes first.
// One that has sent a whole trace, or lines for a while, is a regular; a flood of new
// addresses can only drive out others that are new.

import (
	"container/list"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/zeroframe/zeroframe/tracer/datagram"
)

const (
	// sourcePort is where netconsole sends from, if it is not told otherwise.
	sourcePort = 6665
	// regularLines is the number of lines that make a machine a regular.
	regularLines = 16
	// maxDone is how many of a machine's latest traces are remembered, so that what
	// comes later of them is known as a repetition.
	maxDone = 64
)

// A traceKey names a trace of a machine.
type traceKey struct {
	boot uint64
	seq  uint32
	told bool // it comes from the boot after that one, with other bytes and no build
}

func keyOf(p *datagram.Part) traceKey { return traceKey{p.Boot, p.Seq, len(p.Build) == 0} }

// doneTrace is a trace of which no more is wanted.
type doneTrace struct {
	key   traceKey
	whole bool
}

// machine is one sender.
type machine struct {
	addr    netip.AddrPort
	name    string
	regular bool
	lines   uint64

	place *list.Element // in its list

	open []*openTrace
	done [maxDone]doneTrace
	next int // index in done

	partial []byte // a line without its end
	since   time.Time
	ext     extended
	oops    *oops
}

// isDone reports whether the trace has been here already. One that came in part is told
// whole by the next boot.
func (m *machine) isDone(k traceKey) bool {
	return slices.ContainsFunc(m.done[:], func(d doneTrace) bool {
		return d.key.boot == k.boot && d.key.seq == k.seq && (d.whole || d.key.told == k.told)
	})
}

func (m *machine) setDone(k traceKey, whole bool) {
	m.done[m.next] = doneTrace{k, whole}
	m.next = (m.next + 1) % maxDone
}

// machineOf returns the machine of an address, a new one if need be.
func (in *Intake) machineOf(addr netip.AddrPort) *machine {
	if m := in.latest; m != nil && m.addr == addr {
		return m // datagrams come in runs
	}
	m := in.machines[addr]
	if m == nil {
		if len(in.machines) >= in.opt.MaxMachines {
			in.evict()
		}
		m = &machine{addr: addr, name: in.nameOf(addr)}
		in.machines[addr] = m
		m.place = in.fresh.PushBack(m)
		in.stats.Machines++
	} else {
		in.listOf(m).MoveToBack(m.place)
	}
	in.latest = m
	return m
}

func (in *Intake) listOf(m *machine) *list.List {
	if m.regular {
		return &in.regulars
	}
	return &in.fresh
}

// makeRegular notes that the machine is no passer-by. Regulars take at most three
// quarters of the room, so that there is always some for a new one.
func (in *Intake) makeRegular(m *machine) {
	if m.regular {
		return
	}
	in.fresh.Remove(m.place)
	m.regular = true
	m.place = in.regulars.PushBack(m)
	if in.regulars.Len() > in.opt.MaxMachines/4*3 {
		old := in.regulars.Remove(in.regulars.Front()).(*machine)
		old.regular = false
		old.place = in.fresh.PushBack(old)
	}
}

// evict forgets the machine that was heard least recently of those that are no regulars, of which
// there are some when there is no room, and ends what it has under way.
func (in *Intake) evict() {
	m := in.fresh.Front().Value.(*machine)
	in.finish(m)
	in.listOf(m).Remove(m.place) // what was under way may have made it a regular
	delete(in.machines, m.addr)
	if in.latest == m {
		in.latest = nil
	}
	in.stats.Evicted++
}

// nameOf returns how a machine is shown: by the name that the user gave for the
// address with or without its port, else by the address, with the port if it is not
// netconsole's usual one.
func (in *Intake) nameOf(addr netip.AddrPort) string {
	if name := in.opt.Names[addr]; name != "" {
		return name
	}
	if name := in.opt.Names[netip.AddrPortFrom(addr.Addr(), 0)]; name != "" {
		return name
	}
	if in.opt.LookUp != nil {
		in.ask(addr)
	}
	if addr.Port() != sourcePort {
		return addr.String()
	}
	return addr.Addr().String()
}

// maxAsking is how many names are asked for at a time. A machine that comes while
// all are busy keeps its address: a flood of made-up addresses must not become one
// of questions.
const maxAsking = 16

// namedMachine is the answer.
type namedMachine struct {
	addr netip.AddrPort
	name string
}

func (in *Intake) ask(addr netip.AddrPort) {
	select {
	case in.asking <- struct{}{}:
	default:
		return
	}
	go func() {
		if name := in.opt.LookUp(addr.Addr()); name != "" {
			if addr.Port() != sourcePort {
				name += ":" + strconv.Itoa(int(addr.Port()))
			}
			in.named <- namedMachine{addr, name}
		}
		<-in.asking
	}()
}

// takeNames takes the answers that have come.
func (in *Intake) takeNames() {
	for {
		select {
		case n := <-in.named:
			if m := in.machines[n.addr]; m != nil {
				m.name = n.name
			}
		default:
			return
		}
	}
}
