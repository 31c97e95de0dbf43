package qemu

// A machine is described in full: QEMU gets no defaults but those of the machine
// type and the processor, so that one Config is the same machine everywhere.

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Config describes a machine and what to boot on it. The zero value of each field
// but Kernel is useful.
type Config struct {
	Kernel string // path of a finished image
	Append string // kernel command line
	Initrd string // path of an archive that the loader hands to the kernel; "" means none
	// CDROM, in place of Kernel, is the path of an ISO image to boot from. Append and
	// Initrd are nothing for it: it has its own.
	CDROM string
	// Stick gives the ISO image as a USB stick, not as an optical disc.
	Stick bool
	// UEFI boots by UEFI firmware (OVMF, see [FindUEFI]), not by a BIOS. QEMU's own
	// loader, which takes Kernel, does not work with it.
	UEFI bool
	// Reboots is how often the machine may reset and boot again. The reset after
	// those ends it, as [ErrReset] says.
	Reboots int

	Machine   string // QEMU machine type with its options: "q35" (the default), "pc", "microvm"
	CPU       string // QEMU processor model; "" means QEMU's default
	MemoryMiB int    // RAM in MiB; 0 means 128
	CPUs      int    // how many; 0 means 1
	// RAM is the path of a file that is to be the machine's RAM, so that others may see it; ""
	// means none. QEMU makes an empty one as large as it must be.
	RAM string
	// Accel is "tcg" (the default), or another accelerator of QEMU, such as what
	// [ChooseAccel] returns. One that gives the machine up is [ErrAccel].
	Accel  string
	Icount bool // one TSC tick per guest instruction, the same in every run (-icount shift=0)
	// VirtualTime, with Icount, is for a machine that does the same in each run: RDRAND gives the
	// same numbers, which are no secret then, it sleeps in
	// virtual time, too, so that sleeping takes the host no time, and its date begins on
	// 2026-01-01.
	VirtualTime bool
	// Seed is where the random numbers of VirtualTime begin; 0 means 1.
	Seed uint64
	// Date is that of the machine's clock when it starts, with which it goes on by the machine's own
	// time; zero means that of the host, and by its time. VirtualTime has its own.
	Date  time.Time
	Extra []string // further arguments for QEMU

	// Record receives QEMU's log of what reaches the machine from outside, as it comes: with the
	// log the machine does the same again. nil: none is made. See record.go.
	Record io.Writer
	// Replay is the path of such a log, of a machine that was started with the same Config; "" means
	// none. Stdin and the network are nothing for the machine then: they are in the log.
	Replay string

	// Snapshots, with Record, is for a machine whose state is to be taken by VM.Snapshot. It needs a
	// Date or VirtualTime.
	Snapshots bool
	// Snapshot is the path of such a state, with which Replay begins, in place of the machine's start;
	// "" means none.
	Snapshot string

	// Net adds a network card on QEMU's user-mode network, as its netdev "net0": one of
	// NetModels, and behind a comma options for QEMU's "-netdev user". "" means none. The
	// kernel looks for it with its option net=on.
	Net string

	// Shares are folders of the host for the guest, MaxShares at most; the kernel's command line
	// needs ShareOptions.
	Shares []Share

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
	// is sent to the guest's serial port, or with Port to where it receives input; nil sends nothing
	Stdin io.Reader
	// NoSerial leaves the serial port COM1 out.
	NoSerial bool
	// Port gives the machine a virtio console. What comes from there is joined with what the
	// serial port sends, for Stdout, in the order in which the kernel has written it. The
	// kernel uses it with its option console=virtio, and receives Stdin there if it can.
	Port bool
	// PortOutput, with Port, receives what comes by the virtio console instead of Stdout. Of both,
	// one Write has returned before the next one begins, in the order of the kernel. nil: Stdout
	// receives it.
	PortOutput io.Writer
	// PortErrors, with Port, receives of that the program's standard error. nil: PortOutput does.
	PortErrors io.Writer
	// Records receives what the guest sends on its second serial port, COM2. nil: it has
	// none.
	Records io.Writer

	// Died is called once for a machine that has reset, powered itself off, passed its Timeout or
	// is ended by VM.End, before QEMU ends: VM.Memory works there. nil: nothing is called.
	Died func(*VM)

	Program string // path of QEMU; "" means the one that Find finds

	firmware string // of UEFI
	confined bool   // by QEMU's sandbox
	log      string // QEMU's, where it is a file
	states   string // of the machine, QEMU's image of them
}

// accel is the accelerator's name.
func (c *Config) accel() string {
	if c.Accel == "" {
		return "tcg"
	}
	return c.Accel
}

// comma doubles the commas of a value of one of QEMU's options.
func comma(s string) string { return strings.ReplaceAll(s, ",", ",,") }

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
	memory := c.MemoryMiB
	if memory == 0 {
		memory = defaultMemory
	}
	if c.RAM != "" {
		machine += ",memory-backend=ram"
	}
	args := []string{
		"-no-user-config", "-nodefaults", "-display", "none",
		"-machine", machine, "-accel", c.accel(), "-m", fmt.Sprintf("%dM", memory),
		"-chardev", "stdio,id=serial,signal=off",
		"-chardev", fmt.Sprintf("socket,id=monitor,fd=%d", monitorFD), "-mon",
		"chardev=monitor,mode=control",
		"-device", fmt.Sprintf("isa-debug-exit,iobase=%#x,iosize=0x04", ExitPort),
		// A reset stops the machine, and it stays as it is until its
		// registers have been read and the monitor says quit.
		"-no-reboot", "-no-shutdown",
		// It starts when the monitor is connected, so that no event is missed.
		"-S",
	}
	if c.RAM != "" {
		args = append(args, "-object",
			fmt.Sprintf("memory-backend-file,id=ram,share=on,size=%dM,mem-path=%s", memory, comma(c.RAM)))
	}
	if c.CPU != "" {
		args = append(args, "-cpu", c.CPU)
	}
	if c.CPUs > 1 {
		args = append(args, "-smp", fmt.Sprint(c.CPUs))
	}
	switch {
	case c.counts() && c.VirtualTime:
		args = append(args, "-icount", "shift=0,sleep=off"+c.recordOption(), "-rtc",
			"base=2026-01-01T00:00:00,clock=vm", "-seed", fmt.Sprint(max(1, c.Seed)))
	case c.counts():
		args = append(args, "-icount", "shift=0"+c.recordOption())
	}
	if !c.Date.IsZero() && !c.VirtualTime {
		args = append(args, "-rtc", "base="+c.Date.UTC().Format("2006-01-02T15:04:05")+",clock=vm")
	}
	if c.NoSerial {
		args = append(args, "-serial", "none")
	} else {
		args = append(args, "-serial", "chardev:serial")
	}
	if c.Records != nil {
		// A device by name: microvm takes no second -serial.
		args = append(args, "-chardev", fmt.Sprintf("file,id=records,path=/dev/fd/%d", recordsFD),
			"-device", "isa-serial,index=1,chardev=records")
	}
	if c.Port {
		device := "virtio-serial-pci"
		if strings.HasPrefix(machine, "microvm") {
			device = "virtio-serial-device"
		}
		args = append(args, "-chardev", fmt.Sprintf("socket,id=port,fd=%d", portFD),
			"-device", device, "-device", "virtserialport,chardev=port,nr=1")
	}
	switch {
	case c.CDROM != "" && c.recorded():
		args = append(args, recordDisc(c.CDROM)...)
	case c.CDROM != "" && c.Stick:
		args = append(args, "-drive", "if=none,id=stick,format=raw,snapshot=on,file="+comma(c.CDROM),
			"-device", "qemu-xhci", "-device", "usb-storage,drive=stick,bootindex=0")
	case c.CDROM != "":
		args = append(args, "-drive", "media=cdrom,format=raw,readonly=on,file="+comma(c.CDROM))
	}
	if c.firmware != "" {
		args = append(args, "-drive", "if=pflash,format=raw,readonly=on,file="+comma(c.firmware))
	}
	if c.GDB != "" {
		args = append(args, "-gdb", c.GDB)
	}
	if c.Net != "" {
		args = append(args, netArgs(c.Net, machine, c)...)
	}
	if c.confined {
		args = append(args, "-sandbox", sandbox)
	}
	args = append(args, c.snapshotArgs()...)
	args = append(args, shareArgs(c.Shares, machine)...)
	return append(args, c.Extra...)
}

// paused reports whether somebody else starts the machine.
func (c *Config) paused() bool {
	return c.Paused || slices.Contains(c.Extra, "-S") || slices.Contains(c.Extra, "--S")
}
