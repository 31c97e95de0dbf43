//go:build !lean

package main

// A recording behind a debugger that goes backwards, too: gdb by zf replay -gdb -reverse, Delve
// by zf dlv.

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"net"
	"syscall"

	"github.com/zeroframe/zeroframe/tools/machine/replay"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

// rewindOptions are those for a recording. At the machine's first instructions there is neither
// an image nor a goroutine, which confuses debuggers; so the Go runtime's first one is the
// first for them.
func rewindOptions(ctx context.Context, r *recorded) (o replay.Options, err error) {
	log := r.log
	if !log.Known {
		return o, errors.New(
			"this QEMU's log is of a format that zf cannot read, so that nobody knows where it ends")
	}
	launch, err := r.launcher(ctx)
	if err != nil {
		return o, err
	}
	if !r.Whole() {
		return replay.Options{Launch: launch, Image: r.elf, Last: log.Instructions - 1}, nil
	}
	o = replay.Options{Launch: launch, Image: r.elf, Last: log.Instructions - min(1, log.Instructions)}
	o.Start, err = firstInstruction(r.elf)
	return o, err
}

// firstInstruction returns the address of the Go runtime's first instruction in an ELF file, or
// else of its own.
func firstInstruction(path string) (uint64, error) {
	sym, err := symbol.Open(path)
	if err != nil {
		return 0, err
	}
	defer sym.Close()
	if at := sym.Named("runtime.rt0_go"); len(at) > 0 {
		return at[0].Start, nil
	}
	f, err := elf.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return f.Entry, nil
}

// serveBackwards serves one debugger at the address of -gdb.
func (f *replayFlags) serveBackwards(ctx context.Context, r *recorded) error {
	o, err := rewindOptions(ctx, r)
	if err != nil {
		return ofReplay(err)
	}
	l, err := net.Listen("tcp", f.gdb)
	if err != nil {
		return failure{withGDBStep(fmt.Errorf("-gdb: %w", err)), exitMachine}
	}
	defer l.Close()
	defer context.AfterFunc(ctx, func() { l.Close() })()
	f.say("the machine waits for gdb: target remote %s", l.Addr())
	conn, err := l.Accept()
	if err == nil {
		defer conn.Close()
		err = withStart(replay.Serve(ctx, conn, o))
	}
	if err != nil {
		return failure{err, exitMachine}
	}
	return nil
}

// withGDBStep adds the next step to an error of the address of -gdb.
func withGDBStep(err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf(
			"%w; another program has that port: take another one, or 127.0.0.1:0 for any that is free", err)
	}
	return err
}

// withStart adds the next step to the error of a recording that ends before a debugger begins.
func withStart(err error) error {
	if errors.Is(err, replay.ErrNotThere) {
		return fmt.Errorf(
			"%w, the Go runtime's first instruction; zf why says what it died of, and zf replay -gdb ADDR without -reverse begins earlier", replay.ErrNotThere)
	}
	return err
}
