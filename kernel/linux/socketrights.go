package linux

// Descriptors and credentials that local sockets send each other in control messages. A parcel
// holds open files that are on their way, and says at which byte of the receiver's stream they
// arrive.

const (
	maxParcels = 64
	maxRights  = 253     // descriptors in one message, as on Linux
	maxControl = 1 << 17 // bytes of control messages

	solSocket      = 1
	scmRights      = 1
	scmCredentials = 2
)

// parcel holds the open files that go with one message.
type parcel struct {
	to      int32  // the receiving socket; 0: free
	at, end uint64 // the message's place among all bytes that the socket ever receives
	n       int32
	files   [maxRights]int16
}

// abandoned is the destination of a parcel that nobody can receive any more.
const abandoned = -1

var parcels [maxParcels]parcel // under the kernel lock

// sendRights reads the control messages of a transfer, and sends their descriptors to a socket,
// after everything that it already has. A call of seal must follow.
func (x *transfer) sendRights(to *socket) int64 {
	if x.control == 0 || !to.isLocal() {
		return 0
	}
	if x.controlSize > maxControl {
		return -eNOBUFS
	}
	parcel, n := -1, uintptr(0)
	var m control
	for off := uintptr(0); ; {
		ok, errno := x.nextControl(&off, &m)
		if errno != 0 {
			return errno
		}
		if !ok {
			break
		}
		switch {
		case m.level != levelSocket:
		case m.kind == scmRights:
			if parcel < 0 {
				if parcel = freeParcel(); parcel < 0 {
					return -eTOOMANYREFS
				}
			}
			if n+m.n/4 > maxRights {
				return -eINVAL
			}
			for ; m.n >= 4; m.n -= 4 {
				fd, ok := in32(m.at)
				if !ok {
					return -eFAULT
				}
				if get(uintptr(fd)) == nil {
					return -eBADF
				}
				parcels[parcel].files[n] = fds[fd] - 1
				m.at += 4
				n++
			}
		case m.kind == scmCredentials:
			if errno := m.credentials(); errno != 0 {
				return errno
			}
		default:
			return -eINVAL
		}
	}
	if n == 0 {
		return 0
	}
	p := &parcels[parcel]
	for _, f := range p.files[:n] {
		fileAt(int(f)).refs++
	}
	p.to, p.at, p.n = to.number, to.taken+uint64(to.in.n), int32(n)
	x.parcel = parcel + 1
	return 0
}

// credentials refuses another sender's: there is one process, and it cannot pretend to be another.
func (m *control) credentials() int64 {
	who, ok := in32(m.at)
	switch {
	case m.n != 12 || !ok:
		return -eINVAL
	case who != pid:
		return -eSRCH
	}
	return 0
}

func freeParcel() int {
	for i := range parcels {
		if parcels[i].to == 0 {
			return i
		}
	}
	return -1
}

// seal says that size bytes of the message were sent, with its descriptors; if none were sent, the
// descriptors stay.
func (x *transfer) seal(size uintptr) {
	if x.parcel == 0 {
		return
	}
	p := &parcels[x.parcel-1]
	p.end = p.at + uint64(size)
	if size == 0 {
		p.to = abandoned
		dropAbandoned()
	}
}

// dropRights drops the descriptors that were on their way to a socket that is gone.
func dropRights(n int32) {
	for i := range parcels {
		if p := &parcels[i]; p.to == n {
			p.to = abandoned
		}
	}
	dropAbandoned()
}

// dropping is set while dropAbandoned runs: what it closes may abandon more, which it finds itself.
// Under the kernel lock.
var dropping bool

func dropAbandoned() {
	if dropping {
		return
	}
	dropping = true
	for found := true; found; {
		found = false
		for i := range parcels {
			p := &parcels[i]
			if p.to != abandoned {
				continue
			}
			found = true
			p.to = 0
			for _, f := range p.files[:p.n] {
				drop(int(f))
			}
		}
	}
	dropping = false
}

// collectRights drops the descriptors that nobody can ever receive, because their receiving sockets
// are themselves only on their way to each other. It is called when a socket that still has
// descriptors has lost one.
func collectRights() {
	var alive [maxParcels]bool
	for more := true; more; {
		more = false
		for i := range parcels {
			if p := &parcels[i]; p.to > 0 && !alive[i] && held(p.to, &alive) {
				alive[i], more = true, true
			}
		}
	}
	for i := range parcels {
		if p := &parcels[i]; p.to > 0 && !alive[i] {
			p.to = abandoned
		}
	}
	dropAbandoned()
}

// held reports whether a program can still reach socket n: by a descriptor, or by one in a parcel
// that is alive. A socket that waits in a backlog counts as reachable.
func held(n int32, alive *[maxParcels]bool) bool {
	s := socketOf(n)
	if s.file == 0 {
		return true
	}
	refs := fileAt(int(s.file - 1)).refs
	for i := range parcels {
		p := &parcels[i]
		if p.to <= 0 || alive[i] {
			continue
		}
		for _, f := range p.files[:p.n] {
			if f == int16(s.file-1) {
				refs--
			}
		}
	}
	return refs > 0
}

// receiveRights writes the control messages that belong to the next n bytes that a socket receives.
// It returns how many of the bytes to take at most: the bytes with descriptors are a message of
// their own.
func (x *transfer) receiveRights(s *socket, n uintptr) uintptr {
	if !s.isLocal() {
		return n
	}
	if s.options[optPassCred] != 0 {
		cred := [3]uint32{pid, 0, 0}
		x.outControl(levelSocket, scmCredentials, addressOf(&cred), 12)
	}
	for i := range parcels {
		p := &parcels[i]
		switch {
		case p.to != s.number:
		case p.at > s.taken:
			n = min(n, uintptr(p.at-s.taken))
		default:
			n = min(n, uintptr(p.end-s.taken))
			x.receiveFiles(p)
			x.parcel = i + 1
			if x.flags&msgPeek == 0 {
				p.to = abandoned
				dropAbandoned()
			}
		}
	}
	return n
}

// receiveFiles makes descriptors for a parcel's files, as many as the program has room for.
func (x *transfer) receiveFiles(p *parcel) {
	room := uintptr(0)
	if left := x.controlSize - x.controlDone; x.control != 0 && left >= controlStart {
		room = (left - controlStart) / 4
	}
	flags := uintptr(0)
	if x.flags&msgCloexec != 0 {
		flags = oCloexec
	}
	var made [maxRights]uint32
	n := uintptr(0)
	for n < min(uintptr(p.n), room) {
		fd := newFD(int(p.files[n]), 0, flags)
		if fd < 0 {
			break
		}
		made[n] = uint32(fd)
		n++
	}
	if n < uintptr(p.n) {
		x.outFlags |= msgCtrunc
	}
	if n > 0 && !x.outControl(levelSocket, scmRights, addressOf(&made), n*4) {
		for _, fd := range made[:n] {
			closeFD(uintptr(fd))
		}
	}
}

// outControl writes a control message, cut to the room that is left, and reports whether it could.
func (x *transfer) outControl(level, kind uint32, from, n uintptr) bool {
	left := x.controlSize - x.controlDone
	if x.control == 0 || left < controlStart {
		x.outFlags |= msgCtrunc
		return false
	}
	if n > left-controlStart {
		n = left - controlStart
		x.outFlags |= msgCtrunc
	}
	at := x.control + x.controlDone
	if !out64(at, uint64(controlStart+n)) || !out64(at+8, uint64(level)|uint64(kind)<<32) ||
		!copyOut(at+controlStart, from, n) {
		return false
	}
	x.controlDone = min(x.controlSize, x.controlDone+(controlStart+n+7)&^7)
	return true
}
