package qemu

// The memory of a machine, for a core: QEMU writes it into a pipe whose end it is handed over the
// monitor's socket. The machine stands still meanwhile. A page at a time, that is slow; where this
// host lets us, the registers and the places of the RAM come by the pipe, and the RAM from QEMU's
// own memory.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// dumpName is what QEMU calls the pipe.
const dumpName = "zf-dump"

// MemoryDump is a dump of a machine's memory that QEMU is writing: an ELF core by physical
// addresses, with the registers (QEMU's dump-guest-memory).
type MemoryDump struct {
	m       *monitor
	r       *os.File
	running bool // before it
	ended   bool // it has been read to its end
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
	d := &MemoryDump{m: m, r: r, running: running}
	if err == nil {
		_, err = m.run("dump-guest-memory", map[string]any{"paging": false, "protocol": "fd:" + dumpName,
			"detach": true})
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
		d.ended = true
		var status struct{ Status string }
		switch qerr := d.m.query("query-dump", nil, &status); {
		case qerr != nil:
			return 0, fmt.Errorf("%w: the machine has ended while its memory was read", ErrKilled)
		case status.Status == "failed":
			// QEMU says why before it ends it
			return 0, fmt.Errorf("%w: dump-guest-memory has failed: %v", ErrMonitor, d.m.dumped.Load())
		}
	}
	return n, err
}

// hostAddress is what QEMU says to gpa2hva.
var hostAddress = lookup.Regexp(
	`^Host virtual address for 0x[0-9a-f]+ \(.*\) is 0x([0-9a-f]+)\s*$`)

// Direct returns what reads the RAM of size bytes from the physical address start on out of QEMU's
// memory. An error says that this cannot be done here; the dump has the same.
func (d *MemoryDump) Direct(start,
	size uint64) (read func(p []byte, addr uint64) error, err error) {
	pid := int(d.m.pid.Load())
	if pid <= 0 || size == 0 {
		return nil, errors.ErrUnsupported
	}
	var ends [2]uint64
	for i, at := range []uint64{start, start + size - 1} {
		said, err := d.m.command(fmt.Sprintf("gpa2hva %#x", at))
		if err != nil {
			return nil, err
		}
		m := hostAddress().FindStringSubmatch(said)
		if m == nil {
			return nil, fmt.Errorf("%w: gpa2hva: %s", ErrMonitor, strings.TrimSpace(said))
		}
		if ends[i], err = strconv.ParseUint(m[1], 16, 64); err != nil {
			return nil, fmt.Errorf("%w: gpa2hva: %v", ErrMonitor, err)
		}
	}
	if ends[1]-ends[0] != size-1 {
		return nil, fmt.Errorf("%w: gpa2hva: %d bytes at %#x are in several pieces",
			ErrMonitor, size, start)
	}
	read = func(p []byte, addr uint64) error {
		if off := addr - start; off > size || uint64(len(p)) > size-off {
			return fmt.Errorf("%w: %#x is outside of the block", ErrMonitor, addr)
		}
		return readProcess(pid, p, ends[0]+(addr-start))
	}
	return read, read(make([]byte, 1), start)
}

// Close ends it. A machine that ran before goes on.
func (d *MemoryDump) Close() error {
	err := d.r.Close()
	if !d.ended {
		d.settle()
	}
	if d.running {
		_, cerr := d.m.run("cont", nil)
		err = errors.Join(err, cerr)
	}
	return err
}

// settle waits until QEMU has noticed that nobody reads a dump any more: until then it begins no
// other one.
func (d *MemoryDump) settle() {
	for end := time.Now().Add(commandTimeout); time.Now().Before(end); time.Sleep(time.Millisecond) {
		var status struct{ Status string }
		if d.m.query("query-dump", nil, &status) != nil || status.Status != "active" {
			return
		}
	}
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

// DialMonitor connects to a QEMU that was started with -qmp unix:SOCKET,server=on,wait=off. Errors
// wrap [ErrMonitor].
func DialMonitor(ctx context.Context, socket string) (*Monitor, error) {
	if hostError != nil {
		return nil, hostError
	}
	conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, fmt.Errorf("%w: %v; start QEMU with -qmp unix:%s,server=on,wait=off",
			ErrMonitor, err, socket)
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
