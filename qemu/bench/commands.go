package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/zeroframe/zeroframe/qemu"
	"github.com/zeroframe/zeroframe/qemu/batch"
	"github.com/zeroframe/zeroframe/qemu/lossy"
)

// What commands of the host take: zf run, zf core, zf-receive.

// hello is the program that zf run is timed with: the folder of a module of its own, as a
// user's is.
var hello = map[string]string{
	"go.mod":  "module example.com/hello\n\ngo 1.26\n",
	"main.go": "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(\"hello\") }\n",
}

// commands times zf run as a user does: the first line after a change of nothing, and with
// empty caches beside go build of the same program.
func (b *bench) commands() error {
	zf, err := batch.BuildZF(b.ctx, b.dir)
	if err != nil {
		return err
	}
	dir, cache := filepath.Join(b.dir, "hello"), filepath.Join(b.dir, "caches")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	defer os.RemoveAll(cache)
	for name, text := range hello {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	timed := func(command, arguments string, marks ...string) (*clock, error) {
		m := machine{Linux: true, Dir: dir, Marks: marks}
		m.Kernel, m.Append = command, arguments
		m.Extra = []string{"XDG_CACHE_HOME=" + cache, "CGO_ENABLED=0", "ZF_ACCEL=tcg", "GOFLAGS="}
		if !b.short { // to compile the standard library twice takes a minute
			m.Extra = append(m.Extra, "GOCACHE="+filepath.Join(cache, "go"))
		}
		c, _, err := b.boot(m)
		return c, err
	}
	colds, warms := 5, 7
	if b.short {
		colds, warms = 1, 1
	}
	for range colds {
		os.RemoveAll(cache)
		c, err := timed("go", "build -o "+filepath.Join(b.dir, "hello.linux")+" .")
		if err != nil {
			return err
		}
		built := time.Since(c.begin).Seconds()
		os.RemoveAll(cache)
		if c, err = timed(zf, "run .", "\n", "hello"); err != nil {
			return err
		}
		b.add("build.s", built)
		b.add("cold.line.s", c.at[0].Seconds())
		b.add("cold.ratio", c.at[0].Seconds()/built)
	}
	for range warms {
		c, err := timed(zf, "run .", "\n", "hello")
		if err != nil {
			return err
		}
		b.add("warm.line.s", c.at[0].Seconds())
		b.add("warm.hello.s", c.at[1].Seconds())
	}
	return nil
}

// core measures a full core of a machine with 1 GiB that has died: how long zf core takes, and how
// much memory, and what the core takes on the disk.
func (b *bench) core() error {
	zf, err := batch.BuildZF(b.ctx, b.dir)
	if err != nil {
		return err
	}
	dead, err := b.image(lab)
	if err != nil {
		return err
	}
	ram, name, times := 1024, "1gib", 7
	if b.short {
		ram, name, times = 64, "64mib", 1
	}
	socket, path := filepath.Join(b.dir, "core.qmp"), filepath.Join(b.dir, "lab.core")
	end := newClock("zf1 done")
	vm, err := qemu.Start(b.ctx, qemu.Config{Kernel: dead.Image,
		Append: "crash=go.panic-error panic=halt", MemoryMiB: ram,
		Stdout: end, Extra: []string{"-qmp", "unix:" + socket + ",server=on,wait=off"}})
	if err != nil {
		return err
	}
	defer vm.Wait()
	defer vm.Kill()
	if err := end.wait(vm.Done()); err != nil {
		return err
	}
	for range times {
		c := exec.CommandContext(b.ctx, zf, "core", "-e", dead.Image, "-o", path, "-qmp", socket)
		var out bytes.Buffer
		c.Stdout, c.Stderr = &out, &out
		began := time.Now()
		if err := c.Start(); err != nil {
			return err
		}
		most := make(chan float64)
		go func() { most <- peak(c.Process.Pid) }()
		err := c.Wait()
		b.add(name+".s", time.Since(began).Seconds())
		b.add(name+".peak.mib", <-most/1024)
		var st syscall.Stat_t
		if err == nil {
			err = syscall.Stat(path, &st)
		}
		if err != nil {
			return fmt.Errorf("zf core: %w: %s", err, &out)
		}
		b.add(name+".disk.mib", float64(st.Blocks)*512/(1<<20))
		os.Remove(path)
	}
	return nil
}

// peak returns the most memory that a process has had, in KiB, when it has ended. What wait4 says
// of that counts what this process had when it started the other one.
func peak(pid int) (kib float64) {
	for tick := time.NewTicker(5 * time.Millisecond); ; <-tick.C {
		now := memoryOf(pid, "VmHWM")
		if now == 0 {
			return kib
		}
		kib = max(kib, now)
	}
}

// dumpRate is the line of the measurement: how fast the dead machine may send, in bytes a second
// (core.rate=).
const dumpRate = 10_000_000

// dumps measures how fast a dead machine sends its memory by network, over a line that loses
// datagrams.
func (b *bench) dumps() error {
	receiver := filepath.Join(b.dir, "zf-receive")
	if err := b.goBuild("./tools/receive/zf-receive", receiver); err != nil {
		return err
	}
	times, ram := 3, 0 // as much as zf run gives a machine
	if b.short {
		times, ram = 1, 32
	}
	for _, loss := range []int{0, 10, 30} {
		for run := range times {
			if err := b.dump(receiver, ram, loss, uint64(run)); err != nil {
				return fmt.Errorf("%d %% lost: %w", loss, err)
			}
		}
	}
	return nil
}

// dump has a machine die and send its memory, and takes how many bytes of RAM went each second, and
// how many bytes of datagrams.
func (b *bench) dump(receiver string, ram, loss int, seed uint64) error {
	dead, err := b.image(lab)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp(b.dir, "dump")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	listens := newClock(`listening on \S+:(\d+)`)
	c := exec.Command(receiver, "-listen", "127.0.0.1:0", "-cores", folder, "-lines", "never", "-e",
		dead.Image)
	c.Stdout, c.Stderr = listens, listens
	if err := c.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() { c.Wait(); close(ended) }()
	defer func() { c.Process.Kill(); <-ended }()
	if err := listens.wait(ended); err != nil {
		return fmt.Errorf("zf-receive: %w", err)
	}
	relay, err := lossy.Start(listens.found[1], float64(loss)/100, seed)
	if err != nil {
		return err
	}
	defer relay.Close()
	relay.Conn.SetReadBuffer(16 << 20)
	var sentBytes atomic.Int64
	relay.See(func(b []byte) {
		if len(b) > 512 { // or it is an answer
			sentBytes.Add(int64(len(b)))
		}
	})
	sent := newClock(`core: (\d+) pages sent in (\d+) ms(.*)\n`)
	vm, err := qemu.Start(b.ctx, qemu.Config{Kernel: dead.Image, Net: "virtio", MemoryMiB: ram,
		Stdout: sent,
		Append: fmt.Sprintf(
			"crash=go.panic-error panic=halt core=net core.rate=%d netconsole=@10.0.2.15/,%s@10.0.2.2/",
			dumpRate, relay.Port())})
	if err != nil {
		return err
	}
	defer vm.Wait()
	defer vm.Kill()
	if err := sent.wait(vm.Done()); err != nil {
		return err
	}
	pages, _ := strconv.ParseFloat(sent.found[1], 64)
	ms, err := strconv.ParseFloat(sent.found[2], 64)
	if err != nil || ms == 0 {
		return fmt.Errorf("the machine says %q", sent.found[0])
	}
	name := fmt.Sprintf("loss%d", loss)
	b.add(name+".ram", pages*4096/ms*1000)
	b.add(name+".line.percent", float64(sentBytes.Load())/ms*1000/dumpRate*100)
	return nil
}
