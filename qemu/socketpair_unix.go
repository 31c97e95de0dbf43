//go:build unix

package qemu

import (
	"fmt"
	"net"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// hostError is the reason why this host cannot drive QEMU; nil: it can.
var hostError error

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

// rights is what hands a file to the process at the other end of a Unix socket.
func rights(f *os.File) []byte { return syscall.UnixRights(int(f.Fd())) }

// widen makes a pipe hold as much as Linux lets it, so that its two ends wait less for each other. Elsewhere it
// stays as it is.
func widen(f *os.File) {
	const setSize, most = 1031, 1 << 20 // F_SETPIPE_SZ (Linux, include/uapi/linux/fcntl.h)
	if runtime.GOOS == "linux" {
		unix.FcntlInt(f.Fd(), setSize, most)
	}
}
