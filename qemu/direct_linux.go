package qemu

import (
	"errors"
	"io"
	"net"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// peer is a socket that notes which process has sent what comes.
type peer struct {
	conn *net.UnixConn
	pid  *atomic.Int64
}

// watchPeer returns what reads conn, and stores in pid the number of the process at its other end
// when something has come; 0: it is not known.
func watchPeer(conn io.ReadWriteCloser, pid *atomic.Int64) io.Reader {
	c, ok := conn.(*net.UnixConn)
	if !ok {
		return conn
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return conn
	}
	if raw.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET,
			unix.SO_PASSCRED, 1)
	}) != nil || err != nil {
		return conn
	}
	return &peer{c, pid}
}

// Read is that of an [io.Reader].
func (p *peer) Read(b []byte) (int, error) {
	oob := make([]byte, unix.CmsgSpace(unix.SizeofUcred))
	n, oobn, _, _, err := p.conn.ReadMsgUnix(b, oob)
	if all, perr := unix.ParseSocketControlMessage(oob[:max(oobn, 0)]); perr == nil {
		for i := range all {
			if c, cerr := unix.ParseUnixCredentials(&all[i]); cerr == nil {
				p.pid.Store(int64(c.Pid))
			}
		}
	}
	if n == 0 && err == nil && len(b) > 0 {
		err = io.EOF // a stream's end, which a message's reader does not say
	}
	return max(n, 0), err
}

var errShort = errors.New("not all of it can be read")

// readProcess fills p from the memory of a process, which Linux allows for our own children, or if
// we are root.
func readProcess(pid int, p []byte, addr uint64) error {
	for len(p) > 0 {
		local := []unix.Iovec{{Base: &p[0]}}
		local[0].SetLen(len(p))
		n, err := unix.ProcessVMReadv(pid, local, []unix.RemoteIovec{{Base: uintptr(addr),
			Len: len(p)}}, 0)
		if err != nil {
			return err
		}
		if n <= 0 {
			return errShort
		}
		p, addr = p[n:], addr+uint64(n)
	}
	return nil
}
