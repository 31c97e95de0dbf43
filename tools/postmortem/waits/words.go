package waits

import (
	"fmt"
	"strings"

	"github.com/zeroframe/zeroframe/tools/postmortem/locks"
)

// kinds are what is said of the kinds of waits: of the wait itself, without an object; of an
// object; in a picture; and why the wait does not end.
var kinds = map[Kind]struct{ wait, object, short, ends string }{
	Mutex: {object: "for the mutex"},
	RLock: {object: "to read-lock the RWMutex", short: "RWMutex"},
	WLock: {object: "to write-lock the RWMutex", short: "RWMutex"},
	WaitGroup: {object: "for the WaitGroup", short: "WaitGroup",
		ends: "no goroutine can run that would call Done"},
	Once: {object: "for the Once", short: "Once"},
	Cond: {object: "for the Cond", short: "Cond",
		ends: "no goroutine can run that would signal it"},
	Receive: {object: "to receive from the channel", short: "channel",
		ends: "no goroutine can run that would send to it or close it"},
	Send: {object: "to send to the channel", short: "channel",
		ends: "no goroutine can run that would receive from it"},
	NilChan:   {ends: "that never ends"},
	Nothing:   {wait: "waits in a select without cases", ends: "no other goroutine can run"},
	Semaphore: {object: "for the runtime's semaphore"},
	Poll:      {wait: "waits for input or output"},
	Sleep:     {wait: "sleeps"},
	Syscall:   {wait: "is in a system call"},
	Spin:      {object: "until a change of", ends: "no other goroutine can run"},
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func othersWait(n int) string {
	if n == 1 {
		return "1 other goroutine waits"
	}
	return fmt.Sprintf("%d other goroutines wait", n)
}

// label is how a goroutine is spoken of.
func (x *Goroutine) label() string { return fmt.Sprintf("goroutine %d (%s)", x.ID, x.name()) }

// name is the function that people know a goroutine by.
func (x *Goroutine) name() string {
	name, _, _ := strings.Cut(x.At, " ")
	if (name == "" || locks.Standard(name)) && x.own != "" {
		return x.own
	}
	if name == "" || locks.Standard(name) {
		return x.Function
	}
	return name
}

// words says what is waited for, after the name of who waits. of is the object that matters in a
// select; nil for all.
func (w *Wait) words(of *Object) string {
	verb, all := "waits ", w.Objects
	if w.Kind == Spin {
		verb = "spins "
	}
	switch {
	case w.place:
		return verb + w.Why
	case kinds[w.Kind].wait != "" && w.Why != "":
		return kinds[w.Kind].wait + ", " + w.Why
	case kinds[w.Kind].wait != "":
		return kinds[w.Kind].wait
	case w.Kind == Kernel:
		return "waits for the kernel lock, " + w.Objects[0].State
	case w.Kind == Other:
		return "waits: " + w.Why
	case w.Kind == NilChan && w.Select:
		return "waits in a select whose channels are all nil"
	case w.Kind == NilChan && w.Why == "send":
		return "waits to send to a nil channel"
	case w.Kind == NilChan:
		return "waits to receive from a nil channel"
	case len(all) == 0:
		return verb + w.Why
	case of != nil:
		all = []*Object{of}
	case w.Select:
		verb += "in a select "
	case w.Kind != Spin:
		all = all[:1]
	}
	var s []string
	for _, o := range all {
		s = append(s, o.words())
	}
	return verb + strings.Join(s, " or ")
}

// holderWords says what the holders, if it is certain who they are, have to do with the object.
func (o *Object) holderWords() string {
	switch {
	case o.Kind == WLock && o.readers:
		return "held for reading by"
	case o.behind:
		return "wanted by"
	case o.Kind == Once:
		return "run by"
	}
	return "held by"
}

func (o *Object) words() string {
	what := kinds[o.Kind].object
	if what == "" {
		return string(o.Kind)
	}
	if o.Name != "" {
		what += " " + o.Name
	}
	what += fmt.Sprintf(" at %#x", o.Addr)
	switch o.Kind {
	case Receive, Send, WaitGroup, Spin:
		if o.State != "" {
			what += " (" + o.State + ")"
		}
	}
	return what
}

// short names an object for a picture.
func (o *Object) short() string {
	name, _, _ := strings.Cut(o.Name, " of ")
	if name == "" {
		name = fmt.Sprintf("%#x", o.Addr)
	}
	kind := kinds[o.Kind].short
	if kind == "" {
		kind = string(o.Kind)
	}
	return kind + " " + name
}

func (w *Wait) short() string {
	switch {
	case w.place || len(w.Objects) == 0 || w.Kind == NilChan:
		return strings.TrimPrefix(w.words(nil), "waits ")
	case w.Select:
		return "select of " + plural(len(w.Objects), "channel")
	}
	s := w.Objects[0].short()
	if st := w.Objects[0].State; st != "" {
		s += ", " + st
	}
	return s
}

// whoElse says why the wait does not end.
func (g *Graph) whoElse(x *Goroutine) string {
	w := x.Wait
	if w.place {
		return ""
	}
	switch w.Kind {
	case Mutex, RLock, WLock, Once:
		o := w.Objects[0]
		switch {
		case o.Certain && len(o.Holders) == 0:
			return "no stack shows who holds it: perhaps a function that has returned without unlocking it"
		case len(o.Holders) > 0:
			return "who holds it is not known: perhaps " + g.list(o.Holders)
		}
		return "who holds it is not known"
	case Receive, Send:
		switch {
		case w.Select:
			return "no goroutine can run that would serve one of the cases" + g.unless()
		case w.Objects[0].State == "of a timer that is stopped":
			return "it never fires"
		}
	}
	if w.Kind != Nothing && w.Kind != NilChan && w.Kind != Spin {
		return kinds[w.Kind].ends + g.unless()
	}
	return kinds[w.Kind].ends
}

// unless says what else may end a wait.
func (g *Graph) unless() string {
	if g.untold {
		return ", unless a timer's function does: the traces do not have those"
	}
	return ""
}

// list names goroutines.
func (g *Graph) list(ids []int64) string {
	var s []string
	for _, id := range ids {
		s = append(s, g.byID[id].label())
	}
	return strings.Join(s, ", ")
}
