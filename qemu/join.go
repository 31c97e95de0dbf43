package qemu

import (
	"bytes"
	"io"
	"strconv"
	"sync"
	"time"
)

// A join makes one text of what comes by the serial port and by the virtio console. Escape
// sequences in both say how they belong together (kernel/console/port.go): bytes of the virtio
// console are held back until the serial port has given it the word for them, and before the
// serial port goes on, they have gone ahead.
type join struct {
	mu    sync.Mutex
	cond  *sync.Cond
	to    io.Writer // nil: nobody wants it
	by    io.Writer // what has come by the virtio console; nil: to has it, too
	errs  io.Writer // of that the standard error; nil: by has it, too
	err   error     // of both
	com1  piece     // of the serial port
	given int       // how often that has given the word away
	told  uint64    // and what number its kernel has told for the last time

	// The same of the virtio console, and the bytes since then that have gone ahead.
	port   piece
	turn   int
	number uint64
	taken  uint64
	errors bool // it is standard error

	com1Ended, portEnded bool
	exited               uint64 // the status of the program, if the kernel has said it
	alone                bool   // there is no virtio console: all is text

	// byPort gets one value: whether the kernel receives what is sent to the virtio console.
	byPort  chan bool
	decided bool
}

// A piece is what may be the beginning of a sequence, until more has come.
type piece []byte

const (
	toPort  = "\x1b]zf-port;"
	toErrs  = "\x1b]zf-errs;" // toPort for standard error
	toCOM1  = "\x1b]zf-com1;"
	toStdin = "\x1b]zf-stdin;"
	toExit  = "\x1b]zf-exit;"
)

// mostDigits is how many digits a number can have.
const mostDigits = 20

// overdue is how long bytes are waited for that the serial port has announced: a kernel that
// dies may be wrong about them.
const overdue = 5 * time.Second

func newJoin(to, by, errs io.Writer) *join {
	if by == nil {
		by = to
	}
	if errs == nil {
		errs = by
	}
	j := &join{to: to, by: by, errs: errs, byPort: make(chan bool, 1)}
	j.cond = sync.NewCond(&j.mu)
	return j
}

// next takes the text before the next sequence from b, or else the sequence and its number. What
// may be the beginning of one is kept for the next call.
func (p *piece) next(b []byte) (text []byte, head string, number uint64, rest []byte) {
	if len(*p) > 0 {
		b = append(*p, b...)
		*p = nil
	}
	esc := bytes.IndexByte(b, toPort[0])
	if esc < 0 {
		esc = len(b)
	}
	if esc > 0 {
		return b[:esc], "", 0, b[esc:]
	}
	head, number, n, whole := sequence(b)
	switch {
	case n == 0:
		return b[:1], "", 0, b[1:]
	case !whole:
		*p = bytes.Clone(b)
		return nil, "", 0, nil
	}
	return b[:n], head, number, b[n:]
}

// sequence returns the length of the sequence with which b begins; 0 if it does not. Without
// whole, more has to come before that can be told.
func sequence(b []byte) (head string, number uint64, n int, whole bool) {
	for _, head := range [...]string{toPort, toErrs, toCOM1, toStdin, toExit} {
		if len(b) < len(head) {
			if head[:len(b)] == string(b) {
				return "", 0, len(b), false
			}
			continue
		}
		if head != string(b[:len(head)]) {
			continue
		}
		for i, c := range b[len(head):] {
			switch {
			case c == '\a':
				number, err := strconv.ParseUint(string(b[len(head):len(head)+i]), 10, 64)
				if err != nil {
					return "", 0, 0, true
				}
				return head, number, len(head) + i + 1, true
			case c < '0' || c > '9' || i == mostDigits:
				return "", 0, 0, true
			}
		}
		return "", 0, len(b), false
	}
	return "", 0, 0, true
}

// input copies what is sent to the guest: to the virtio console if the kernel says that it
// receives what comes there, and otherwise to the serial port, which is decided once, when there
// is something to send. The guest knows of no end.
func (j *join) input(serial, port io.Writer, from io.Reader) {
	b := make([]byte, 64<<10)
	n, err := from.Read(b)
	for ; n == 0 && err == nil; n, err = from.Read(b) {
	}
	if n == 0 {
		return
	}
	to := serial
	select {
	case byPort := <-j.byPort:
		if byPort {
			to = port
		}
	case <-time.After(undecided):
	}
	if _, err := to.Write(b[:n]); err == nil {
		io.Copy(to, from)
	}
}

// undecided is how long a kernel may take to say where it receives input: one that dies before,
// or knows of no such thing, has its monitor at the serial port.
const undecided = 2 * time.Second

// Write takes what the serial port has sent.
func (j *join) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	n := len(b)
	if j.alone {
		j.pass(b)
		b = nil
	}
	for len(b) > 0 {
		text, head, number, rest := j.com1.next(b)
		switch head {
		case toPort, toErrs:
			j.given, j.told = j.given+1, number
			j.cond.Broadcast()
		case toCOM1:
			j.await(number)
		case toExit:
			j.exited = number
		case toStdin:
			if !j.decided {
				j.decided = true
				j.byPort <- number != 0
			}
		default:
			j.pass(text)
		}
		b = rest
	}
	return n, j.err
}

// await waits until n bytes of the virtio console's turn have gone ahead.
func (j *join) await(n uint64) {
	late := false
	defer j.after(overdue, &late).Stop()
	for j.turn <= j.given && !j.portEnded && j.err == nil {
		if j.turn == j.given {
			// the turn's last bytes begin no sequence
			if more := n - min(n, j.taken); more <= uint64(len(j.port)) {
				j.passPort(j.port[:more])
				j.port = j.port[more:]
				return
			}
		}
		if late {
			j.turn, j.number = j.given, j.told // what says so was lost
			return
		}
		j.cond.Wait()
	}
}

// after sets late after a time, and wakes who waits.
func (j *join) after(d time.Duration, late *bool) *time.Timer {
	return time.AfterFunc(d, func() {
		j.mu.Lock()
		*late = true
		j.mu.Unlock()
		j.cond.Broadcast()
	})
}

// end says that no more comes by the serial port.
func (j *join) end() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.pass(j.com1)
	j.com1, j.com1Ended = nil, true
	j.cond.Broadcast()
}

// pass passes bytes of the serial port on.
func (j *join) pass(b []byte) { j.send(j.to, b) }

func (j *join) send(to io.Writer, b []byte) {
	if to != nil && j.err == nil && len(b) > 0 {
		_, j.err = to.Write(b)
	}
}

// passPort passes bytes of the virtio console on.
func (j *join) passPort(b []byte) {
	to := j.by
	if j.errors {
		to = j.errs
	}
	j.send(to, b)
	j.taken += uint64(len(b))
	j.cond.Broadcast()
}

// joinPort takes what the virtio console has sent.
type joinPort struct{ *join }

func (p joinPort) Write(b []byte) (int, error) {
	j := p.join
	j.mu.Lock()
	defer j.mu.Unlock()
	n := len(b)
	for len(b) > 0 {
		text, head, number, rest := j.port.next(b)
		b = rest
		// A program may have written such a sequence: its number is another.
		if (head == toPort || head == toErrs) && (number == j.number+1 || j.begins(number)) {
			j.turn++
			j.number, j.taken, j.errors = number, 0, head == toErrs
			j.cond.Broadcast()
			continue
		}
		for j.turn > j.given && !j.com1Ended && j.err == nil {
			j.cond.Wait()
		}
		j.passPort(text)
	}
	j.cond.Broadcast() // of what is kept, too
	return n, j.err
}

// begins reports whether the number is the first of a kernel, which may have started anew: then the
// serial port has said it before, or is about to.
func (j *join) begins(number uint64) bool {
	late := false
	defer j.after(catchUp, &late).Stop()
	for j.told != number && !late && !j.com1Ended && j.err == nil {
		j.cond.Wait()
	}
	return j.told == number && j.number != number
}

// catchUp is how long after the virtio console what the serial port has sent before it may come.
const catchUp = 500 * time.Millisecond

// end says that no more comes by the virtio console.
func (p joinPort) end() {
	j := p.join
	j.mu.Lock()
	defer j.mu.Unlock()
	for j.turn > j.given && !j.com1Ended && j.err == nil {
		j.cond.Wait()
	}
	j.passPort(j.port)
	j.port, j.portEnded = nil, true
	j.cond.Broadcast()
}
