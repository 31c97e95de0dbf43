package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// Bochs emulates a whole PC that nobody has made for kernels to start in: it has a BIOS of its own,
// no device that ends it, and cards as a reset leaves them. It runs until the guest has said what
// it is to say, or until Bochs gives up, as after a triple fault.

// bochsMachine is what Bochs is told (bochsrc(5)). Its screen is one that nobody has to look at.
// Its mixer aborts on a host that has ALSA's library and no card, hence the sound of a dummy.
const bochsMachine = `display_library: rfb, options="timeout=0"
megs: %d
cpu: model=corei7_haswell_4770, count=%d, ips=200000000, reset_on_triple_fault=0
romimage: file=/usr/share/bochs/BIOS-bochs-latest
vgaromimage: file=/usr/share/bochs/VGABIOS-lgpl-latest
ata0-master: type=cdrom, path="%s", status=inserted
boot: cdrom
com1: enabled=1, mode=file, dev=/dev/fd/3
pci: enabled=1, chipset=i440fx, slot1=e1000
plugin_ctrl: e1000=1
e1000: enabled=1, mac=` + bochsMAC + `, ethmod=null, ethdev="net", script=""
clock: sync=none, time0=utc
sound: waveoutdrv=dummy, waveindrv=dummy, midioutdrv=dummy
log: "log"
panic: action=fatal
error: action=report
info: action=ignore
`

const bochsMAC = "52:54:00:12:34:56"

// The last lines of a kernel that ends in peace where no device ends the machine, and of a trace.
var (
	halted = regexp.MustCompile(`the kernel has ended: halted\r\n`)
	traced = regexp.MustCompile(`zf1 done \d+ crc=0x[0-9a-f]+\r\n`)
)

// bochs boots the ISO image with so many CPUs, and returns when out has had its last line as often
// as is said, or with an error. Errors wrap [exec.ErrNotFound] where there is no Bochs. dir is for
// its files.
func bochs(
	ctx context.Context, dir, disc string, mib, cpus int, out *stamps, last *regexp.Regexp, times int,
) error {
	dir, err := os.MkdirTemp(dir, "bochs-")
	if err != nil {
		return err
	}
	rc := filepath.Join(dir, "bochsrc")
	if err := os.WriteFile(rc, fmt.Appendf(nil, bochsMachine, mib, cpus, disc), 0o644); err != nil {
		return err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	cmd := exec.CommandContext(ctx, "bochs", "-q", "-f", rc)
	// The debugger that Debian builds in waits for a command before the first instruction.
	cmd.Dir, cmd.ExtraFiles, cmd.Stdin = dir, []*os.File{w}, strings.NewReader("c\n")
	err = cmd.Start()
	w.Close()
	if err != nil {
		return fmt.Errorf(
			"%w: install Bochs, its BIOS and the VGA BIOS of LGPL: tools/setup.sh boot does on Debian", err)
	}
	buf, done := make([]byte, 4096), false
	for err == nil && !done {
		var n int
		n, err = r.Read(buf)
		out.Write(buf[:n])
		done = len(last.FindAllString(out.String(), times)) == times
	}
	late := ctx.Err()
	stop()
	err = cmd.Wait()
	if done {
		return nil
	}
	said, _ := os.ReadFile(filepath.Join(dir, "log"))
	return fmt.Errorf("the guest has not said %v before Bochs ended: %w\n%s",
		last, errors.Join(late, err), said)
}
