package qemu

// The state of a machine that is recorded can be taken as it runs, and a replay can begin with it.
// QEMU keeps such states in a disk image in its own format, which is no disk of the machine. In the
// state is how far the log was (replay/replay-snapshot.c), so that the log must be a file here: a
// pipe has no place. It is read as it grows, and what has been read is given back to the host's
// file system.

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// ErrNotNow is returned for the state of a machine that cannot be taken at this moment; it can
// soon.
var ErrNotNow = errors.New("the machine's state cannot be taken now")

// snapshotName is the state's name in the image.
const snapshotName = "zeroframe"

// logStart is where events begin in QEMU's log: what is before is written last.
const logStart = 12

// prepareSnapshots makes the files for the states of a machine. vm.cleanup removes them.
func (vm *VM) prepareSnapshots(c *Config) (err error) {
	if !c.Snapshots && c.Snapshot == "" {
		return nil
	}
	if vm.tmp, err = PlainFolder(); err != nil {
		return fmt.Errorf("%w: %v", ErrQEMU, err)
	}
	c.states = filepath.Join(vm.tmp, "states.qcow2")
	if c.Snapshots {
		c.log = filepath.Join(vm.tmp, "log")
		if err = os.WriteFile(c.states, emptyImage(), 0o600); err == nil {
			err = os.WriteFile(c.log, nil, 0o600)
		}
	} else {
		err = copyStates(c.states, c.Snapshot) // QEMU writes to it
	}
	vm.cfg = *c
	if err != nil {
		return fmt.Errorf("%w: the machine's state: %v", ErrQEMU, err)
	}
	return nil
}

// copyStates copies an image of states that QEMU may be handed.
func copyStates(path, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err == nil {
		var fi os.FileInfo
		if fi, err = out.Stat(); err == nil {
			err = checkStates(out, fi.Size())
		}
	}
	return errors.Join(err, out.Close())
}

// snapshotArgs gives QEMU the image: as that of this format in a plain file, without another behind
// it, whatever it says.
func (c *Config) snapshotArgs() []string {
	if c.states == "" {
		return nil
	}
	node, err := json.Marshal(map[string]any{"driver": "qcow2", "node-name": "states", "backing": nil,
		"file": map[string]string{"driver": "file", "filename": c.states}})
	if err != nil {
		panic(err) // two strings
	}
	return []string{"-blockdev", string(node)}
}

// emptyImage is a qcow2 image, version 2, without anything in it (docs/interop/qcow2.txt in QEMU):
// a header, the table of the blocks with reference counts, one such block, and the table of the
// tables of clusters.
func emptyImage() []byte {
	const (
		clusterBits = 16
		cluster     = 1 << clusterBits
		size        = 1 << 30 // of the disk that it would be
	)
	b := make([]byte, 4*cluster)
	copy(b, "QFI\xfb")
	be := binary.BigEndian
	be.PutUint32(b[4:], 2)
	be.PutUint32(b[20:], clusterBits)
	be.PutUint64(b[24:], size)
	be.PutUint32(b[36:], 2)         // entries of the table of tables
	be.PutUint64(b[40:], 3*cluster) // where it is
	be.PutUint64(b[48:], cluster)   // that of the blocks with counts
	be.PutUint32(b[56:], 1)         // its clusters
	be.PutUint64(b[cluster:], 2*cluster)
	for i := range 4 {
		be.PutUint16(b[2*cluster+2*i:], 1)
	}
	return b
}

// Snapshot takes the state of a machine with Config.Snapshots. The machine stands still meanwhile
// and does not notice. take reads the state, from a file that is gone later; with it as
// Config.Snapshot a replay begins here. The results are where in its log QEMU was, and how many
// instructions had been run. Errors wrap [ErrNotNow], [ErrMonitor] or [ErrQEMU], or are take's.
func (vm *VM) Snapshot(take func(path string) error) (log int64, instructions uint64, err error) {
	// It stops the machine and lets it go on, in one turn of QEMU's main loop. In another one, a timer
	// that ends the machine's sleep could run as it stands still, and then the machine sleeps on,
	// which it would not in a replay.
	said, err := vm.monitorCommand("savevm " + snapshotName)
	switch said = strings.TrimSpace(said); {
	case err != nil:
		return 0, 0, err
	case strings.Contains(said, "Try once more"):
		return 0, 0, fmt.Errorf("%w: %s", ErrNotNow, said)
	case said != "":
		return 0, 0, fmt.Errorf("%w: savevm: %s", ErrMonitor, said)
	}
	if log, instructions, err = stateOf(vm.cfg.states); err == nil {
		err = take(vm.cfg.states)
	}
	said, derr := vm.monitorCommand("delvm " + snapshotName)
	if said = strings.TrimSpace(said); derr == nil && said != "" {
		derr = fmt.Errorf("%w: delvm: %s", ErrMonitor, said)
	}
	if err == nil {
		err = derr
	}
	return log, instructions, err
}

// stateOf finds where in its log QEMU was, and how many instructions had been run, in an image with
// a machine's state. The image may have left-overs of earlier states, in which QEMU was not so far.
// The error wraps [ErrNotNow]: the next state is at other places of the image, where that may be
// found.
func stateOf(path string) (log int64, instructions uint64, err error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, 0, fmt.Errorf("%w: %v", ErrQEMU, err)
	}
	defer file.Close()
	const piece = 1 << 20
	buf := make([]byte, 0, piece+mostState)
	for {
		n, err := io.ReadFull(file, buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		for b := buf; ; {
			i := bytes.Index(b, []byte(stateName))
			if i < 0 || len(b)-i < mostState {
				break
			}
			if l, n, ok := readState(b[i+len(stateName):]); ok && l > log {
				log, instructions = l, n
			}
			b = b[i+1:]
		}
		if err != nil {
			break
		}
		kept := copy(buf, buf[len(buf)-mostState:])
		buf = buf[:kept]
	}
	if log < logStart {
		return 0, 0, fmt.Errorf("%w: where QEMU was in its log is not found in it", ErrNotNow)
	}
	return log, instructions, nil
}

// The state of QEMU's log in that of a machine: its name with its length, and what follows.
const (
	stateName = "\x06replay"
	mostState = 128 // bytes of both, at most
)

// readState reads it.
func readState(b []byte) (log int64, instructions uint64, ok bool) {
	be := binary.BigEndian
	version := be.Uint32(b[4:])
	b = b[8:] // behind the instance
	instructions = be.Uint64(b[16:])
	at := 0
	switch version {
	case 2: // QEMU 7.2
		at = 36
	case 3: // a flag before it is shorter
		at = 33
	default:
		return 0, 0, false
	}
	log = int64(be.Uint64(b[at:]))
	return log, instructions, log >= logStart && log < 1<<48
}

// awaitLog is how long it takes to see that the log has grown.
const awaitLog = 10 * time.Millisecond

// followLog passes on the log of a recording that is a file, until ended is closed and all has been
// read. Its header comes last, as that of a pipe does.
func (vm *VM) followLog(ended <-chan struct{}) {
	file, err := os.OpenFile(vm.cfg.log, os.O_RDWR, 0)
	if err != nil {
		vm.writeFailed(err)
		return
	}
	defer file.Close()
	buf := make([]byte, 64<<10)
	var done, freed int64 = logStart, 0
	for over := false; ; {
		n, _ := file.ReadAt(buf, done)
		if n > 0 {
			if _, err := vm.cfg.Record.Write(buf[:n]); err != nil {
				vm.writeFailed(err)
				return
			}
			if done += int64(n); done-freed >= 1<<20 {
				punchHole(file, done)
				freed = done
			}
			continue
		}
		if over {
			break
		}
		select {
		case <-ended:
			over = true // what has come meanwhile is read once more
		case <-time.After(awaitLog):
		}
	}
	var version [4]byte
	if _, err := file.ReadAt(version[:], 0); err == nil && version != [4]byte{} {
		if _, err := vm.cfg.Record.Write(version[:]); err != nil {
			vm.writeFailed(err)
		}
	}
}
