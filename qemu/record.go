package qemu

// A machine can be recorded and do the same again. QEMU counts its instructions (-icount), and
// writes down whatever else reaches it, each with the count: input, frames of the network, the
// host's clocks, random numbers (docs/devel/replay.txt in QEMU). What is not in that log must not
// reach the machine:
//
//   - more than one CPU, and other accelerators than tcg, QEMU refuses by itself;
//   - folders of the host: the device answers when the host's disk does;
//   - a virtio network card: QEMU serves it in its main loop, at no certain instruction;
//   - an NMI: the log has interrupts, but not the monitor's;
//   - a full pipe: the serial port would try the byte again later. So QEMU waits instead,
//     which the machine does not notice;
//   - where its files are: a multiboot loader hands the paths of the kernel and the initrd on. So
//     QEMU gets them as /dev/fd/N, and the network without what is between it and the host.
//
// QEMU writes the log through stdio, so that one that is killed leaves up to 4 KiB of it
// unwritten; a pipe cannot be rewound, so that the header that belongs at its beginning comes
// at its end (tools/machine/record).

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zeroframe/zeroframe/tools/machine/host"
)

// ErrRecord is returned for a machine that cannot be recorded.
var ErrRecord = errors.New("this machine cannot be recorded")

// errNMI is for an NMI to a machine that is recorded or replayed.
var errNMI = fmt.Errorf("%w: an NMI is in no recording", ErrMonitor)

// finishLimit is how long QEMU may take to end by itself.
const finishLimit = 5 * time.Second

// recorded reports whether the machine is recorded or replayed.
func (c *Config) recorded() bool { return c.Record != nil || c.Replay != "" }

// counts reports whether time goes by instructions.
func (c *Config) counts() bool { return c.Icount || c.recorded() }

// wrongRecord says why the machine cannot be recorded or replayed, if it cannot.
func (c *Config) wrongRecord() error {
	why := ""
	switch {
	case (c.Snapshots && c.Record == nil) || (c.Snapshot != "" && c.Replay == ""):
		why = "states of a machine are taken as it is recorded, and are for its replay"
	case !c.recorded():
		return nil
	case c.Snapshots && c.Date.IsZero() && !c.VirtualTime:
		// To take the state reads the clock, which would be in the log, and that reads nothing in a
		// replay.
		why = "the state of a machine with the host's clock cannot be taken"
	case c.Snapshots && c.CDROM != "":
		why = "the state of a machine that waits for its disc cannot be taken; boot the image itself"
	case c.CPUs > 1:
		why = fmt.Sprintf(
			"QEMU records one CPU alone, not %d: the order in which CPUs reach the memory is in no log",
			c.CPUs)
	case c.accel() != "tcg":
		why = "QEMU records by its accelerator tcg alone, not by " + c.accel()
	case len(c.Shares) > 0:
		why = "folders of the host (virtio-9p) are not in QEMU's log; give the machine copies"
	case strings.HasPrefix(c.Net, "virtio"):
		why = "a virtio network card does its work when QEMU's main loop comes to it, which is not in the log; e1000 and e1000e do theirs at once"
	case c.Port:
		why = "the virtio console is not in QEMU's log; use the serial port"
	case c.Records != nil:
		why = "the second serial port is not in QEMU's log; use the first"
	case c.Reboots > 0:
		why = "resets that the monitor asks for are not in QEMU's log"
	case c.UEFI:
		why = "UEFI firmware keeps settings that are not in QEMU's log"
	case c.Stick:
		why = "a USB stick is not in QEMU's log; an optical disc is"
	case slices.Contains(c.Extra, "-icount"):
		why = "it counts instructions in its own way; leave out the -icount for QEMU"
	}
	if why == "" {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrRecord, why)
}

// recordOption is what -icount has about the log.
func (c *Config) recordOption() string {
	switch {
	case c.log != "":
		return ",rr=record,rrfile=" + comma(c.log)
	case c.Record != nil:
		return fmt.Sprintf(",rr=record,rrfile=/dev/fd/%d", logFD)
	case c.Replay != "" && c.states != "":
		return ",rr=replay,rrfile=" + comma(c.Replay) + ",rrsnapshot=" + snapshotName
	case c.Replay != "":
		return ",rr=replay,rrfile=" + comma(c.Replay)
	}
	return ""
}

// recordNet has the network's frames in the log of a machine that is recorded or replayed. In a
// replay nothing is behind the card.
func recordNet(c *Config, backend *string) []string {
	if !c.recorded() {
		return nil
	}
	if c.Replay != "" {
		*backend = "hubport,id=net0,hubid=0"
	}
	return []string{"-object", "filter-replay,id=log,netdev=net0"}
}

// recordDisc gives an optical disc whose answers come when the log says so.
func recordDisc(path string) []string {
	return []string{
		"-drive", "if=none,id=disc,format=raw,snapshot=on,file=" + comma(path),
		"-drive", "driver=blkreplay,if=none,id=replayed,image=disc",
		"-device", "ide-cd,drive=replayed,bootindex=0",
	}
}

// outputWaits has QEMU wait where the pipe of its output is full; w is QEMU's end of it.
func (vm *VM) outputWaits(w *os.File) error {
	if err := blocking(w); err != nil {
		return fmt.Errorf("%w: %v", ErrQEMU, err)
	}
	return w.Close()
}

// copyLog passes on the log of a recording.
func (vm *VM) copyLog(log *os.File) {
	buf := make([]byte, 64<<10)
	for {
		n, err := log.Read(buf)
		if n > 0 && vm.cfg.Record != nil {
			if _, err := vm.cfg.Record.Write(buf[:n]); err != nil {
				vm.writeFailed(err)
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// finish ends QEMU in peace, so that its log has an end, or at once if it does not.
func (vm *VM) finish() {
	if _, err := vm.QMP("quit", nil); err == nil {
		select {
		case <-vm.done:
			return
		case <-time.After(finishLimit):
		}
	}
	vm.Kill()
}

// inputPiece is how many bytes of input are sent at once to a machine that is recorded. Its UART
// has room for 16.
const inputPiece = 8

// typeIn sends input to the serial port of a machine that is recorded. QEMU asks the UART how much
// it takes, but what it has read meanwhile waits for its place in the log, and the UART does not
// know of that: what is too much is lost. So the next piece is sent when the machine has taken the
// one before.
func (vm *VM) typeIn(serial net.Conn, from io.Reader) {
	buf := make([]byte, inputPiece)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if _, err := serial.Write(buf[:n]); err != nil || !vm.awaitTaken(serial) {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// awaitTaken waits until the machine has read what was sent to its serial port. It reports whether
// the machine is there still.
func (vm *VM) awaitTaken(serial net.Conn) bool {
	const pause = time.Millisecond
	var sent uint64 // instructions, when QEMU had it
	seen := false
	for {
		n, err := vm.Instructions()
		if err != nil {
			return false
		}
		switch {
		case unread(serial) > 0:
		case !seen:
			sent, seen = n, true
		case n > sent:
			if ready, err := vm.uartReady(); err != nil || !ready {
				return err == nil
			}
		}
		select {
		case <-vm.done:
			return false
		case <-time.After(pause):
		}
	}
}

// uartReady reports whether COM1 has a byte that the machine has not read. To look at its line
// status changes nothing while it has no error.
func (vm *VM) uartReady() (bool, error) {
	out, err := vm.monitorCommand("i /b 0x3fd")
	if err != nil {
		return false, err
	}
	_, value, ok := strings.Cut(out, " = ") // portb[0x03fd] = 0x60
	status, err := strconv.ParseUint(strings.TrimSpace(value), 0, 8)
	if !ok || err != nil {
		return false, fmt.Errorf("%w: the line status of COM1 is %q", ErrMonitor, out)
	}
	return status&1 != 0, nil
}

// Instructions returns how many instructions a machine has run that is recorded or replayed.
// Errors wrap [ErrMonitor].
func (vm *VM) Instructions() (uint64, error) {
	out, err := vm.QMP("query-replay", nil)
	if err != nil {
		return 0, err
	}
	var info struct {
		Mode   string
		Icount uint64
	}
	if err := json.Unmarshal(out, &info); err != nil || info.Mode == "none" {
		return 0, fmt.Errorf("%w: query-replay: %s", ErrMonitor, out)
	}
	return info.Icount, nil
}

// StopAt has a replay stop when it has run that many instructions. It is called while the
// machine stands still. Errors wrap [ErrMonitor].
func (vm *VM) StopAt(instructions uint64) error {
	_, err := vm.QMP("replay-break", map[string]uint64{"icount": instructions})
	select {
	case <-vm.stops: // an old one
	default:
	}
	return err
}

// Stopped returns a channel that gets a value when the machine has stopped.
func (vm *VM) Stopped() <-chan struct{} { return vm.stops }

// ServeGDB has the gdb stub listen at an address, such as "127.0.0.1:1234". Errors wrap
// [ErrMonitor].
func (vm *VM) ServeGDB(address string) error {
	said, err := vm.monitorCommand("gdbserver tcp:" + address)
	if err == nil && !strings.Contains(said, "Waiting for gdb") {
		err = fmt.Errorf("%w: gdbserver %s: %s", ErrMonitor, address,
			strings.Join(strings.Fields(said), " "))
	}
	return err
}

// Version returns the version of a QEMU ("" means the one of [Find]), such as "7.2.22 (Debian
// ...)". Errors wrap [ErrQEMU]. Context: host.
func Version(ctx context.Context, program string) (string, error) {
	program, err := orFound(program)
	if err != nil {
		return "", err
	}
	out, err := host.Command(ctx, program, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("%w: --version: %v", ErrQEMU, err)
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimPrefix(line, "QEMU emulator version "), nil
}

// LogVersion returns the number of the format in which a QEMU writes its log, by having it write
// one without a machine into folder dir. Errors wrap [ErrQEMU]. Context: host.
func LogVersion(ctx context.Context, program, dir string) (uint32, error) {
	program, err := orFound(program)
	if err != nil {
		return 0, err
	}
	path := filepath.Join(dir, "format.log")
	defer os.Remove(path)
	cmd := host.Command(ctx, program, "-nodefaults", "-display", "none", "-machine",
		"none", "-S",
		"-icount", "shift=0,rr=record,rrfile="+comma(path), "-monitor", "stdio")
	cmd.Stdin = strings.NewReader("quit\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%w: %v: %s", ErrQEMU, err, out)
	}
	b, err := os.ReadFile(path)
	if err != nil || len(b) < 4 {
		return 0, fmt.Errorf("%w: it has written no log of a recording (%v)", ErrQEMU, err)
	}
	return binary.BigEndian.Uint32(b), nil
}
