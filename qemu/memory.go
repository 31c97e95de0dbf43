package qemu

// The memory of a machine, for a core: QEMU writes it into a pipe whose end it is handed over the
// monitor's socket. The machine stands still meanwhile.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
)

// dumpName is what QEMU calls the pipe.
const dumpName = "zf-dump"

// MemoryDump is a dump of a machine's memory that QEMU is writing: an ELF core by physical addresses, with
// the registers (QEMU's dump-guest-memory).
type MemoryDump struct {
	m       *monitor
	r       *os.File
	running bool // before it
}

// dump stops the machine and begins a dump.
func (m *monitor) dump() (*MemoryDump, error) {
	running, err := m.isRunning()
	if err != nil {
		return nil, err
	}
	if _, err := m.run("stop", nil); err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrMonitor, err)
	}
	widen(w)
	err = m.hand(w, dumpName)
	w.Close()
	d := &MemoryDump{m, r, running}
	if err == nil {
		_, err = m.run("dump-guest-memory", map[string]any{"paging": false, "protocol": "fd:" + dumpName, "detach": true})
	}
	if err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// Read reads the dump. Where it ends early, QEMU is gone or has failed; the error says why.
func (d *MemoryDump) Read(p []byte) (int, error) {
	n, err := d.r.Read(p)
	if err == io.EOF && n == 0 {
		var status struct{ Status string }
		out, qerr := d.m.run("query-dump", nil)
		if qerr == nil {
			qerr = json.Unmarshal(out, &status)
		}
		switch {
		case qerr != nil:
			return 0, fmt.Errorf("%w: the machine has ended while its memory was read", ErrKilled)
		case status.Status == "failed":
			return 0, fmt.Errorf("%w: dump-guest-memory has failed", ErrMonitor)
		}
	}
	return n, err
}

// Close ends it. A machine that ran before goes on.
func (d *MemoryDump) Close() error {
	err := d.r.Close()
	if d.running {
		_, cerr := d.m.run("cont", nil)
		err = errors.Join(err, cerr)
	}
	return err
}

// Memory stops the machine and returns a dump of its memory, to be closed. It may be called for one
// that has died, in [Config.Died]. Errors wrap [ErrMonitor].
func (vm *VM) Memory() (*MemoryDump, error) { return vm.monitor.dump() }

// died calls Config.Died, once.
func (vm *VM) died() {
	if vm.cfg.Died != nil {
		vm.onceDied.Do(func() { vm.cfg.Died(vm) })
	}
}

// A Monitor is a connection to the monitor of a QEMU that somebody else has started.
type Monitor struct{ m *monitor }

// DialMonitor connects to a QEMU that was started with -qmp unix:SOCKET,server=on,wait=off. Errors wrap
// [ErrMonitor].
func DialMonitor(ctx context.Context, socket string) (*Monitor, error) {
	if hostError != nil {
		return nil, hostError
	}
	conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, fmt.Errorf("%w: %v; start QEMU with -qmp unix:%s,server=on,wait=off", ErrMonitor, err, socket)
	}
	m := &Monitor{newMonitor(conn, func(qmpMessage) {})}
	if err := m.m.handshake(); err != nil {
		conn.Close()
		return nil, err
	}
	return m, nil
}

// Memory is [VM.Memory].
func (m *Monitor) Memory() (*MemoryDump, error) { return m.m.dump() }

// Close leaves the monitor to others.
func (m *Monitor) Close() error { return m.m.conn.Close() }
