package receive

// Extended netconsole (Linux's Documentation/networking/netconsole.rst): a header in
// front of the text, and lines of KEY=VALUE behind it, each indented by a blank.
//
//	[RELEASE,]LEVEL,NUMBER,MICROS,FLAG[,ncfrag=OFFSET/TOTAL][,...];TEXT
//
// LEVEL is syslog's with the facility in the upper bits. A message that is longer than
// a datagram comes in fragments, each with its place.

import (
	"bytes"
	"time"
)

const (
	// maxMessage is the longest message put together of fragments, in bytes.
	maxMessage = 8 << 10
	// A gap in the numbers that is larger than maxGap is another boot, or nonsense.
	maxGap = 1 << 16
)

// extended is what is known of a machine's numbered lines.
type extended struct {
	next  uint64 // number of the next line
	known bool

	frag   []byte // the message that is not whole
	header extendedHeader
	at     time.Time
}

// extendedHeader is the header of a line.
type extendedHeader struct {
	level           int
	number, micros  uint64
	fragment        bool
	offset, ofTotal uint64
}

// The separators of a header.
var (
	semicolon, comma, slash = []byte(";"), []byte(","), []byte("/")
	fragmentKey             = []byte(",ncfrag=")
)

// maxHeader is the longest header, in bytes.
const maxHeader = 256

// parseExtended reads the header. The text refers to b.
func parseExtended(b []byte) (h extendedHeader, text []byte, ok bool) {
	b, text, ok = bytes.Cut(b, semicolon)
	if !ok || len(b) > maxHeader {
		return h, nil, false
	}
	if h, ok = parseFields(b); !ok { // a kernel may put its release in front
		_, b, _ = bytes.Cut(b, comma)
		h, ok = parseFields(b)
	}
	return h, text, ok
}

func parseFields(b []byte) (h extendedHeader, ok bool) {
	var level uint64
	for _, to := range [...]*uint64{&level, &h.number, &h.micros} {
		var digits []byte
		digits, b, _ = bytes.Cut(b, comma)
		if *to, ok = decimal(digits); !ok {
			return h, false
		}
	}
	if level > 1023 || len(b) == 0 || b[0] != '-' && b[0] != 'c' && b[0] != '+' {
		return h, false
	}
	h.level = int(level & 7)
	if _, b, h.fragment = bytes.Cut(b, fragmentKey); h.fragment {
		b, _, _ = bytes.Cut(b, comma)
		offset, total, _ := bytes.Cut(b, slash)
		if h.offset, ok = decimal(offset); ok {
			h.ofTotal, ok = decimal(total)
		}
	}
	return h, ok
}

// decimal reads a decimal number of 64 bits.
func decimal(b []byte) (v uint64, ok bool) {
	for _, c := range b {
		if c < '0' || c > '9' || len(b) > 19 {
			return 0, false
		}
		v = v*10 + uint64(c-'0')
	}
	return v, len(b) > 0
}

// extended takes a message, or a fragment of one.
func (in *Intake) extended(m *machine, h *extendedHeader, text []byte, now time.Time) {
	x := &m.ext
	if !h.fragment {
		in.endFragment(m)
		in.message(m, h, text, now)
		return
	}
	if x.frag != nil && (x.header.number != h.number || int(h.offset) != len(x.frag)) {
		if x.header.number == h.number && int(h.offset) < len(x.frag) {
			return // it was here
		}
		in.endFragment(m)
	}
	if h.ofTotal > maxMessage || h.offset+uint64(len(text)) > h.ofTotal {
		in.stats.Impossible++
		return
	}
	if x.frag == nil {
		x.header, x.at = *h, now
		x.frag = make([]byte, 0, h.ofTotal)
		in.waiting[m] = struct{}{}
		in.hold(cap(x.frag))
		if x.frag == nil {
			in.stats.Crowded++ // there is no room at all
			return
		}
	}
	x.frag = append(x.frag, text...)
	if uint64(len(x.frag)) >= h.ofTotal {
		in.endFragment(m)
	}
}

// endFragment passes on a message as far as its fragments came.
func (in *Intake) endFragment(m *machine) {
	x := &m.ext
	if x.frag == nil {
		return
	}
	text := x.frag
	in.held -= cap(text)
	x.frag = nil
	in.message(m, &x.header, text, x.at)
}

// message passes on a whole message: its text, and what belongs to it.
func (in *Intake) message(m *machine, h *extendedHeader, text []byte, now time.Time) {
	x := &m.ext
	switch {
	case !x.known || h.number > x.next+maxGap || h.number+maxGap < x.next || h.number == 0:
		x.known, x.next = true, h.number+1 // the first that is heard of this boot
	case h.number >= x.next:
		in.stats.LostLines += h.number - x.next
		x.next = h.number + 1
	case h.number+1 == x.next:
		in.stats.Repeated++
		return
	case in.stats.LostLines > 0: // it was only late
		in.stats.LostLines--
	}
	for one := range bytes.Lines(text) {
		one = bytes.TrimSuffix(one, []byte("\n"))
		in.line = Line{Machine: m.name, Addr: m.addr, Time: now, Text: one,
			Level: h.level, Number: h.number, Micros: h.micros, HasMeta: true}
		in.send(m)
	}
}
