package receive

// The intake: one datagram at a time, in the order of arrival.

import (
	"bytes"

	"container/list"
	"crypto/ecdh"
	"fmt"
	"hash/crc32"
	"net/netip"
	"time"

	"github.com/zeroframe/zeroframe/tracer/datagram"
	"github.com/zeroframe/zeroframe/tracer/dump"
)

// Limits and times that hold unless Options say otherwise.
const (
	// MaxDatagram is the longest datagram in bytes. Linux's netconsole sends up to
	// 1000 bytes and the kernel's release in front of them.
	MaxDatagram = 2048
	// DefaultMachines is the number of machines that are known at a time.
	DefaultMachines = 1 << 16
	// DefaultHeld bounds the bytes of the traces of all machines that are not whole.
	DefaultHeld = 128 << 20
	// DefaultPatience is how long nothing has to come of a trace before it is shown
	// as far as it came. Senders repeat themselves within a fraction of it.
	DefaultPatience = 2 * time.Second

	// maxPartial is the longest piece of a line that is kept for its end, in bytes,
	// and partialWait how long its end is waited for.
	maxPartial  = 1024
	partialWait = 200 * time.Millisecond
)

// Options say how an Intake works. The zero value stands for the defaults.
type Options struct {
	// Names are the names of machines by address; with port 0, from any port.
	Names map[netip.AddrPort]string
	// LookUp returns the name of an address, or "" if it has none; nil: it is not
	// asked. It is called once a machine, in a goroutine of its own, and a machine is
	// shown by its address until the name is there.
	LookUp func(netip.Addr) string
	// MaxMachines, MaxHeld and Patience are the limits described at their defaults.
	MaxMachines int
	MaxHeld     int
	Patience    time.Duration
	// Cores is the folder for the memory of machines that have died; "": they are told that none
	// is taken. Answer sends a datagram to a machine, nil: none is sent. Say tells people.
	Cores     string
	CoresSize int64            // bytes that the folder may take
	Key       *ecdh.PrivateKey // for those that are encrypted
	Answer    func(to netip.AddrPort, p []byte)
	Say       func(string)
	// Oops gathers the lines of Linux oopses into one Arrival each, instead of
	// passing them on as lines.
	Oops bool
}

// An Arrival is a trace that has arrived, or what has arrived of it.
type Arrival struct {
	Machine string         // name
	Addr    netip.AddrPort // address
	Time    time.Time      // of the last datagram that it took
	Boot    uint64         // which boot of the machine
	Seq     uint32         // which trace of it

	Bytes   []byte // as on a serial line
	Cut     bool   // the sender had no room for all of it
	Missing int    // datagrams that are missing at least
	Oops    bool   // Bytes are the lines of a Linux oops; there is no Seq
}

// A Line is a log line.
type Line struct {
	Machine string
	Addr    netip.AddrPort
	Time    time.Time
	// Text is the line without its end, as it came. It is valid during the call.
	Text []byte
	// Level is syslog's, 0 to 7, Number the line's number since the machine's boot
	// and Micros its time in microseconds since then; HasMeta says that they are
	// known, which is so for extended netconsole.
	Level   int
	Number  uint64
	Micros  uint64
	HasMeta bool
}

// A Sink takes what an Intake finds. It is called by the goroutine that calls the
// Intake, and must not keep a *Line.
type Sink interface {
	Line(*Line)
	Trace(*Arrival)
}

// Stats count what an Intake has seen.
type Stats struct {
	Datagrams  uint64 // all
	Bytes      uint64 // of their payload
	Machines   uint64 // that were new
	Lines      uint64 // of log
	Traces     uint64 // whole ones
	Incomplete uint64 // traces given up
	Repeated   uint64 // parts that were here already
	LostLines  uint64 // gaps in the numbers of extended netconsole
	Oopses     uint64 // of Linux

	// What was dropped, by cause.
	TooLong    uint64 // datagrams above MaxDatagram
	Empty      uint64
	Damaged    uint64 // the CRC is wrong
	Impossible uint64 // numbers that contradict each other
	Conflict   uint64 // parts that contradict those before
	Evicted    uint64 // machines forgotten for want of room
	Crowded    uint64 // traces and messages given up for want of room
	Lost       uint64 // dropped by this host's network stack: it was not read in time
}

// Rejected is the number of datagrams that made no sense.
func (s *Stats) Rejected() uint64 {
	return s.TooLong + s.Empty + s.Damaged + s.Impossible + s.Conflict
}

// Intake sorts datagrams. It is not safe for concurrent use.
type Intake struct {
	opt   Options
	sink  Sink
	stats Stats

	machines        map[netip.AddrPort]*machine
	latest          *machine
	fresh, regulars list.List // of machines, the least recently heard first
	opened          list.List // of open traces, likewise
	held            int       // bytes of open traces
	waiting         map[*machine]struct{}
	line            Line // for calls of the sink
	cores           cores
	named           chan namedMachine
	asking          chan struct{} // as many as may ask for a name at a time
}

// NewIntake returns an intake that reports to sink.
func NewIntake(opt Options, sink Sink) *Intake {
	if opt.MaxMachines <= 0 {
		opt.MaxMachines = DefaultMachines
	}
	if opt.MaxHeld <= 0 {
		opt.MaxHeld = DefaultHeld
	}
	if opt.Patience <= 0 {
		opt.Patience = DefaultPatience
	}
	return &Intake{
		opt: opt, sink: sink,
		machines: make(map[netip.AddrPort]*machine),
		waiting:  make(map[*machine]struct{}),
		cores: cores{folder: opt.Cores, quota: opt.CoresSize, key: opt.Key, answer: opt.Answer,
			say: opt.Say, open: make(map[coreKey]*coming)},
		named:  make(chan namedMachine, maxAsking),
		asking: make(chan struct{}, maxAsking),
	}
}

// Datagram takes a datagram. b may be used again when it returns. One that is longer
// than MaxDatagram may be cut to any greater length.
func (in *Intake) Datagram(now time.Time, from netip.AddrPort, b []byte) {
	in.stats.Datagrams++
	in.stats.Bytes += uint64(len(b))
	switch {
	case len(b) == 0:
		in.stats.Empty++
		return
	case len(b) > MaxDatagram:
		in.stats.TooLong++
		return
	}
	if b[0] == 'z' && in.traced(now, from, b) {
		return
	}
	if dump.Is(b) {
		in.cores.take(now, from, in.machineOf(from).name, b)
		return
	}
	in.log(in.machineOf(from), b, now)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// traced takes a datagram that may be a part of a trace, and reports whether it is. A
// part of a trace that is done is not looked at more closely: most parity pieces are.
func (in *Intake) traced(now time.Time, from netip.AddrPort, b []byte) bool {
	p, covered, sum, why := datagram.Unchecked(b)
	if why != datagram.None {
		return false
	}
	if m := in.machines[from]; m != nil && m.isDone(keyOf(&p)) {
		in.stats.Repeated++
		return true
	}
	switch {
	case crc32.Update(crc32.Update(0, castagnoli, b[:covered]), castagnoli, p.Chunk) != sum:
		in.stats.Damaged++
	case !p.Possible():
		in.stats.Impossible++
	default:
		in.part(in.machineOf(from), &p, now)
	}
	return true
}

// log takes a datagram with a piece of a log.
func (in *Intake) log(m *machine, b []byte, now time.Time) {
	if h, text, ok := parseExtended(b); ok {
		in.flushPartial(m)
		in.extended(m, &h, text, now)
		return
	}
	for len(b) > 0 {
		line, rest, ended := bytes.Cut(b, newline)
		if len(m.partial)+len(line) > maxPartial {
			in.flushPartial(m)
		}
		switch {
		case len(m.partial) == 0 && (ended || len(line) > maxPartial):
			in.plain(m, line, now)
		case ended:
			m.partial = append(m.partial, line...)
			in.flushPartial(m)
		default:
			m.partial, m.since = append(m.partial, line...), now
			in.waiting[m] = struct{}{}
		}
		b = rest
	}
}

var newline = []byte("\n")

// flushPartial passes on a line that has not ended.
func (in *Intake) flushPartial(m *machine) {
	if len(m.partial) == 0 {
		return
	}
	in.plain(m, m.partial, m.since)
	m.partial = m.partial[:0]
}

func (in *Intake) plain(m *machine, text []byte, now time.Time) {
	in.line = Line{Machine: m.name, Addr: m.addr, Time: now, Text: text}
	in.send(m)
}

// send passes on in.line.
func (in *Intake) send(m *machine) {
	l := &in.line
	l.Text = bytes.TrimRight(l.Text, "\r")
	in.stats.Lines++
	if m.lines++; m.lines == regularLines {
		in.makeRegular(m)
	}
	if in.opt.Oops && in.gather(m, l) {
		return
	}
	in.sink.Line(l)
}

// Tick does what is due by time. It is called every now and then.
func (in *Intake) Tick(now time.Time) {
	in.takeNames()
	in.cores.tick(now)
	for in.opened.Len() > 0 {
		o := in.opened.Front().Value.(*openTrace)
		if now.Sub(o.heard) < in.opt.Patience {
			break
		}
		in.giveUp(o, false)
	}
	for m := range in.waiting {
		if now.Sub(m.since) >= partialWait {
			in.flushPartial(m)
		}
		if m.ext.frag != nil && now.Sub(m.ext.at) >= in.opt.Patience {
			in.endFragment(m)
		}
		if m.oops != nil && now.Sub(m.oops.heard) >= oopsWait {
			in.endOops(m)
		}
		if len(m.partial) == 0 && m.oops == nil && m.ext.frag == nil {
			delete(in.waiting, m)
		}
	}
}

// finish ends all that a machine has under way.
func (in *Intake) finish(m *machine) {
	in.flushPartial(m)
	in.endFragment(m)
	in.endOops(m)
	for len(m.open) > 0 {
		in.giveUp(m.oldestOpen(), true)
	}
	delete(in.waiting, m)
}

// Close ends all that is under way.
func (in *Intake) Close() {
	in.cores.close()
	for in.opened.Len() > 0 {
		in.giveUp(in.opened.Front().Value.(*openTrace), false)
	}
	for _, m := range in.machines {
		in.finish(m)
	}
}

// Answer answers what is to be answered, as nothing more has come for now.
func (in *Intake) Answer() { in.cores.flush() }

// Lose counts datagrams that were lost before they came here.
func (in *Intake) Lose(n uint64) { in.stats.Lost += n }

// Stats returns the counts so far.
func (in *Intake) Stats() Stats { return in.stats }

// String returns the counts in words, for people.
func (s *Stats) String() string {
	text := fmt.Sprintf("%s, %s, %s, %s", count(s.Machines, "machine"), count(s.Datagrams, "datagram"),
		count(s.Lines, "line"), count(s.Traces, "trace")) +
		others(", ", counted{s.Incomplete, "incomplete"}, counted{s.Oopses, "of Linux"}) +
		fmt.Sprintf("\n%d rejected", s.Rejected())
	if why := others(", ", counted{s.TooLong, "too long"}, counted{s.Empty, "empty"},
		counted{s.Damaged, "damaged"},
		counted{s.Impossible, "impossible"}, counted{s.Conflict, "contradictory"}); why != "" {
		text += " (" + why[len(", "):] + ")"
	}
	text += fmt.Sprintf(", %d lost in this host", s.Lost)
	if s.LostLines > 0 {
		text += fmt.Sprintf(", %s lost on the way", count(s.LostLines, "line"))
	}
	if s.Evicted > 0 {
		text += fmt.Sprintf(", %s forgotten for want of room", count(s.Evicted, "machine"))
	}
	return text
}

func count(n uint64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
