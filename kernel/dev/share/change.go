package share

import (
	"github.com/zeroframe/zeroframe/kernel/parts"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/vfs"
)

// Changes by the host (vfs.Change), message by message: walking to the nodes, the change, reading
// the file's new state.
//
// The file that was last opened for writing stays open on the host until another one is opened, or
// until the program has closed it: so the program can write a file that it has made without the
// right to write it.

// Flags of Tlopen and Tlcreate are Linux's.
const (
	openWrite     = 0o1
	openReadWrite = 0o2
	openCreate    = 0o100
	openExclusive = 0o200
	openTruncate  = 0o1000
	removeDir     = 0x200
)

// stageOffset is the offset, in the memory for answers, of the bytes of a request that writes:
// answers to such requests are short.
const stageOffset = 4096

// stages are the stages of a change, in order.
type stage uint8

const (
	toBegin  stage = iota
	toClose        // the file that is open for writing
	toFind         // the node that is changed
	toFindTo       // the second one
	toOpen         // for writing
	toChange       // here everything is done
	toLook         // at its new state
	toEnd
)

// Ready reports whether a share can begin a change, and dead that it never can again. Kernel
// context.
func Ready(n int) (ready, dead bool) {
	percpu.AssertLocked()
	if !parts.Shares || n < 1 || n > count || shares[n-1].dead {
		return false, true
	}
	s := &shares[n-1]
	return s.step == idle && !s.told, false
}

// Room returns the memory for the bytes that a change sends: a link's target, or the bytes to
// write. Kernel context.
func Room(n int) (addr uintptr, size int) {
	return shares[n-1].answer + stageOffset, answerBytes - stageOffset - 64
}

// Begin begins a change on a share that is ready. owner gets the result. Kernel context.
func Begin(c *vfs.Change, owner int32, now uint64) {
	percpu.AssertLocked()
	if !parts.Shares {
		return
	}
	s := &shares[c.Share-1]
	s.job = job{}
	s.change = *c
	s.owner, s.since = owner, now
	s.change.Hold()
	if !s.attached {
		s.send(version)
		return
	}
	s.advance()
}

// Go looks for answers to a change or another request, as long as they may come at once. Kernel
// context.
func Go(n int) {
	percpu.AssertLocked()
	if !parts.Shares {
		return
	}
	s := &shares[n-1]
	for i := 0; s.step != idle && i <= looks; i++ {
		switch {
		case s.answered():
			s.next(s.take())
			i = 0
		case s.broken():
			s.giveUp()
		case i == looks-1:
			s.queue.Silence(!s.interrupts)
		}
	}
}

// Told returns the result of a change, once: its owner, its kind, the error, and the node that is
// open or the number of bytes that were written. Kernel context.
func Told() (owner int32, c *vfs.Change, errno int64, value uintptr, ok bool) {
	percpu.AssertLocked()
	for i := range Count() {
		if s := &shares[i]; s.told {
			s.told = false
			ended = true // others may begin
			return s.owner, &s.change, s.failure, s.value, true
		}
	}
	return 0, nil, 0, 0, false
}

// writes reports whether a change is made through the file that is open for writing.
func writes(k vfs.ChangeKind) bool {
	return k == vfs.Create || k == vfs.OpenForWrite || k == vfs.WriteBytes || k == vfs.Sync
}

// advance continues a change.
func (s *share) advance() {
	c := &s.change
	for {
		s.stage++
		switch s.stage {
		case toClose:
			if c.Truncate && s.writing == c.Node && vfs.Size(c.Node) == 0 {
				c.Truncate = false // it is new, and perhaps could not be opened again
			}
			if s.writing != 0 && writes(c.Kind) && (s.writing != c.Node || c.Truncate) {
				s.send(closing)
				return
			}
		case toFind:
			fid := uint32(workFID)
			if writes(c.Kind) {
				if fid = writeFID; s.writing != 0 {
					continue // it is open
				}
			}
			s.find(c.First(), fid)
			return
		case toFindTo:
			if second := c.Second(); second != 0 {
				s.find(second, otherFID)
				return
			}
		case toOpen:
			if writes(c.Kind) && c.Kind != vfs.Create && s.writing == 0 {
				s.send(openForWrite)
				return
			}
		case toChange:
			if next := changes[c.Kind]; next != idle {
				s.send(next)
				return
			}
			s.changed(0)
		case toLook:
			if s.looksAt() != 0 {
				s.send(getattr)
				return
			}
		default:
			s.finish()
			return
		}
	}
}

// changes are the messages that make the changes. Never written.
var changes = [...]step{
	vfs.Create: create, vfs.MakeDir: mkdir, vfs.MakeLink: symlink, vfs.HardLink: link,
	vfs.Remove: unlink,
	vfs.Move:   rename, vfs.SetAttributes: setattr, vfs.WriteBytes: write, vfs.Sync: fsync,
}

// looksAt returns the node whose new state is read.
func (s *share) looksAt() vfs.ID {
	switch s.change.Kind {
	case vfs.Create, vfs.WriteBytes:
		return s.writing
	case vfs.OpenForWrite:
		if s.change.Truncate {
			return s.writing
		}
	case vfs.SetAttributes:
		return s.change.Node
	}
	return 0
}

// changed runs after the message that makes the change; n is Twrite's result.
func (s *share) changed(n int) {
	s.done = true
	s.value = uintptr(n)
	id := vfs.Changed(&s.change, s.answer+stageOffset, n)
	if s.change.Kind == vfs.Create {
		if id != 0 {
			s.keep(id)
		} else {
			s.fids |= 1 << writeFID
		}
	}
	if s.change.Opens {
		s.value = uintptr(id)
	}
}

// keep records that a file is open for writing.
func (s *share) keep(id vfs.ID) {
	vfs.Retain(id)
	s.writing = id
	s.fids &^= 1 << writeFID
}

// closed records that none is.
func (s *share) closed() {
	id := s.writing
	s.writing = 0
	if id != 0 {
		vfs.Release(id)
	}
}

// attributes writes those that a change sets.
func (w *writer) attributes(c *vfs.Change) {
	w.u32(c.Which)
	w.u32(c.Mode)
	w.u32(c.UID)
	w.u32(c.GID)
	w.u64(uint64(c.Size))
	w.time(c.Atime)
	w.time(c.Mtime)
}

// create writes the message that makes a file and opens it.
func (w *writer) create(c *vfs.Change) {
	w.begin(askLcreate, writeFID)
	w.str(c.Name())
	flags := uint32(openReadWrite | openCreate | openNoFollow)
	if c.Exclusive {
		flags |= openExclusive
	}
	w.u32(flags)
	w.u32(c.Mode)
	w.u32(0) // the group
}

// writeChange writes the message of a step that only changes have.
func (s *share) writeChange(w *writer, next step) {
	c := &s.change
	switch next {
	case closing:
		w.begin(askClunk, writeFID)
	case openForWrite:
		w.begin(askLopen, writeFID)
		flags := uint32(openWrite | openNoFollow)
		if c.Truncate {
			flags |= openTruncate
		}
		w.u32(flags)
	case create:
		w.create(c)
	case mkdir:
		w.begin(askMkdir, workFID)
		w.str(c.Name())
		w.u32(c.Mode)
		w.u32(0)
	case symlink:
		w.begin(askSymlink, workFID)
		w.str(c.Name())
		w.str(bytesAt(s.answer+stageOffset, c.N))
		w.u32(0)
	case link:
		w.begin(askLink, otherFID)
		w.u32(workFID)
		w.str(c.Name())
	case unlink:
		w.begin(askUnlinkat, workFID)
		w.str(c.Name())
		flags := uint32(0)
		if c.Directory {
			flags = removeDir
		}
		w.u32(flags)
	case rename:
		w.begin(askRenameat, workFID)
		w.str(c.Name())
		w.u32(otherFID)
		w.str(c.ToName())
	case setattr:
		w.begin(askSetattr, workFID)
		w.attributes(c)
	case write:
		w.begin(askWrite, writeFID)
		w.u64(uint64(c.Offset))
		w.u32(uint32(c.N))
		w.more = c.N
	case fsync:
		w.begin(askFsync, writeFID)
		w.u32(0) // times, too
	}
}

// nextChange handles the answer to a message that only changes have.
func (s *share) nextChange(r *reader) {
	n := 0
	switch s.step {
	case closing:
		s.closed()
		if s.change.Kind == vfs.NoChange {
			s.end()
			return
		}
		s.advance()
		return
	case openForWrite:
		s.keep(s.change.Node)
		s.advance()
		return
	case write:
		if n = int(r.u32()); r.bad || n == 0 || n > s.change.N {
			s.fail(ePROTO)
			return
		}
	}
	s.changed(n)
	s.advance()
}

// startClosing closes the file that is open for writing if the program has closed it.
func (s *share) startClosing(now uint64) {
	s.job = job{}
	s.since = now
	s.send(closing)
}

// idleOpen reports whether only the share itself holds the file that it writes open.
func (s *share) idleOpen() bool {
	return s.step == idle && !s.told && !s.dead && s.writing != 0 && vfs.Opens(s.writing) == 1
}

// time writes seconds and nanoseconds.
func (w *writer) time(ns int64) {
	sec := ns / 1e9
	if ns%1e9 < 0 {
		sec--
	}
	w.u64(uint64(sec))
	w.u64(uint64(ns - sec*1e9))
}
