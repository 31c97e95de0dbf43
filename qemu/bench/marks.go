package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/zeroframe/zeroframe/qemu"
	"github.com/zeroframe/zeroframe/tools/symbol"
	"github.com/zeroframe/zeroframe/tools/trace"
	"github.com/zeroframe/zeroframe/tools/wire"
)

// marks is the highest mark of each stack that traces have told of.
type marks struct {
	names []string
	high  map[string]uint64
	n     int // traces
}

// watermarks boots every kind of crash, and a program that keeps the kernel busy, and
// gives the highest mark of each stack.
func (b *bench) watermarks() error {
	b.progress("stack.*: the high-water mark of each stack over all kinds of the crash lab, and a program that keeps the kernel busy and panics; g0 and sig are those of all threads")
	symbols, err := symbol.Open(b.lab)
	if err != nil {
		return err
	}
	defer symbols.Close()
	list, err := boot(b.lab, "crash=?", qemu.Config{})
	if err != nil {
		return err
	}
	m := marks{high: map[string]uint64{}}
	kinds := map[string]int{}
	tried := 0
	for _, line := range strings.Split(list, "\r\n") {
		if !strings.HasPrefix(line, "  early.") && !strings.HasPrefix(line, "  go.") {
			continue
		}
		kind, help, _ := strings.Cut(strings.TrimSpace(line), " ")
		// Those that end in no trace, or use a stack up on purpose.
		if strings.HasSuffix(kind, ".triple") || strings.Contains(kind, "overflow") || strings.HasSuffix(kind, ".mutual") || kind == "early.watermark" || kind == "go.over-limit" || kind == "go.kernel-spin" ||
			strings.HasPrefix(strings.TrimSpace(help), "no crash") {
			continue
		}
		// Of the others every twelfth is enough to see that it works.
		if tried++; b.short && tried%12 != 1 && !strings.HasPrefix(kind, "go.cpu") {
			continue
		}
		var cfg qemu.Config
		cmdline := "crash=" + kind
		if strings.HasSuffix(strings.TrimSpace(help), "(lockup=panic)") {
			cmdline += " lockup=panic"
		}
		spins := strings.HasPrefix(kind, "early.spin") || kind == "go.spin" || kind == "go.mcall" || kind == "go.hang"
		if spins {
			cfg.Timeout = time.Second // and then an NMI
		}
		if strings.HasPrefix(kind, "go.cpu") {
			cfg.CPUs = 2
		}
		out, err := boot(b.lab, cmdline, cfg)
		if err != nil && !(spins && errors.Is(err, qemu.ErrTimeout)) {
			b.miss("stack.* of crash="+kind, err)
			continue
		}
		before := m.n
		if err := m.read(out, symbols); err != nil {
			return err
		}
		if m.n > before {
			kinds[kind[:strings.Index(kind, ".")]]++
		}
	}
	if kinds["early"] == 0 || kinds["go"] == 0 {
		return fmt.Errorf("watermarks: traces by context: %v", kinds)
	}

	busy, err := symbol.Open(b.load)
	if err != nil {
		return err
	}
	defer busy.Close()
	out, err := boot(b.load, "", qemu.Config{})
	if err != nil {
		return err
	}
	if !strings.Contains(out, "zf1 reason panic: the load is done\r\n") {
		return fmt.Errorf("watermarks: the program did not end as it should:\n%s", out)
	}
	if err := m.read(out, busy); err != nil {
		return err
	}
	for _, n := range m.names {
		b.figure("stack."+n+".used.bytes", m.high[n])
	}
	return nil
}

// read takes the marks of the traces in a serial log.
func (m *marks) read(log string, symbols *symbol.File) error {
	f, err := trace.NewFilter(io.Discard, trace.Options{Symbols: symbols, OnTrace: func(t *wire.Trace) {
		m.n++
		for _, s := range t.Stacks {
			name, _, _ := strings.Cut(s.Name, ".") // g0.1: of thread 1
			if name == "g" {
				continue // a goroutine's, which grows as needed
			}
			if _, ok := m.high[name]; !ok {
				m.names = append(m.names, name)
			}
			m.high[name] = max(m.high[name], s.Used)
		}
	}})
	if err != nil {
		return err
	}
	if _, err := io.WriteString(f, log); err != nil {
		return err
	}
	return f.Close()
}
