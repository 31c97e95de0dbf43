package qemu

// QEMU gets seven streams from us, at fixed descriptors, and they are all that connects it
// with us: what goes to the guest's serial port, the monitor, a leash, what comes from the
// guest's second serial port, which it need not have, what comes from the first, a virtio console,
// and the log of a recording. Nobody else can connect to them, there is no file to clean up, and
// every byte passes as it is. The leash is what ends QEMU if its starter is killed: a kernel that
// spins would otherwise take a processor of the host for ever.
//
// What a serial port sends comes through a pipe. QEMU writes each byte by itself: a socket
// keeps some hundred bytes more for each, so that it is full after as many, and QEMU waits.

import (
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
)

const (
	serialFD  = 3
	monitorFD = 4
	leashFD   = 5
	recordsFD = 6
	outputFD  = 7
	portFD    = 8
	logFD     = 9 // the last one that a shell's redirection can name
)

// leash goes before QEMU's command line. A shell starts a watcher and becomes
// QEMU; the watcher waits for a line on the leash and kills QEMU if there comes
// none before the other end is closed, which the end of our process does too.
// (Linux's PR_SET_PDEATHSIG is no substitute: it follows the thread that forked,
// and Go's threads end.) QEMU's standard input and output are the serial port.
var leash = []string{"/bin/sh", "-c",
	`(read -r x <&5 || kill -9 $$) </dev/null >/dev/null 2>&1 3>&- 4>&- 6>&- 7>&- 8>&- 9>&- & exec "$@" <&3 >&7 3<&- 5<&- 7>&-`, "sh"}

// leashOff is what the watcher is told when QEMU has ended.
const leashOff = "off\n"

// streams are our ends.
type streams struct {
	serial, monitor, leash net.Conn
	records, output        *os.File
	port                   net.Conn
	log                    *os.File
}

// openStreams makes them, and QEMU's ends for the descriptors from serialFD on.
func openStreams() (ours streams, theirs []*os.File, err error) {
	socket := func(our *net.Conn) {
		if err == nil {
			var child *os.File
			*our, child, err = socketPair()
			theirs = append(theirs, child)
		}
	}
	pipe := func(our **os.File) {
		if err == nil {
			var child *os.File
			if *our, child, err = os.Pipe(); err != nil {
				err = fmt.Errorf("%w: %v", ErrQEMU, err)
			}
			theirs = append(theirs, child)
		}
	}
	socket(&ours.serial)
	socket(&ours.monitor)
	socket(&ours.leash)
	pipe(&ours.records)
	pipe(&ours.output)
	socket(&ours.port)
	pipe(&ours.log)
	if err != nil {
		ours.close()
		closeAll(theirs)
		return streams{}, nil, err
	}
	return ours, theirs, nil
}

func (s *streams) close() {
	for _, c := range []net.Conn{s.serial, s.monitor, s.leash, s.port} {
		if c != nil {
			c.Close()
		}
	}
	s.records.Close() // nil is an error and nothing else
	s.output.Close()
	s.log.Close()
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
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
