package main

// Measurements that do more with a machine than read what it says.

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"

	"github.com/zeroframe/zeroframe/qemu"
	"github.com/zeroframe/zeroframe/tools/format/eventstream"
	"github.com/zeroframe/zeroframe/tools/format/probe"
	"github.com/zeroframe/zeroframe/tools/format/profile"
	"github.com/zeroframe/zeroframe/tools/machine/image"
	"github.com/zeroframe/zeroframe/tools/machine/initrd"
	"github.com/zeroframe/zeroframe/tracer/datagram"
)

// size takes the sizes of images, and of the same programs built for Linux.
func (b *bench) size() error {
	for _, name := range []string{"plain", "fmt"} {
		small := filepath.Join(b.dir, name+".small.elf")
		if _, err := image.Build(b.ctx, image.BuildOptions{Package: own + name, Output: small,
			Parts: []string{}, Stderr: b.stderr}); err != nil {
			return err
		}
		whole, err := b.image(own + name)
		if err != nil {
			return err
		}
		linux := filepath.Join(b.dir, "linux")
		if err := b.goBuild(own+name, linux); err != nil {
			return err
		}
		for sample, path := range map[string]string{".image": small, ".whole": whole.Image,
			".linux": linux} {
			info, err := os.Stat(path)
			if err != nil {
				return err
			}
			b.add(name+sample, float64(info.Size()))
		}
	}
	return nil
}

// smallest finds the smallest -m, in MiB, with which hello runs to its end.
func (b *bench) smallest() error {
	for _, name := range []string{"plain", "fmt"} {
		var why error
		runs := func(mib int) bool {
			m := machine{Config: qemu.Config{Kernel: own + name, MemoryMiB: mib,
				Timeout: 10 * time.Second}, Marks: []string{"\nhello\r\n"}}
			_, res, err := b.boot(m)
			why = fmt.Errorf("hello does not run in %d MiB: %v, status %d, %w", mib, res.Outcome,
				res.Program, err)
			return err == nil && res.Outcome == qemu.Exited && res.Program == 0
		}
		lo, hi := 1, 64 // an image begins at 2 MiB
		if !runs(hi) {
			return why
		}
		for hi-lo > 1 {
			if m := (lo + hi) / 2; runs(m) {
				hi = m
			} else {
				lo = m
			}
		}
		b.add(name+".mib", float64(hi))
	}
	return nil
}

// noMark are the kinds of crashes that end in no trace, or use a stack up on purpose, and what
// the help of others says that do not crash; spinning are those that an NMI has to end.
var (
	noMark = regexp.MustCompile(
		`\.triple |^\S*overflow|\.mutual |^early\.watermark |^go\.(over-limit|kernel-spin) |^\S+ +no crash`)
	spinning = regexp.MustCompile(`^(early\.spin|go\.(spin|mcall|hang) )`)
)

// watermarks boots every kind of crash, and a program that keeps the kernel busy, and
// takes the marks of each stack.
func (b *bench) watermarks() error {
	list, _, err := b.boot(machine{Config: qemu.Config{Kernel: lab, Append: "crash=?"}})
	if err != nil {
		return err
	}
	tried := 0
	marked := map[string]int{}
	for line := range strings.SplitSeq(list.text.String(), "\r\n") {
		line = strings.TrimSpace(line)
		kind, _, _ := strings.Cut(line, " ")
		context, _, _ := strings.Cut(kind, ".")
		if context != "early" && context != "go" || noMark.MatchString(line) {
			continue
		}
		onCPU := strings.HasPrefix(kind, "go.cpu")
		// Of the others every twelfth is enough to see that it works.
		if tried++; b.short && tried%12 != 1 && !onCPU {
			continue
		}
		m := machine{Config: qemu.Config{Kernel: lab, Append: "crash=" + kind}}
		if strings.HasSuffix(line, "(lockup=panic)") {
			m.Append += " lockup=panic"
		}
		if onCPU {
			m.CPUs = 2
		}
		spins := spinning.MatchString(line)
		if spins {
			m.Timeout = time.Second // and then an NMI
		}
		n, err := b.marks(m)
		if err != nil && !(spins && errors.Is(err, qemu.ErrTimeout)) {
			b.miss("stack.* of crash="+kind, err)
		} else if n > 0 {
			marked[context]++
		}
	}
	if len(marked) < 2 {
		return fmt.Errorf("traces by context: %v", marked)
	}
	_, err = b.marks(machine{Config: qemu.Config{Kernel: own + "load"},
		Marks: []string{"zf1 reason panic: the load is done\r\n"}})
	return err
}

// marks boots a machine, takes the marks of its traces, and counts these.
func (b *bench) marks(m machine) (traces int, err error) {
	c, _, bootErr := b.boot(m)
	l, err := b.image(m.Kernel)
	if err != nil {
		return 0, err
	}
	all, err := l.Traces(c.text.String(), nil)
	for _, t := range all {
		for _, s := range t.Stacks {
			name, _, _ := strings.Cut(s.Name, ".") // g0.1: of thread 1
			if name != "g" {                       // a goroutine's, which grows as needed
				b.add("used."+name, float64(s.Used))
			}
		}
	}
	return len(all), errors.Join(bootErr, err)
}

// records hands the records of a kind to read.
func records(out string, kind string, read func(data []byte) error) (err error) {
	found := false
	s := eventstream.NewText(io.Discard, eventstream.Options{OnRecord: func(rec eventstream.Record) {
		if rec.Kind == kind {
			found, err = true, errors.Join(err, read(rec.Data))
		}
	}})
	io.WriteString(s, out)
	s.Close()
	if err == nil && !found {
		err = fmt.Errorf("no record %s came: %.300q", kind, out)
	}
	return err
}

// readProfile reads a profile. A tick of its clock is an instruction.
func readProfile(b *bench, prefix, out string) error {
	return records(out, profile.Kind, func(data []byte) error {
		r, err := profile.Read(data)
		if err != nil {
			return err
		}
		if r.Samples == 0 || r.CostHz != 1e9 {
			return fmt.Errorf("%d samples, a clock of %d Hz; want some, and 1 GHz", r.Samples, r.CostHz)
		}
		for name, v := range map[string]float64{
			"sample": float64(r.Cost) / float64(r.Samples), "ran": float64(r.Ran), "overhead": r.Overhead(),
			"stacks": float64(r.Stacks.Stacks), "used": float64(r.Stacks.Used),
			"frames": float64(r.Stacks.Frames),
		} {
			b.add(prefix+name, v)
		}
		return nil
	})
}

// probes measures what a breakpoint of zf run -probe costs, by instructions, and how much
// of a program can be probed.
func (b *bench) probes() error {
	l, err := b.image(tests + "probes")
	if err != nil {
		return err
	}
	for _, p := range []struct{ name, pattern, append string }{
		{"hit", "main.recurse", " -- less"}, {"hit.stacks", "main.steps", "depot=1048576 -- less"},
		{"hit.all", "*", " -- less"},
	} {
		plan, err := probe.Choose(l.Symbols, []string{p.pattern})
		if err != nil {
			return err
		}
		m := machine{Config: qemu.Config{Kernel: tests + "probes", Append: p.append, Icount: true,
			Initrd: filepath.Join(b.dir, "probes.initrd")}}
		var a initrd.Archive
		a.AddFile("/"+probe.File, 0o444, plan.Table(p.name == "hit.stacks"))
		if err := a.WriteFile(m.Initrd); err != nil {
			return err
		}
		c, _, err := b.boot(m)
		if err != nil {
			return err
		}
		if err := records(c.text.String(), probe.Kind, func(data []byte) error {
			r, err := plan.Read(data)
			if err == nil {
				b.add(p.name+".overhead", float64(r.Overhead))
				b.add(p.name+".hits", float64(r.Hits))
			}
			return err
		}); err != nil {
			return err
		}
		all := len(plan.Functions)
		for _, f := range plan.Refused {
			if f.Refused != probe.InKernel {
				all++
			}
		}
		b.add(p.name+".functions", float64(len(plan.Functions)))
		b.add(p.name+".of", float64(all))
	}
	return nil
}

// readFrames takes what QEMU has written down of a trace by network: how long after a fault it has
// left, and what it takes on the wire. Each frame has the guest's time; with -icount a
// microsecond of that is a thousand instructions.
func readFrames(b *bench, prefix, _ string) error {
	f, err := os.Open(filepath.Join(b.dir, framesFile))
	if err != nil {
		return err
	}
	defer f.Close()
	r, err := pcapgo.NewReader(f)
	if err != nil {
		return err
	}
	var fault, last time.Time
	datagrams, bytes := 0, 0
	for {
		data, info, err := r.ReadPacketData()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		udp, ok := gopacket.NewPacket(data, layers.LayerTypeEthernet,
			gopacket.Default).Layer(layers.LayerTypeUDP).(*layers.UDP)
		if !ok {
			continue
		}
		if _, why := datagram.Parse(udp.Payload); why != datagram.None { // a log line
			fault = info.Timestamp
			continue
		}
		if last = info.Timestamp; datagrams == 0 {
			b.add(prefix+"first.us", float64(last.Sub(fault).Microseconds()))
		}
		datagrams++
		bytes += len(data)
	}
	if datagrams == 0 || fault.IsZero() {
		return errors.New("no trace on the wire")
	}
	b.add(prefix+"last.us", float64(last.Sub(fault).Microseconds()))
	b.add(prefix+"datagrams", float64(datagrams))
	b.add(prefix+"wire", float64(bytes))
	return nil
}

// races are the tests of qemu/testdata/racy.
var races = []string{"LostUpdate", "CheckThenAct", "LazyInit", "UnlockNotify", "Swap"}

// chaos measures how many runs it takes until each of five races is seen: with four threads for
// goroutines and chaos=; in the machine as it is, where only timers are late; and with the threads
// alone.
func (b *bench) chaos() error {
	for _, way := range []struct{ name, options string }{
		{"chaos", "env.GOMAXPROCS=4 chaos="}, {"plain", "jitter="},
		{"threads", "env.GOMAXPROCS=4 jitter="},
	} {
		most := b.runs
		if b.short {
			most = 1
		}
		seen := map[string]string{}
		for run := 1; run <= most && len(seen) < len(races); run++ {
			var wanted []string
			for _, r := range races {
				if seen[r] == "" {
					wanted = append(wanted, "^Test"+r+"$")
				}
			}
			c, res, err := b.boot(machine{Config: qemu.Config{
				Kernel: racy, Icount: true, VirtualTime: true, Seed: uint64(run), MemoryMiB: 512,
				Timeout: 10 * time.Minute,
				Append: fmt.Sprintf("report=off tty=empty %s%d -- -test.run=%s", way.options, run,
					strings.Join(wanted, "|")),
			}})
			out := c.text.String()
			if err == nil && res.Outcome != qemu.Exited {
				err = fmt.Errorf("it ended so: %v: %.500q", res.Outcome, out)
			}
			if err != nil {
				return err
			}
			for _, r := range races {
				if strings.Contains(out, "--- FAIL: Test"+r+" ") {
					seen[r] = fmt.Sprint(run)
				}
			}
			b.progress(fmt.Sprintf("chaos: %s: run %d: %d of %d races seen", way.name, run, len(seen),
				len(races)))
		}
		for _, r := range races {
			name := fmt.Sprintf("chaos.%s.%s.runs", strings.ToLower(r), way.name)
			b.print(name, cmp.Or(seen[r], fmt.Sprintf(">%d", most)), "-", "-")
		}
	}
	return nil
}
