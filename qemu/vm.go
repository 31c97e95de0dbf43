package qemu

// A VM is a QEMU process and its streams: the guest's serial ports, the monitor,
// and QEMU's own messages. The process's end closes them, and only when each
// has been read to its end is the VM's end known, so that nothing the guest sent
// last is lost.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	vmtest "github.com/hugelgupf/vmtest/qemu"
)

// VM is a running machine. Its methods may be called from any goroutine.
type VM struct {
	cfg     Config
	ctx     context.Context
	process *vmtest.VM
	streams streams
	monitor *monitor
	stderr  *output
	tmp     string // private folder, "" if none was needed

	started  time.Time
	lastByte atomic.Int64 // when the guest last sent something, in ns since started; 0: never
	passing  atomic.Int32 // how many writers are at work on what it has sent
	timedOut atomic.Bool

	reason    atomic.Pointer[string] // of the first SHUTDOWN event that is the end
	stops     chan struct{}          // gets a value when the machine has been stopped, by whomever
	resets    chan struct{}          // gets a value for each reset that is over
	reboots   int                    // so far (reboot.go)
	rebooting sync.Mutex
	registers chan string // the dump that quit has taken, if it has
	onceDied  sync.Once

	done   chan struct{} // closed when result and err are final
	result Result
	err    error

	text     *join // of the serial port and the virtio console
	writeErr error // of cfg.Stdout or cfg.Records; final when the serial ports have ended
	writing  sync.Mutex
}

// Start starts a machine and lets it run, unless the Config says to leave it
// paused. The end of ctx kills it. Errors wrap [ErrNotFound], [ErrQEMU] or
// [ErrMonitor]; how a machine that was started ends is told by [VM.Wait].
//
// QEMU belongs to the process group of its caller, so a program on a terminal
// that wants to outlive the user's ^\ (SIGQUIT) has to ignore that signal while
// it calls Start: QEMU inherits that.
func Start(ctx context.Context, cfg Config) (*VM, error) {
	if hostError != nil {
		return nil, hostError
	}
	if err := cfg.wrongRecord(); err != nil {
		return nil, err
	}
	if cfg.Program == "" {
		path, err := Find()
		if err != nil {
			return nil, err
		}
		cfg.Program = path
	}
	cfg.confine(ctx)
	if cfg.CDROM != "" {
		// QEMU would take what is before a colon in it for a protocol
		path, err := filepath.Abs(cfg.CDROM)
		if err != nil {
			return nil, fmt.Errorf("%w: %v", ErrQEMU, err)
		}
		cfg.CDROM = path
	}
	vm := &VM{
		cfg:       cfg,
		ctx:       ctx,
		stderr:    new(output),
		registers: make(chan string, 1),
		resets:    make(chan struct{}, 1),
		stops:     make(chan struct{}, 1),
		done:      make(chan struct{}),
	}
	kernel := ""
	var err error
	var files []*os.File // that QEMU is handed
	defer func() { closeAll(files) }()
	// hand returns a path of a file to give to QEMU.
	hand := func(name, file string) (string, error) {
		if !cfg.recorded() {
			return vm.plainPath(name, file)
		}
		f, err := os.Open(file)
		if err != nil {
			return "", fmt.Errorf("%w: %s: %v", ErrQEMU, name, err)
		}
		files = append(files, f)
		return fmt.Sprintf("/dev/fd/%d", logFD+len(files)), nil
	}
	switch {
	case cfg.CDROM == "":
		if kernel, err = hand("kernel", cfg.Kernel); err != nil {
			return nil, err
		}
	case cfg.Kernel != "" || cfg.Append != "" || cfg.Initrd != "":
		return nil, fmt.Errorf("%w: an ISO image has its own kernel, command line and files", ErrQEMU)
	}
	if cfg.UEFI {
		if vm.cfg.firmware, err = FindUEFI(); err != nil {
			return nil, err
		}
		cfg = vm.cfg
	}
	initrd := ""
	if cfg.Initrd != "" {
		if initrd, err = hand("initrd", cfg.Initrd); err != nil {
			vm.cleanup()
			return nil, err
		}
	}
	if err := vm.prepareSnapshots(&cfg); err != nil {
		vm.cleanup()
		return nil, err
	}
	streams, children, err := openStreams()
	if err != nil {
		vm.cleanup()
		return nil, err
	}
	vm.streams = streams

	// The program is the first argument, not QEMUCommand, which is cut at spaces.
	opts := &vmtest.Options{
		QEMUArgs:     slices.Concat(leash, []string{cfg.Program}, cfg.args()),
		Kernel:       kernel,
		KernelArgs:   cfg.Append,
		Initramfs:    initrd,
		SerialOutput: []io.WriteCloser{vm.stderr}, // of the process, that is: its messages
	}
	for _, f := range slices.Concat(children, files) {
		opts.AddFile(f)
	}
	running := ctx
	var output *os.File // QEMU's end
	if cfg.Record != nil {
		// The end of ctx lets QEMU write the end of its log.
		running = context.WithoutCancel(ctx)
		if output, err = again(children[outputFD-serialFD]); err != nil {
			streams.close()
			closeAll(children)
			vm.cleanup()
			return nil, fmt.Errorf("%w: %v", ErrQEMU, err)
		}
		defer output.Close()
	}
	vm.started = time.Now()
	vm.process, err = opts.Start(running)
	closeAll(children)
	if err != nil {
		streams.close()
		vm.cleanup()
		return nil, fmt.Errorf("%w: %w", ErrQEMU, err)
	}

	vm.monitor = newMonitor(streams.monitor, vm.event)
	var ports sync.WaitGroup
	stdout := newJoin(cfg.Stdout, cfg.PortOutput, cfg.PortErrors)
	stdout.alone, vm.text = !cfg.Port, stdout
	ports.Go(func() { vm.copySerial(streams.output, stdout); stdout.end() })
	ports.Go(func() { vm.copySerial(streams.port, joinPort{stdout}); joinPort{stdout}.end() })
	ports.Go(func() { vm.copySerial(streams.records, cfg.Records) })
	ended := make(chan struct{})
	ports.Go(func() { vm.copyLog(streams.log) })
	if cfg.log != "" {
		ports.Go(func() { vm.followLog(ended) })
	}
	go vm.wait(&ports, ended)

	err = vm.monitor.handshake()
	if err == nil && output != nil {
		err = vm.outputWaits(output)
	}
	if err == nil && !cfg.paused() && vm.Continue() != nil {
		// The machine may have come to its end before QEMU could answer.
		vm.Kill()
		_, err = vm.Wait()
		if !errors.Is(err, ErrQEMU) && !errors.Is(err, ErrKilled) {
			return vm, nil
		}
	}
	if err != nil {
		// The handshake fails when QEMU has refused its arguments: then its
		// own words are the error.
		vm.Kill()
		if _, werr := vm.Wait(); errors.Is(werr, ErrQEMU) || ctx.Err() != nil {
			err = werr
		}
		// 'virtio-serial-pci' is not a valid device model name
		if cfg.Port && (strings.Contains(err.Error(), "'virtio-serial-") ||
			strings.Contains(err.Error(), "'virtserialport'")) {
			err = fmt.Errorf("%w: %w", ErrPort, err)
		}
		return nil, err
	}
	switch {
	case cfg.Stdin != nil && cfg.Record != nil:
		go vm.typeIn(streams.serial, cfg.Stdin)
	case cfg.Stdin != nil && cfg.Port:
		go stdout.input(streams.serial, streams.port, cfg.Stdin)
	case cfg.Stdin != nil:
		// The socket stays open at the end of the input: the guest knows of no end.
		go io.Copy(streams.serial, cfg.Stdin)
	}
	go vm.watch()
	if cfg.Record != nil {
		stop := context.AfterFunc(ctx, vm.finish)
		go func() { <-vm.done; stop() }()
	}
	return vm, nil
}

// Cmdline returns the command line that QEMU was started with.
func (vm *VM) Cmdline() []string { return vm.process.Cmdline()[len(leash):] }

// Continue starts a machine that was left paused.
func (vm *VM) Continue() error {
	_, err := vm.QMP("cont", nil)
	return err
}

// QMP runs a command of QEMU's monitor protocol and returns what it returned, as
// JSON. Arguments is nil or anything that encoding/json makes an object of. Errors
// wrap [ErrMonitor].
func (vm *VM) QMP(command string, arguments any) (json.RawMessage, error) {
	return vm.monitor.run(command, arguments)
}

// InjectNMI sends the processor a non-maskable interrupt. It arrives through the
// local APIC's LINT1 input where there is an APIC (QEMU hw/i386/x86.c, x86_nmi),
// so it does nothing while that is masked.
func (vm *VM) InjectNMI() error {
	if vm.cfg.recorded() {
		return errNMI
	}
	_, err := vm.QMP("inject-nmi", nil)
	return err
}

// Kill ends QEMU at once. The machine's end is then [ErrKilled].
func (vm *VM) Kill() error {
	err := vm.process.Kill()
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// End reads the registers, for the Result, and ends QEMU at once, or with Config.Record when it
// has written the end of its log. The machine's end is then [ErrKilled].
func (vm *VM) End() error {
	vm.died()
	vm.takeRegisters()
	if vm.cfg.Record != nil {
		vm.finish()
	}
	return vm.Kill()
}

// Done returns a channel that is closed when the machine has ended.
func (vm *VM) Done() <-chan struct{} { return vm.done }

// Wait waits until the machine has ended and all its output has been written, and
// tells how it ended. The error is nil if the kernel ended it by the contract of
// exit.go, whatever the outcome; otherwise it wraps one of the errors there.
func (vm *VM) Wait() (Result, error) {
	<-vm.done
	return vm.result, vm.err
}

// consoleLimit is how long the end of QEMU's terminal may come behind that of its monitor.
const consoleLimit = 10 * time.Second

// wakeConsole wakes who reads the terminal that the library has given QEMU for its messages, when
// QEMU has gone and the terminal's end has not been seen: of 8,000 machines one was waited for so
// for ever.
func (vm *VM) wakeConsole(ended <-chan struct{}) {
	select {
	case <-ended:
		return
	case <-vm.monitor.closed:
	}
	for {
		select {
		case <-ended:
			return
		case <-time.After(consoleLimit):
			hangUp(vm.process.Console.Tty().Name())
		}
	}
}

// signalLimit is how long a signal that has ended QEMU may take to end the VM's context.
const signalLimit = time.Second

// wait collects the end of the process, which it closes ended for, and of the streams.
func (vm *VM) wait(ports *sync.WaitGroup, ended chan struct{}) {
	defer close(vm.done)
	go vm.wakeConsole(ended)
	err := vm.process.Wait()
	close(ended)
	vm.streams.leash.Write([]byte(leashOff))
	ports.Wait()
	<-vm.monitor.closed
	vm.streams.close()
	vm.cleanup()

	r := &vm.result
	r.Stderr = vm.stderr.String()
	if reason := vm.reason.Load(); reason != nil {
		r.Reason = *reason
	}
	select {
	case r.Registers = <-vm.registers:
		r.RIP, _ = InstructionPointer(r.Registers)
	default:
	}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		r.Status = exit.ExitCode()
		if w, ok := exit.Sys().(syscall.WaitStatus); ok && w.Signaled() {
			r.Signal = w.Signal()
		}
	case err != nil:
		r.Status = -1
	}
	vm.err = r.decode()
	if r.Reason == "host-signal" || r.Signal == syscall.SIGINT {
		// A terminal's ^C reaches QEMU and us, and QEMU's end may be seen first.
		select {
		case <-vm.ctx.Done():
		case <-time.After(signalLimit):
		}
	}
	if most := 63; r.Outcome == Exited && r.Program == most {
		r.Program = int(max(uint64(most), vm.text.exited&0xff))
	}
	switch {
	case r.Reason == stateError:
		vm.err = r.accelError(vm.cfg.accel())
	case vm.timedOut.Load():
		vm.err = fmt.Errorf("%w after %v", ErrTimeout, vm.cfg.Timeout)
	case vm.err != nil && vm.ctx.Err() != nil:
		vm.err = fmt.Errorf("%w: %w", ErrKilled, context.Cause(vm.ctx))
	case vm.writeErr != nil:
		vm.err = fmt.Errorf("writing the serial output: %w", vm.writeErr)
	}
	if vm.err != nil {
		r.Outcome, r.Program = Failed, 0
	}
}

// copySerial passes on what the guest sends on a serial port. When nobody takes it any
// more the machine is killed, since nobody would see how it ends.
func (vm *VM) copySerial(port io.Reader, to io.Writer) {
	buf := make([]byte, 64<<10)
	failed := false
	var last time.Time
	for {
		n, err := port.Read(buf)
		if n > 0 {
			vm.lastByte.Store(int64(time.Since(vm.started)))
			if to != nil && !failed {
				vm.passing.Add(1)
				_, err := to.Write(buf[:n])
				vm.passing.Add(-1)
				if err != nil {
					failed = true
					vm.writeFailed(err)
				}
			}
		}
		if err != nil {
			return
		}
		// A UART sends bytes one by one. To wake up for each would cost more than all else.
		now := time.Now()
		if now.Sub(last) < 2*gather && n < len(buf)/2 {
			time.Sleep(gather)
		}
		last = now
	}
}

// gather is how long the next bytes are left to gather when some have come shortly before.
const gather = time.Millisecond

// writeFailed ends the machine for an error of a writer.
func (vm *VM) writeFailed(err error) {
	vm.writing.Lock()
	if vm.writeErr == nil {
		vm.writeErr = err
	}
	vm.writing.Unlock()
	vm.Kill()
}

// plainPath returns a path of a file to give to QEMU. A multiboot loader puts the
// kernel's path before the command line with a space between, and takes the initrd's
// for a list of files, each with arguments behind a space, parted by commas (QEMU
// hw/i386/multiboot.c). So a path with such a character in it is replaced by a link
// without.
func (vm *VM) plainPath(name, file string) (string, error) {
	path, err := filepath.Abs(file)
	if err != nil {
		return "", fmt.Errorf("%w: %s %s: %v", ErrQEMU, name, file, err)
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%w: %s: %v", ErrQEMU, name, err)
	}
	if !strings.ContainsAny(path, notPlain) {
		return path, nil
	}
	if vm.tmp == "" {
		if vm.tmp, err = PlainFolder(); err != nil {
			return "", fmt.Errorf("%w: %v", ErrQEMU, err)
		}
	}
	link := filepath.Join(vm.tmp, name)
	if err := os.Symlink(path, link); err != nil {
		vm.cleanup()
		return "", fmt.Errorf("%w: %v", ErrQEMU, err)
	}
	return link, nil
}

func (vm *VM) cleanup() {
	if vm.tmp != "" {
		os.RemoveAll(vm.tmp)
	}
}

// hex reads a hexadecimal number that follows key in text, as "RIP=00261f80".
func hex(text, key string) (uint64, bool) {
	_, digits, ok := strings.Cut(text, key)
	if !ok {
		return 0, false
	}
	if end := strings.IndexFunc(digits,
		func(r rune) bool { return !strings.ContainsRune("0123456789abcdefABCDEF", r) }); end >= 0 {
		digits = digits[:end]
	}
	n, err := strconv.ParseUint(digits, 16, 64)
	return n, err == nil
}
