package linux

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/dev/nic"
	"github.com/zeroframe/zeroframe/kernel/observe/handle"
	"github.com/zeroframe/zeroframe/kernel/parts"
	"github.com/zeroframe/zeroframe/kernel/tty"
	"github.com/zeroframe/zeroframe/kernel/vfs"
)

// The kinds of open files, and what can be done with each: one table for each operation, with a row
// for each kind. (The tables are separate so that the bound of a stack knows which functions each
// operation calls.)

type kind uint8

const (
	closed kind = iota
	terminal
	node       // a file or directory of package vfs
	device     // /dev/null, and any other node in /dev that is not listed here
	pipeRead   // obj: the pipe
	pipeWrite  // obj: the pipe
	pipeFIFO   // obj: the pipe, open at both ends
	counter    // obj: the event counter
	epoll      // obj: the epoll instance
	socketFile // obj: the socket
	watcher    // obj: the group of watches
	timerFile  // obj: the timer
	ourProcess // the program itself
	zeroDevice // other nodes in /dev, from here on
	fullDevice
	randomDevice
	ttyDevice    // the terminal, opened by a name
	cardDevice   // the network card
	recordDevice // obj: the record
	masterEnd    // obj: the pseudo-terminal's pair
	slaveEnd     // the same
	numKinds
)

// The log of resources has the same numbers, with one number for all devices.
const (
	_ = -uint(terminal ^ handle.FileTerminal)
	_ = -uint(pipeRead ^ handle.FilePipeRead)
	_ = -uint(socketFile ^ handle.FileSocket)
	_ = -uint(ourProcess ^ handle.FileProcess)
)

// logged is the kind's number in that log.
func (k kind) logged() uintptr {
	if k > ourProcess {
		k = device
	}
	return uintptr(k)
}

// Device numbers (Linux: Documentation/admin-guide/devices.txt), major<<8 | minor.
const (
	devNull    = 1<<8 | 3
	devZero    = 1<<8 | 5
	devFull    = 1<<8 | 7
	devRandom  = 1<<8 | 8
	devURandom = 1<<8 | 9
	devTTY     = 5 << 8
	devConsole = 5<<8 | 1
	devPTMX    = 5<<8 | 2
	devPTS     = 136 << 8 // plus the pair's number
)

// devices maps the devices' numbers to kinds. Never written.
var devices = [...]struct {
	number uint64
	kind   kind
}{
	{devZero, zeroDevice}, {devFull, fullDevice}, {devRandom, randomDevice},
	{devURandom, randomDevice}, {devTTY, ttyDevice},
	{devConsole, ttyDevice}, {devPTMX, masterEnd}, {DevNIC, cardDevice}, {DevRecord, recordDevice},
}

// openDevice opens f as the device with that number.
func (f *file) openDevice(number uint64) int64 {
	f.kind = device
	for i := range devices {
		if devices[i].number == number {
			f.kind = devices[i].kind
		}
	}
	switch {
	case number&^0xff == devPTS:
		f.kind, f.obj = slaveEnd, int32(number&0xff)
		return f.openSlave()
	case number == devTTY && !tty.Serial.IsTerminal(), f.kind == cardDevice && !nic.Up():
		return -eNXIO
	case f.kind == recordDevice && !openRecord(f):
		return -eBUSY
	case f.kind == masterEnd:
		return f.openMaster()
	case f.kind == cardDevice:
		cardOpened()
	}
	return 0
}

// A trait is a property of a kind.
type trait uint8

const (
	named  trait = 1 << iota // the file has a node of the tree
	placed                   // it can be read and written at any offset
	still                    // its offset is always 0
	always                   // it is always ready, so nobody can watch it
	piped                    // it is an end of a pipe
)

// kinds has the properties of each kind. Never written.
var kinds = [numKinds]struct {
	traits trait
	mode   uint32 // of a file without a node
	link   string // the text of the link to such a file; if it ends in [, the inode follows
}{
	terminal:     {mode: vfs.S_IFCHR | 0o620},
	node:         {traits: named | placed | always},
	device:       {traits: named | placed | still | always},
	pipeRead:     {piped, vfs.S_IFIFO | 0o600, "pipe:["},
	pipeWrite:    {piped, vfs.S_IFIFO | 0o600, "pipe:["},
	pipeFIFO:     {piped, vfs.S_IFIFO | 0o600, "pipe:["},
	counter:      {still, 0o600, "anon_inode:[eventfd]"},
	epoll:        {still, 0o600, "anon_inode:[eventpoll]"},
	socketFile:   {0, vfs.S_IFSOCK | 0o777, "socket:["},
	watcher:      {0, 0o600, "anon_inode:inotify"},
	timerFile:    {still, 0o600, "anon_inode:[timerfd]"},
	ourProcess:   {0, 0o600, "anon_inode:[pidfd]"},
	zeroDevice:   {traits: named | placed | still | always},
	fullDevice:   {traits: named | placed | still | always},
	randomDevice: {traits: named | placed | still | always},
	ttyDevice:    {traits: named},
	cardDevice:   {traits: named | placed | still},
	recordDevice: {traits: named | placed | still | always},
	masterEnd:    {traits: named},
	slaveEnd:     {traits: named},
}

// is reports whether the file has one of the traits.
func (f *file) is(t trait) bool { return kinds[f.kind].traits&t != 0 }

// isSocket reports whether a file is a socket.
func (f *file) isSocket() bool { return parts.Sockets && f.kind == socketFile }

// isPipe reports whether a file is an end of a pipe.
func (f *file) isPipe() bool { return f.is(piped) }

// isNamedPipe reports whether a file is a FIFO.
func (f *file) isNamedPipe() bool {
	return f.kind == pipeFIFO || f.isPipe() && pipes[f.obj].fifo != 0
}

// isFolder reports whether a file is a directory, and isRegular whether it is a regular file.
func (f *file) isFolder() bool {
	return f.kind == node && vfs.Mode(f.node)&vfs.S_IFMT == vfs.S_IFDIR
}
func (f *file) isRegular() bool {
	return f.kind == node && vfs.Mode(f.node)&vfs.S_IFMT == vfs.S_IFREG
}

// isTerminal reports whether an open file is the terminal.
func (f *file) isTerminal() bool { return f.kind == terminal || f.kind == ttyDevice }

// A transferOp reads n bytes into the program's memory at an address, or writes them from there, at
// offset c.off of a file.
type transferOp func(c *call, f *file, at, n uintptr) int64

// reads are the functions that read. A kind without one returns EINVAL. Never written.
var reads = [numKinds]transferOp{
	terminal:     readTerminal,
	node:         readFileNode,
	device:       readNothing,
	pipeRead:     readPipe,
	pipeFIFO:     readPipe,
	counter:      readCounter,
	socketFile:   readSocket,
	watcher:      readEvents,
	timerFile:    readTimer,
	zeroDevice:   readZeros,
	fullDevice:   readZeros,
	randomDevice: readRandom,
	ttyDevice:    readTerminal,
	cardDevice:   readCard,
	recordDevice: readNothing,
	masterEnd:    readPair,
	slaveEnd:     readPair,
}

// writes are the functions that write. A kind without one returns EINVAL. Never written.
var writes = [numKinds]transferOp{
	terminal:     writeTerminal,
	node:         writeFileNode,
	device:       writeNowhere,
	pipeWrite:    writePipe,
	pipeFIFO:     writePipe,
	counter:      writeCounter,
	socketFile:   writeSocket,
	zeroDevice:   writeNowhere,
	fullDevice:   writeFull,
	randomDevice: writeNowhere,
	ttyDevice:    writeTerminal,
	cardDevice:   writeCard,
	recordDevice: writeRecord,
	masterEnd:    writePair,
	slaveEnd:     writePair,
}

func readNothing(*call, *file, uintptr, uintptr) int64  { return 0 }
func writeNowhere(_ *call, _ *file, _, n uintptr) int64 { return int64(n) }
func writeFull(*call, *file, uintptr, uintptr) int64    { return -eNOSPC }
func readRandom(_ *call, _ *file, to, n uintptr) int64  { return randomOut(to, n) }
func readFileNode(c *call, f *file, to, n uintptr) int64 {
	if f.isMade() {
		return readMade(f, to, n, c.off)
	}
	return readNode(f.node, to, n, c.off)
}

func readZeros(_ *call, _ *file, to, n uintptr) int64 {
	if !zeroOut(to, n) {
		return -eFAULT
	}
	return int64(n)
}

func writeFileNode(c *call, f *file, from, n uintptr) int64 {
	if f.isMade() {
		return -eIO
	}
	return c.writeNode(f.node, from, n, c.off, false)
}

// states are the functions that return a file's present events. A kind without one is always ready.
// (epoll's function would refer to this table, which Go does not allow, so state calls it
// directly.) Never written.
var states = [numKinds]func(f *file) uint32{
	terminal:   terminalState,
	pipeRead:   pipeState,
	pipeWrite:  pipeState,
	pipeFIFO:   pipeState,
	counter:    counterState,
	socketFile: socketState,
	watcher:    watcherState,
	timerFile:  timerState,
	ourProcess: processState,
	ttyDevice:  terminalState,
	cardDevice: cardState,
	masterEnd:  pairState,
	slaveEnd:   pairState,
}

// when returns events if ok is true, else 0.
func when(ok bool, events uint32) uint32 {
	if ok {
		return events
	}
	return 0
}

func processState(*file) uint32 { return 0 } // the process has not ended
func terminalState(*file) uint32 {
	return epollOut | when(tty.Serial.EnoughForPoll(), epollIn)
}
func cardState(*file) uint32 { return epollOut | when(nic.Readable(), epollIn) }

func pipeState(f *file) (events uint32) {
	p := &pipes[f.obj]
	if f.kind != pipeWrite {
		events = when(p.n > 0, epollIn) | when(p.writers == 0, epollHup)
	}
	if f.kind != pipeRead {
		events |= when(pipeSize-p.n >= atomicWrite, epollOut) | when(p.readers == 0, epollErr)
	}
	return events
}

func counterState(f *file) uint32 {
	v := counters[f.obj].value
	return when(v > 0, epollIn) | when(v < ^uint64(0)-1, epollOut)
}

func timerState(f *file) uint32 { return when(timers[f.obj].ticks > 0, epollIn) }
func watcherState(f *file) uint32 {
	_, _, _, _, ok := vfs.Event(int(f.obj))
	return when(ok, epollIn)
}

// closes are the functions that run when the last descriptor of a file is closed. (end calls that
// of sockets directly, for the same reason.) Never written.
var closes = [numKinds]func(f *file){
	node:         closeNode,
	pipeRead:     closePipe,
	pipeWrite:    closePipe,
	pipeFIFO:     closePipe,
	counter:      closeCounter,
	epoll:        closeEpoll,
	watcher:      closeWatcher,
	timerFile:    closeTimer,
	cardDevice:   closeCard,
	recordDevice: closeRecord,
	masterEnd:    closePair,
	slaveEnd:     closePair,
}

// end closes a file for good.
func (f *file) end() {
	if end := closes[f.kind]; end != nil {
		end((*file)(arch.Pointer(addressOf(f)))) // otherwise f would escape to the heap
	} else if f.isSocket() {
		closeSocket(f)
	}
	if f.is(named) {
		vfs.Release(f.node)
	}
}

func closeNode(f *file) {
	if f.flags&oPath == 0 {
		event := uint32(vfs.IN_CLOSE_NOWRITE)
		if f.flags&oAccess != 0 {
			event = vfs.IN_CLOSE_WRITE
		}
		vfs.Notify(f.node, event)
	}
	dropMade(f)
}

func closeCounter(f *file) { counters[f.obj].used = false }
func closeWatcher(f *file) { vfs.EndGroup(int(f.obj)) }
func closeTimer(f *file) {
	timers[f.obj].set(0)
	timers[f.obj] = timer{}
}

// unread returns the number of bytes that a read could get (FIONREAD); ok is false for a kind that
// does not say.
func (f *file) unread() (n int64, ok bool) {
	t := f.terminal()
	switch p := f.pair(); {
	case p != nil && !p.master: // it has hung up
	case f.isRegular():
		return vfs.Size(f.node) - f.off, true
	case f.kind == watcher:
		return int64(vfs.EventBytes(int(f.obj))), true
	case f.isPipe():
		return int64(pipes[f.obj].n), true
	case f.kind == masterEnd:
		return int64(t.Shown()), true
	case t != nil && t.IsTerminal():
		return int64(t.Buffered()), true
	}
	return 0, false
}
