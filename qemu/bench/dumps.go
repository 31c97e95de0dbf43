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
	"sync"
	"sync/atomic"

	"github.com/zeroframe/zeroframe/qemu"
	"github.com/zeroframe/zeroframe/tools/lossy"
)

// dumpRate is the line of the measurement: how fast the dead machine may send, in bytes a second (core.rate=).
const dumpRate = 10_000_000

// said collects what a command says, and tells when something has come.
type said struct {
	mu   sync.Mutex
	all  bytes.Buffer
	want *regexp.Regexp
	came chan []string // gets the match, once
}

func newSaid(want string) *said {
	return &said{want: regexp.MustCompile(want), came: make(chan []string, 1)}
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all.Write(p)
	if s.want != nil {
		if m := s.want.FindStringSubmatch(s.all.String()); m != nil {
			s.want = nil
			s.came <- m
		}
	}
	return len(p), nil
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.String()
}

// dumps measures how fast a dead machine sends its memory by network, over a line that loses
// datagrams.
func (b *bench) dumps() error {
	b.progress("core.net.*: the memory of a dead machine by core=net at a core.rate= of 10 MB a second, 0, 10 and 30 % of the datagrams lost: RAM in KB a second, by the machine's clock, pages of zeros too, which take next to nothing on the line; line: what the machine has put on the line, in percents of core.rate=")
	receiver := filepath.Join(b.dir, "zf-receive")
	if err := goBuild("./tools/receive/zf-receive", receiver); err != nil {
		return err
	}
	dumps, ram := 3, 0
	if b.short {
		dumps, ram = 1, 32
	}
	for _, loss := range []int{0, 10, 30} {
		var speeds, lines []float64
		for run := range dumps {
			speed, line, err := b.dump(receiver, ram, loss, uint64(run))
			if err != nil {
				return fmt.Errorf("core.net, %d %% lost: %w", loss, err)
			}
			speeds, lines = append(speeds, speed), append(lines, 100*line/dumpRate)
		}
		name := fmt.Sprintf("core.net.loss%d", loss)
		b.figure(name+".kb_per_second", decimals(median(speeds)/1000))
		b.figure(name+".line.percent", decimals(median(lines)))
	}
	return nil
}

// dump has a machine die and send its memory, and returns how many bytes of RAM went each second, and how
// many bytes of datagrams. ram is in MiB, 0 for as much as zf run gives a machine.
func (b *bench) dump(receiver string, ram, loss int, seed uint64) (speed, line float64, err error) {
	folder, err := os.MkdirTemp(b.dir, "dump")
	if err != nil {
		return 0, 0, err
	}
	defer os.RemoveAll(folder)
	listens := newSaid(`listening on \S+:(\d+)`)
	c := exec.Command(receiver, "-listen", "127.0.0.1:0", "-store", filepath.Join(folder, "crashes"), "-cores", folder, "-lines", "never", "-e", b.lab)
	c.Stdout, c.Stderr = listens, listens
	if err := c.Start(); err != nil {
		return 0, 0, err
	}
	ended := make(chan struct{})
	go func() { c.Wait(); close(ended) }()
	defer func() { c.Process.Kill(); <-ended }()
	var port string
	select {
	case m := <-listens.came:
		port = m[1]
	case <-ended:
		return 0, 0, fmt.Errorf("zf-receive: %s", listens)
	}
	relay, err := lossy.Start(port, float64(loss)/100, seed)
	if err != nil {
		return 0, 0, err
	}
	defer relay.Close()
	relay.Conn.SetReadBuffer(16 << 20)
	var sentBytes atomic.Int64
	relay.See(func(b []byte) {
		if len(b) > 512 { // or it is an answer
			sentBytes.Add(int64(len(b)))
		}
	})
	sent := newSaid(`core: (\d+) pages sent in (\d+) ms(.*)\n`)
	vm, err := qemu.Start(context.Background(), qemu.Config{Kernel: b.lab, Net: "virtio", MemoryMiB: ram, Stdout: sent,
		Append: fmt.Sprintf("crash=go.panic-error panic=halt core=net core.rate=%d netconsole=@10.0.2.15/,%s@10.0.2.2/", dumpRate, relay.Port())})
	if err != nil {
		return 0, 0, err
	}
	defer vm.Wait()
	defer vm.Kill()
	select {
	case m := <-sent.came:
		pages, _ := strconv.ParseFloat(m[1], 64)
		ms, err := strconv.ParseFloat(m[2], 64)
		if err != nil || ms == 0 {
			return 0, 0, fmt.Errorf("the machine says %q", m[0])
		}
		return pages * 4096 / ms * 1000, float64(sentBytes.Load()) / ms * 1000, nil
	case <-vm.Done():
		return 0, 0, fmt.Errorf("the machine has ended: %.300q", sent)
	}
}
