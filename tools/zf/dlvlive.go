//go:build !lean

package main

// `zf dlv` on a machine that runs. Delve takes this process for debugserver, as it does for a
// recording's (dlvrecording.go), and each start of the program is a machine of its own.

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/zeroframe/zeroframe/qemu"
	"github.com/zeroframe/zeroframe/tools/machine/image"
	"github.com/zeroframe/zeroframe/tools/machine/replay"
	"github.com/zeroframe/zeroframe/tools/postmortem/core"
	"github.com/zeroframe/zeroframe/tools/postmortem/inspect"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

// isLive reports whether what is named is a program to boot, and nothing that has died.
func (f *dlvFlags) isLive(args []string) bool {
	if f.elf != "" || len(args) == 0 {
		return false
	}
	for _, a := range args {
		if a == "--" {
			break
		}
		if isRecording(a) || filepath.Ext(a) == ".core" || inspect.IsCore(a) {
			return false
		}
	}
	return true
}

// parseLive reads what the flags leave of the command line.
func (f *dlvFlags) parseLive(c *call) (err error) {
	m := &f.live
	if err := m.parseTarget(c); err != nil {
		return err
	}
	if m.qemu.CPUs > 1 {
		return fmt.Errorf("-smp %d: Delve follows one CPU here; leave -smp out", m.qemu.CPUs)
	}
	if err := m.settleAccel(); err != nil {
		return err
	}
	m.serial, m.live, m.noCore = "-", true, true
	m.append = strings.TrimSpace("report=off " + m.append)
	given := false
	c.Visit(func(fl *flag.Flag) { given = given || fl.Name == "gcflags" })
	if !given {
		m.build.GCFlags = "all=-N -l" // as dlv debug
	}
	return nil
}

// runDlvLive runs Delve on a machine.
func (f *dlvFlags) runDlvLive(c *call) error {
	dlv, err := findDlv()
	if err != nil {
		return err
	}
	target, info, err := f.live.image(c.interruptible(syscall.SIGHUP), c)
	if err != nil {
		return notBuilt(err)
	}
	ctx, stop := c.leaveInterrupts()
	defer stop()
	tmp, err := qemu.PlainFolder()
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	elf, err := executable(target, tmp)
	if err != nil {
		return err
	}
	first, err := firstInstruction(elf)
	if err != nil {
		return err
	}
	trap, err := breakpointTrap(elf)
	if err != nil {
		return err
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	running := core.NewRunning(elf)
	served := make(chan struct{})
	ended := make(chan int, 1)
	cmd, env, err := asDebugserver(ctx, tmp, elf, replay.Options{
		Launch: f.live.launcher(target, info, tmp, ended), Ended: func() int { return <-ended },
		Image: elf, Start: first, Live: true, Trap: trap,
		Zeros: running.Untouched, Threads: running.Threads,
		Log: func(s string) { c.say("%s", printable(s)) },
	}, served, func(args []string) { f.live.arguments = args })
	if err != nil {
		return err
	}
	if cmd, err = f.command(cmd, tmp); err != nil {
		return err
	}
	cmd = append(append(cmd, "--"), f.live.arguments...) // they come back with each start
	err = c.onTerminal(ctx, dlv, cmd, env...)
	end()
	<-served
	return err
}

// breakpointTrap returns where the kernel's way into the breakpoint exception begins, 0 if the
// image does not tell.
func breakpointTrap(path string) (uint64, error) {
	const vector, stub = 3, 12 // arch/amd64/vectors_amd64.s
	sym, err := symbol.Open(path)
	if err != nil {
		return 0, err
	}
	defer sym.Close()
	if at := sym.Named("github.com/zeroframe/zeroframe/arch/amd64.vectors"); len(at) > 0 {
		return at[0].Start + vector*stub, nil
	}
	return 0, nil
}

// executable returns the path of an ELF file that may be executed, or of a copy of it in a folder:
// Delve takes no other.
func executable(path, folder string) (string, error) {
	fi, err := os.Stat(path)
	if err != nil || fi.Mode()&0o111 != 0 {
		return path, err
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	path = filepath.Join(folder, "elf")
	return path, os.WriteFile(path, b, 0o700)
}

// launcher returns what boots the program, each time with files in a folder of its own below tmp.
// ended is told when all has been shown that a machine has said, with the signal that has ended its
// program, or 0.
func (f *gdbFlags) launcher(target string, info *image.Info, tmp string,
	ended chan int) replay.Launch {
	n := 0
	return func(ctx context.Context) (*qemu.VM, string, string, error) {
		n++
		select {
		case <-ended: // of the machine before
		default:
		}
		folder := filepath.Join(tmp, strconv.Itoa(n))
		if err := os.Mkdir(folder, 0o700); err != nil {
			return nil, "", "", err
		}
		socket := filepath.Join(folder, "stub")
		vm, end, err := f.start(ctx, target, info, folder, "unix:"+strings.ReplaceAll(socket, ",", ",,"))
		if err != nil {
			return nil, "", "", err
		}
		go func() {
			<-vm.Done()
			vm.Wait() // for its output
			end()
			select {
			case ended <- f.died.signal():
			default:
			}
		}()
		return vm, "unix", socket, nil
	}
}
