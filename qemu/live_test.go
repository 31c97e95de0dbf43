package qemu

// zf symbolize on what QEMU makes of a serial port: a unix or TCP socket that either
// side offers, telnet, a pseudo-terminal. QEMU is started as a user would start it, by
// hand, and the traces must be those of a machine that is run by this package.

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/zeroframe/zeroframe/qemu/await"
	"github.com/zeroframe/zeroframe/tools/machine/image"
)

const liveCrash, goCrash = "crash=early.nil-write", "crash=go.kernel-panic"

// byHand is QEMU's command line for the crash lab with that serial port.
func byHand(t *testing.T, ctx context.Context, kernel, serial string, more ...string) *exec.Cmd {
	t.Helper()
	return byHandHalting(t, ctx, kernel, serial, append(more, "-device", fmt.Sprintf("isa-debug-exit,iobase=%#x,iosize=0x04", ExitPort))...)
}

// byHandHalting is the same for a machine that stays, halted, when the kernel has ended.
func byHandHalting(t *testing.T, ctx context.Context, kernel, serial string, more ...string) *exec.Cmd {
	t.Helper()
	program, err := Find()
	if err != nil {
		t.Fatal(err)
	}
	return exec.CommandContext(ctx, program, append([]string{
		"-no-user-config", "-nodefaults", "-display", "none", "-machine", "q35", "-m", "128M", "-no-reboot",
		"-kernel", kernel, "-append", liveCrash, "-serial", serial}, more...)...)
}

// A liveZf is a zf symbolize that runs beside QEMU.
type liveZf struct {
	cmd       *exec.Cmd
	out, errs log
}

func liveSymbolize(t *testing.T, ctx context.Context, kernel string, args ...string) *liveZf {
	t.Helper()
	z := new(liveZf)
	z.cmd = exec.CommandContext(ctx, zfCommand(t), append([]string{"symbolize", "-e", kernel, "-json"}, args...)...)
	z.cmd.Stdout, z.cmd.Stderr = &z.out, &z.errs
	if err := z.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return z
}

// chains waits for zf's end and returns its traces.
func (z *liveZf) chains(t *testing.T) (all []string) {
	t.Helper()
	if err := z.cmd.Wait(); err != nil {
		t.Errorf("zf symbolize: %v: %s", err, &z.errs)
	}
	for d := json.NewDecoder(strings.NewReader(z.out.String())); ; {
		tr := new(labTrace)
		if err := d.Decode(tr); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		if tr.Damaged {
			t.Errorf("the trace is damaged: %s", &z.errs)
		}
		all = append(all, tr.chain())
	}
}

func TestLiveSerial(t *testing.T) {
	t.Parallel()
	kernel, symbols := lab(t, image.AllLoaders)
	_, serial, _ := boot(t, Config{Kernel: kernel}, liveCrash)
	whole := traces(t, symbols, serial)
	if len(whole) != 1 || len(whole[0].Frames) < 3 {
		t.Fatalf("%d traces in %s", len(whole), serial)
	}
	want := whole[0].chain()
	ctx, cancel := context.WithTimeout(context.Background(), 5*limit)
	defer cancel()
	check := func(t *testing.T, got []string, n int) {
		t.Helper()
		if len(got) != n {
			t.Fatalf("%d traces %q; want %d", len(got), got, n)
		}
		for _, c := range got {
			if c != want {
				t.Errorf("trace %q; want %q", c, want)
			}
		}
	}
	for _, c := range []struct{ name, qemu, zf string }{
		{"unix", "unix:SOCKET,server=on,wait=on", "unix:SOCKET"},
		{"path", "unix:SOCKET,server=on,wait=on", "SOCKET"},
		{"tcp", "tcp:PORT,server=on,wait=on", "tcp:PORT"},
		{"telnet", "telnet:PORT,server=on,wait=on", "tcp:PORT"},
	} {
		// QEMU waits for zf, and zf for QEMU.
		t.Run(c.name, func(t *testing.T) {
			here := strings.NewReplacer("SOCKET", filepath.Join(plainFolder(t), "s"), "PORT", freePort(t, "tcp4"))
			z := liveSymbolize(t, ctx, kernel, "-reconnect", here.Replace(c.zf))
			machine := byHand(t, ctx, kernel, here.Replace(c.qemu))
			machine.Stderr = t.Output()
			machine.Run() // its status is the kernel's
			z.errs.For(t, "is gone: waiting for it")
			if c.name == "unix" { // the machine is started again
				if err := os.Remove(here.Replace("SOCKET")); err != nil && !os.IsNotExist(err) {
					t.Fatal(err)
				}
				byHand(t, ctx, kernel, here.Replace(c.qemu)).Run()
				z.errs.Times(t, "is gone", 2)
			}
			z.cmd.Process.Signal(os.Interrupt)
			n := 1
			if c.name == "unix" {
				n = 2
			}
			check(t, z.chains(t), n)
		})
	}
	for _, c := range []struct{ name, qemu, zf string }{
		{"unix-listen", "unix:SOCKET", "unix-listen:SOCKET"},
		{"tcp-listen", "tcp:PORT", "tcp-listen:PORT"},
	} {
		// zf is there first, and its input ends with QEMU.
		t.Run(c.name, func(t *testing.T) {
			here := strings.NewReplacer("SOCKET", filepath.Join(plainFolder(t), "s"), "PORT", freePort(t, "tcp4"))
			z := liveSymbolize(t, ctx, kernel, here.Replace(c.zf))
			z.errs.For(t, "waiting for a connection to")
			machine := byHand(t, ctx, kernel, here.Replace(c.qemu))
			machine.Stderr = t.Output()
			machine.Run()
			check(t, z.chains(t), 1)
		})
	}
	t.Run("pty", func(t *testing.T) {
		// What zf has not read when QEMU ends is lost, as on any pseudo-terminal.
		machine := byHandHalting(t, ctx, kernel, "pty", "-append", goCrash+" monitor panic=halt", "-monitor", "stdio")
		keys, err := machine.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		machine.Stdout, machine.Stderr = w, w
		err = machine.Start()
		w.Close()
		if err != nil {
			t.Fatal(err)
		}
		var device string
		said := bufio.NewScanner(r)
		for device == "" && said.Scan() {
			device = regexp.MustCompile(`/dev/pts/[0-9]+`).FindString(said.Text())
		}
		if device == "" {
			t.Fatal("QEMU does not name its pseudo-terminal")
		}
		go io.Copy(io.Discard, r)
		z := liveSymbolize(t, ctx, kernel, device)
		await.Poll(t, "zf has opened "+device, func() bool {
			links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", z.cmd.Process.Pid))
			return slices.ContainsFunc(links, func(l string) bool { at, _ := os.Readlink(l); return at == device })
		})
		// QEMU drops what the guest sends before it has noticed, once a second, that
		// somebody has opened the other end. From then on the guest gets what is typed
		// there, and so it dies when it can be heard. What it gets before its monitor
		// reads is lost.
		slave, err := syscall.Open(device, syscall.O_WRONLY|syscall.O_NOCTTY|syscall.O_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer syscall.Close(slave)
		await.Poll(t, "the guest gets what is typed, and its trace comes", func() bool {
			syscall.Write(slave, []byte("continue\r"))
			return strings.Contains(z.out.String(), "}\n")
		})
		io.WriteString(keys, "quit\n")
		machine.Wait()
		_, serial, _ := boot(t, Config{Kernel: kernel}, goCrash)
		if got, want := z.chains(t), traces(t, symbols, serial); len(got) != 1 || len(want) != 1 || got[0] != want[0].chain() {
			t.Errorf("traces %q; want one as in %s", got, serial)
		}
	})
}
