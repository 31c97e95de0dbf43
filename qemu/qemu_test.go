package qemu

// These tests boot a guest that never reaches Go (testdata/guest): it obeys the
// serial port, so each way for a machine to end is one key away. They fail, and
// never skip, where there is no QEMU.

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zeroframe/zeroframe/qemu/await"
	"github.com/zeroframe/zeroframe/tools/machine/image"
)

func TestMain(m *testing.M) {
	image.RunTool()
	os.Setenv(AccelVariable, "tcg") // for zf, whatever this machine has
	if os.Getenv(orphanKernel) != "" {
		startOrphan()
	}
	var err error
	if guestDir, err = os.MkdirTemp("", "zf-guest-"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(guestDir)
	os.Exit(code)
}

// start starts the guest; the keys are sent to it.
func start(t *testing.T, cfg Config, keys string) (*VM, *log) {
	t.Helper()
	out := new(log)
	if cfg.Kernel == "" && cfg.CDROM == "" {
		cfg.Kernel = guest(t, image.AllLoaders)
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = limit
	}
	cfg.Stdin, cfg.Stdout = strings.NewReader(keys), out
	vm, err := Start(t.Context(), cfg)
	if err != nil {
		t.Fatalf("Start failed: %v", err)
	}
	watched(t, vm, out)
	return vm, out
}

// watched ends the machine with the test. Should the test fail, it says what the machine
// was and what it has sent last.
func watched(t *testing.T, vm *VM, out *log) {
	go func() { vm.Wait(); out.End() }()
	t.Cleanup(func() {
		vm.Kill()
		vm.Wait()
		if t.Failed() {
			t.Logf("%s\nserial port, the end:\n%s", strings.Join(vm.Cmdline(), " "), endOf(out.String(), 8000))
		}
	})
}

// TestMachines boots by each protocol on each machine: QEMU takes multiboot if it
// can, so PVH is proved with an image that has nothing else.
func TestMachines(t *testing.T) {
	t.Parallel()
	for _, machine := range []string{"", "pc", "q35", "microvm"} {
		for _, tt := range []struct {
			loaders image.Loaders
			want    string
		}{
			{image.AllLoaders, "M\nx"},
			{image.Multiboot, "M\nx"},
			{image.PVH, "P\nx"},
		} {
			vm, out := start(t, Config{Kernel: guest(t, tt.loaders), Machine: machine}, "xe")
			if res, err := vm.Wait(); err != nil || res.Outcome != Exited || res.Program != 0 || out.String() != tt.want {
				t.Errorf("%q, image for %v: %+v, %v, serial %q; want exit 0, serial %q", machine, tt.loaders, res, err, out, tt.want)
			}
		}
	}
}

func TestEnds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		key     string
		outcome Outcome
		program int
		status  int
		err     error
		says    string
	}{
		{"e", Exited, 0, 65, nil, ""},
		{"t", Traced, 0, 67, nil, ""},
		{"p", Exited, 5, 139, nil, ""},
		{"u", Failed, 0, 3, ErrExitValue, "0x1"},
		{"r", Failed, 0, 0, ErrReset, "at rip 0x2"},
	} {
		vm, _ := start(t, Config{}, tt.key)
		res, err := vm.Wait()
		if res.Outcome != tt.outcome || res.Program != tt.program || res.Status != tt.status || !errors.Is(err, tt.err) {
			t.Errorf("key %s: %+v, %v; want %v, %d, status %d, %v", tt.key, res, err, tt.outcome, tt.program, tt.status, tt.err)
		}
		if tt.says != "" && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("key %s: error %q; want %q in it", tt.key, err, tt.says)
		}
		if again, err2 := vm.Wait(); again != res || err2 != err {
			t.Errorf("key %s: the second Wait = %+v, %v; want the same as the first", tt.key, again, err2)
		}
	}
}

// TestTripleFault: the registers of the moment are kept.
func TestTripleFault(t *testing.T) {
	t.Parallel()
	path := guest(t, image.PVH)
	info, err := image.InspectFile(path)
	if err != nil {
		t.Fatal(err)
	}
	vm, _ := start(t, Config{Kernel: path, Machine: "microvm"}, "r")
	res, err := vm.Wait()
	if !errors.Is(err, ErrReset) || res.Reason != "guest-reset" {
		t.Errorf("Wait = %+v, %v; want guest-reset, %v", res, err, ErrReset)
	}
	if res.RIP < info.Entry || res.RIP > info.Entry+0x200 || !strings.Contains(res.Registers, "EIP=") {
		t.Errorf("rip = %#x; want one in the guest's entry, %#x", res.RIP, info.Entry)
	}
}

// TestBytes: every byte passes as it is, in both directions, line ends and control
// characters too.
func TestBytes(t *testing.T) {
	t.Parallel()
	var all []byte
	for b := range 256 {
		if !bytes.ContainsRune([]byte("etpurh"), rune(b)) || b >= 0x80 {
			all = append(all, byte(b))
		}
	}
	all = append(all, "\n\r\n\r\r\n\x04\x03\x1c\x1a\x01x"...)
	vm, out := start(t, Config{}, string(all)+"e")
	if _, err := vm.Wait(); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "M\n"+string(all); got != want {
		t.Errorf("serial port = %q; want %q", got, want)
	}
}

// TestLive: what the guest sends arrives while it waits, without a newline.
func TestLive(t *testing.T) {
	t.Parallel()
	vm, out := start(t, Config{}, ">")
	out.For(t, "M\n>")
	vm.Kill()
	if res, err := vm.Wait(); !errors.Is(err, ErrKilled) || res.Signal != syscall.SIGKILL {
		t.Errorf("Wait = %v, %v; want %v by SIGKILL", res.Signal, err, ErrKilled)
	}
}

func TestHaltedAndNMI(t *testing.T) {
	t.Parallel()
	vm, out := start(t, Config{}, "h")
	out.For(t, "M\n")
	waitHalted(t, vm)
	// The guest has no interrupt table, so an NMI is a triple fault, which
	// shows that it has arrived.
	if err := vm.InjectNMI(); err != nil {
		t.Fatal(err)
	}
	if _, err := vm.Wait(); !errors.Is(err, ErrReset) {
		t.Errorf("Wait after an NMI = %v; want %v", err, ErrReset)
	}
}

// TestTimeout: the end of a machine that says nothing to an NMI comes, by the host's clock. What of
// that time is the guest's, TestWaiting has.
func TestTimeout(t *testing.T) {
	t.Parallel()
	const most = 20 * time.Second
	for _, machine := range []string{"q35", "microvm"} {
		took := time.Duration(math.MaxInt64)
		for range 3 { // a busy host may be late once
			vm, _ := start(t, Config{Machine: machine, Timeout: 300 * time.Millisecond}, "")
			begin := time.Now()
			res, err := vm.Wait()
			if !errors.Is(err, ErrTimeout) || res.Outcome != Failed || err.Error() != "timeout after 300ms" {
				t.Errorf("%s: Wait = %+v, %v; want %v", machine, res, err, ErrTimeout)
			}
			if took = min(took, time.Since(begin)); took <= most {
				break
			}
		}
		if took > most {
			t.Errorf("%s: the end took %v", machine, took)
		}
	}
}

// TestWaiting: how long a guest is waited for that was sent an NMI, looked at ten times a second. It
// says something until so long after it, and its threads are denied so many hundredths of
// the time. What it sends is taken so long after it.
func TestWaiting(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		says, vcpu, main, taken, want time.Duration
	}{
		{0, 0, 0, 0, nmiFirst},
		{time.Second, 0, 0, 0, time.Second + nmiQuiet},
		{time.Minute, 0, 0, 0, nmiAll},
		{0, 50, 50, 0, 2 * nmiFirst}, // both at once
		{time.Second, 0, 50, 0, time.Second + 2*nmiQuiet},
		{time.Minute, 50, 0, 0, 2 * nmiAll},
		{0, 100, 0, 0, nmiLimit},
		{time.Hour, 0, 100, 0, nmiLimit},
		{time.Second, 0, 0, time.Minute, time.Minute + nmiQuiet},
		{time.Second, 0, 0, time.Hour, nmiLimit},
	} {
		const look = time.Second / 10
		began := time.Now()
		w := newWaiting(began, 0, map[string]time.Duration{})
		for at := look; ; at += look {
			if w.over(began.Add(at), int64(min(at, tt.says)), map[string]time.Duration{
				"vcpu": at * tt.vcpu / 100, "main": at * tt.main / 100,
			}, at <= tt.taken) {
				if at <= tt.want || at > tt.want+2*look {
					t.Errorf("%+v: over after %v", tt, at)
				}
				break
			}
		}
	}
}

func TestContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	vm, err := Start(ctx, Config{Kernel: guest(t, image.AllLoaders), Timeout: limit})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := vm.Wait(); !errors.Is(err, ErrKilled) || !errors.Is(err, context.Canceled) {
		t.Errorf("Wait = %v; want %v and %v", err, ErrKilled, context.Canceled)
	}
	if _, err := Start(ctx, Config{Kernel: guest(t, image.AllLoaders)}); !errors.Is(err, context.Canceled) {
		t.Errorf("Start with a context that is done = %v; want %v", err, context.Canceled)
	}
}

// TestKernelPath: QEMU's own rules for file names do not matter.
func TestKernelPath(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a b,c=d.elf")
	file, err := os.ReadFile(guest(t, image.AllLoaders))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, file, 0o644); err != nil {
		t.Fatal(err)
	}
	vm, _ := start(t, Config{Kernel: path, Append: "a,b=c  d"}, "e")
	if _, err := vm.Wait(); err != nil {
		t.Errorf("Wait = %v; want nil", err)
	}
	if line := strings.Join(vm.Cmdline(), "|"); !strings.HasSuffix(line, "|-append|a,b=c  d") {
		t.Errorf("command line = %s; want the kernel's at its end, as given", line)
	}
	if _, err := os.Stat(vm.tmp); vm.tmp == "" || !os.IsNotExist(err) {
		t.Errorf("folder %q of the link: %v; want it gone", vm.tmp, err)
	}
}

// TestPaused: with -S in Extra the machine waits for Continue.
func TestPaused(t *testing.T) {
	t.Parallel()
	vm, out := start(t, Config{Extra: []string{"-S"}}, "e")
	if status, err := vm.QMP("query-status", nil); err != nil || !strings.Contains(string(status), `"running": false`) || out.String() != "" {
		t.Errorf("a paused guest is %s, %v and sent %q", status, err, out)
	}
	if err := vm.Continue(); err != nil {
		t.Fatal(err)
	}
	if res, err := vm.Wait(); err != nil || res.Outcome != Exited {
		t.Errorf("Wait = %+v, %v; want exit 0", res, err)
	}
}

func TestIcount(t *testing.T) {
	t.Parallel()
	vm, _ := start(t, Config{Icount: true, CPU: "max"}, "e")
	if res, err := vm.Wait(); err != nil || res.Outcome != Exited {
		t.Errorf("Wait = %+v, %v; want exit 0", res, err)
	}
}

// TestQEMURefuses: what QEMU says of wrong arguments is the error, in one line.
func TestQEMURefuses(t *testing.T) {
	t.Parallel()
	kernel := guest(t, image.AllLoaders)
	for _, tt := range []struct {
		cfg  Config
		says string
	}{
		{Config{Kernel: kernel, Machine: "nosuch"}, "unsupported machine type"},
		{Config{Kernel: kernel, Extra: []string{"-nosuch"}}, "-nosuch: invalid option"},
		{Config{Kernel: kernel, Program: "/bin/false"}, "QEMU failed"},
		{Config{Kernel: kernel, Program: "/no/such/qemu"}, "/no/such/qemu"},
		{Config{Kernel: "no/such/file"}, "no/such/file"},
	} {
		vm, err := Start(t.Context(), tt.cfg)
		if !errors.Is(err, ErrQEMU) || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("Start(%+v) = %v, %v; want %v with %q in one line", tt.cfg, vm, err, ErrQEMU, tt.says)
		}
	}
}

func TestWriteError(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	r.CloseWithError(errors.New("nobody reads"))
	vm, err := Start(t.Context(), Config{Kernel: guest(t, image.AllLoaders), Stdout: w, Timeout: limit})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := vm.Wait(); err == nil || !strings.Contains(err.Error(), "nobody reads") {
		t.Errorf("Wait = %v; want the error of the writer", err)
	}
}

// TestEnvironment: the library's variables have no say.
func TestEnvironment(t *testing.T) {
	for _, v := range []string{"VMTEST_QEMU", "VMTEST_QEMU_APPEND", "VMTEST_KERNEL", "VMTEST_KERNEL_APPEND", "VMTEST_INITRAMFS", "VMTEST_TIMEOUT"} {
		t.Setenv(v, "nosuch")
	}
	vm, _ := start(t, Config{}, "e")
	if res, err := vm.Wait(); err != nil || strings.Contains(strings.Join(vm.Cmdline(), " "), "nosuch") {
		t.Errorf("%v: Wait = %+v, %v", vm.Cmdline(), res, err)
	}
}

func TestQMPError(t *testing.T) {
	t.Parallel()
	vm, _ := start(t, Config{}, "")
	if out, err := vm.QMP("nosuch", nil); !errors.Is(err, ErrMonitor) || !strings.Contains(err.Error(), "nosuch") {
		t.Errorf("QMP(nosuch) = %s, %v; want %v", out, err, ErrMonitor)
	}
	if out, err := vm.QMP("query-status", nil); err != nil || !strings.Contains(string(out), "running") {
		t.Errorf("QMP(query-status) = %s, %v; want running", out, err)
	}
	vm.Kill()
	vm.Wait()
	if _, err := vm.QMP("query-status", nil); !errors.Is(err, ErrMonitor) {
		t.Errorf("QMP after the end = %v; want %v", err, ErrMonitor)
	}
	if err := vm.Kill(); err != nil {
		t.Errorf("Kill after the end = %v; want nil", err)
	}
}

const (
	orphanKernel = "ZF_TEST_ORPHAN_KERNEL"
	orphanPID    = "ZF_TEST_ORPHAN_PID"
)

// startOrphan is what the test's child does: it starts a machine and is killed.
func startOrphan() {
	_, err := Start(context.Background(), Config{Kernel: os.Getenv(orphanKernel), Extra: []string{"-pidfile", os.Getenv(orphanPID)}})
	fmt.Println("started", err)
	select {}
}

// TestOrphan: a machine does not outlive its starter, however that ends.
func TestOrphan(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	pidFile := filepath.Join(t.TempDir(), "pid")
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), orphanKernel+"="+guest(t, image.AllLoaders), orphanPID+"="+pidFile)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	b, perr := os.ReadFile(pidFile)
	cmd.Process.Kill()
	cmd.Wait()
	if line != "started <nil>\n" || err != nil || perr != nil {
		t.Fatalf("the child said %q, %v; pid file %v", line, err, perr)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	await.Poll(t, "QEMU ends after its starter was killed", func() bool { return syscall.Kill(pid, 0) != nil })
}
