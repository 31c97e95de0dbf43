package trace

import (
	stdelf "debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tracer"
)

// What the kernel has in memory (kernel/percpu/ring.go, kernel/clock, kernel/fault).
const (
	ringsSymbol = "github.com/zeroframe/zeroframe/kernel/percpu.rings"
	hzSymbol    = "github.com/zeroframe/zeroframe/kernel/clock.tscHz"
	diedSymbol  = "github.com/zeroframe/zeroframe/kernel/fault.diedAt"

	maxCPUs   = 64
	maxEvents = 1 << 16
	eventSize = 32
)

// ErrNoRings says that the image has no rings of events.
var ErrNoRings = errors.New("the image is of a kernel that keeps no events")

// OfCore returns the timeline of a core: the rings of all CPUs. image is the ELF file that was
// running; read reads the dead machine's memory.
func OfCore(image string, read func(p []byte, addr uint64) error) (l Timeline, err error) {
	file, err := stdelf.Open(image)
	if err != nil {
		return l, err
	}
	defer file.Close()
	symbols, err := file.Symbols()
	if err != nil {
		return l, fmt.Errorf("%s has no symbol table", image)
	}
	at := map[string]uint64{ringsSymbol: 0, hzSymbol: 0, diedSymbol: 0}
	for _, s := range symbols {
		if _, ok := at[s.Name]; ok {
			at[s.Name] = s.Value
		}
	}
	for _, addr := range at {
		if addr == 0 {
			return l, ErrNoRings
		}
	}
	words := func(addr uint64, n int) ([]uint64, error) {
		b := make([]byte, 8*n)
		if err := read(b, addr); err != nil {
			return nil, fmt.Errorf("the core does not have the events at %#x: %w", addr, err)
		}
		w := make([]uint64, n)
		_, err := binary.Decode(b, binary.LittleEndian, w)
		return w, err
	}
	rings, err := words(at[ringsSymbol], 1+maxCPUs)
	if err != nil {
		return l, err
	}
	hz, err := words(at[hzSymbol], 1)
	if err != nil {
		return l, err
	}
	died, err := words(at[diedSymbol], 1)
	if err != nil {
		return l, err
	}
	if rings[0] == 0 || rings[0] > maxEvents || hz[0] == 0 {
		return l, errors.New("the core's rings of events are damaged")
	}
	latest := died[0]
	raw := make([][]uint64, maxCPUs)
	for n, addr := range rings[1:] {
		if addr == 0 {
			continue
		}
		if raw[n], err = words(addr, int(rings[0])*eventSize/8); err != nil {
			return l, err
		}
		if died[0] == 0 { // it has not died by itself: its end is that of the events
			for i := 0; i < len(raw[n]); i += eventSize / 8 {
				latest = max(latest, raw[n][i])
			}
		}
	}
	for n, w := range raw {
		if w == nil {
			continue
		}
		c := CPU{Number: uint64(n)}
		for ; len(w) > 0; w = w[eventSize/8:] {
			e := tracer.Event{Ago: nanos(latest-min(w[0], latest), hz[0]), Kind: tracer.EventKind(w[1]),
				Thread: uint32(w[1] >> 16 & 0xffff), Number: uint32(w[1] >> 32), A: w[2], B: w[3]}
			if w[0] == 0 || e.Kind.String() == "?" {
				continue
			}
			if e.Kind == tracer.EventLock {
				e.B = nanos(e.B, hz[0])
			}
			c.Events = append(c.Events, wire.Event{Event: e})
		}
		l.CPUs = append(l.CPUs, c)
	}
	l.settle()
	return l, nil
}

// nanos makes nanoseconds of ticks.
func nanos(ticks, hz uint64) uint64 {
	hi, lo := bits.Mul64(ticks, 1e9)
	if hi >= hz {
		return 1<<64 - 1
	}
	q, _ := bits.Div64(hi, lo, hz)
	return q
}
