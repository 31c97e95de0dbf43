package waits

import (
	"slices"

	"github.com/go-delve/delve/pkg/proc"

	"github.com/zeroframe/zeroframe/tools/symbol"
)

// Options are what the core does not say.
type Options struct {
	// Hang says that the program has done nothing for long: that what comes from outside, such
	// as input, the end of a system call or of a sleep, does not come. So it is when a watchdog
	// has expired.
	Hang bool
	// List is where the program has come from, if not from a core: of what its traces do not tell,
	// nothing is said.
	List *List
}

// A Graph is who waits for whom.
type Graph struct {
	// Goroutines are all of them, by number.
	Goroutines []*Goroutine
	// Findings are what keeps the program from going on; none if nothing does for certain.
	Findings []Finding
	// Kernel is who has the kernel lock, nil if it is not known: of a core of Zeroframe alone, whose
	// threads run on several CPUs.
	Kernel *KernelLock
	// Note is what could not be looked at, "" if all could.
	Note string

	byID   map[int64]*Goroutine
	hang   bool
	alarms bool // a timer is to call a function
	untold bool // it may be so, and the traces do not tell
}

// Analyze finds who waits for whom in a program that has stopped. file is its executable. It is
// an error if the runtime's types are not known: the program is not Go, has no DWARF, is of a
// version that keeps its waits elsewhere, or not for amd64. Context: host.
func Analyze(t *proc.Target, file *symbol.File, opt Options) (*Graph, error) {
	p, err := newProgram(t, file, opt.List)
	if err != nil {
		return nil, err
	}
	all, err := p.goroutines()
	if err != nil {
		return nil, err
	}
	if opt.List != nil {
		opt.Hang = opt.List.Hang
	}
	g := &Graph{Goroutines: all, byID: make(map[int64]*Goroutine), hang: opt.Hang}
	if p.codeErr != nil {
		g.Note = p.codeErr.Error()
	}
	byNumber(all)
	p.waits(all)
	waiting := make(map[object][]*Goroutine)
	for _, x := range all {
		g.byID[x.ID] = x
		p.place(x)
		p.holds(x)
	}
	for x, o := range objects(all) {
		waiting[object{o.Kind, o.Addr}] = append(waiting[object{o.Kind, o.Addr}], x)
	}
	for x, o := range objects(all) {
		p.holdersOf(all, waiting, x, o)
	}
	p.states(all)
	p.partners(all)
	alarms := p.alarms(all)
	p.name(all)
	if opt.List != nil {
		// The timers are not in the traces.
		g.alarms = !opt.List.complete || !opt.Hang && !opt.List.Asleep
		g.untold = alarms && !opt.List.Asleep
		for _, x := range all {
			g.alarms = g.alarms || !x.System && !x.whole // what it is about is not known
		}
	} else {
		g.alarms = !opt.Hang && alarms
		g.Kernel = p.kernelLock(all)
		g.waitForKernel()
	}
	g.find()
	return g, nil
}

// An edge leads from a goroutine to one that has to go on first.
type edge struct {
	to     *Goroutine
	object *Object
	words  string // held by, to be sent by
	at     string
	strong bool // it is certain, and enough
}

// edges lists where a goroutine's wait leads.
func (g *Graph) edges(x *Goroutine) (list []edge) {
	if x.Wait == nil {
		return nil
	}
	for _, o := range x.Wait.Objects {
		if o.Certain && !o.free {
			for _, id := range o.Holders {
				words := o.holderWords()
				if o.behind {
					words = "after the writer"
				}
				list = append(list, edge{g.byID[id], o, words, "", true})
			}
		}
		for _, p := range o.Partners {
			if p.ID != x.ID {
				list = append(list, edge{g.byID[p.ID], o, partnerWords[p.What], p.At, false})
			}
		}
	}
	return slices.DeleteFunc(list, func(e edge) bool { return e.to == nil })
}

var partnerWords = map[string]string{
	"send": "to be sent to by", "receive": "to be received from by", "close": "to be closed by",
	"Done": "to be done by", "Signal": "to be signalled by",
}
