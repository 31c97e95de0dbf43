package trace

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// countingImage counts how it is asked.
type countingImage struct {
	*fakeImage
	single, batches, batched int
}

func (m *countingImage) Lookup(addr uint64, ret bool) []lookup.Call {
	m.single++
	return m.fakeImage.Lookup(addr, ret)
}

func (m *countingImage) LookupAll(addrs []uint64, ret bool) [][]lookup.Call {
	m.batches++
	m.batched += len(addrs)
	var all [][]lookup.Call
	for _, a := range addrs {
		all = append(all, m.fakeImage.Lookup(a, ret))
	}
	return all
}

// TestAhead: a trace that comes as a whole is looked up in batches, one that comes line
// by line is not, and what is shown is the same.
func TestAhead(t *testing.T) {
	linux := []byte("RIP: 0010:0x0000000000200110\nCall Trace:\n 0x0000000000200210\n 0x0000000000200310\n ? 0x0000000000200410\n 0x0000000000200510\n")
	esp := []byte("Backtrace: 0x00200110:0x3ffb5060 0x00200210:0x3ffb5080\nBacktrace: 0x00200310:0x3ffb5060 0x00200410:0x3ffb5080\n")
	gdb := []byte("#0  0x0000000000200110 in ?? ()\n#1  0x0000000000200210 in ?? ()\n#2  0x0000000000200310 in ?? ()\n#3  0x0000000000200410 in ?? ()\n")
	tests := []struct {
		name   string
		in     []byte
		most   int // single questions when it comes as a whole
		single int // when it comes line by line: at least
	}{
		{"text", textForm(sample(), false), 1, 5},
		{"markup", textForm(sample(), true), 1, 5},
		{"compact", compactForm(sample()), 1, 0}, // it comes as a whole always
		{"linux", linux, 1, 5},
		{"esp", esp, 0, 0},
		{"gdb", gdb, 1, 4},
	}
	for _, tt := range tests {
		for _, prefixes := range []bool{false, true} {
			whole := &countingImage{fakeImage: testImage()}
			opt := Options{Symbols: whole, Foreign: true, Prefixes: prefixes}
			all := filter(t, opt, tt.in)
			if whole.single > tt.most || whole.batches == 0 || whole.batched < 3 {
				t.Errorf("%s as a whole: %d single questions, %d in %d batches", tt.name, whole.single, whole.batched, whole.batches)
			}
			lines := &countingImage{fakeImage: testImage()}
			opt.Symbols = lines
			by := filter(t, opt, slices.Collect(bytes.Lines(tt.in))...)
			if lines.single < tt.single || tt.single > 0 && lines.batches > 0 && tt.name != "esp" {
				t.Errorf("%s line by line: %d single questions, %d batches", tt.name, lines.single, lines.batches)
			}
			if !bytes.Equal(all.out.Bytes(), by.out.Bytes()) || !bytes.Equal(all.json.Bytes(), by.json.Bytes()) {
				t.Errorf("%s: %s\nline by line: %s", tt.name, all.out.Bytes(), by.out.Bytes())
			}
		}
	}
}

// TestKnown: what a trace has asked is known to the next one, and shown as before.
func TestKnown(t *testing.T) {
	image := &countingImage{fakeImage: testImage()}
	in := textForm(sample(), false)
	f := filter(t, Options{Symbols: image}, in)
	asked := image.single + image.batched
	if once := f.out.Len(); asked == 0 || once == 0 {
		t.Fatal("nothing was resolved")
	}
	twice := filter(t, Options{Symbols: image}, in, in)
	if n := image.single + image.batched - asked; n != asked {
		t.Errorf("%d questions for two traces that are the same, %d for one", n, asked)
	}
	if want := append(bytes.Clone(f.out.Bytes()), f.out.Bytes()...); !bytes.Equal(twice.out.Bytes(), want) {
		t.Errorf("two traces:\n%s\none:\n%s", twice.out.Bytes(), f.out.Bytes())
	}
}

// TestAheadMarkup: what is read ahead changes nothing of what is known when a line comes:
// here the layout of memory is another one further on.
func TestAheadMarkup(t *testing.T) {
	in := []byte("{{{module:1:k:elf:" + testBuild + "}}}\n{{{mmap:0x700000:0x1000:load:1:rx:0x200000}}}\n" +
		"{{{bt:0:0x700110:pc}}}\n{{{bt:1:0x700210:ra}}}\n{{{reset}}}\n{{{module:1:other:elf:00}}}\n{{{mmap:0x700000:0x1000:load:1:rx:0x0}}}\n" +
		"{{{bt:0:0x700110:pc}}}\n{{{bt:1:0x700210:ra}}}\n")
	opt := Options{Symbols: &countingImage{fakeImage: testImage()}, Foreign: true}
	whole, lines := filter(t, opt, in), filter(t, opt, slices.Collect(bytes.Lines(in))...)
	if whole.stats.Foreign != 2 || !bytes.Equal(whole.out.Bytes(), lines.out.Bytes()) || whole.log.String() != lines.log.String() {
		t.Errorf("%s%s\nline by line: %s%s", whole.out.Bytes(), whole.log.Bytes(), lines.out.Bytes(), lines.log.Bytes())
	}
}

// TestAheadParts: a log of many kilobytes is read ahead in parts, side by side, and shown as if its
// lines had come one by one. Nearly nothing is asked on its own.
func TestAheadParts(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	var in []byte
	for i := range 4000 {
		in = fmt.Appendf(in, "[%5d.000000] RIP: 0010:0x0000000000200110\n[%5d.000000] Call Trace:\n", i, i)
		for k := range 1 + i%5 {
			in = fmt.Appendf(in, "[%5d.000000]  0x0000000000200%d10\n", i, 2+k)
		}
		if i%3 == 0 {
			in = append(in, "[  1.000000] a line of something else, 0x10\n"...)
		}
	}
	whole, lines := &countingImage{fakeImage: testImage()}, &countingImage{fakeImage: testImage()}
	all := filter(t, Options{Symbols: whole, Foreign: true, Prefixes: true}, in)
	by := filter(t, Options{Symbols: lines, Foreign: true, Prefixes: true}, slices.Collect(bytes.Lines(in))...)
	if lines.single < 10000 || whole.single > 100 || whole.batches == 0 {
		t.Errorf("as a whole %d single questions and %d batches; line by line %d", whole.single, whole.batches, lines.single)
	}
	if !bytes.Equal(all.out.Bytes(), by.out.Bytes()) || !bytes.Equal(all.json.Bytes(), by.json.Bytes()) {
		t.Error("what is shown differs")
	}
}
