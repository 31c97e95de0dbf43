package input

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"
)

// dialer connects to a socket.
func dialer(network, addr, name string,
	isTelnet bool) func(context.Context) (io.ReadCloser, error) {
	return func(ctx context.Context) (io.ReadCloser, error) {
		var d net.Dialer
		conn, err := d.DialContext(ctx, network, addr)
		if err == nil {
			return wrap(network, conn, isTelnet), nil
		}
		switch path, _, options := strings.Cut(addr, ","); {
		case options && network == "unix":
			err = fmt.Errorf("%w; what follows the comma is for QEMU: give unix:%s", err, path)
		case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, fs.ErrNotExist):
			err = fmt.Errorf(
				"%w; nobody listens there: -reconnect waits, and %s-listen: lets the other side connect",
				err, network)
		}
		return nil, fmt.Errorf("%s: %w", name, err)
	}
}

// listen waits for the other side to connect.
func listen(network, addr string) (kind, error) {
	name := network + "-listen:" + addr
	if network == "unix" {
		removeStale(addr)
	}
	ln, err := net.Listen(network, addr)
	if err != nil {
		return kind{}, fmt.Errorf("%s: %w", name, err)
	}
	k := kind{
		lazy: true,
		what: "a connection to " + ln.Addr().String(),
		done: func() { ln.Close() },
	}
	k.open = func(ctx context.Context) (io.ReadCloser, error) {
		defer context.AfterFunc(ctx, k.done)()
		conn, err := ln.Accept()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return wrap(network, conn, false), nil
	}
	return k, nil
}

// removeStale removes a socket of a process that is no more: nobody answers.
func removeStale(path string) {
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&os.ModeSocket == 0 {
		return
	}
	conn, err := net.Dial("unix", path)
	if err == nil {
		conn.Close()
		return
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		os.Remove(path)
	}
}

// wrap reads a connection. QEMU and terminal servers speak telnet over TCP when
// they are told to.
func wrap(network string, conn net.Conn, isTelnet bool) io.ReadCloser {
	if network != "tcp" {
		return conn
	}
	t := &telnet{in: conn}
	if isTelnet {
		t.mode = telnetOn
	}
	return t
}
