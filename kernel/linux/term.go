package linux

import (
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/thread"
	"github.com/zeroframe/zeroframe/kernel/tty"
)

// The terminal: the serial port with its line discipline, and what it shares with pseudo-terminals.

func readTerminal(c *call, f *file, to, n uintptr) int64 {
	t := f.terminal()
	if n == 0 {
		return 0
	}
	if tenths, ends := t.Patience(); !t.Readable() && ends {
		return c.waitForByte(f, tenths)
	}
	if !t.Enough(int(n)) && (f.flags&oNonblock == 0 || !t.Readable()) {
		return c.waitFor(f)
	}
	done := uintptr(0)
	for more := true; more && done < n; {
		addr, have, eof := t.Next(int(n - done))
		if eof {
			t.TakeEOF()
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
		more = t.Take(have)
		done += uintptr(have)
	}
	if f.pair() != nil {
		pairChanged(f.obj)
	} else {
		Pump()
	}
	return int64(done)
}

// waitForByte makes a read wait for at most that many tenths of a second; after that the read
// returns 0.
func (c *call) waitForByte(f *file, tenths int) int64 {
	t := thread.Current()
	if !c.again {
		t.Until = clock.Now() + uint64(tenths)*1e8
	}
	switch {
	case clock.Now() >= t.Until:
		return 0
	case f.flags&oNonblock != 0:
		return -eAGAIN
	}
	c.takeTurn()
	thread.Block(c.f, thread.ForFile, index(f), t.Until, 0)
	return 0
}

// Pump moves input from the serial port to the line discipline, as long as there is room for it;
// the rest waits in the port. Kernel context.
func Pump() {
	percpu.AssertLocked()
	got := false
	var last uint64 // when bytes flowed
	for tty.Serial.Room() && !attention {
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
		switch sig := tty.Serial.Input(b); {
		case sig == tty.ForMonitor:
			attention = true
			thread.Nudge() // the monitor needs an interrupt, to show what that interrupted
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

// While input is arriving, Pump waits for more of it, because an interrupt for each FIFO's worth
// would cost more. In nanoseconds.
const (
	flowGap  = 20_000 // how long it waits
	flowLook = 5_000  // how long it lets the port fill before it looks again
)

// attention is set from when the monitor's key arrives until the monitor opens: input after the key
// is for the monitor. Under the kernel lock.
var attention bool

// TakeAttention reports whether the monitor's key has arrived, and resets that. Kernel context.
func TakeAttention() bool {
	percpu.AssertLocked()
	was := attention
	attention = false
	return was
}

// Typed gives the program a byte as if it were typed. Kernel context, while the program runs.
func Typed(b byte) {
	if sig := tty.Serial.Typed(b); sig != 0 {
		Send(sig)
	}
	tellReaders()
}

// tellReaders wakes whoever waits for input, if there is any.
func tellReaders() {
	percpu.AssertLocked()
	if tty.Serial.Readable() {
		// Descriptor 0, and every open /dev/tty.
		changedAll(1<<terminal|1<<ttyDevice, anyObj)
	}
}

func sysIoctl(c *call, f *file) int64 {
	const (
		inputBytes  = 0x541b
		nonblock    = 0x5421
		keepOnExec  = 0x5450
		closeOnExec = 0x5451
		entropyBits = 0x80045200
	)
	switch c.op(1) {
	case closeOnExec, keepOnExec:
		cloexec[c.fd(0)] = c.op(1) == closeOnExec
		return 0
	case nonblock:
		v, ok := in32(c.pointer(2))
		if !ok {
			return -eFAULT
		}
		f.flags &^= oNonblock
		if v != 0 {
			f.flags |= oNonblock
		}
		return 0
	case entropyBits:
		if f.kind == randomDevice {
			return copied(out32(c.pointer(2), 256)) // the same as /proc/sys/kernel/random/entropy_avail
		}
	case inputBytes:
		if n, ok := f.unread(); ok {
			return copied(out32(c.pointer(2), uint32(n)))
		}
	}
	if f.isSocket() {
		return socketOf(f.obj).ioctl(c.op(1), c.pointer(2))
	}
	if f.kind == cardDevice && c.op(1) == CardFrames {
		return takeFrames(c.pointer(2))
	}
	t := f.terminal()
	if t == nil || !t.IsTerminal() {
		return -eNOTTY
	}
	return c.controlTerminal(f, t)
}

// controlTerminal is ioctl for a terminal.
func (c *call) controlTerminal(f *file, t *tty.Terminal) int64 {
	const (
		tcGets      = 0x5401
		tcSets      = 0x5402
		tcSetsWait  = 0x5403
		tcSetsFlush = 0x5404
		getPgrp     = 0x540f
		setPgrp     = 0x5410
		drain       = 0x5409
		flush       = 0x540b
		getWinsize  = 0x5413
		setWinsize  = 0x5414
		drainBreak  = 0x5425
	)
	pair := f.pair() != nil
	if pair {
		if v := c.controlPair(f); v != -eNOTTY {
			return v
		}
	}
	master := pair && f.isMaster()
	switch c.op(1) {
	case tcGets:
		var s tty.Termios
		t.Get(&s)
		return copied(store(c.pointer(2), &s))
	case tcSets, tcSetsWait, tcSetsFlush:
		var s tty.Termios
		if !load(&s, c.pointer(2)) {
			return -eFAULT
		}
		t.Set(&s)
		if c.op(1) == tcSetsFlush {
			t.Flush()
		}
		if pair {
			pairChanged(f.obj)
		}
		return 0
	case flush:
		const in, out, both = 0, 1, 2
		which := c.word(2)
		if which > both {
			return -eINVAL
		}
		if which == both || (which == in) != master {
			t.Flush()
		}
		if which == both || (which == out) != master {
			t.FlushOut()
		}
		if pair {
			pairChanged(f.obj)
		}
		return 0
	case drain, drainBreak: // all output has been sent
		return 0
	case getWinsize:
		rows, columns, wide, high := t.Winsize()
		return copied(out64(c.pointer(2),
			uint64(rows)|uint64(columns)<<16|uint64(wide)<<32|uint64(high)<<48))
	case setWinsize:
		size, ok := in64(c.pointer(2))
		if !ok {
			return -eFAULT
		}
		if t.SetWinsize(uint16(size), uint16(size>>16), uint16(size>>32), uint16(size>>48)) && !pair {
			Send(sigWINCH)
		}
		return 0
	case getPgrp:
		switch {
		case master:
			return copied(out32(c.pointer(2), 0))
		case !pair:
			return copied(out32(c.pointer(2), pid))
		}
	case setPgrp:
		if !pair {
			return 0
		}
	}
	return -eNOTTY
}
