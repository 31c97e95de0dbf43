package handle

import (
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/observe/eventstream"
	"github.com/zeroframe/zeroframe/kernel/observe/stackid"
	"github.com/zeroframe/zeroframe/kernel/parts"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/tracer/stream"
)

// SnapshotKind is the kind of a snapshot's record. Package tools/format/handle reads it; numbers
// have the form of [stream.Writer.Uvarint], strings that of its String:
//
//	"zfres1\n"
//	string    why it was sent: "exit", "death", "program", ...
//	string    the image's build ID, as bytes
//	numbers   time now in ns since boot; ns of the time of day at boot
//	numbers   events since boot, room in the ring; entries in the table, room in it;
//	          things that had no room in it, closed ones that gave up their place
//	number    of kinds, then for each:
//	          number, string: the kind and its name; numbers: opens, closes, doubles,
//	          strays, open, most open at a time, their bytes, most bytes
//	number    of what is open, then for each:
//	          numbers: kind, key, size, owner, time, stack, thread
//	number    of doubles that are told, then for each:
//	          numbers: kind, key, size; time, stack, thread of the open, of the first
//	          close and of the second
//	number    of events, the oldest first, then for each:
//	          numbers: event, kind, key, size, time, stack, thread
//	number    of bytes, then the stack depot's image (tracer/depot.Read)
//
// A time is written as the distance from the previous one in the same list, in the form of Varint;
// the first as the distance from 0.
const SnapshotKind = "resource"

const magic = "zfres1\n"

// sending is set while a snapshot is sent: if that faults, the crash that follows sends none. Under
// the kernel lock; the panic path takes none.
var sending bool

// buildID is the image's. Set once at boot.
var (
	buildID    [64]byte
	buildIDLen int
)

// SetBuildID sets the image's build ID, of which 64 bytes are kept. Early context.
func SetBuildID(id []byte) {
	buildIDLen = min(len(id), len(buildID))
	for i := range buildIDLen {
		buildID[i] = id[i]
	}
}

// Send sends a snapshot, if anything is logged, and the heap profile, if it is wanted. It does
// nothing if an NMI has interrupted the log, or the sending of another snapshot. Early and kernel
// context.
func Send(reason string) {
	if !parts.Observe || !On() && !heapWanted || sending || noting {
		return
	}
	sending = true
	if On() {
		w := eventstream.Begin(SnapshotKind)
		write(w, reason)
		w.End()
	}
	sendHeap()
	eventstream.Flush()
	sending = false
}

// writeOrigin writes of what build it is, the time since the boot, and when that was.
func writeOrigin(w *stream.Writer) {
	w.Uvarint(uint64(buildIDLen))
	w.Bytes(buildID[:buildIDLen])
	now := clock.Now()
	w.Uvarints(now, uint64(clock.Wall())-now)
}

func write(w *stream.Writer, reason string) {
	for i := range len(magic) {
		w.Byte(magic[i])
	}
	w.String(reason)
	writeOrigin(w)
	w.Uvarints(events, ringSize, uint64(fresh), uint64(room), overflow, forgot)
	writeKinds(w)
	writeOpen(w)
	writeDoubles(w)
	writeEvents(w)
	size := stackid.Depot().ImageSize()
	w.Uvarint(uint64(size))
	for i := range size {
		w.Byte(stackid.Depot().ImageByte(size, i))
	}
}

func writeKinds(w *stream.Writer) {
	percpu.AssertLocked()
	w.Uvarint(uint64(numKinds - 1))
	for k := Pages; k < numKinds; k++ {
		w.Uvarints(uint64(k), uint64(len(Name(k))))
		w.Bytes(Name(k))
		s := &kinds[k]
		w.Uvarints(s.opens, s.closes, s.doubles, s.strays, s.open, s.most, s.bytes, s.mostBytes)
	}
}

func writeOpen(w *stream.Writer) {
	n := uint64(0)
	for k := range heads {
		for i := heads[k]; i != 0; i = entryAt(i).next {
			n++
		}
	}
	w.Uvarint(n)
	last := uint64(0)
	for k := range heads {
		for i := heads[k]; i != 0; {
			e := entryAt(i)
			w.Uvarints(uint64(e.kind), e.key, e.size, uint64(e.owner))
			last = at(w, e.opened, e.openStack, e.openBy, last)
			i = e.next
		}
	}
}

func writeDoubles(w *stream.Writer) {
	percpu.AssertLocked()
	w.Uvarint(uint64(numDoubles))
	last := uint64(0)
	for i := range numDoubles {
		d := &doubles[i]
		e, s := &d.entry, &d.second
		w.Uvarints(uint64(e.kind), s.key, e.size)
		last = at(w, e.opened, e.openStack, e.openBy, last)
		last = at(w, e.closed, e.closeStack, e.closeBy, last)
		last = at(w, s.time, s.stack, s.thread, last)
	}
}

func writeEvents(w *stream.Writer) {
	n := min(events, ringSize)
	w.Uvarint(n)
	last := uint64(0)
	for i := events - n; i < events; i++ {
		ev := eventAt(i % ringSize)
		w.Uvarints(uint64(ev.event), uint64(ev.kind), ev.key, ev.size)
		last = at(w, ev.time, ev.stack, ev.thread, last)
	}
}

// at writes when, from where and by which thread something happened; last is the previous time, and
// it returns the new one.
func at(w *stream.Writer, time uint64, stack uint32, thread uint16, last uint64) uint64 {
	w.Varint(int64(time - last))
	w.Uvarints(uint64(stack), uint64(thread))
	return time
}
