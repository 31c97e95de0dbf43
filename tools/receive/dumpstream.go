package receive

import (
	"bytes"
	"io"

	"github.com/zeroframe/zeroframe/tracer/dump"
)

// Packets on a serial line: one after the other, with no answers. What is damaged is skipped, up to
// the next beginning of a packet.

// Stream finds the packets in what a line has brought.
type Stream struct {
	// Packet takes each packet, with its header, until it returns false.
	Packet  func(h *dump.Header, packet []byte) bool
	Skipped int64 // bytes that were in no packet

	held []byte
}

// mark is what each packet begins with.
var mark = []byte("zfd1")

// Read reads to the end of r, or until Packet wants no more.
func (s *Stream) Read(r io.Reader) error {
	b := make([]byte, 64<<10)
	for {
		n, err := r.Read(b)
		s.held = append(s.held, b[:n]...)
		if !s.packets() {
			return nil
		}
		if err == io.EOF {
			s.Skipped += int64(len(s.held))
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// packets takes the packets that are whole, and reports whether more are wanted.
func (s *Stream) packets() bool {
	p := s.held
	defer func() { s.held = append(s.held[:0], p...) }()
	for {
		at := bytes.Index(p, mark)
		if at < 0 {
			keep := min(len(p), len(mark)-1)
			s.Skipped += int64(len(p) - keep)
			p = p[len(p)-keep:]
			return true
		}
		s.Skipped += int64(at)
		if p = p[at:]; len(p) < dump.HeaderSize {
			return true
		}
		n, ok := dump.Length(p)
		if ok && n > len(p) {
			// A length that is damaged would hide what is behind it, but not for long.
			return true
		}
		if ok {
			if h, _, ok := dump.Parse(p[:n]); ok {
				packet := p[:n]
				p = p[n:]
				if !s.Packet(&h, packet) {
					return false
				}
				continue
			}
		}
		s.Skipped++
		p = p[1:]
	}
}
