package qemu

// An accelerator is tried by what it is for: a kernel of 256 bytes that enters long mode,
// takes a trap, saves the FPU's state and exits. A device that is there proves nothing. There
// are hosts whose KVM runs a BIOS by emulating its instructions one by one, and gives up at
// the first INT3; QEMU then leaves the machine paused and says nothing.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// ErrAccel is returned when the accelerator cannot run the machine.
var ErrAccel = errors.New("the accelerator does not work")

// probeLimit is how long an accelerator may take to run the probe, which a working one does
// in a fraction of a second, the firmware's part included.
const probeLimit = 15 * time.Second

// probeKernel is testdata/probe.asm; a test assembles that and compares.
const probeKernel = "" +
	"02b0ad1b00000100fe4f51e40000100000001000000000000000000020001000" + // multiboot header
	"fafc31c0bf00001800b9000c0000f3abc7050000180003101800c705001018000320" +
	"1800c7050020180083000000b8000018000f22d8" + // page tables
	"0f20e00d200600000f22e0b9800000c00f320d000100000f300f20c083e0fb0d" +
	"030000800f22c00f0115f0001000ea8b0010000800" + // long mode
	"bc00001800488d053f000000bf30001700668907c747020800008e48c1e810668947" +
	"0648c74708000000000f011d39000000cc" + // IDT, trap
	"0fae842400feffff31c00fa20f31b820000000e7f4f4ebfd" + // FXSAVE, CPUID, RDTSC, exit
	"48cf0000000000000000ffff0000009baf00ffff00000093cf00" + // the trap's handler, GDT
	"1700d80010003f000000170000000000"

// ProbeAccel boots the probe by an accelerator of a QEMU. The error wraps [ErrAccel] if the
// accelerator has not run it, and says what QEMU said. Context: host.
func ProbeAccel(ctx context.Context, program, accel string) error {
	return probeAccel(ctx, program, accel, probeLimit)
}

func probeAccel(ctx context.Context, program, accel string, limit time.Duration) error {
	tmp, err := PlainFolder()
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	var image []byte
	if _, err := fmt.Sscanf(probeKernel, "%x", &image); err != nil {
		return err
	}
	kernel := filepath.Join(tmp, "probe")
	if err := os.WriteFile(kernel, image, 0o600); err != nil {
		return err
	}
	patience, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	vm, err := Start(patience, Config{Program: program, Kernel: kernel, Accel: accel, MemoryMiB: 16})
	if err == nil {
		var res Result
		if res, err = vm.Wait(); err == nil && (res.Outcome != Exited || res.Program != 0) {
			err = fmt.Errorf("%w: %s: its machine ended with status %d", ErrAccel, accel, res.Status)
		}
	}
	switch {
	case err == nil, ctx.Err() != nil, errors.Is(err, ErrAccel):
	case patience.Err() != nil:
		err = fmt.Errorf("%w: %s: its machine has hung for %v", ErrAccel, accel, limit)
	case errors.Is(err, ErrQEMU):
		said := strings.TrimPrefix(err.Error(), ErrQEMU.Error()+": ")
		err = fmt.Errorf("%w: %s: %s", ErrAccel, accel, said)
	default:
		err = fmt.Errorf("%w: %s: %v", ErrAccel, accel, err)
	}
	return err
}

// stateError is the reason of a machine that QEMU has paused since it cannot run it on
// (QEMU's RunState internal-error).
const stateError = "internal-error"

// checkStopped is called when the machine was paused, by whomever. One that the accelerator
// has given up would stand still for ever.
func (vm *VM) checkStopped() {
	out, err := vm.QMP("query-status", nil)
	if err != nil || !strings.Contains(string(out), `"`+stateError+`"`) {
		return
	}
	reason := stateError
	if vm.reason.CompareAndSwap(nil, &reason) {
		vm.End()
	}
}

// accelError is for a machine that its accelerator has given up, with what QEMU said of it,
// registers apart.
func (r *Result) accelError(accel string) error {
	var said []string
	for line := range strings.Lines(r.Stderr) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "KVM internal error") || strings.Contains(line, "emulation failure") ||
			strings.Contains(line, "error: ") || strings.Contains(line, "failed") {
			said = append(said, line)
		}
	}
	if len(said) == 0 {
		said = []string{"QEMU has stopped its machine and says no reason"}
	}
	return fmt.Errorf("%w: %s: %s", ErrAccel, accel, strings.Join(said, "; "))
}
