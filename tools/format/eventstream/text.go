package eventstream

// Records between text.

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tracer/stream"
)

// rs begins a piece.
const rs = 0x1e

// Text passes text through and takes the records out of it. Text is held back only while
// it may be the beginning of a piece, for [Options.Idle] at most. It is safe for concurrent
// use.
type Text struct {
	mu     sync.Mutex
	out    io.Writer
	a      assembler
	held   []byte // a piece, or what may be one
	mid    bool   // the last byte that went out was no line feed
	timer  *time.Timer
	closed bool
}

// NewText returns a Text that writes the text to out, which may be nil.
func NewText(out io.Writer, opt Options) *Text {
	if out == nil {
		out = io.Discard
	}
	return &Text{out: out, a: assembler{opt: opt}}
}

// Write takes the next bytes of the console. The error is that of the output.
func (t *Text) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.arm()
	for n := 0; n < len(p); {
		used, err := t.step(p[n:])
		if err != nil {
			return n, err
		}
		n += used
	}
	return len(p), nil
}

// step uses up some of p.
func (t *Text) step(p []byte) (used int, err error) {
	if len(t.held) == 0 {
		n := t.plain(p)
		if n > 0 {
			return n, t.pass(p[:n])
		}
		t.held = append(t.held, p[0])
		return 1, nil
	}
	// What is held goes on until its line ends, or it is none of ours.
	c := p[0]
	if c == rs {
		if err := t.broken(); err != nil {
			return 0, err
		}
		t.held = append(t.held, c)
		return 1, nil
	}
	t.held = append(t.held, c)
	if !maybe(t.held) {
		return 1, t.release()
	}
	if c == '\n' {
		return 1, t.line()
	}
	if len(t.held) > stream.MaxLine {
		return 1, t.broken()
	}
	return 1, nil
}

// plain returns how many bytes of p are text for certain.
func (t *Text) plain(p []byte) int {
	if !t.mid && p[0] == tag[0] {
		return 0
	}
	for i, c := range p {
		switch {
		case c == rs:
			return i
		case c == '\n' && i+1 < len(p) && p[i+1] == tag[0]:
			return i + 1
		}
	}
	return len(p)
}

const tag = "zfr"

// maybe reports whether what is held can be the beginning of a piece.
func maybe(b []byte) bool {
	b = bytes.TrimPrefix(b, []byte{rs})
	n := min(len(b), len(tag))
	return string(b[:n]) == tag[:n] && (len(b) <= n || b[n] == ' ' || b[n] == '.')
}

// line looks at a whole line that begins as a piece does.
func (t *Text) line() error {
	p, ok := parseLine(bytes.TrimRight(bytes.TrimPrefix(t.held, []byte{rs}), "\r\n"))
	if !ok {
		return t.broken()
	}
	t.held = t.held[:0]
	t.a.piece(&p)
	return nil
}

// broken drops a piece that is damaged; its record will miss it. Without RS it is text
// that only looks like one.
func (t *Text) broken() error {
	if t.held[0] == rs && maybe(t.held) && len(t.held) > len(tag) {
		t.held = t.held[:0]
		return nil
	}
	return t.release()
}

// release lets out what is held: it is text.
func (t *Text) release() error {
	held := t.held
	t.held = t.held[:0]
	return t.pass(held)
}

func (t *Text) pass(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	t.mid = p[len(p)-1] != '\n'
	_, err := t.out.Write(p)
	return err
}

// arm sets the timer that flushes, if there is something to flush.
func (t *Text) arm() {
	switch {
	case t.a.opt.Idle > 0 && t.loose() && !t.closed:
		if t.timer == nil {
			t.timer = time.AfterFunc(t.a.opt.Idle, func() { t.Flush() })
		} else {
			t.timer.Reset(t.a.opt.Idle)
		}
	case t.timer != nil:
		t.timer.Stop()
	}
}

// loose reports whether text is held back that Flush would let out.
func (t *Text) loose() bool { return len(t.held) > 0 && t.held[0] != rs }

// Flush lets out text that is held back. A piece that has begun goes on.
func (t *Text) Flush() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || !t.loose() {
		return nil
	}
	return t.release()
}

// Cut says that the stream has broken off and may begin anew: records that are not
// finished are damaged.
func (t *Text) Cut() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.cut()
}

func (t *Text) cut() error {
	var err error
	if len(t.held) > 0 {
		err = t.broken()
	}
	t.a.close()
	return err
}

// Close ends the stream: records that are not finished are damaged.
func (t *Text) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil
	}
	t.closed = true
	t.arm()
	return t.cut()
}

// parseLine reads a line from its tag up to its line ending.
func parseLine(b []byte) (p piece, ok bool) {
	if len(b) < len(tag)+1 {
		return p, false
	}
	at := bytes.LastIndexByte(b, ' ')
	if at < 0 {
		return p, false
	}
	crc, ok := wire.Ascii85(string(b[at+1:]))
	if !ok || len(crc) != 4 || binary.BigEndian.Uint32(crc) != crc32.ChecksumIEEE(b[:at]) {
		return p, false
	}
	want := 4
	if p.last = b[len(tag)] == '.'; p.last {
		want += 2
	}
	f := bytes.Split(b[len(tag)+1:at], []byte(" "))
	if len(f) != want || len(f[0]) > stream.MaxKind {
		return p, false
	}
	p.kind = string(f[0])
	id, err1 := strconv.ParseUint(string(f[1]), 10, 32)
	no, err2 := strconv.ParseUint(string(f[2]), 10, 32)
	if err1 != nil || err2 != nil {
		return p, false
	}
	p.id, p.no = uint32(id), uint32(no)
	if string(f[3]) != "-" {
		if p.data, ok = wire.Ascii85(string(f[3])); !ok {
			return p, false
		}
	}
	if p.last {
		var err error
		p.length, err = strconv.ParseUint(string(f[4]), 10, 64)
		sum, ok := wire.Ascii85(string(f[5]))
		if err != nil || !ok || len(sum) != 4 {
			return p, false
		}
		p.sum = binary.BigEndian.Uint32(sum)
	}
	return p, true
}
