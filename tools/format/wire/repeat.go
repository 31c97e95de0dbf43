package wire

// The line that stands for a trace like the one before. It carries the low digit of
// the trace's number and a check over that number and the CRC of the trace that it
// repeats (wire.go), so it is believed only where that trace arrived intact.

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
	"strings"
)

// repeatLine takes the line that stands for a trace like the one before, without its tag.
func (p *Parser) repeatLine(l *Line, s string) {
	s = strings.TrimRight(s, " ")
	seq, ok := p.repeats(s)
	if !isRepeat(s) || !ok && (!p.compact || p.t != nil || p.c != nil) {
		p.foreign()
		return
	}
	p.cut()
	t := p.built(Trace{Repeat: true})
	if ok {
		t = p.last.again(seq)
		p.lastSeq = seq
	} else {
		t.MarkDamaged("it repeats a trace that did not arrive, or its line is damaged")
	}
	l.Record, l.Trace = Record{Op: OpRepeat}, t
	p.h.Line(l)
	p.h.Done(t)
}

func isRepeat(s string) bool { return len(s) == 3 && areDigits(s) }

// repeats returns the number of the trace for which the line stands, if it is one after
// the trace that is known.
func (p *Parser) repeats(s string) (seq uint64, ok bool) {
	if p.last == nil || !isRepeat(s) {
		return 0, false
	}
	seq = p.lastSeq + 1
	seq += (uint64(s[0]-'!') + 85 - seq%85) % 85
	b := binary.BigEndian.AppendUint64(nil, uint64(p.lastCRC)<<32|seq&(1<<32-1))
	check := crc32.ChecksumIEEE(b) % (85 * 85)
	return seq, check == uint32(s[1]-'!')*85+uint32(s[2]-'!')
}

// again returns the trace for one that is like t, with the number seq. Of the registers
// it has those that are known to be the same.
func (t *Trace) again(seq uint64) *Trace {
	r := *t
	r.Seq, r.Repeat, r.RepeatOf = seq, true, t.Seq
	r.Frames = slices.Clone(t.Frames)
	r.Registers, r.Stacks, r.Words, r.Missing = make(map[string]uint64), nil, nil, ""
	for _, name := range []string{"rip", "rsp", "rbp"} {
		if v, ok := t.Registers[name]; ok && len(t.Frames) > 0 {
			r.Registers[name] = v
		}
	}
	return &r
}
