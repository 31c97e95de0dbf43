package linuxabi

import "unsafe"

// Descriptors and credentials that local sockets send each other in control messages.
// Open files on their way are held by a parcel, which says at which byte of the
// receiver's stream they arrive.

const (
	maxParcels = 64
	maxRights  = 32 // descriptors in one message

	solSocket      = 1
	scmRights      = 1
	scmCredentials = 2
)

type parcel struct {
	to    int32  // the socket that is to have it; 0: free
	at    uint64 // bytes that the socket takes before
	n     int32
	files [maxRights]int16
}

var parcels [maxParcels]parcel

// sendRights reads the control messages of a transfer and puts the descriptors in them
// on their way to a socket, behind all that it has.
func (x *transfer) sendRights(to *socket) int64 {
	if x.control == 0 || !to.isLocal() {
		return 0
	}
	for off := uintptr(0); off+controlStart <= x.controlSize; {
		size, ok1 := in64(x.control + off)
		what, ok2 := in64(x.control + off + 8)
		if !ok1 || !ok2 {
			return -eFAULT
		}
		if size < controlStart || uintptr(size) > x.controlSize-off {
			return -eINVAL
		}
		at, n := x.control+off+controlStart, uintptr(size)-controlStart
		switch level, kind := uint32(what), uint32(what>>32); {
		case level != solSocket:
		case kind == scmRights:
			if errno := sendFiles(to, at, n/4); errno != 0 {
				return errno
			}
		case kind == scmCredentials:
			// There is one process, and it may be nobody else.
			who, ok1 := in32(at)
			if n != 12 || !ok1 {
				return -eINVAL
			}
			if who != pid {
				return -ePERM
			}
		default:
			return -eINVAL
		}
		off += (uintptr(size) + 7) &^ 7
	}
	return 0
}

func sendFiles(to *socket, at, n uintptr) int64 {
	if n > maxRights {
		return -eINVAL
	}
	for i := range parcels {
		p := &parcels[i]
		if p.to != 0 {
			continue
		}
		for j := uintptr(0); j < n; j++ {
			fd, ok := in32(at + j*4)
			if !ok {
				return -eFAULT
			}
			if get(uintptr(fd)) == nil {
				return -eBADF
			}
			p.files[j] = fds[fd] - 1
		}
		for _, f := range p.files[:n] {
			files[f].refs++
		}
		p.to, p.at, p.n = to.number, to.taken+uint64(to.in.n), int32(n)
		return 0
	}
	return -109 // ETOOMANYREFS
}

// takeBackRights undoes sendRights for a message that could not be sent.
func takeBackRights(to *socket) {
	for i := range parcels {
		if p := &parcels[i]; p.to == to.number && p.at == to.taken+uint64(to.in.n) {
			p.drop()
		}
	}
}

// dropRights drops what was on its way to a socket that is gone.
func dropRights(n int32) {
	for i := range parcels {
		if p := &parcels[i]; p.to == n {
			p.drop()
		}
	}
}

func (p *parcel) drop() {
	p.to = 0
	for _, f := range p.files[:p.n] {
		drop(int(f))
	}
}

// receiveRights writes the control messages that come with the next bytes that a socket
// takes, of which there are n. It returns how many of them to take at most: what comes
// later with descriptors of its own is another message.
func (x *transfer) receiveRights(s *socket, n uintptr) uintptr {
	if !s.isLocal() {
		return n
	}
	if s.options[optPassCred] != 0 {
		cred := [3]uint32{pid, 0, 0}
		x.outControl(scmCredentials, uintptr(unsafe.Pointer(&cred)), 12)
	}
	for i := range parcels {
		p := &parcels[i]
		switch {
		case p.to != s.number:
		case p.at > s.taken:
			n = min(n, uintptr(p.at-s.taken))
		default:
			x.receiveFiles(p)
		}
	}
	return n
}

// receiveFiles makes descriptors for a parcel's files, as many as there is room to tell.
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
	if n > 0 {
		x.outControl(scmRights, uintptr(unsafe.Pointer(&made)), n*4)
	}
	p.drop()
}

// outControl writes a control message, cut to the room there is.
func (x *transfer) outControl(kind uint32, from, n uintptr) {
	left := x.controlSize - x.controlDone
	if x.control == 0 || left < controlStart {
		x.outFlags |= msgCtrunc
		return
	}
	if n > left-controlStart {
		n = left - controlStart
		x.outFlags |= msgCtrunc
	}
	at := x.control + x.controlDone
	if !out64(at, uint64(controlStart+n)) || !out64(at+8, solSocket|uint64(kind)<<32) || !copyOut(at+controlStart, from, n) {
		return
	}
	x.controlDone = min(x.controlSize, x.controlDone+(controlStart+n+7)&^7)
}
