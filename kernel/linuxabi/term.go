package linuxabi

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/sched"
	"github.com/zeroframe/zeroframe/kernel/tty"
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

// Pump moves what has come in at the serial port to the line discipline, as long as
// there is room for it; the rest waits in the port. Kernel context.
func Pump() {
	got := false
	for tty.Room() && !attention {
		b, ok := console.Receive()
		if !ok {
			break
		}
		switch sig := tty.Input(b); {
		case sig == tty.ForMonitor:
			attention = true
			sched.Nudge() // the monitor wants an interrupt, to show what that has interrupted
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

// attention is set from when the monitor's key has come until the monitor opens: what is
// typed behind it is for that.
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
			if f := &files[i]; f.kind == terminal || f.kind == device && f.rdev == devTTY {
				changed(i)
			}
		}
	}
}

func (c *call) ioctl() int64 {
	const (
		tcGets      = 0x5401
		tcSets      = 0x5402
		tcSetsWait  = 0x5403
		tcSetsFlush = 0x5404
		getPgrp     = 0x540f
		setPgrp     = 0x5410
		getWinsize  = 0x5413
		inputBytes  = 0x541b
		nonblock    = 0x5421
	)
	f := get(c.a)
	if f == nil {
		return -eBADF
	}
	if c.b == nonblock {
		v, ok := in32(c.c)
		if !ok {
			return -eFAULT
		}
		f.flags &^= oNonblock
		if v != 0 {
			f.flags |= oNonblock
		}
		return 0
	}
	if f.kind == socketFile && c.b == inputBytes {
		if !out32(c.c, uint32(socketOf(f.obj).unread())) {
			return -eFAULT
		}
		return 0
	}
	if (f.kind == pipeRead || f.kind == pipeWrite || f.kind == pipeFIFO) && c.b == inputBytes {
		if !out32(c.c, uint32(pipes[f.obj].n)) {
			return -eFAULT
		}
		return 0
	}
	if f.kind != terminal && !(f.kind == device && f.rdev == devTTY) || !tty.IsTerminal() {
		return -eNOTTY
	}
	switch c.b {
	case tcGets:
		var t tty.Termios
		tty.Get(&t)
		if !copyOut(c.c, uintptr(unsafe.Pointer(&t)), unsafe.Sizeof(t)) {
			return -eFAULT
		}
		return 0
	case tcSets, tcSetsWait, tcSetsFlush:
		var t tty.Termios
		if !copyIn(uintptr(unsafe.Pointer(&t)), c.c, unsafe.Sizeof(t)) {
			return -eFAULT
		}
		tty.Set(&t)
		if c.b == tcSetsFlush {
			tty.Flush()
		}
		return 0
	case getWinsize:
		rows, columns := tty.Winsize()
		if !outShort(c.c, rows) || !outShort(c.c+2, columns) || !out32(c.c+4, 0) {
			return -eFAULT
		}
		return 0
	case inputBytes:
		if !out32(c.c, uint32(tty.Buffered())) {
			return -eFAULT
		}
		return 0
	case getPgrp:
		if !out32(c.c, pid) {
			return -eFAULT
		}
		return 0
	case setPgrp:
		return 0
	}
	return -eINVAL
}
