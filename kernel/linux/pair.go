package linux

import (
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/tty"
	"github.com/zeroframe/zeroframe/kernel/vfs"
)

// Pseudo-terminals: opening /dev/ptmx makes a new pair and returns its master, whose other end is
// /dev/pts/N. No pair is the terminal of the program's session, which already has one, so nobody
// gets signals from them.

// pair is the state of a pair besides its terminal, which is in tty.Pairs under the same number.
type pair struct {
	slave  vfs.ID // the node in /dev/pts, held; 0: the pair is not in use
	opens  int32  // open files of the slave
	master bool   // the master is open
	locked bool   // nobody can open the slave
	left   bool   // the slave was closed, and not opened again
}

var pairs [len(tty.Pairs)]pair // under the kernel lock

// pair returns the pair that an open file is an end of, or nil.
func (f *file) pair() *pair {
	percpu.AssertLocked()
	if f.kind == masterEnd || f.kind == slaveEnd {
		return &pairs[f.obj]
	}
	return nil
}

func (f *file) isMaster() bool { return f.kind == masterEnd }

// terminal returns the terminal of an open file, for a pair from either end, or nil.
func (f *file) terminal() *tty.Terminal {
	switch {
	case f.isTerminal():
		return &tty.Serial
	case f.pair() != nil:
		return &tty.Pairs[f.obj]
	}
	return nil
}

func pairName(i int32) []byte {
	percpu.AssertLocked()
	return procPath[:procName("/dev/pts/", uint64(i))]
}

// openSlave opens the other end of the pair f.obj.
func (f *file) openSlave() int64 {
	percpu.AssertLocked()
	i := f.obj
	if int(i) >= len(pairs) || !pairs[i].master || pairs[i].locked {
		return -eIO
	}
	pairs[i].opens++
	pairs[i].left = false
	return 0
}

// openMaster makes a pair.
func (f *file) openMaster() int64 {
	percpu.AssertLocked()
	for i := range pairs {
		p := &pairs[i]
		if p.slave != 0 {
			continue
		}
		if !tty.Pairs[i].Open() {
			return -eNOMEM
		}
		id, e := vfs.Mknod(vfs.Root, pairName(int32(i)), vfs.S_IFCHR|0o620, devPTS|uint64(i),
			clock.Wall())
		if e != 0 {
			tty.Pairs[i].Close()
			return -int64(e)
		}
		vfs.Retain(id)
		*p = pair{slave: id, master: true, locked: true}
		f.obj = int32(i)
		return 0
	}
	return -eNOSPC
}

// closePair runs when an end of a pair is closed for good.
func closePair(f *file) {
	p := f.pair()
	if f.isMaster() {
		p.master = false
		vfs.Unlink(vfs.Root, pairName(f.obj), clock.Wall())
		tty.Pairs[f.obj].Close()
	} else {
		p.opens--
		p.left = p.opens == 0
	}
	pairChanged(f.obj)
	if !p.master && p.opens == 0 {
		vfs.Release(p.slave)
		p.slave = 0
	}
}

// pairChanged tells all open files of pair obj that something has happened to it.
func pairChanged(obj int32) { changedAll(1<<masterEnd|1<<slaveEnd, obj) }

// pairState returns the events of an end of a pair.
func pairState(f *file) (events uint32) {
	p, t := f.pair(), f.terminal()
	in, out := t.EnoughForPoll(), t.OutRoom()
	switch {
	case f.isMaster():
		in, out = t.Shown() > 0, t.Room()
		if p.left {
			events = epollHup
		}
	case !p.master:
		return epollIn | epollOut | epollErr | epollHup
	}
	return events | when(in, epollIn) | when(out, epollOut)
}

func readPair(c *call, f *file, to, n uintptr) int64 {
	p, t := f.pair(), f.terminal()
	switch {
	case !f.isMaster() && p.master:
		return readTerminal(c, f, to, n)
	case !f.isMaster() && c.again: // it has hung up meanwhile
		return -eIO
	case !f.isMaster() || n == 0:
		return 0
	case t.Shown() > 0:
	case p.left:
		return -eIO
	case f.flags&oNonblock != 0:
		return -eAGAIN
	default:
		c.wait(f)
	}
	done := uintptr(0)
	for done < n {
		addr, have := t.NextShown(int(n - done))
		if have == 0 {
			break
		}
		if !copyOut(to+done, addr, uintptr(have)) {
			if done == 0 {
				return -eFAULT
			}
			break
		}
		t.TakeShown(have)
		done += uintptr(have)
	}
	pairChanged(f.obj)
	return int64(done)
}

func writePair(c *call, f *file, from, n uintptr) int64 {
	t, master := f.terminal(), f.isMaster()
	switch {
	case !f.pair().master:
		return -eIO
	case n == 0:
		return 0
	case pairState(f)&epollOut != 0:
	case f.flags&oNonblock != 0:
		return -eAGAIN
	default:
		c.wait(f)
	}
	done, failed := uintptr(0), int64(0)
	for pairState(f)&epollOut != 0 && done < n {
		part := min(n-done, uintptr(len(block)))
		if !copyIn(blockAddr(), from+done, part) {
			failed = -eFAULT
			break
		}
		for _, b := range block[:part] {
			switch {
			case master && t.Room():
				t.Typed(b)
			case !master && t.OutRoom():
				t.Out(b)
			default:
				part = 0 // no room
			}
			if part == 0 {
				break
			}
			done++
		}
	}
	pairChanged(f.obj)
	return c.wrote(f, n, done, failed)
}

// controlPair is ioctl for an end of a pair. It returns -ENOTTY for operations that all terminals
// share.
func (c *call) controlPair(f *file) int64 {
	const (
		setControlling = 0x540e
		peer           = 0x5441
		lock           = 0x40045431
		number         = 0x80045430
		isLocked       = 0x80045439
	)
	p, arg := f.pair(), c.pointer(2)
	switch op := c.op(1); {
	case !p.master:
		return -eIO
	case op == setControlling:
		return -ePERM // the session has a terminal
	case !f.isMaster():
	case op == number:
		return copied(out32(arg, uint32(f.obj)))
	case op == lock:
		v, ok := in32(arg)
		if ok {
			p.locked = v != 0
		}
		return copied(ok)
	case op == isLocked:
		v := uint32(0)
		if p.locked {
			v = 1
		}
		return copied(out32(arg, v))
	case op == peer:
		slave := file{kind: slaveEnd, node: p.slave, obj: f.obj, flags: arg & keptFlags}
		if e := slave.openSlave(); e != 0 {
			return e
		}
		vfs.Retain(slave.node)
		fd := open(slave, arg)
		if fd < 0 {
			slave.end()
		}
		return fd
	}
	return -eNOTTY
}
