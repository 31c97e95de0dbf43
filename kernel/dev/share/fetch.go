package share

import (
	"github.com/zeroframe/zeroframe/kernel/ascii"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/vfs"
)

// Fetching what a node lacks, message by message: walking to it, its attributes, and if wanted, its
// bytes, its entries or its target.

// step is the message that was sent last.
type step uint8

const (
	idle step = iota
	version
	attach
	walk
	getattr
	readlink
	lopen
	read
	readdir
	clunk

	// For changes (change.go).
	closing
	openForWrite
	create
	mkdir
	symlink
	link
	unlink
	rename
	setattr
	write
	fsync
)

// Errors of 9P are Linux's.
const (
	eIO    = 5
	eNOMEM = 12
	ePROTO = 71
)

// job is what is being fetched, or changed.
type job struct {
	step   step
	node   vfs.ID // held meanwhile
	what   uint8
	off    uint64
	errno  int64
	target vfs.ID // the node to walk to
	fid    uint32 // its future fid
	walked int    // bytes of the path
	fids   uint8  // those that the host must forget at the end, as bits

	change vfs.Change // NoChange: something is fetched
	owner  int32
	stage  stage
	done   bool // the host has made the change
}

// begin starts a fetch.
func (s *share) begin(id vfs.ID, what uint8, now uint64) {
	vfs.Retain(id)
	s.job = job{node: id, what: what}
	s.since = now
	if !s.attached {
		s.send(version)
		return
	}
	s.find(id, workFID)
}

// find walks to a node, which will have that fid.
func (s *share) find(id vfs.ID, fid uint32) {
	s.target, s.fid, s.walked = id, fid, 0
	s.send(walk)
}

// send writes the message of a step and hands it over. If it cannot be written the job ends.
func (s *share) send(next step) {
	s.step = next
	w := writer{addr: s.question}
	switch next {
	case version:
		w.begin(askVersion, answerBytes)
		w.str(dialect[:])
	case attach:
		w.begin(askAttach, rootFID)
		w.u32(noFID)
		w.str(dialect[:0]) // nobody's name
		w.str(dialect[:0]) // what the device shares
		w.u32(0)
	case walk:
		s.writeWalk(&w)
	case getattr:
		fid := uint32(workFID)
		if writes(s.change.Kind) {
			fid = writeFID
		}
		w.begin(askGetattr, fid)
		w.u64(getattrBasic)
	case readlink:
		w.begin(askReadlink, workFID)
	case lopen:
		w.begin(askLopen, workFID)
		flags := uint32(openNoFollow)
		if vfs.Mode(s.node)&vfs.S_IFMT == vfs.S_IFDIR {
			flags |= openDirectory
		}
		w.u32(flags)
	case read, readdir:
		kind := byte(askRead)
		if next == readdir {
			kind = askReaddir
		}
		w.begin(kind, workFID)
		w.u64(s.off)
		w.u32(answerBytes - 64)
	case clunk:
		w.begin(askClunk, s.fid)
	default:
		s.writeChange(&w, next)
	}
	if n, ok := w.end(); ok {
		s.ask(n, w.more)
		return
	}
	s.errno = ePROTO // its path is too long, or it no longer has one
	s.end()
}

// dialect is the name of the protocol. Never written.
var dialect = [...]byte{'9', 'P', '2', '0', '0', '0', '.', 'L'}

// writeWalk continues the walk to the node, 16 names a message.
func (s *share) writeWalk(w *writer) {
	percpu.AssertLocked()
	path, e := vfs.SharePath(s.target, pathRoom[:])
	if e != 0 || s.walked > len(path) {
		w.bad = true
		return
	}
	from := uint32(rootFID)
	if s.walked > 0 {
		from = s.fid
	}
	w.begin(askWalk, from)
	w.u32(s.fid)
	at := w.n
	w.u16(0)
	names, i := 0, s.walked
	for i < len(path) && names < maxWalkNames {
		j := i
		for j < len(path) && path[j] != '/' {
			j++
		}
		w.str(path[i:j])
		names++
		i = min(j+1, len(path))
	}
	n := w.n
	w.n = at
	w.u16(names)
	w.n = n
	s.names, s.walked, s.last = names, i, i == len(path)
}

// pathRoom is for the path of the node that is fetched. Under the kernel lock.
var pathRoom [vfs.PathMax]byte

// next handles the device's answer.
func (s *share) next(length int) {
	r := reader{addr: s.answer, n: length}
	size, kind := r.u32(), r.u8()
	r.u16() // the tag: there is one request at a time
	if r.bad || size < headBytes || int(size) > length {
		s.fail(ePROTO)
		return
	}
	r.n = int(size) - headBytes
	if kind == replyError {
		errno := int64(r.u32())
		if r.bad || errno <= 0 || errno > 4095 {
			errno = eIO
		}
		if s.step == read || s.step == readdir {
			errno = eIO
		}
		switch {
		case s.step == closing: // it is closed all the same
			s.nextChange(&r)
		case s.step == write && s.change.N > 1:
			// The host returns an error even if it has written part of the bytes: the part must be
			// found.
			s.change.N /= 2
			s.send(write)
		default:
			s.fail(errno)
		}
		return
	}
	if kind != questions[s.step]+1 {
		s.fail(ePROTO)
		return
	}
	s.gotAnswer(&r)
}

// gotAnswer goes on after an answer that is no error.
func (s *share) gotAnswer(r *reader) {
	switch s.step {
	case version:
		if msize, v := r.u32(), r.str(); r.bad || msize < answerBytes || !ascii.Equal(v, dialect[:]) {
			s.fail(ePROTO)
			return
		}
		s.send(attach)
	case attach:
		s.attached = true
		if s.change.Kind != vfs.NoChange {
			s.advance()
			return
		}
		s.find(s.node, workFID)
	case walk:
		if r.u16() != s.names {
			s.fail(2) // ENOENT: the walk ends earlier
			return
		}
		s.fids |= 1 << s.fid
		switch {
		case !s.last:
			s.send(walk)
		case s.change.Kind != vfs.NoChange:
			s.advance()
		default:
			s.send(getattr)
		}
	case getattr:
		s.gotInfo(r)
	case readlink:
		if t := r.str(); r.bad || vfs.SetTarget(s.node, t) != 0 {
			s.fail(eIO)
			return
		}
		s.finish()
	case lopen:
		s.off = 0
		if vfs.Mode(s.node)&vfs.S_IFMT == vfs.S_IFDIR {
			s.send(readdir)
		} else {
			s.send(read)
		}
	case read:
		s.gotBytes(r)
	case readdir:
		s.gotEntries(r)
	case clunk:
		s.fids &^= 1 << s.fid
		s.finish()
	default:
		s.nextChange(r)
	}
}

// questions are the kinds of messages by their steps. Never written.
var questions = [...]byte{
	version: askVersion, attach: askAttach, walk: askWalk, getattr: askGetattr, readlink: askReadlink,
	lopen: askLopen, read: askRead, readdir: askReaddir, clunk: askClunk,
	closing: askClunk, openForWrite: askLopen, create: askLcreate, mkdir: askMkdir,
	symlink: askSymlink, link: askLink,
	unlink: askUnlinkat, rename: askRenameat, setattr: askSetattr, write: askWrite, fsync: askFsync,
}

// gotInfo takes the attributes of the node from the host.
func (s *share) gotInfo(r *reader) {
	if r.n < getattrBytes {
		s.fail(ePROTO)
		return
	}
	r.u64() // what is valid
	r.bytes(qidBytes)
	mode := r.u32()
	r.bytes(4 + 4 + 8 + 8)
	size := int64(r.u64())
	r.bytes(8 + 8)
	asec, ansec := int64(r.u64()), int64(r.u64())
	sec, nsec := int64(r.u64()), int64(r.u64())
	node := s.node
	if s.change.Kind != vfs.NoChange {
		node = s.looksAt()
	}
	was := vfs.Mode(node) & vfs.S_IFMT
	if mode&vfs.S_IFMT != was {
		s.fail(eIO) // it has become something else since the directory was read
		return
	}
	vfs.SetShared(node, mode, size, asec*1e9+ansec, sec*1e9+nsec)
	switch {
	case s.change.Kind != vfs.NoChange:
		s.advance()
	case was == vfs.S_IFLNK:
		s.send(readlink)
	case s.what&vfs.LacksData != 0:
		s.send(lopen)
	default:
		s.finish()
	}
}

// gotBytes takes a part of a file.
func (s *share) gotBytes(r *reader) {
	left := int(r.u32())
	if r.bad || left > r.n {
		s.fail(ePROTO)
		return
	}
	if left == 0 {
		vfs.Filled(s.node, int64(s.off))
		s.finish()
		return
	}
	for left > 0 {
		n, e := vfs.FillShared(s.node, int64(s.off), r.addr, left)
		if e == vfs.ENOSPC && vfs.Reclaim() > 0 {
			continue
		}
		if e == vfs.EINVAL {
			s.finish() // somebody has cut the file meanwhile
			return
		}
		if e != 0 {
			vfs.Unfill(s.node)
			s.fail(eNOMEM)
			return
		}
		s.off += uint64(n)
		r.bytes(n)
		left -= n
	}
	s.send(read)
}

// gotEntries takes a part of a directory.
func (s *share) gotEntries(r *reader) {
	const directory, link, regular = 4, 10, 8 // DT_DIR, DT_LNK, DT_REG
	e := reader{n: int(r.u32())}
	if e.addr = r.addr; e.n > r.n || r.bad {
		s.fail(ePROTO)
		return
	}
	if e.n == 0 {
		vfs.Filled(s.node, 0)
		s.finish()
		return
	}
	for e.n > 0 {
		e.bytes(qidBytes)
		off, kind, name := e.u64(), e.u8(), e.str()
		if e.bad {
			s.fail(ePROTO)
			return
		}
		s.off = off
		mode := uint32(0)
		switch kind {
		case directory:
			mode = vfs.S_IFDIR
		case link:
			mode = vfs.S_IFLNK
		case regular:
			mode = vfs.S_IFREG
		}
		if vfs.AddShared(s.node, name, mode) != 0 {
			s.fail(eNOMEM)
			return
		}
	}
	s.send(readdir)
}

// fail ends the job with an error, unless it already has one.
func (s *share) fail(errno int64) {
	if s.errno == 0 && !s.done {
		s.errno = errno
	}
	switch {
	case s.step == closing:
		s.closed()
		s.end()
	case s.step == clunk:
		s.fids &^= 1 << s.fid
		s.finish()
	case errno == ePROTO:
		s.end()
	default:
		s.finish()
	}
}

// finish makes the host forget the walked nodes, and ends the job.
func (s *share) finish() {
	for fid := uint32(workFID); fid <= writeFID; fid++ {
		if s.fids&(1<<fid) != 0 {
			s.fid = fid
			s.send(clunk)
			return
		}
	}
	s.end()
}

// end runs after the last message.
func (s *share) end() {
	percpu.AssertLocked()
	s.step, s.fids, ended = idle, 0, true
	s.failed, s.failure = s.node, s.errno
	s.queue.Silence(true)
	if s.node != 0 {
		vfs.Release(s.node)
	}
	if s.change.Kind != vfs.NoChange {
		if s.told = true; s.errno != 0 {
			vfs.Refused(&s.change)
		}
		s.change.Unhold()
	}
}
