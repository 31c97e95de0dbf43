package waits

import (
	"slices"
	"strings"
)

// What the frames of a wait say beyond the object: which system call, which part of the standard
// library. Some of its goroutines wait for as long as the program runs, as a service does; where
// one of them waits, nothing is amiss.

// services are functions whose goroutine waits for the next thing to do.
var services = []string{
	"os/signal.loop",
	"net/http.(*persistConn).writeLoop",
	"net/http.(*conn).serve",
	"net/http.(*Server).Serve",
	"net/http.(*connReader).backgroundRead",
	"database/sql.(*DB).connectionOpener",
	"database/sql.(*DB).connectionCleaner",
	"internal/godebug.setUpdate",
}

// places are functions in which a wait means more than its object says. The first that a stack
// has, from the innermost frame on, counts.
var places = []struct{ function, state, words string }{
	{"net/http.(*persistConn).readLoop", "select",
		"until the body of a response has been read to its end or closed"},
	{"net/http.(*Transport).getConn", "select", "for a connection of a net/http.Transport"},
	{"net/http.(*persistConn).roundTrip", "select", "for an HTTP response"},
	{"database/sql.(*DB).conn", "select", "for a connection of a database/sql.DB"},
	{"golang.org/x/sync/semaphore.(*Weighted).Acquire", "select", "for a semaphore.Weighted"},
	{"golang.org/x/sync/errgroup.(*Group).Wait", "", "for an errgroup.Group"},
	{"os/exec.(*Cmd).Wait", "", "for a process"},
	{"testing.(*T).Run", "", "for a test"},
}

// place looks at the frames of a wait.
func (p *program) place(g *Goroutine) {
	if g.Wait == nil {
		return
	}
	for i := range g.frames {
		name := funcName(&g.frames[i])
		g.idle = g.idle || slices.Contains(services, name)
		if g.Wait.Why != "" {
			continue
		}
		for _, x := range places {
			if name == x.function && (x.state == "" || x.state == g.State) {
				g.Wait.Why = x.words
				g.Wait.place = true
			}
		}
	}
}

// syscallWait says which system call a goroutine is in.
func (p *program) syscallWait(g *Goroutine) *Wait {
	w := &Wait{Kind: Syscall}
	for i := range g.frames {
		name := funcName(&g.frames[i])
		switch {
		case strings.HasPrefix(name, "runtime.") ||
			strings.HasPrefix(name, "internal/runtime/syscall") || name == "":
			continue
		case strings.HasPrefix(name, "os/signal."):
			g.idle = true
			w.Why = "a signal"
			return w
		case name == "syscall.Syscall" || name == "syscall.Syscall6" || name == "syscall.RawSyscall6" ||
			name == "syscall.RawSyscall" ||
			strings.HasPrefix(name, "golang.org/x/sys/unix.Syscall"):
			continue
		}
		w.Why = name[strings.LastIndexByte(name, '.')+1:]
		return w
	}
	return w
}
