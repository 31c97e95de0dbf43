package foreign

// Where a Linux kernel runs that was moved (KASLR). It says so behind its last trace:
//
//	Kernel Offset: 0x1a000000 from 0xffffffff81000000 (relocation range: ...)
//
// So the offset is looked for ahead where the log is a file, and addresses that came before
// it in a stream are kept and resolved below it. It holds until the kernel boots again.

import (
	"bytes"
	"cmp"
	"io"
	"strings"
)

const (
	maxEarly = 256     // addresses that are kept
	maxBoots = 1 << 16 // boots of a log that are told apart
)

// A KernelOffset is how far above its ELF addresses a kernel runs, and where its text is
// linked to. Known is not set if the log does not say.
type KernelOffset struct {
	Bias, Start uint64
	Known       bool
}

// offsetState is what is known of the offset.
type offsetState struct {
	boot  int            // how many have begun
	ahead []KernelOffset // by boot, when it was asked for
	asked bool
	early []Hit // addresses that were in no image yet
}

// readOffset reads a line that says the offset.
func readOffset(line string) (o KernelOffset) {
	if m := kaslr().FindStringSubmatch(line); m != nil {
		o.Bias, _ = hexNumber(m[1])
		o.Start, _ = hexNumber(m[2])
		o.Known = true
	}
	return o
}

// KernelOffsets returns the offset of each boot in a log: the first is that of what comes
// before any. Context: host.
func KernelOffsets(log io.Reader) ([]KernelOffset, error) {
	all := make([]KernelOffset, 1)
	buf, n := make([]byte, 1<<20), 0
	for {
		m, err := io.ReadFull(log, buf[n:])
		n += m
		lines := buf[:n]
		if end := bytes.LastIndexByte(lines, '\n'); err == nil && end >= 0 {
			lines = lines[:end+1] // the rest comes with the next
		}
		all = offsetsIn(lines, all)
		n = copy(buf, buf[len(lines):n])
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return all, nil
		} else if err != nil {
			return all, err
		}
	}
}

// offsetsIn adds those of some lines.
func offsetsIn(lines []byte, all []KernelOffset) []KernelOffset {
	boot, offset := index(lines, 0, bootMark), index(lines, 0, offsetMark)
	for boot < len(lines) || offset < len(lines) {
		at := min(boot, offset)
		end := at + bytes.IndexByte(lines[at:], '\n')
		if end < at {
			end = len(lines)
		}
		if at == boot {
			if len(all) < maxBoots {
				all = append(all, KernelOffset{})
			}
			boot = index(lines, end, bootMark)
		} else {
			if o := &all[len(all)-1]; !o.Known {
				*o = readOffset(string(lines[at:min(end, at+maxForeignLine)]))
			}
			offset = index(lines, end, offsetMark)
		}
	}
	return all
}

// index returns where the mark is from a place on, or else where the lines end.
func index(lines []byte, from int, mark string) int {
	if i := bytes.Index(lines[from:], []byte(mark)); i >= 0 {
		return from + i
	}
	return len(lines)
}

// The words that begin a kernel's log, and those in front of its offset.
const (
	bootMark   = "Linux version "
	offsetMark = "Kernel Offset: "
)

// booted begins the log of another boot.
func (x *Reader) booted(line string) {
	x.oops = oopsState{}
	_, version, _ := strings.Cut(line, bootMark)
	x.oops.release, _, _ = strings.Cut(version, " ")
	for _, p := range x.base {
		p.setBias(0)
	}
	x.offset.boot++
	x.offset.early = nil
	x.move(x.offset.ofBoot())
}

// ofBoot returns the offset of the boot that the reading is in, as far as the log was looked
// through for it.
func (s *offsetState) ofBoot() KernelOffset {
	if s.boot < len(s.ahead) {
		return s.ahead[s.boot]
	}
	return KernelOffset{}
}

// move takes the offset of the kernel and reports whether that moved one of the images.
func (x *Reader) move(o KernelOffset) (moved bool) {
	if !o.Known {
		return false
	}
	kernels := x.kernel()
	for _, p := range kernels {
		if len(kernels) == 1 || p.sym.IsText(o.Start) { // which has no such section at times
			before := p.bias
			p.setBias(o.Bias)
			moved = moved || p.bias != before
		}
	}
	return moved
}

// lookForOffset looks ahead for where the kernel runs, before the first address is looked up:
// it may be one of other code where the kernel is linked to.
func (x *Reader) lookForOffset() {
	s := &x.offset
	if s.asked || x.opt.Offsets == nil || len(x.kernel()) == 0 {
		return
	}
	s.asked = true
	s.ahead = x.opt.Offsets()
	x.move(s.ofBoot())
}

// early keeps an address that is in no image, in case that the offset comes.
func (x *Reader) early(h Hit) {
	s := &x.offset
	if h.linked || x.layout.again || strings.Contains(x.now, "Sanitizer: ") { // whose stack follows
		return
	}
	if len(s.early) == maxEarly {
		s.early = append(s.early[:0], s.early[1:]...)
	}
	s.early = append(s.early, h)
}

// late resolves what has come before the offset.
func (x *Reader) late() {
	early := x.offset.early
	x.offset.early = nil
	for _, h := range early {
		h.Label = cmp.Or(h.Label, hexWord(h.Addr))
		h.Note += " (above)"
		for _, p := range x.kernel() {
			if x.hitIn(p, h) {
				break
			}
		}
	}
}
