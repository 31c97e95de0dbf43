package main

import (
	"bytes"
	"fmt"
	"io"
	"strconv"

	"github.com/zeroframe/zeroframe/qemu"
)

// How many bytes a program writes to the serial port, and reads from it.
const (
	serialOut = 1 << 20
	serialIn  = 128 << 10
)

// serial measures how fast a program's lines leave by the serial port, and how fast input
// comes.
func (b *bench) serial() error {
	b.progress(fmt.Sprintf("serial.*: %d KiB of lines that a program writes, %d KiB that it reads, and %d KiB and %d KiB by a virtio console, "+
		"in thousands of bytes a second by its own clock, under TCG", serialOut>>10, serialIn>>10, 16*serialOut>>10, 16*serialIn>>10))
	for _, m := range []struct {
		name, args string
		input      int
		port       bool
		goal       float64
	}{
		{"out", fmt.Sprintf("-- out %d", serialOut), 0, false, 700},
		{"in", fmt.Sprintf("tty=pipe -- in %d", serialIn), serialIn, false, 400},
		{"virtio_in", fmt.Sprintf("console=virtio tty=pipe -- in %d", 16*serialIn), 16 * serialIn, true, 2_000},
		{"virtio", fmt.Sprintf("console=virtio -- out %d", 16*serialOut), 0, true, 20_000},
	} {
		var speeds []float64
		for range runs {
			cfg := qemu.Config{Port: m.port}
			if m.input > 0 {
				// What comes before the kernel listens is lost.
				said := &marker{mark: []byte("reading"), came: make(chan struct{})}
				cfg.Stdout, cfg.Stdin = said, io.LimitReader(lines{after: said.came}, int64(m.input))
			}
			speed, err := throughput(b.serialImage, m.args, cfg)
			if err != nil {
				return fmt.Errorf("serial.%s: %w", m.name, err)
			}
			speeds = append(speeds, speed)
		}
		b.atLeast("serial."+m.name+".kb_per_second", median(speeds), m.goal)
	}
	return nil
}

// throughput boots a program that moves bytes, and returns its speed in thousands of bytes a
// second.
func throughput(image, cmdline string, cfg qemu.Config) (float64, error) {
	out, err := boot(image, cmdline, cfg)
	if err != nil {
		return 0, err
	}
	m := recordTime.FindStringSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("the program did not say how long it took: %.200q", out[max(len(out)-200, 0):])
	}
	n, _ := strconv.ParseFloat(m[1], 64)
	us, err := strconv.ParseFloat(m[2], 64)
	if err != nil || us == 0 {
		return 0, fmt.Errorf("a time of %q us", m[2])
	}
	return n / us * 1000, nil
}

// marker closes a channel when a text has come by.
type marker struct {
	mark []byte
	came chan struct{}
	seen []byte
}

func (m *marker) Write(p []byte) (int, error) {
	if m.mark != nil {
		if m.seen = append(m.seen, p...); bytes.Contains(m.seen, m.mark) {
			close(m.came)
			m.mark = nil
		}
	}
	return len(p), nil
}

// lines is a text without end, which begins when a channel is closed.
type lines struct{ after chan struct{} }

func (l lines) Read(p []byte) (int, error) {
	<-l.after
	return copy(p, bytes.Repeat([]byte("what somebody types\n"), len(p)/20+1)), nil
}
