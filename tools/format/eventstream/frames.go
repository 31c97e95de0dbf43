package eventstream

// Records on a port of their own.

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"

	"github.com/zeroframe/zeroframe/tracer/stream"
)

// mark begins a frame.
var mark = []byte("\xf5zfr")

// Frames takes records out of a stream of frames. After bytes that were lost it goes on
// with the next frame. It is not safe for concurrent use.
type Frames struct {
	a       assembler
	buf     []byte
	skipped uint64
}

// NewFrames returns a Frames.
func NewFrames(opt Options) *Frames { return &Frames{a: assembler{opt: opt}} }

// Write takes the next bytes of the port. It never fails.
func (f *Frames) Write(p []byte) (int, error) {
	f.buf = append(f.buf, p...)
	rest := f.buf
	for len(rest) > 0 {
		n := f.frame(rest)
		if n == 0 {
			break
		}
		rest = rest[n:]
	}
	f.buf = append(f.buf[:0], rest...)
	return len(p), nil
}

// frame reads a frame at the start of b and returns how many bytes of b are used up, 0 if
// it takes more of them to tell.
func (f *Frames) frame(b []byte) int {
	if n := min(len(b), len(mark)); !bytes.Equal(b[:n], mark[:n]) {
		return f.skip(b)
	}
	const head = 12 // behind the sync bytes
	if len(b) < len(mark)+head {
		return 0
	}
	h := b[len(mark):]
	last, kind, data := h[0] == 1, int(h[1]), int(binary.LittleEndian.Uint16(h[2:]))
	if h[0] > 1 || kind > stream.MaxKind || data > stream.PieceSize {
		return f.skip(b)
	}
	size := head + kind + data
	if last {
		size += 12
	}
	if len(h) < size+4 {
		return 0
	}
	if crc32.ChecksumIEEE(h[:size]) != binary.LittleEndian.Uint32(h[size:]) {
		return f.skip(b)
	}
	p := piece{id: binary.LittleEndian.Uint32(h[4:]),
		no: binary.LittleEndian.Uint32(h[8:]), last: last}
	body := h[head:size]
	if last {
		p.length, p.sum = binary.LittleEndian.Uint64(body), binary.LittleEndian.Uint32(body[8:])
		body = body[12:]
	}
	p.kind, p.data = string(body[:kind]), body[kind:]
	f.a.piece(&p)
	return len(mark) + size + 4
}

// skip returns the distance to the next byte that may begin a frame.
func (f *Frames) skip(b []byte) int {
	n := len(b)
	if i := bytes.IndexByte(b[1:], mark[0]); i >= 0 {
		n = i + 1
	}
	f.skipped += uint64(n)
	return n
}

// Skipped returns how many bytes so far were no part of a frame that came whole.
func (f *Frames) Skipped() uint64 { return f.skipped }

// Close ends the stream: records that are not finished are damaged. It never fails.
func (f *Frames) Close() error {
	f.skipped += uint64(len(f.buf))
	f.buf = nil
	f.a.close()
	return nil
}
