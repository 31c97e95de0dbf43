package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"time"

	"github.com/zeroframe/zeroframe/qemu"
	"github.com/zeroframe/zeroframe/qemu/batch"
)

// traceEnd closes ended when a trace has come whole.
type traceEnd struct {
	text  bytes.Buffer
	ended chan struct{}
	said  bool
}

func (e *traceEnd) Write(p []byte) (int, error) {
	e.text.Write(p)
	if !e.said && bytes.Contains(e.text.Bytes(), []byte("zf1 done")) {
		e.said = true
		close(e.ended)
	}
	return len(p), nil
}

var highWater = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// peak returns the most memory that a process has had, in MiB, when it has ended. What wait4 says of that
// counts what this process had when it started the other one.
func peak(pid int) (mib float64) {
	for tick := time.NewTicker(5 * time.Millisecond); ; <-tick.C {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		m := highWater.FindSubmatch(status)
		if err != nil || m == nil {
			return mib
		}
		kb, _ := strconv.ParseFloat(string(m[1]), 64)
		mib = max(mib, kb/1024)
	}
}

// core measures a full core of a machine with 1 GiB that has died: how long zf core takes, and how much
// memory, and what the core takes on the disk.
func (b *bench) core() error {
	b.progress("core.*: zf core -qmp of a dead machine with 1 GiB, which QEMU writes through a pipe")
	zf, err := batch.BuildZF(context.Background(), b.dir)
	if err != nil {
		return err
	}
	ram, name := 1024, "core.1gib"
	if b.short {
		ram, name = 64, "core.64mib"
	}
	socket, path := filepath.Join(b.dir, "core.qmp"), filepath.Join(b.dir, "lab.core")
	end := &traceEnd{ended: make(chan struct{})}
	vm, err := qemu.Start(context.Background(), qemu.Config{Kernel: b.lab, Append: "crash=go.panic-error panic=halt", MemoryMiB: ram,
		Stdout: end, Extra: []string{"-qmp", "unix:" + socket + ",server=on,wait=off"}})
	if err != nil {
		return err
	}
	defer vm.Wait()
	defer vm.Kill()
	select {
	case <-end.ended:
	case <-vm.Done():
		return fmt.Errorf("core: the machine has ended without a trace: %.300q", end.text.String())
	}
	var seconds, memory []float64
	var size uint64
	for range runs {
		c := exec.Command(zf, "core", "-e", b.lab, "-o", path, "-qmp", socket)
		var out bytes.Buffer
		c.Stdout, c.Stderr = &out, &out
		began := time.Now()
		if err := c.Start(); err != nil {
			return err
		}
		most := make(chan float64)
		go func() { most <- peak(c.Process.Pid) }()
		if err := c.Wait(); err != nil {
			return fmt.Errorf("core: %w: %s", err, &out)
		}
		seconds = append(seconds, time.Since(began).Seconds())
		memory = append(memory, <-most)
		var st syscall.Stat_t
		if err := syscall.Stat(path, &st); err != nil {
			return err
		}
		size = uint64(st.Blocks) * 512
		os.Remove(path)
	}
	b.atMost(name+".s", median(seconds), 3)
	b.atMost(name+".zf.MiB", median(memory), 64)
	b.figure(name+".disk.MiB", decimals(float64(size)/(1<<20)))
	return nil
}
