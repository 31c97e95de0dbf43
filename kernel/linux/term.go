package linux

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/thread"
	"github.com/zeroframe/zeroframe/kernel/tty"
	"github.com/zeroframe/zeroframe/kernel/vfs"
)

// The terminal: the serial port behind its line discipline.

func (c *call) readTerminal(f *file, to, n uintptr) int64 {
	if n == 0 {
		return 0
	}
	if !tty.Readable() {
		if f.flags&oNonblock != 0 {
			return -eAGAIN
		}
		c.wait(f)
	}
	done := uintptr(0)
	for more := true; more && done < n; {
		addr, have, eof := tty.Next(int(n - done))
		if eof {
			tty.TakeEOF()
			break
		}
		if have == 0 {
			break
		}
		if !copyOut(to+done, addr, uintptr(have)) {
			if done == 0 {
				return -eFAULT
			}
			break
		}
		more = tty.Take(have)
		done += uintptr(have)
	}
	Pump()
	return int64(done)
}

// isTerminal reports whether an open file is the terminal.
func (f *file) isTerminal() bool {
	return f.kind == terminal || f.kind == device && (f.rdev == devTTY || f.rdev == devConsole)
}

// Pump moves what has come in at the serial port to the line discipline, as long as
// there is room for it; the rest waits in the port. Kernel context.
func Pump() {
	got := false
	var last uint64 // when bytes flowed
	for tty.Room() && !attention {
		b, ok := console.Receive()
		if console.Flowing() {
			last = clock.Now()
		}
		if !ok {
			now := clock.Now()
			if last == 0 || now-last > flowGap {
				break
			}
			for clock.Now()-now < flowLook {
			}
			continue
		}
		switch sig := tty.Input(b); {
		case sig == tty.ForMonitor:
			attention = true
			thread.Nudge() // the monitor wants an interrupt, to show what that has interrupted
			continue
		case sig != 0:
			Send(sig)
		}
		got = true
	}
	if got {
		tellReaders()
	}
}

// Where input flows in, Pump waits for more of it: an interrupt for each FIFO's worth would cost
// more. In nanoseconds.
const (
	flowGap  = 20_000 // how long it waits
	flowLook = 5_000  // how long it leaves the port alone, for that to be filled
)

// attention is set from when the monitor's key has come until the monitor opens: what is
// typed behind it is for that. Under the kernel lock.
var attention bool

// TakeAttention reports whether the monitor's key has come, and forgets it. Kernel
// context.
func TakeAttention() bool {
	was := attention
	attention = false
	return was
}

// Typed gives the program a byte as if it had been typed. Kernel context, while the
// program runs.
func Typed(b byte) {
	if sig := tty.Typed(b); sig != 0 {
		Send(sig)
	}
	tellReaders()
}

// tellReaders wakes who waits for input, if there is some.
func tellReaders() {
	if tty.Readable() {
		// Descriptor 0, and whoever has opened /dev/tty.
		for i := range files {
			if f := &files[i]; f.isTerminal() {
				changed(i)
			}
		}
	}
}

func (c *call) ioctl(f *file) int64 {
	const (
		tcGets      = 0x5401
		tcSets      = 0x5402
		tcSetsWait  = 0x5403
		tcSetsFlush = 0x5404
		getPgrp     = 0x540f
		setPgrp     = 0x5410
		getWinsize  = 0x5413
		setWinsize  = 0x5414
		inputBytes  = 0x541b
		nonblock    = 0x5421
		keepOnExec  = 0x5450
		closeOnExec = 0x5451
	)
	switch c.args[1].Op() {
	case closeOnExec, keepOnExec:
		cloexec[c.args[0].FD()] = c.args[1].Op() == closeOnExec
		return 0
	case nonblock:
		v, ok := in32(c.args[2].Pointer())
		if !ok {
			return -eFAULT
		}
		f.flags &^= oNonblock
		if v != 0 {
			f.flags |= oNonblock
		}
		return 0
	case inputBytes:
		if f.kind == node && vfs.Mode(f.node)&vfs.S_IFMT == vfs.S_IFREG {
			return copied(out32(c.args[2].Pointer(), uint32(vfs.Size(f.node)-f.off)))
		}
	}
	if f.kind == socketFile {
		return socketOf(f.obj).ioctl(c.args[1].Op(), c.args[2].Pointer())
	}
	if f.kind == watcher && c.args[1].Op() == inputBytes {
		return copied(out32(c.args[2].Pointer(), uint32(vfs.EventBytes(int(f.obj)))))
	}
	if (f.kind == pipeRead || f.kind == pipeWrite || f.kind == pipeFIFO) && c.args[1].Op() == inputBytes {
		return copied(out32(c.args[2].Pointer(), uint32(pipes[f.obj].n)))
	}
	if !f.isTerminal() || !tty.IsTerminal() {
		return -eNOTTY
	}
	switch c.args[1].Op() {
	case tcGets:
		var t tty.Termios
		tty.Get(&t)
		return copied(copyOut(c.args[2].Pointer(), uintptr(unsafe.Pointer(&t)), unsafe.Sizeof(t)))
	case tcSets, tcSetsWait, tcSetsFlush:
		var t tty.Termios
		if !copyIn(uintptr(unsafe.Pointer(&t)), c.args[2].Pointer(), unsafe.Sizeof(t)) {
			return -eFAULT
		}
		tty.Set(&t)
		if c.args[1].Op() == tcSetsFlush {
			tty.Flush()
		}
		return 0
	case getWinsize:
		rows, columns := tty.Winsize()
		return copied(outShort(c.args[2].Pointer(), rows) && outShort(c.args[2].Pointer()+2, columns) && out32(c.args[2].Pointer()+4, 0))
	case setWinsize:
		size, ok := in64(c.args[2].Pointer()) // rows, columns, and pixels, which nobody has
		if !ok {
			return -eFAULT
		}
		if tty.SetWinsize(uint16(size), uint16(size>>16)) {
			Send(sigWINCH)
		}
		return 0
	case inputBytes:
		return copied(out32(c.args[2].Pointer(), uint32(tty.Buffered())))
	case getPgrp:
		return copied(out32(c.args[2].Pointer(), pid))
	case setPgrp:
		return 0
	}
	return -eINVAL
}
