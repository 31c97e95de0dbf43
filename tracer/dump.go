package tracer

import "sync/atomic"

// dumpLine is a line of text that is being built. What does not fit is left out.
type dumpLine struct {
	busy uint32
	n    int
	b    [512]byte
}

// dumpLines is the room for as many calls of Dump at a time.
var dumpLines [8]dumpLine

// dumpBusy is the error when there is no room for another call.
type dumpBusy struct{}

var errDumpBusy error = dumpBusy{}

func (dumpBusy) Error() string { return "tracer: too many calls of Dump at a time" }

// Dump writes the calls of the running stack, innermost first, a line each:
//
//	main.parse+0x2a /src/main.go:17
//
// Inlined calls have lines of their own, without an offset. The first line is the function that
// calls Dump. Everything comes from the program's own pc tables, so the output needs no symbolizer.
// Calls count as in [CalledFrom]. Dump allocates nothing, so it may run in any context in which
// w.Write may run; Write must not keep its argument. It returns the first error of w, or an error
// if eight calls are already under way.
func Dump(w interface{ Write(p []byte) (int, error) }) (err error) {
	var l *dumpLine
	for i := range dumpLines {
		if atomic.CompareAndSwapUint32(&dumpLines[i].busy, 0, 1) {
			l = &dumpLines[i]
			break
		}
	}
	if l == nil {
		return errDumpBusy
	}
	t, ok := OwnTable()
	c := calls{from: startHere()}
	if !ok || !c.asker(&t) {
		l.n = 0
		l.text("the calls of this stack are not known\n")
		_, err = w.Write(l.b[:l.n])
	} else {
		for more := true; more && err == nil; more = c.next(&t) {
			l.call(&t, &c)
			_, err = w.Write(l.b[:l.n])
		}
	}
	atomic.StoreUint32(&l.busy, 0)
	return err
}

// call builds the line of c's current call.
func (l *dumpLine) call(t *PCTable, c *calls) {
	l.n = 0
	f, _ := t.Find(c.pc)
	l.bytes(c.name(t))
	if !c.in {
		l.text("+0x")
		l.number(uint64(c.ra-f.Entry()), 16)
	}
	if file, line, ok := f.FileLine(c.pc); ok {
		l.text(" ")
		l.bytes(file)
		l.text(":")
		l.number(uint64(line), 10)
	}
	l.n = min(l.n, len(l.b)-1)
	l.text("\n")
}

func (l *dumpLine) byte(c byte) {
	if l.n < len(l.b) {
		l.b[l.n] = c
		l.n++
	}
}

func (l *dumpLine) text(s string) {
	for i := 0; i < len(s); i++ {
		l.byte(s[i])
	}
}

func (l *dumpLine) bytes(b []byte) {
	for _, c := range b {
		l.byte(c)
	}
}

func (l *dumpLine) number(v uint64, base uint64) {
	var b [MaxDigits]byte
	l.bytes(b[Digits(&b, v, base):])
}
