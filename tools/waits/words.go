package waits

import (
	"fmt"
	"strings"

	"github.com/zeroframe/zeroframe/tools/locks"
)

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// label is how a goroutine is spoken of.
func (x *Goroutine) label() string {
	name, _, _ := strings.Cut(x.At, " ")
	if name == "" || locks.Standard(name) {
		name = x.own
	}
	if name == "" {
		name = x.Function
	}
	return fmt.Sprintf("goroutine %d (%s)", x.ID, name)
}

// words says what is waited for, after the name of who waits. of is the object that matters in a
// select; nil for all.
func (w *Wait) words(of *Object) string {
	switch {
	case w.place:
		return "waits " + w.Why
	case w.Kind == Poll:
		return "waits for input or output" + in(w.Why)
	case w.Kind == Kernel:
		return "waits for the kernel lock, " + w.Objects[0].State
	case w.Kind == Sleep:
		return "sleeps"
	case w.Kind == Syscall:
		return "is in a system call" + in(w.Why)
	case w.Kind == Nothing:
		return "waits in a select without cases"
	case w.Kind == Other:
		return "waits: " + w.Why
	case w.Kind == NilChan && w.Select:
		return "waits in a select whose channels are all nil"
	case w.Kind == NilChan && w.Why == "send":
		return "waits to send to a nil channel"
	case w.Kind == NilChan:
		return "waits to receive from a nil channel"
	case w.Kind == Spin && len(w.Objects) == 0:
		return "spins " + w.Why
	case (w.Select || w.Kind == Spin) && of == nil:
		var s []string
		for _, o := range w.Objects {
			s = append(s, o.words())
		}
		if w.Kind == Spin {
			return "spins " + strings.Join(s, " or ")
		}
		return "waits in a select " + strings.Join(s, " or ")
	case of == nil:
		of = w.Objects[0]
	}
	if w.Kind == Spin {
		return "spins " + of.words()
	}
	return "waits " + of.words()
}

func in(what string) string {
	if what == "" {
		return ""
	}
	return ", " + what
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
	var what string
	switch o.Kind {
	case Mutex:
		what = "for the mutex"
	case RLock:
		what = "to read-lock the RWMutex"
	case WLock:
		what = "to write-lock the RWMutex"
	case WaitGroup:
		what = "for the WaitGroup"
	case Once:
		what = "for the Once"
	case Cond:
		what = "for the Cond"
	case Receive:
		what = "to receive from the channel"
	case Send:
		what = "to send to the channel"
	case Semaphore:
		what = "for the runtime's semaphore"
	case Spin:
		what = "until a change of"
	default:
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
