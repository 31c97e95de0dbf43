package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/zeroframe/zeroframe/qemu"
	"github.com/zeroframe/zeroframe/tools/image"
	"github.com/zeroframe/zeroframe/tools/symbol"
	"github.com/zeroframe/zeroframe/tools/trace"
)

// runs is how many boots a time is the median of.
const runs = 7

func main() {
	if len(os.Args) > 1 {
		fmt.Fprintln(os.Stderr, "usage: go run ./qemu/bench   (it takes no arguments; see its doc.go)")
		os.Exit(2)
	}
	file, err := os.Create("bench.txt")
	if err == nil {
		b := &bench{out: io.MultiWriter(os.Stdout, file)}
		if err = b.run(); err == nil {
			err = file.Close()
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// bench is one run of the benchmark.
type bench struct {
	out io.Writer
	dir string // of the images
	lab string // the crash lab's image
}

// figure prints one figure that has no goal.
func (b *bench) figure(name string, value any) { fmt.Fprintf(b.out, "%s\t%v\t-\t-\n", name, value) }

func (b *bench) run() (err error) {
	if b.dir, err = os.MkdirTemp("", "zf-bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	if b.lab, err = b.build("./kernel/crashlab", "lab.elf"); err != nil {
		return err
	}
	for _, step := range []func() error{b.size, b.times, b.traces, b.walks, b.watermarks} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) build(pkg, name string) (string, error) {
	path := filepath.Join(b.dir, name)
	_, err := image.Build(context.Background(), image.BuildOptions{Package: pkg, Output: path, Stderr: os.Stderr})
	return path, err
}

// size compares a hello on the kernel with the same for Linux.
func (b *bench) size() error {
	hello, err := b.build("./qemu/bench/testdata/hello", "hello.elf")
	if err != nil {
		return err
	}
	plain := filepath.Join(b.dir, "plain")
	if err := goBuild("./qemu/bench/testdata/plain", plain); err != nil {
		return err
	}
	h, err := os.Stat(hello)
	if err != nil {
		return err
	}
	p, err := os.Stat(plain)
	if err != nil {
		return err
	}
	b.figure("image.hello.bytes", h.Size())
	b.figure("image.plain.bytes", p.Size())
	b.figure("image.hello.ratio", ratio(float64(h.Size()), float64(p.Size())))
	return nil
}

// times measures from the start of QEMU to the first byte on the serial port and
// to the end of a trace.
func (b *bench) times() error {
	var first, whole []float64
	for range runs {
		c := &clock{begin: time.Now(), mark: []byte("zf1 done")}
		if _, err := b.boot("crash=early.nil-write", qemu.Config{Stdout: c}); err != nil {
			return err
		}
		if c.first == 0 || c.marked == 0 {
			return errors.New("times: the kernel sent no trace")
		}
		first, whole = append(first, ms(c.first)), append(whole, ms(c.marked))
	}
	b.figure("boot.first_byte.ms", fmt.Sprintf("%.0f", median(first)))
	b.figure("boot.trace.ms", fmt.Sprintf("%.0f", median(whole)))
	return nil
}

// traces measures a trace of 16 frames in each form, from the first byte to the
// last line feed.
func (b *bench) traces() error {
	for _, form := range []string{"text", "markup", "compact"} {
		out, err := b.boot("crash=early.deep crash.depth=16 trace="+form, qemu.Config{})
		if err != nil {
			return err
		}
		begin := strings.Index(out, "zf1")
		if begin < 0 || !strings.HasSuffix(out, "\n") {
			return fmt.Errorf("traces: no trace in form %s", form)
		}
		b.figure("trace.f16."+form+".bytes", len(out)-begin)
	}
	return nil
}

// walks counts the instructions of a walk of 32 frames, next to those of a walk
// that believes everything, and of the scan for a high-water mark.
func (b *bench) walks() error {
	out, err := b.boot("crash=early.measure crash.depth=32", qemu.Config{Icount: true})
	if err != nil {
		return err
	}
	v := map[string]float64{}
	for _, line := range strings.Split(out, "\r\n") {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "measure" {
			if v[f[1]], err = strconv.ParseFloat(f[2], 64); err != nil {
				return err
			}
		}
	}
	if v["walk.frames"] != 32 || v["bare.frames"] != 32 || v["walk.complete"] != 1 || v["scan.bytes"] == 0 {
		return fmt.Errorf("walks: measured %v", v)
	}
	b.figure("walk.d32.instructions", v["walk.plain"])
	b.figure("walk.d32.tables.instructions", v["walk.tables"])
	b.figure("walk.d32.bare.instructions", v["bare"])
	b.figure("walk.d32.ratio", ratio(v["walk.plain"], v["bare"]))
	b.figure("scan.kib.instructions", fmt.Sprintf("%.0f", v["scan"]/v["scan.bytes"]*1024))
	return nil
}

// watermarks boots every kind of crash and gives the highest mark of each stack.
func (b *bench) watermarks() error {
	symbols, err := symbol.Open(b.lab)
	if err != nil {
		return err
	}
	defer symbols.Close()
	list, err := b.boot("crash=?", qemu.Config{})
	if err != nil {
		return err
	}
	var names []string
	high := map[string]uint64{}
	for _, line := range strings.Split(list, "\r\n") {
		if !strings.HasPrefix(line, "  early.") {
			continue
		}
		kind := strings.Fields(line)[0]
		// Those that end in no trace, or use a stack up on purpose.
		if kind == "early.triple" || strings.Contains(kind, "overflow") || kind == "early.watermark" {
			continue
		}
		var cfg qemu.Config
		spins := strings.HasPrefix(kind, "early.spin")
		if spins {
			cfg.Timeout = time.Second // and then an NMI
		}
		out, err := b.boot("crash="+kind, cfg)
		if err != nil && !(spins && errors.Is(err, qemu.ErrTimeout)) {
			return err
		}
		f, err := trace.NewFilter(io.Discard, trace.Options{Symbols: symbols, OnTrace: func(t *trace.Trace) {
			for _, s := range t.Stacks {
				if _, ok := high[s.Name]; !ok {
					names = append(names, s.Name)
				}
				high[s.Name] = max(high[s.Name], s.Used)
			}
		}})
		if err != nil {
			return err
		}
		if _, err := io.WriteString(f, out); err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	if len(names) == 0 {
		return errors.New("watermarks: no trace has a stack table")
	}
	for _, n := range names {
		b.figure("stack."+n+".used.bytes", high[n])
	}
	return nil
}

// boot runs the crash lab to its end and returns what it sent.
func (b *bench) boot(cmdline string, cfg qemu.Config) (string, error) {
	var out bytes.Buffer
	cfg.Kernel, cfg.Append = b.lab, cmdline
	if cfg.Timeout == 0 {
		cfg.Timeout = time.Minute
	}
	if cfg.Stdout == nil {
		cfg.Stdout = &out
	}
	vm, err := qemu.Start(context.Background(), cfg)
	if err != nil {
		return "", err
	}
	if _, err = vm.Wait(); err != nil {
		err = fmt.Errorf("%s: %w", cmdline, err)
	}
	return out.String(), err
}

// clock notes when the first byte and when a mark came by.
type clock struct {
	mu     sync.Mutex
	begin  time.Time
	first  time.Duration
	mark   []byte
	marked time.Duration
	seen   []byte
}

func (c *clock) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Since(c.begin)
	if c.first == 0 {
		c.first = now
	}
	c.seen = append(c.seen, p...)
	if c.marked == 0 && bytes.Contains(c.seen, c.mark) {
		c.marked = now
	}
	return len(p), nil
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func ratio(a, b float64) string { return fmt.Sprintf("%.2f", a/b) }

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}
