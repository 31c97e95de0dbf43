package linux

import (
	"github.com/zeroframe/zeroframe/kernel/ascii"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/vfs"
)

// Names of local sockets (AF_UNIX): a node in the file tree, or an abstract name, which is only a
// name.

// lastName is the last name that was made up. Under the kernel lock.
var lastName uint32

// bindName gives a local socket its name.
func (s *socket) bindName(a *address) int64 {
	if s.bound || s.stage == connected && s.connects() && s.local.n != 0 {
		return -eINVAL
	}
	switch {
	case a.n == 0:
		for used := true; used; used = findAbstract(a, s.kind) != nil {
			lastName++
			a.name[0], a.n = 0, 6
			for i, v := 5, lastName; i > 0; i-- {
				a.name[i] = "0123456789abcdef"[v&0xf]
				v >>= 4
			}
		}
	case a.name[0] == 0:
		if findAbstract(a, s.kind) != nil {
			return -eADDRINUSE
		}
	default:
		dir, errno := base(here, a.name[:a.n])
		if errno != 0 {
			return errno
		}
		id, e := vfs.Mknod(dir, a.name[:a.n], vfs.S_IFSOCK|0o777&^umask, 0, clock.Wall())
		if e == vfs.EEXIST {
			return -eADDRINUSE
		}
		if e != 0 {
			return -int64(e)
		}
		vfs.Retain(id)
		s.node = id
	}
	s.local.n = a.n
	for i := range a.name[:a.n] {
		s.local.name[i] = a.name[i]
	}
	s.bound = true
	return 0
}

// findAbstract returns the socket of a kind with an abstract name, or nil. Each kind has names of
// its own.
func findAbstract(a *address, kind uint8) *socket {
	for t := nextSocket(0); t != nil; t = nextSocket(t.number) {
		if t.isLocal() && t.kind == kind && t.bound &&
			ascii.Equal(t.local.name[:t.local.n], a.name[:a.n]) {
			return t
		}
	}
	return nil
}

// findName returns the socket with a name, for s to talk to.
func (s *socket) findName(a *address) (t *socket, errno int64) {
	switch {
	case a.n == 0:
		return nil, -eINVAL
	case a.name[0] == 0:
		t = findAbstract(a, s.kind)
	default:
		dir, errno := base(here, a.name[:a.n])
		if errno != 0 {
			return nil, errno
		}
		id, e := vfs.Walk(dir, a.name[:a.n], true)
		if e != 0 {
			return nil, -int64(e)
		}
		for t = nextSocket(0); t != nil && (t.node != id || t.file == 0); t = nextSocket(t.number) {
		}
	}
	switch {
	case t == nil:
		return nil, -eCONNREFUSED
	case t.kind != s.kind:
		return nil, -ePROTOTYPE
	}
	return t, 0
}
