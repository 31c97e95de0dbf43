package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/zeroframe/zeroframe/qemu"
	"github.com/zeroframe/zeroframe/tracer"
)

// Most samples are what a machine has said, or when it has said it. What else a measurement does
// is a function.

// A machine is booted to its end, and all that it says is read. Its Kernel is the package of
// the image.
type machine struct {
	qemu.Config
	Prefix string // what the names of its samples begin with
	// it is a process: Kernel is a package or a program, Append has its arguments, Extra its
	// environment
	Linux bool
	Dir   string // where a process runs; then what it says on standard error is not read
	Times int    // 0: once
	When  string // "short": with -short alone, "full": not with it
	// Marks are patterns of what it must say, one after the other: mark0.ms and so on are when.
	Marks []string
	Input int // bytes that it is sent after the last mark
	// Says is a pattern, which must fit what it says; its groups with a name are samples.
	Says string
	COM2 bool // something takes what comes there
	Log  bool // it is recorded
	// Frames has what is on its network written to framesFile.
	Frames bool
	Read   string // one of readers, for the rest of what it says
}

const framesFile = "frames.pcap" // in bench.dir

const (
	lab   = "./kernel/crashlab"
	own   = "./qemu/bench/testdata/"
	tests = "./qemu/testdata/"
	racy  = tests + "racy"
)

// readers take samples from what a machine has said.
var readers = map[string]func(b *bench, prefix, out string) error{
	"": func(*bench, string, string) error { return nil }, "repeats": readRepeats,
	"profile": readProfile, "frames": readFrames,
}

// measurements are what the sections do besides booting their machines.
var measurements = map[string]func(b *bench) error{
	"size": (*bench).size, "start": (*bench).starts, "commands": (*bench).commands,
	"smallest": (*bench).smallest,
	"host":     (*bench).host, "stack": (*bench).watermarks, "depot": (*bench).depots,
	"probe": (*bench).probes,
	"chaos": (*bench).chaos, "core": (*bench).core, "dumps": (*bench).dumps, "lines": (*bench).lines,
	"network": (*bench).network,
}

// measure takes a section's samples, those of its machines by turns, so that what else the host
// does hits all alike.
func (b *bench) measure(s section) error {
	notNow := "short"
	if b.short {
		notNow = "full"
	}
	for turn, any := 0, true; any && (turn == 0 || !b.short); turn++ {
		any = false
		for _, m := range s.machines {
			if turn >= max(m.Times, 1) || m.When == notNow {
				continue
			}
			any = true
			if err := b.sample(m); err != nil {
				return fmt.Errorf("%s: %s: %w", m.Kernel, m.Append, err)
			}
		}
	}
	if f := measurements[s.name]; f != nil {
		return f(b)
	}
	return nil
}

// sample runs a machine and takes its samples: when it has said its marks (first.ms: its first
// byte, after.ms: from there to the first mark), how long it has taken, what it has said, and the
// length of what begins with a trace.
func (b *bench) sample(m machine) error {
	c, _, err := b.boot(m)
	if err != nil {
		return err
	}
	out := c.text.String()
	for i, at := range c.at {
		b.add(m.Prefix+"first.ms", ms(c.first))
		b.add(fmt.Sprintf("%smark%d.ms", m.Prefix, i), ms(at))
		if i == 0 {
			b.add(m.Prefix+"after.ms", ms(at-c.first))
		}
	}
	b.add(m.Prefix+"host.s", time.Since(c.begin).Seconds())
	b.add(m.Prefix+"rss.kib", c.rss)
	b.add(m.Prefix+"log.kib", float64(c.log)/1024)
	if i := strings.Index(out, "zf1"); i >= 0 {
		b.add(m.Prefix+"trace.bytes", float64(len(out)-i))
	}
	b.readMeasures(m.Prefix, out)
	if m.Says != "" {
		re := regexp.MustCompile(m.Says)
		found := re.FindStringSubmatch(out)
		if found == nil {
			return fmt.Errorf("it did not say %s: %q", m.Says, out[max(len(out)-300, 0):])
		}
		n := map[string]float64{}
		for i, name := range re.SubexpNames() {
			if v, err := strconv.ParseFloat(found[i], 64); name != "" && err == nil {
				n[name] = v
				b.add(m.Prefix+name, v)
			}
		}
		if n["us"] > 0 {
			b.add(m.Prefix+"kb_per_second", n["bytes"]/n["us"]*1000)
		}
	}
	return readers[m.Read](b, m.Prefix, out)
}

// readMeasures takes the lines "measure NAME VALUE" and "measure NAME N TICKS [NS]", where N is
// how many times the thing was done that took so long.
func (b *bench) readMeasures(prefix, out string) {
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) < 3 || f[0] != "measure" {
			continue
		}
		n, err := strconv.ParseFloat(f[2], 64)
		if len(f) == 3 && err == nil {
			b.add(prefix+f[1], n)
		}
		for i, unit := range []string{".ticks", ".ns"} {
			if len(f) > i+3 {
				if v, err := strconv.ParseFloat(f[i+3], 64); err == nil && n > 0 {
					b.add(prefix+f[1]+unit, v/n)
				}
			}
		}
	}
}

// boot runs a machine or a process to its end.
func (b *bench) boot(m machine) (c *clock, res qemu.Result, err error) {
	c = newClock(m.Marks...)
	if strings.HasPrefix(m.Kernel, "./") {
		l, err := b.image(m.Kernel)
		if err != nil {
			return c, res, err
		}
		m.Kernel = l.Image
	}
	c.begin = time.Now()
	if m.Linux {
		err = c.process(b.ctx, m)
	} else {
		m.Stdout, m.Timeout = c, cmp.Or(m.Timeout, 5*time.Minute) // of a busy host
		if m.Input > 0 {
			// What comes before the kernel listens is lost.
			m.Stdin = io.LimitReader(typed{after: c.came}, int64(m.Input))
		}
		if m.COM2 {
			m.Records = io.Discard
		}
		if m.Frames {
			m.Extra = append(m.Extra, "-object",
				"filter-dump,id=dump0,netdev=net0,file="+filepath.Join(b.dir, framesFile))
		}
		if m.Log {
			m.Record = &c.log
		}
		var vm *qemu.VM
		if vm, err = qemu.Start(b.ctx, m.Config); err != nil {
			return c, res, err
		}
		res, err = vm.Wait()
	}
	if err == nil && len(c.at) < len(c.marks) {
		err = c.silent()
	}
	return c, res, err
}

// A clock keeps what is said, and notes when: the first byte, and marks one after the other.
type clock struct {
	mu    sync.Mutex
	begin time.Time
	first time.Duration
	marks []*regexp.Regexp
	at    []time.Duration
	found []string // what has fit the last mark, and its groups
	text  bytes.Buffer
	came  chan struct{} // closed with the last mark
	log   counter       // of a recording
	then  func()        // is called with it; nil: nothing
	rss   float64       // a process's resident set then, in KiB
}

func (c *clock) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Since(c.begin)
	if c.first == 0 {
		c.first = now
	}
	c.text.Write(p)
	for len(c.at) < len(c.marks) {
		found := c.marks[len(c.at)].FindStringSubmatch(c.text.String())
		if found == nil {
			break
		}
		if c.at, c.found = append(c.at, now), found; len(c.at) == len(c.marks) {
			if c.then != nil {
				c.then()
			}
			close(c.came)
		}
	}
	return len(p), nil
}

func newClock(marks ...string) *clock {
	c := &clock{begin: time.Now(), came: make(chan struct{})}
	for _, mark := range marks {
		c.marks = append(c.marks, regexp.MustCompile(mark))
	}
	return c
}

// silent is the error that the next mark has not come.
func (c *clock) silent() error {
	return fmt.Errorf("it did not say %v: %.300q", c.marks[len(c.at)], &c.text)
}

// wait waits for the last mark, or for the end of who says it.
func (c *clock) wait(ended <-chan struct{}) error {
	select {
	case <-c.came:
		return nil
	case <-ended:
		return c.silent()
	}
}

// counter counts bytes.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// process runs a process, whose standard input ends with the last mark.
func (c *clock) process(ctx context.Context, m machine) error {
	cmd := exec.CommandContext(ctx, m.Kernel, strings.Fields(m.Append)...)
	cmd.Env = append(os.Environ(), m.Extra...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = m.Dir, c, c
	var said bytes.Buffer
	if m.Dir != "" {
		cmd.Stderr = &said
	} else if len(c.marks) > 0 {
		stdin, err := cmd.StdinPipe()
		if err != nil {
			return err
		}
		c.then = func() {
			c.rss = memoryOf(cmd.Process.Pid, "VmRSS")
			stdin.Close()
		}
	}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%w: %.2000s%.2000s", err, &said, &c.text)
	}
	return nil
}

// memoryOf returns a line of a process's status, in KiB; 0 if the process has ended.
func memoryOf(pid int, line string) float64 {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(status), line+":")
	f := strings.Fields(rest)
	if len(f) == 0 {
		return 0
	}
	kib, _ := strconv.ParseFloat(f[0], 64)
	return kib
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// typed is a text without end, which begins when a channel is closed.
type typed struct{ after chan struct{} }

func (t typed) Read(p []byte) (int, error) {
	<-t.after
	return copy(p, bytes.Repeat([]byte("what somebody types\n"), len(p)/20+1)), nil
}

// readRepeats takes the lengths of the lines for a trace that is the one before once more.
func readRepeats(b *bench, _, out string) error {
	n := 0
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, tracer.RepeatTag) {
			b.add("repeat.bytes", float64(len(line)))
			n++
		}
	}
	if n != 2 {
		return fmt.Errorf("%d repetitions of a trace in a line of their own; want 2", n)
	}
	return nil
}
