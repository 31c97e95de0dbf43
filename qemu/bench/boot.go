package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/zeroframe/zeroframe/qemu"
)

// runs is how many boots a time is the median of.
var runs = 7 // -short: 1

// boot runs an image to its end and returns what it sent.
func boot(image, cmdline string, cfg qemu.Config) (string, error) {
	out, _, err := outcome(image, cmdline, cfg)
	return out, err
}

func outcome(image, cmdline string, cfg qemu.Config) (string, qemu.Result, error) {
	var out bytes.Buffer
	cfg.Kernel, cfg.Append = image, cmdline
	if cfg.Timeout == 0 {
		cfg.Timeout = 5 * time.Minute // of a busy host
	}
	if cfg.Stdout == nil {
		cfg.Stdout = &out
	} else {
		cfg.Stdout = io.MultiWriter(cfg.Stdout, &out)
	}
	vm, err := qemu.Start(context.Background(), cfg)
	if err != nil {
		return "", qemu.Result{}, err
	}
	res, err := vm.Wait()
	if err != nil {
		err = fmt.Errorf("%s: %w", cmdline, err)
	}
	return out.String(), res, err
}

// times measures from the start of QEMU to the first byte on the serial port, to the
// end of a trace, and to main.main of a program.
func (b *bench) times() error {
	b.progress("boot.*.ms: from the start of QEMU (TCG, q35 or microvm); boot.main.linux.ms: the same file, started as a Linux program")
	// hello's first deed in main.main is to say so.
	boots := []struct{ image, cmdline, machine, mark, name, first, after string }{
		{b.lab, "crash=early.nil-write", "", "zf1 done", "boot.trace.ms", "boot.first_byte.ms", ""},
		{b.plain, "", "", "\nhello\r\n", "boot.main.ms", "", "boot.main.after_first_byte.ms"},
		{b.plain, "", "microvm", "\nhello\r\n", "boot.microvm.main.ms", "", ""},
	}
	first, marked := make([][]float64, len(boots)), make([][]float64, len(boots))
	var linux, later []float64
	for range runs { // by turns, so that what else the host does hits all alike
		for i, t := range boots {
			c := &clock{begin: time.Now(), mark: []byte(t.mark)}
			if _, err := boot(t.image, t.cmdline, qemu.Config{Stdout: c, Machine: t.machine}); err != nil {
				return err
			}
			if c.marked == 0 {
				return fmt.Errorf("times: %s: the machine did not send %q", t.name, t.mark)
			}
			first[i], marked[i] = append(first[i], ms(c.first)), append(marked[i], ms(c.marked))
			if t.after != "" {
				later = append(later, ms(c.marked-c.first))
			}
		}
		c := &clock{begin: time.Now(), mark: []byte("hello\n")}
		cmd := exec.Command(b.plain)
		cmd.Stderr = c // of println
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("times: hello on Linux: %w", err)
		}
		if c.marked == 0 {
			return errors.New("times: hello did not say so on Linux")
		}
		linux = append(linux, ms(c.marked))
	}
	for i, t := range boots {
		if t.first != "" {
			b.figure(t.first, fmt.Sprintf("%.0f", median(first[i])))
		}
		b.figure(t.name, fmt.Sprintf("%.0f", median(marked[i])))
		if t.after != "" {
			b.atMost(t.after, math.Round(median(later)), 30)
		}
	}
	b.figure("boot.main.linux.ms", fmt.Sprintf("%.1f", median(linux)))
	return nil
}

// smallest finds the smallest -m, in MiB, with which hello runs to its end.
func (b *bench) smallest() error {
	b.progress("memory.*.smallest.mib: the smallest -m with which hello runs to its end, by bisection")
	for _, p := range []struct{ name, image string }{
		{"memory.hello.smallest.mib", b.plain}, {"memory.fmt.smallest.mib", b.fmt},
	} {
		lo, hi := 1, 64 // an image begins at 2 MiB
		if ok, why := helloRuns(p.image, hi); !ok {
			return fmt.Errorf("smallest: hello does not run in %d MiB: %s", hi, why)
		}
		for hi-lo > 1 {
			m := (lo + hi) / 2
			if ok, _ := helloRuns(p.image, m); ok {
				hi = m
			} else {
				lo = m
			}
		}
		b.figure(p.name, hi)
	}
	return nil
}

// helloRuns reports whether hello runs to its end in that many MiB.
func helloRuns(image string, mib int) (ok bool, why string) {
	out, res, err := outcome(image, "", qemu.Config{MemoryMiB: mib, Timeout: 10 * time.Second})
	return err == nil && res.Outcome == qemu.Exited && res.Program == 0 && strings.Contains(out, "\nhello\r\n"),
		fmt.Sprintf("%v, status %d, %v", res.Outcome, res.Program, err)
}

// clock notes when the first byte and when a mark came by.
type clock struct {
	mu     sync.Mutex
	begin  time.Time
	first  time.Duration
	mark   []byte
	marked time.Duration
	seen   []byte
	next   *clock // gets the same; nil: none
}

func (c *clock) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Since(c.begin)
	if c.first == 0 {
		c.first = now
	}
	if c.next != nil {
		c.next.Write(p)
	}
	c.seen = append(c.seen, p...)
	if c.marked == 0 && bytes.Contains(c.seen, c.mark) {
		c.marked = now
	}
	return len(p), nil
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
