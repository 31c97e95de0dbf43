package qemu

import (
	"bytes"
	"io"
	"strconv"
	"sync"
	"time"
)

// A join makes one text of what comes by the serial port and by the virtio console. The serial
// port tells which of them has the word, in escape sequences (kernel/console/port.go): while it
// has it itself, bytes of the other are held back, and before it has it again, as many of them
// go ahead as it says.
type join struct {
	mu    sync.Mutex
	cond  *sync.Cond
	to    io.Writer // nil: nobody wants it
	err   error     // of to
	open  bool      // the virtio console has the word
	limit uint64    // bytes of it that may go ahead in any case
	taken uint64    // that have
	held  []byte    // of the serial port: what may be the beginning of a sequence
}

var (
	toPort = []byte("\x1b]zf-port\a")
	toCOM1 = []byte("\x1b]zf-com1;")
)

// mostCOM1 is the longest sequence with a number.
const mostCOM1 = 32

// overdue is how long bytes are waited for that the serial port has announced: a kernel that
// dies may be wrong about them.
const overdue = 5 * time.Second

func newJoin(to io.Writer) *join {
	j := &join{to: to}
	j.cond = sync.NewCond(&j.mu)
	return j
}

// Write takes what the serial port has sent.
func (j *join) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	b := p
	if len(j.held) > 0 {
		b = append(j.held, p...)
		j.held = nil
	}
	for len(b) > 0 {
		esc := bytes.IndexByte(b, toPort[0])
		if esc != 0 {
			if esc < 0 {
				esc = len(b)
			}
			j.pass(b[:esc])
			b = b[esc:]
			continue
		}
		n, whole := sequence(b)
		switch {
		case n == 0:
			j.pass(b[:1])
			b = b[1:]
			continue
		case !whole:
			j.held = bytes.Clone(b)
			return len(p), j.err
		case bytes.HasPrefix(b, toPort):
			j.open = true
			j.cond.Broadcast()
		default:
			limit, err := strconv.ParseUint(string(b[len(toCOM1):n-1]), 10, 64)
			if err == nil {
				j.close(limit)
			}
		}
		b = b[n:]
	}
	return len(p), j.err
}

// sequence returns the length of the sequence with which b begins; 0 if it does not. Without
// whole, more has to come before that can be told.
func sequence(b []byte) (n int, whole bool) {
	for _, s := range [][]byte{toPort, toCOM1} {
		if len(b) < len(s) && bytes.HasPrefix(s, b) {
			return len(b), false
		}
	}
	switch {
	case bytes.HasPrefix(b, toPort):
		return len(toPort), true
	case bytes.HasPrefix(b, toCOM1):
		for i, c := range b[len(toCOM1):] {
			switch {
			case c == '\a' && i > 0:
				return len(toCOM1) + i + 1, true
			case c < '0' || c > '9' || i == mostCOM1:
				return 0, true
			}
		}
		return len(b), false
	}
	return 0, true
}

// close lets the virtio console go on up to limit bytes, and waits for that.
func (j *join) close(limit uint64) {
	j.open, j.limit = false, limit
	j.cond.Broadcast()
	late := false
	timer := time.AfterFunc(overdue, func() {
		j.mu.Lock()
		late = true
		j.mu.Unlock()
		j.cond.Broadcast()
	})
	defer timer.Stop()
	for j.taken < limit && !late && j.err == nil {
		j.cond.Wait()
	}
}

// end says that no more comes by the serial port.
func (j *join) end() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.pass(j.held)
	j.held, j.open = nil, true
	j.cond.Broadcast()
}

// pass passes bytes on.
func (j *join) pass(b []byte) {
	if j.to != nil && j.err == nil && len(b) > 0 {
		_, j.err = j.to.Write(b)
	}
}

// joinPort takes what the virtio console has sent.
type joinPort struct{ *join }

func (p joinPort) Write(b []byte) (int, error) {
	j := p.join
	j.mu.Lock()
	defer j.mu.Unlock()
	for n := len(b); ; {
		may := len(b)
		if !j.open {
			may = int(min(uint64(may), j.limit-min(j.limit, j.taken)))
		}
		j.pass(b[:may])
		j.taken += uint64(may)
		j.cond.Broadcast()
		if b = b[may:]; len(b) == 0 {
			return n, j.err
		}
		if j.err != nil {
			return n, j.err
		}
		j.cond.Wait()
	}
}
