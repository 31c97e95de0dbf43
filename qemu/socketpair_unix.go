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

// again returns another descriptor for an open file.
func again(f *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

// blocking has whoever writes into a full pipe wait.
func blocking(f *os.File) error { return unix.SetNonblock(int(f.Fd()), false) }

// unread returns how many bytes of what was written into a Unix socket the other end has not read,
// in the system's own reckoning; 0 where the system does not say.
func unread(conn net.Conn) (n int) {
	const outQueue = 0x5411 // SIOCOUTQ (Linux, include/uapi/asm-generic/ioctls.h)
	c, ok := conn.(syscall.Conn)
	if !ok || runtime.GOOS != "linux" {
		return 0
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return 0
	}
	raw.Control(func(fd uintptr) {
		if v, err := unix.IoctlGetInt(int(fd), outQueue); err == nil {
			n = v
		}
	})
	return n
}

// widen makes a pipe hold as much as Linux lets it, so that its two ends wait less for each other.
// Elsewhere it stays as it is.
func widen(f *os.File) {
	const setSize, most = 1031, 1 << 20 // F_SETPIPE_SZ (Linux, include/uapi/linux/fcntl.h)
	if runtime.GOOS == "linux" {
		unix.FcntlInt(f.Fd(), setSize, most)
	}
}

// hangUp opens a terminal and closes it: who reads its other end sees the end once more.
func hangUp(path string) {
	if f, err := os.OpenFile(path, os.O_RDWR|syscall.O_NOCTTY, 0); err == nil {
		f.Close()
	}
}
