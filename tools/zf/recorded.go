package main

// A recording that is opened, with its image.

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/zeroframe/zeroframe/qemu"
	"github.com/zeroframe/zeroframe/tools/record"
	"github.com/zeroframe/zeroframe/tools/replay"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

// recorded is a recording whose files are in a temporary folder.
type recorded struct {
	*record.Recording
	file string       // the recording's own
	tmp  string       // the folder
	elf  string       // the image; of a disc the one on it
	sym  *symbol.File // the image's; nil before readSymbols
}

// openRecorded opens a recording.
func openRecorded(file string) (*recorded, error) {
	tmp, err := qemu.PlainFolder()
	if err != nil {
		return nil, err
	}
	r := &recorded{file: file, tmp: tmp}
	if r.Recording, err = record.Open(file, tmp); err == nil {
		r.elf = r.Path(record.Image)
		if disc := r.Path(record.Disc); disc != "" {
			r.elf, err = fromISO(disc, tmp)
		}
	}
	if err != nil {
		r.close()
		return nil, err
	}
	return r, nil
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

// launcher returns what starts the machine of a recording once more.
func (r *recorded) launcher(ctx context.Context) (replay.Launch, error) {
	have, err := qemu.Version(ctx, "")
	if err != nil {
		return nil, err
	}
	if have != r.QEMU {
		return nil, fmt.Errorf("it was recorded by QEMU %s, and this is %s, whose machine is another; install that one", printable(r.QEMU), printable(have))
	}
	log, err := r.Log()
	if err != nil {
		return nil, err
	}
	version := log.Version()
	if version == 0 {
		if version, err = qemu.LogVersion(ctx, "", r.tmp); err != nil {
			return nil, err
		}
	}
	path := filepath.Join(r.tmp, "replay.log")
	if err := log.Write(path, version); err != nil {
		return nil, err
	}
	cfg := replayConfig(r.Recording, path)
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
