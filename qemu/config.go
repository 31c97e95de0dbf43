package qemu

// A machine is described in full: QEMU gets no defaults but those of the machine
// type and the processor, so that one Config is the same machine everywhere.

import (
	"fmt"
	"io"
	"slices"
	"time"
)

// Config describes a machine and what to boot on it. The zero value of each field
// but Kernel is useful.
type Config struct {
	Kernel string // path of a finished image
	Append string // kernel command line
	Initrd string // path of an archive that the loader hands to the kernel; "" means none

	Machine   string // QEMU machine type with its options: "q35" (the default), "pc", "microvm"
	CPU       string // QEMU processor model; "" means QEMU's default
	MemoryMiB int    // RAM in MiB; 0 means 128
	// Accel is "tcg" (the default), or another accelerator of QEMU. KVM is
	// never chosen by itself: the device may be there and still not run a
	// kernel, without an error.
	Accel  string
	Icount bool     // one TSC tick per guest instruction, the same in every run (-icount shift=0)
	Extra  []string // further arguments for QEMU

	// GDB is a QEMU character device for gdb's remote protocol, such as
	// "tcp:127.0.0.1:1234" or "unix:/tmp/gdb,server=on,wait=off"; "" means none.
	GDB string
	// Paused leaves the machine before its first instruction until
	// VM.Continue or gdb starts it. So does "-S" in Extra.
	Paused bool

	// Timeout is how long the machine may run; 0 means for ever. When it has
	// passed, an NMI asks the kernel where it is, and once the answer has
	// come QEMU is killed.
	Timeout time.Duration

	Stdout io.Writer // receives what the guest sends on its serial port, as it comes; nil discards it
	Stdin  io.Reader // is sent to the guest's serial port; nil sends nothing

	Program string // path of QEMU; "" means the one that Find finds
}

// defaultMemory is the RAM of a machine in MiB, if nothing else is said.
const defaultMemory = 128

// args returns the arguments for QEMU, without those for the kernel.
func (c *Config) args() []string {
	machine := c.Machine
	switch machine {
	case "":
		machine = "q35"
	case "microvm":
		// By default this machine adds words of its own to the kernel's
		// command line, for Linux.
		machine = "microvm,auto-kernel-cmdline=off"
	}
	accel := c.Accel
	if accel == "" {
		accel = "tcg"
	}
	memory := c.MemoryMiB
	if memory == 0 {
		memory = defaultMemory
	}
	args := []string{
		"-no-user-config", "-nodefaults", "-display", "none",
		"-machine", machine, "-accel", accel, "-m", fmt.Sprintf("%dM", memory),
		"-chardev", fmt.Sprintf("socket,id=serial,fd=%d", serialFD), "-serial", "chardev:serial",
		"-chardev", fmt.Sprintf("socket,id=monitor,fd=%d", monitorFD), "-mon", "chardev=monitor,mode=control",
		"-device", fmt.Sprintf("isa-debug-exit,iobase=%#x,iosize=0x04", ExitPort),
		// A reset stops the machine, and it stays as it is until its
		// registers have been read and the monitor says quit.
		"-no-reboot", "-no-shutdown",
		// It starts when the monitor is connected, so that no event is missed.
		"-S",
	}
	if c.CPU != "" {
		args = append(args, "-cpu", c.CPU)
	}
	if c.Icount {
		args = append(args, "-icount", "shift=0")
	}
	if c.GDB != "" {
		args = append(args, "-gdb", c.GDB)
	}
	return append(args, c.Extra...)
}

// paused reports whether somebody else starts the machine.
func (c *Config) paused() bool {
	return c.Paused || slices.Contains(c.Extra, "-S") || slices.Contains(c.Extra, "--S")
}
