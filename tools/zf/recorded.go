package main

// A recording that is opened, with its image.

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/zeroframe/zeroframe/qemu"
	"github.com/zeroframe/zeroframe/tools/machine/record"
	"github.com/zeroframe/zeroframe/tools/machine/replay"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

// recorded is a recording whose files are in a temporary folder.
type recorded struct {
	*record.Recording
	file string       // the recording's own
	tmp  string       // the folder
	elf  string       // the image; of a disc the one on it
	sym  *symbol.File // the image's; nil before readSymbols
	log  *record.Log

	trust bool // QEMU gets whatever the file says
}

const trustUsage = "hand QEMU whatever the recording says, which may run programs and write\nfiles as you; -info in zf replay shows it"

// trustFlag adds the flag for a recording whose maker is trusted.
func trustFlag(fs *flag.FlagSet, trust *bool) {
	fs.BoolVar(trust, "trust-qemu-args", false, trustUsage)
}

// openRecorded opens a recording, whose maker is trusted or not, until the command's end.
func (c *call) openRecorded(file string, trust bool) (*recorded, error) {
	tmp, err := qemu.PlainFolder()
	if err != nil {
		return nil, err
	}
	r := &recorded{file: file, tmp: tmp, trust: trust}
	c.atEnd(r.close)
	if r.Recording, err = record.Open(file, tmp); err != nil {
		return nil, err
	}
	r.elf = r.Path(record.Image)
	if disc := r.Path(record.Disc); disc != "" {
		if r.elf, err = fromISO(disc, tmp); err != nil {
			return nil, err
		}
	}
	r.log, err = r.Log()
	return r, err
}

// readSymbols opens the image.
func (r *recorded) readSymbols() (err error) {
	if r.sym, err = symbol.Open(r.elf); err != nil {
		return fmt.Errorf("%s: the image in it: %w", r.file, err)
	}
	return nil
}

// close removes the folder.
func (r *recorded) close() {
	if r.sym != nil {
		r.sym.Close()
	}
	os.RemoveAll(r.tmp)
}

// errStranger is for a recording with doubts.
var errStranger = errors.New(
	"this recording asks for more than the machine that zf run -record makes")

// machine is the recording's machine, paused; QEMU's log is the file at path.
func (r *recorded) machine(path string) qemu.Config {
	cfg := qemu.Config{
		Kernel: r.Path(record.Image), Initrd: r.Path(record.Initrd), CDROM: r.Path(record.Disc),
		Append:  r.Append,
		Machine: r.Machine, CPU: r.CPU, MemoryMiB: r.MemoryMiB, VirtualTime: r.VirtualTime, Seed: r.Seed,
		Date: r.Clock, Net: r.Net, Extra: r.Extra,
		Icount: true, Replay: path, Snapshot: r.Path(record.Snapshot), Paused: true,
	}
	if cfg.CDROM != "" {
		cfg.Kernel, cfg.Append, cfg.Initrd = "", "", ""
	}
	return cfg
}

// config is machine. A machine with doubts is an error unless the recording is trusted.
func (r *recorded) config(path string) (qemu.Config, error) {
	doubts := r.doubts()
	if len(doubts) == 0 || r.trust {
		return r.machine(path), nil
	}
	return qemu.Config{},
		fmt.Errorf("%s: %w: %s; QEMU could run programs and write files for it, so it is not replayed. zf replay -info shows all of it; give -trust-qemu-args if you trust whoever made it",
			r.file, errStranger, printable(doubts[0]))
}

// ofReplay gives the error of a replay that has not begun its exit status.
func ofReplay(err error) error {
	if errors.Is(err, errStranger) {
		return err
	}
	return failure{err, exitMachine}
}

// doubts says why a recording's machine is not simply replayed.
func (r *recorded) doubts() []string {
	cfg := r.machine("-")
	doubts := cfg.Doubts()
	if r.UEFI {
		doubts = append(doubts, "the machine boots by UEFI firmware, which is in no recording")
	}
	if r.Strange != "" {
		doubts = append(doubts, "what describes the machine has an "+r.Strange)
	}
	return doubts
}

// checkQEMU returns an error if the recording's QEMU is not the one that is here.
func (r *recorded) checkQEMU(ctx context.Context) error {
	have, err := qemu.Version(ctx, "")
	if err == nil && have != r.QEMU {
		err = fmt.Errorf("%w %s, and this is %s, whose machine is another; install that one",
			errOtherQEMU, printable(r.QEMU), printable(have))
	}
	return err
}

var errOtherQEMU = errors.New("it was recorded by QEMU")

// writeLog writes the log for QEMU to a file.
func (r *recorded) writeLog(ctx context.Context, path string) (err error) {
	version := r.log.Version()
	if version == 0 {
		if version, err = qemu.LogVersion(ctx, "", r.tmp); err != nil {
			return err
		}
		r.log.ReadAs(version)
	}
	return r.log.Write(path, version)
}

// launcher returns what starts the machine of a recording once more.
func (r *recorded) launcher(ctx context.Context) (replay.Launch, error) {
	path := filepath.Join(r.tmp, "replay.log")
	cfg, err := r.config(path)
	if err != nil {
		return nil, err
	}
	if err := r.checkQEMU(ctx); err != nil {
		return nil, err
	}
	if err := r.writeLog(ctx, path); err != nil {
		return nil, err
	}
	n := 0
	return func(ctx context.Context) (*qemu.VM, string, string, error) {
		n++
		socket := filepath.Join(r.tmp, "gdb"+strconv.Itoa(n))
		c := cfg
		c.GDB = "unix:" + socket + ",server=on,wait=off"
		vm, err := qemu.Start(ctx, c)
		return vm, "unix", socket, err
	}, nil
}
