package record

// QEMU's log (replay/ in its sources) is a list of events in the order in which they reach the
// machine: a byte that says which, and what belongs to it, big-endian. Between them stands how many
// instructions the machine has run. It has no length and no checksums, and a byte that is read
// wrongly makes all behind it wrong; the version of its format is a number in its header. The
// header is written last, to the beginning of the file, or where that is a pipe, to the end.
//
// Of the machine's time the log has one part, the instructions. The other is how long the machine
// has slept: QEMU reads a clock when all CPUs halt, and again when one goes on, and moves the
// machine's time by the difference (icount_warp_rt). Both values are in the log.

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// KnownVersion is the version of the log's format that is read here, that of QEMU 7.2.
const KnownVersion = 0xe0200c

// logHeader is the length of its header in bytes.
const logHeader = 12

// QEMU believes its log: it takes a port for an index of a table of 16 (replay/replay-char.c), and
// reads random bytes into what the machine has asked for: the CPU for 8 bytes, before that the
// loader for a seed of 32, and a device for more, with which no recording is trusted
// (qemu/stranger.go).
const (
	mostPorts  = 16
	mostRandom = 8
	mostSeed   = 32
)

// A Kind is what an event is.
type Kind byte

// The events, by their numbers in the log.
const (
	kindInstructions Kind = 0
	kindInterrupt    Kind = 1
	kindException    Kind = 2
	kindBottomHalf   Kind = 3
	kindOneShot      Kind = 4
	kindSync         Kind = 6
	KindInput        Kind = 7 // bytes for the serial port
	kindBlock        Kind = 8
	KindFrame        Kind = 9 // a frame of the network, to or from the machine
	KindShutdown     Kind = 10
	kindShutdownLast Kind = 21
	KindOutput       Kind = 22 // bytes of the serial port
	kindReadAll      Kind = 23
	kindReadError    Kind = 24
	kindAudioOut     Kind = 25
	KindRandom       Kind = 27 // random bytes
	kindHostClock    Kind = 28
	kindClock        Kind = 29 // the clock by which the machine sleeps
	kindWarpStart    Kind = 30
	kindWarpAccount  Kind = 31
	kindRealTimers   Kind = 36
	kindLastPoint    Kind = 38
	KindEnd          Kind = 39
)

// An Event is one that is in the log.
type Event struct {
	Kind         Kind
	Instructions uint64 // that the machine had run
	// of the machine, since its start; without meaning with Meta.VirtualTime
	Time  time.Duration
	Bytes int    // of output
	Data  []byte // that have reached the machine; valid until the next event

	end int64 // offset behind it
}

// errLog is what is wrong with a log that cannot be read on.
var errLog = errors.New("QEMU's log cannot be read on")

// logReader reads events.
type logReader struct {
	in     byteReader
	offset int64
	data   []byte

	instructions uint64
	slept        int64 // ns
	asleep       int64 // value of the clock when the machine began to sleep; -1: it does not
	last         int64 // value of the clock
	woken        int64 // that with which it was woken, as it seems; -1: it was not
	before       Kind  // the event before, or what stands for it in clock
	random       int   // how many random bytes there may be at once
}

// byteReader is what events are read from.
type byteReader interface {
	io.Reader
	io.ByteReader
}

// newLogReader reads a log that begins at a base.
func newLogReader(r io.Reader, b *Base) *logReader {
	return &logReader{in: bufio.NewReaderSize(r, 1<<16), instructions: b.Instructions, slept: b.Slept,
		asleep: b.Asleep, woken: b.Woken, last: b.Clock, before: b.Before,
		random: mostSeed}
}

// now is where the machine was at the last event.
func (l *logReader) now() time.Duration { return time.Duration(int64(l.instructions) + l.slept) }

// number reads a big-endian number of n bytes.
func (l *logReader) number(n int) (v uint64, err error) {
	var b [8]byte
	if _, err := io.ReadFull(l.in, b[8-n:]); err != nil {
		return 0, err
	}
	l.offset += int64(n)
	return binary.BigEndian.Uint64(b[:]), nil
}

// array reads bytes with their length before them.
func (l *logReader) array() error {
	n, err := l.number(4)
	if err != nil {
		return err
	}
	if n > mostBlock {
		return fmt.Errorf("%w: at byte %d stands a length of %d", errLog, l.offset-4, n)
	}
	l.data = append(l.data[:0], make([]byte, n)...)
	_, err = io.ReadFull(l.in, l.data)
	l.offset += int64(n)
	return err
}

// arrayAfter skips n bytes and reads an array.
func (l *logReader) arrayAfter(n int) error {
	if _, err := l.number(n); err != nil {
		return err
	}
	return l.array()
}

// next returns the next event. The error is io.EOF or io.ErrUnexpectedEOF where the log ends.
func (l *logReader) next() (e Event, err error) {
	b, err := l.in.ReadByte()
	if err != nil {
		return e, err
	}
	l.offset++
	e.Kind = Kind(b)
	var v uint64
	switch k := e.Kind; {
	case k == kindInstructions:
		v, err = l.number(4)
		l.instructions += v
		if v > 0 && l.random == mostSeed {
			l.random = mostRandom
		}
	case k == kindInterrupt, k == kindException, k == kindSync, k == KindEnd,
		k >= KindShutdown && k <= kindShutdownLast, k >= kindWarpStart && k <= kindLastPoint:
	case k == kindBottomHalf, k == kindOneShot, k == kindBlock, k == kindHostClock:
		_, err = l.number(8)
	case k == kindClock:
		v, err = l.number(8)
		l.clock(int64(v))
	case k == KindInput:
		if v, err = l.number(1); err == nil && v >= mostPorts {
			err = fmt.Errorf("%w: at byte %d stands a port of the number %d", errLog, l.offset-1, v)
		}
		if err == nil {
			err = l.array()
		}
		e.Data = l.data
	case k == KindFrame:
		err = l.arrayAfter(5) // which filter, flags
		e.Data = l.data
	case k == KindOutput:
		if _, err = l.number(4); err == nil { // what the write has returned
			v, err = l.number(4)
		}
		e.Bytes = int(v)
	case k == kindReadAll:
		err = l.array()
	case k == kindReadError, k == kindAudioOut:
		_, err = l.number(4)
	case k == KindRandom:
		err = l.arrayAfter(4)
		if e.Data = l.data; err == nil && len(e.Data) > l.random {
			err = fmt.Errorf("%w: at byte %d end %d random bytes", errLog, l.offset, len(e.Data))
		}
	default:
		err = fmt.Errorf("%w: at byte %d stands an event of the unknown kind %d", errLog, l.offset-1, b)
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return e, err
	}
	l.follows(e.Kind)
	e.Instructions, e.Time, e.end = l.instructions, l.now(), l.offset
	return e, nil
}

// realTime stands for the read of the clock with which QEMU looks for timers that are due. One
// behind it is that of the timer that wakes the machine, or is for how long the main loop is to
// wait. In the second case the machine goes on sleeping: when QEMU looks at that next
// (kindWarpStart, kindWarpAccount) it reads the clock.
const realTime Kind = 255

// clock takes a value of the clock: what it is of, the event before it says.
func (l *logReader) clock(v int64) {
	l.last = v
	switch {
	case l.woken < 0:
	case l.before == kindWarpStart || l.before == kindWarpAccount:
		l.slept -= l.woken - l.asleep
		l.woken = -1
	default:
		l.awake()
	}
	switch l.before {
	case kindWarpStart:
		if l.asleep < 0 || l.asleep > v {
			l.asleep = v
		}
	case kindWarpAccount:
		if l.asleep >= 0 {
			l.slept += v - l.asleep
		}
		l.asleep = -1
	case realTime:
		if l.asleep >= 0 {
			l.slept += v - l.asleep
			l.woken = v
		}
	}
}

// awake makes sure that what seemed to be so has woken the machine.
func (l *logReader) awake() {
	if l.woken >= 0 {
		l.asleep, l.woken = -1, -1
	}
}

// follows notes an event for the next.
func (l *logReader) follows(k Kind) {
	switch asked := l.before == kindWarpStart || l.before == kindWarpAccount; {
	case k == kindClock:
	case asked, k != kindWarpStart && k != kindWarpAccount && (k < kindBottomHalf || k > KindFrame):
		l.awake()
	}
	if l.before == kindWarpAccount && k != kindClock {
		l.asleep = -1 // or the clock would have been read: there was nothing to wait for
	}
	switch {
	case l.before == kindRealTimers && k == kindClock:
		l.before = realTime
	default:
		l.before = k
	}
}

// A Log is QEMU's log of a recording.
type Log struct {
	Known        bool   // its format is, or would be if it is cut; without it the following are 0
	Ended        bool   // QEMU has written its end
	Instructions uint64 // until QEMU was told to end, or as far as it goes
	Time         time.Duration
	Output       int64 // bytes of the serial port
	Late         int64 // those that came when QEMU had been told to end
	Inputs       int64 // bytes for it
	Frames       int   // of the network
	Rounds       int   // the most that QEMU's main loop has made without an instruction of the machine
	Err          error // why it is read no further

	Base Base // where it begins

	path  string
	whole int64  // length up to the last whole event
	size  int64  // of all
	tail  uint32 // the header's version, if there is one

	random bool // a device asks for random bytes
}

// Log looks at the recording's log.
func (r *Recording) Log() (*Log, error) {
	l := &Log{Base: r.Base, path: filepath.Join(r.dir, logName)}
	l.random = slices.ContainsFunc(r.Extra, func(a string) bool {
		return strings.HasPrefix(a,
			"virtio-rng")
	})
	file, err := os.Open(l.path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	fi, err := file.Stat()
	if err != nil {
		return nil, err
	}
	l.size = fi.Size()
	var tail [5]byte
	if l.size >= int64(len(tail)) {
		if _, err := file.ReadAt(tail[:], l.size-int64(len(tail))); err != nil {
			return nil, err
		}
	}
	if v := binary.BigEndian.Uint32(tail[1:]); r.End != nil && r.Broken == nil && r.End.Status >= 0 {
		l.tail = v // QEMU has ended by itself
	}
	if l.tail != 0 && l.tail != KnownVersion {
		l.whole, l.Ended = l.size-4, true
		return l, nil
	}
	l.Known = true
	err = l.count()
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		l.Err = err
	}
	return l, nil
}

// count looks at all events. QEMU that is told to end lets the machine run until its main loop
// comes to that: a replay is told at the same instruction, and may be there sooner.
func (l *Log) count() error {
	l.Instructions, l.Time = l.Base.At, l.Base.Time()
	rounds, over := 0, false
	return l.walk(func(e Event) bool {
		switch {
		case e.Instructions > l.Instructions:
			rounds = 0
		case e.Kind == kindWarpStart:
			rounds++
			l.Rounds = max(l.Rounds, rounds)
		}
		l.whole = e.end
		if !over {
			l.Instructions, l.Time = max(l.Base.At, e.Instructions), e.Time
		}
		switch {
		case e.Kind >= KindShutdown && e.Kind <= kindShutdownLast:
			over = true
		case e.Kind == KindOutput:
			l.Output += int64(e.Bytes)
			if over {
				l.Late += int64(e.Bytes)
			}
		case e.Kind == KindInput:
			l.Inputs += int64(len(e.Data))
		case e.Kind == KindFrame:
			l.Frames++
		case e.Kind == KindEnd:
			l.Ended = true
			l.whole = e.end - 1
		}
		return e.Kind != KindEnd
	})
}

// walk calls f with each event until it returns false, or there are no more: the error is io.EOF
// then.
func (l *Log) walk(f func(Event) bool) error {
	file, err := os.Open(l.path)
	if err != nil {
		return err
	}
	defer file.Close()
	r := newLogReader(file, &l.Base)
	if l.random {
		r.random = mostBlock
	}
	for {
		e, err := r.next()
		if err != nil {
			return err
		}
		if !f(e) {
			return nil
		}
	}
}

// Version returns the version of the log's format, 0 if the log does not say.
func (l *Log) Version() uint32 { return l.tail }

// ReadAs says that a log that does not say its version has this one.
func (l *Log) ReadAs(version uint32) {
	if version != KnownVersion {
		*l = Log{Base: l.Base, path: l.path, random: l.random, whole: l.size, size: l.size}
	}
}

// begin stands for the event before the first one.
func (l *Log) begin() Event {
	return Event{Instructions: l.Base.Instructions,
		Time: time.Duration(int64(l.Base.Instructions) + l.Base.Slept)}
}

// Sent returns when the machine has sent byte n of the recorded output, counted from 0. ok is false
// if that is not in the log.
func (l *Log) Sent(n int64) (e Event, ok bool) {
	var sent int64
	l.walk(func(x Event) bool {
		if x.Kind == KindOutput {
			if sent += int64(x.Bytes); sent > n {
				e, ok = x, true
			}
		}
		return !ok && x.Kind != KindEnd
	})
	return e, ok
}

// At returns how many instructions the machine had run at a time, at the recording's beginning for
// one before it. ok is false if that is behind the end.
func (l *Log) At(t time.Duration) (instructions uint64, ok bool) {
	last := l.begin()
	if t <= last.Time {
		return last.Instructions, true
	}
	l.walk(func(e Event) bool {
		switch {
		case e.Kind == KindEnd:
			return false
		case e.Time < t:
			last = e
			return true
		}
		ok = true
		// It ran up to the next event, or slept.
		instructions = last.Instructions + min(uint64(t-last.Time), e.Instructions-last.Instructions)
		return false
	})
	return instructions, ok
}

// TimeAt is the reverse of At: the machine's time after so many instructions, before it sleeps.
func (l *Log) TimeAt(instructions uint64) time.Duration {
	return l.Clock()(instructions)
}

// Clock returns a function that answers as TimeAt does, without reading the log each time.
func (l *Log) Clock() func(instructions uint64) time.Duration {
	type mark struct {
		instructions uint64
		time         time.Duration
	}
	first := mark{l.begin().Instructions, l.begin().Time}
	var marks []mark // the last event's of each number of instructions
	l.walk(func(e Event) bool {
		switch n := len(marks); {
		case e.Kind == KindEnd:
			return false
		case n > 0 && marks[n-1].instructions == e.Instructions:
			marks[n-1].time = e.Time
		default:
			marks = append(marks, mark{e.Instructions, e.Time})
		}
		return true
	})
	return func(instructions uint64) time.Duration {
		i, _ := slices.BinarySearchFunc(marks, instructions,
			func(m mark, n uint64) int { return cmp.Compare(m.instructions, n) })
		last := first
		if i > 0 {
			last = marks[i-1]
		}
		return last.time + time.Duration(instructions-last.instructions)
	}
}

// waits returns events that QEMU does not take before it runs the machine. Where a machine begins
// asleep and the next event is that QEMU looks for timers, it would come to that while the machine
// does not run yet, and then the timer that wakes it has no effect. That QEMU looks how long the
// machine sleeps has none either, and it does not do it before.
func (l *Log) waits(log io.ReaderAt) []byte {
	var first [1]byte
	if l.Base.Log == logHeader || !l.Known {
		return nil
	}
	if _, err := log.ReadAt(first[:], 0); err != nil || Kind(first[0]) != kindRealTimers {
		return nil
	}
	return binary.BigEndian.AppendUint64([]byte{byte(kindWarpStart), byte(kindClock)},
		uint64(l.Base.Clock))
}

// Write writes the log as QEMU replays it: with the header before it, and an end. The version is
// that of QEMU's format.
func (l *Log) Write(path string, version uint32) error {
	in, err := os.Open(l.path)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	header := binary.BigEndian.AppendUint32(nil, version)
	header = append(header, make([]byte, logHeader-len(header))...)
	end := []byte{byte(KindEnd)}
	if !l.Known {
		end = nil // it is in it
	}
	if _, err = out.Write(header); err == nil {
		// The machine's state says where QEMU is to read on. What was before is not needed.
		_, err = out.Seek(l.Base.Log, io.SeekStart)
	}
	if err == nil {
		_, err = io.Copy(out, io.MultiReader(bytes.NewReader(l.waits(in)), io.LimitReader(in, l.whole),
			bytes.NewReader(end)))
	}
	return cmp.Or(err, out.Close())
}
