package probe

import (
	"github.com/zeroframe/zeroframe/tools/symbol"
	"github.com/zeroframe/zeroframe/tools/symbol/code"
)

// Where calls begin, for a debugger that stops a machine there: nothing in the machine has to step
// over a breakpoint, so that functions may be observed that [Choose] refuses, the kernel's too.

// An Entered is the instruction at which a call of a function is seen.
type Entered struct {
	Name string
	Addr uint64
	// Twice is set where a call that makes the stack larger is seen twice, or a function that begins
	// with a loop more often.
	Twice bool
}

// Entries returns where the calls of the functions begin whose names match one of the patterns, and
// in how many places functions of these names are inlined. It is an error if a pattern matches
// nothing.
func Entries(sym *symbol.File,
	patterns []string) (found []Entered, inlined map[string]int, err error) {
	grows := growers(sym)
	c := choice{patterns, make([]bool, len(patterns))}
	for fn := range sym.Functions() {
		if c.matches(fn.Name) {
			found = append(found, entered(sym, Function{Name: fn.Name, Start: fn.Start, End: fn.End}, grows))
		}
	}
	if tab, ok := sym.PCTable(); ok {
		inlined = c.inlined(&tab)
	}
	if err := c.unused(); err != nil {
		return nil, nil, err
	}
	if len(found) == 0 {
		return nil, nil, (&Plan{Inlined: inlined}).nothing()
	}
	return found, inlined, nil
}

// entered finds the instruction: behind the check of the stack, since a call begins again in front
// of that when its stack has grown.
func entered(sym *symbol.File, f Function, grows map[uint64]bool) Entered {
	e := Entered{Name: f.Name, Addr: f.Start}
	b, ok := sym.BytesAt(f.Start, f.End-f.Start)
	if !ok {
		return e
	}
	body, err := decode(f.Start, b)
	if err != nil {
		return e
	}
	restart := -1
	targets := map[uint64]bool{}
	for k := range body.insts {
		i := &body.insts[k]
		if !i.Direct() {
			continue
		}
		if to := i.Target(i.addr); i.Op == code.Call {
			if grows[to] {
				restart = k
			}
		} else {
			targets[to] = true
		}
	}
	if restart < 0 {
		e.Twice = targets[e.Addr]
		return e
	}
	at := body.behindCheck(restart)
	if e.Twice = at < 0 || targets[body.insts[at].addr]; !e.Twice {
		e.Addr = body.insts[at].addr
	}
	return e
}
