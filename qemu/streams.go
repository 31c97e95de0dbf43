package qemu

// QEMU gets four sockets from us, at fixed descriptors, and they are all that
// connects it with us: the guest's serial port, the monitor, a leash, and the guest's
// second serial port, which it need not have. Nobody
// else can connect to them, there is no file to clean up, and every byte passes as
// it is. The leash is what ends QEMU if its starter is killed: a kernel that spins
// would otherwise take a processor of the host for ever.

import (
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
)

const (
	serialFD  = 3
	monitorFD = 4
	leashFD   = 5
	recordsFD = 6
)

// leash goes before QEMU's command line. A shell starts a watcher and becomes
// QEMU; the watcher waits for a line on the leash and kills QEMU if there comes
// none before the other end is closed, which the end of our process does too.
// (Linux's PR_SET_PDEATHSIG is no substitute: it follows the thread that forked,
// and Go's threads end.)
var leash = []string{"/bin/sh", "-c",
	`(read -r x <&5 || kill -9 $$) </dev/null >/dev/null 2>&1 3>&- 4>&- 6>&- & exec "$@" 5<&-`, "sh"}

// leashOff is what the watcher is told when QEMU has ended.
const leashOff = "off\n"

// openStreams makes the sockets: our ends, and QEMU's ends for the descriptors from
// serialFD to recordsFD.
func openStreams() (ours []net.Conn, theirs []*os.File, err error) {
	for range recordsFD - serialFD + 1 {
		conn, child, err := socketPair()
		if err != nil {
			closeAll(ours)
			closeAll(theirs)
			return nil, nil, err
		}
		ours, theirs = append(ours, conn), append(theirs, child)
	}
	return ours, theirs, nil
}

func closeAll[C io.Closer](streams []C) {
	for _, c := range streams {
		c.Close()
	}
}

// socketPair returns the two ends of a private stream socket: one to keep and one
// to hand to a child process.
func socketPair() (net.Conn, *os.File, error) {
	// As in net: between the two calls no child may be started that would
	// inherit the sockets and keep them open.
	syscall.ForkLock.RLock()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fds[0])
		syscall.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %v", ErrQEMU, err)
	}
	ours := os.NewFile(uintptr(fds[0]), "socket")
	theirs := os.NewFile(uintptr(fds[1]), "socket")
	conn, err := net.FileConn(ours) // a copy, non-blocking
	ours.Close()
	if err != nil {
		theirs.Close()
		return nil, nil, fmt.Errorf("%w: %v", ErrQEMU, err)
	}
	return conn, theirs, nil
}

// output keeps the last of what QEMU itself prints: an error message, or the end
// of a log that was asked for by Config.Extra.
type output struct {
	mu  sync.Mutex
	buf []byte
}

const maxOutput = 64 << 10 // bytes kept

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.buf = append(o.buf, p...)
	if extra := len(o.buf) - maxOutput; extra > 0 {
		o.buf = append(o.buf[:0], o.buf[extra:]...)
	}
	return len(p), nil
}

// Close does nothing; the library wants a closer.
func (o *output) Close() error { return nil }

// String returns the text with plain line ends.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.ReplaceAll(string(o.buf), "\r\n", "\n")
}
