package trace

import (
	"bytes"
	"io"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// TestHostileMemory: traces of every format, whole and damaged at random, take memory
// and time in proportion to their length: a kilobyte may not take 100 MB.
func TestHostileMemory(t *testing.T) {
	var inputs [][]byte
	for _, c := range captures(t) {
		inputs = append(inputs, []byte(c.in))
	}
	for _, c := range reports(t) {
		inputs = append(inputs, []byte(c.in))
	}
	for _, form := range forms {
		inputs = append(inputs, form.write(sample()), form.write(sampleGo()))
	}
	inputs = append(inputs, bootOfTraces())
	symbols := []lookup.Resolver{cImage(t).sym, testImage()}
	cost := func(in []byte, sym lookup.Resolver) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f, err := NewFilter(io.Discard, Options{Symbols: sym, Foreign: true, Guess: true, Prefixes: true, Force: true, Sanitize: true, JSON: io.Discard, Log: io.Discard})
		if err != nil {
			t.Fatal(err)
		}
		f.Write(in)
		f.Close()
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	for _, sym := range symbols { // what is read once, of the ELF file
		for _, in := range inputs {
			cost(in, sym)
		}
	}
	random := rand.New(rand.NewPCG(5, 5))
	most, tried := uint64(0), 0
	for i, whole := range inputs {
		for n := range 20 {
			in := bytes.Clone(whole)
			for range n {
				switch at := random.IntN(len(in)); random.IntN(4) {
				case 0:
					in[at] ^= 1 << random.IntN(8)
				case 1:
					in[at] = "0123456789abcdefx+/:{}[]?#\n\x00\xff"[random.IntN(29)]
				case 2: // a piece twice
					end := min(at+random.IntN(100), len(in))
					in = append(in[:end:end], in[at:]...)
				case 3: // a piece less
					in = append(in[:at], in[min(at+random.IntN(20), len(in)-1):]...)
				}
			}
			start := time.Now()
			used := cost(in, symbols[n%len(symbols)])
			if limit := uint64(8<<20 + 1024*len(in)); used > limit {
				t.Errorf("input %d: %d bytes allocated for %d: %.200q", i, used, len(in), in)
			}
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("input %d: %v for %d bytes: %.200q", i, took, len(in), in)
			}
			most = max(most, used)
			tried++
		}
	}
	t.Logf("%d inputs; at most %d bytes allocated for one", tried, most)
}
