package receive

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"github.com/zeroframe/zeroframe/tracer/datagram"
)

// parts returns every datagram of a trace, parsed.
func parts(t testing.TB, trace []byte, cut bool) (out []datagram.Part) {
	t.Helper()
	p := datagram.Part{Build: []byte("00ff"), Boot: 1, Seq: 1, Cut: cut}
	_, pieces, parity := datagram.Plan(len(trace))
	for i := range pieces + parity {
		b := make([]byte, datagram.MaxPayload)
		part, why := datagram.Parse(b[:datagram.Write(b, &p, trace, i)])
		if why != datagram.None {
			t.Fatalf("datagram %d of %d bytes: %v", i, len(trace), why)
		}
		out = append(out, part)
	}
	return out
}

func random(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// lengths go around the ends of pieces, and over the range of real traces.
var lengths = []int{1, 9, 600, 880, 881, 1759, 1761, 2640, 4400, 5200, 8123, 20000, 40000, datagram.MaxTrace}

// TestThreeOfTenLost: thousands of traces, shuffled, doubled, three of ten datagrams
// lost, and all of them arrive.
func TestThreeOfTenLost(t *testing.T) {
	const traces = 4000
	sent, arrived := 0, 0
	whole := map[int][]datagram.Part{}
	r := rand.New(rand.NewPCG(6666, 1))
	text := map[int][]byte{}
	for _, n := range lengths {
		text[n] = random(r, n)
		whole[n] = parts(t, text[n], n == datagram.MaxTrace)
	}
	for seed := range traces {
		r := rand.New(rand.NewPCG(uint64(seed), 2))
		n := lengths[seed%10] // those of several pieces are slow to solve
		if seed%200 == 0 {
			n = lengths[10+seed/200%4]
		}
		var on []datagram.Part
		for _, p := range whole[n] {
			for range 1 + r.IntN(10)/9 { // one in ten comes twice, unless it is lost
				sent++
				if r.IntN(10) < 3 {
					continue
				}
				arrived++
				on = append(on, p)
			}
		}
		r.Shuffle(len(on), func(i, j int) { on[i], on[j] = on[j], on[i] })
		var tr Trace
		for _, p := range on {
			if _, err := tr.Add(p); err != nil {
				t.Fatalf("seed %d, %d bytes: %v", seed, n, err)
			}
		}
		got, cut := tr.Bytes()
		if !bytes.Equal(got, text[n]) || cut != (n == datagram.MaxTrace) {
			t.Fatalf("seed %d: a trace of %d bytes arrived as %d bytes, cut: %v, from %d of %d datagrams",
				seed, n, len(got), cut, len(on), len(whole[n]))
		}
		if tr.Held() != n || tr.Missing() != 0 {
			t.Fatalf("seed %d: a whole trace of %d bytes holds %d and misses %d", seed, n, tr.Held(), tr.Missing())
		}
	}
	t.Logf("%d traces, %d of %d datagrams arrived", traces, arrived, sent)
	if f := float64(arrived) / float64(sent); f < 0.69 || f > 0.71 {
		t.Errorf("%.3f of the datagrams arrived; want 0.7", f)
	}
}

// TestAnyParts: as many parts as there are pieces are enough, whichever they are.
func TestAnyParts(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for _, n := range lengths[:11] {
		text := random(r, n)
		all := parts(t, text, false)
		_, pieces, _ := datagram.Plan(n)
		for try := range 60 {
			r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			var tr Trace
			for i, p := range all[:pieces] {
				whole, err := tr.Add(p)
				if err != nil || whole != (i == pieces-1) {
					t.Fatalf("%d bytes, try %d, part %d of %d: %v, %v", n, try, i, pieces, whole, err)
				}
				if !whole && (tr.Missing() < 1 || tr.Held() > MaxHeld) {
					t.Fatalf("%d bytes, part %d of %d: %d missing, %d held", n, i, pieces, tr.Missing(), tr.Held())
				}
			}
			if got, _ := tr.Bytes(); !bytes.Equal(got, text) {
				t.Fatalf("%d bytes, try %d: other bytes", n, try)
			}
		}
	}
}

func TestPrefix(t *testing.T) {
	text := random(rand.New(rand.NewPCG(1, 1)), 4000)
	all := parts(t, text, false)
	var tr Trace
	for _, i := range []int{3, 1, 0} {
		if _, err := tr.Add(all[i]); err != nil {
			t.Fatal(err)
		}
	}
	if got := tr.Prefix(); !bytes.Equal(got, text[:1600]) {
		t.Errorf("%d bytes; want the first two pieces of 800", len(got))
	}
}

func TestConflicts(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	text := random(r, 4000) // five pieces of 800
	all := parts(t, text, false)
	change := func(i int, f func(p *datagram.Part)) datagram.Part {
		p := all[i]
		p.Chunk = bytes.Clone(p.Chunk)
		f(&p)
		return p
	}
	const parity = 5
	for _, tt := range []struct {
		name  string
		first []int
		bad   datagram.Part
	}{
		{"other bytes", []int{1}, change(1, func(p *datagram.Part) { p.Chunk[3]++ })},
		{"other parity", []int{parity}, change(parity, func(p *datagram.Part) { p.Chunk[3]++ })},
		{"a piece of another size", []int{1}, change(0, func(p *datagram.Part) { p.Chunk = p.Chunk[:700] })},
		{"parity of another size", []int{1}, change(parity, func(p *datagram.Part) { p.Chunk = p.Chunk[:700] })},
		{"another length", []int{parity}, change(parity+1, func(p *datagram.Part) { p.Total = 3999 })},
		{"another end", []int{4, 1}, change(parity, func(p *datagram.Part) { p.Total = 3999 })},
		{"a last piece that is longer", []int{1}, change(4, func(p *datagram.Part) { p.Chunk = append(p.Chunk, 1) })},
		{"a last piece before another", []int{3}, change(2, func(p *datagram.Part) { p.Last = true })},
		{"a piece behind the last", []int{4}, change(3, func(p *datagram.Part) { p.No = 6 })},
		{"a piece behind the end", []int{parity}, change(3, func(p *datagram.Part) { p.No = 5 })},
		{"an end before a piece", []int{3}, change(parity, func(p *datagram.Part) { p.Total = 1600 })},
		{"two ends", []int{4}, change(4, func(p *datagram.Part) { p.No = 3 })},
		{"cut after all", []int{parity}, change(4, func(p *datagram.Part) { p.Cut = true })},
	} {
		var tr Trace
		for _, i := range tt.first {
			if _, err := tr.Add(all[i]); err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
		}
		if _, err := tr.Add(tt.bad); !errors.Is(err, ErrConflict) {
			t.Errorf("%s: %v; want ErrConflict", tt.name, err)
		}
		for _, p := range all { // and nothing of it stays
			if _, err := tr.Add(p); err != nil {
				t.Errorf("%s: a good part behind it: %v", tt.name, err)
			}
		}
		if got, _ := tr.Bytes(); !bytes.Equal(got, text) {
			t.Errorf("%s: the trace did not arrive", tt.name)
		}
	}
}

// FuzzAdd: parts that contradict each other in every way neither break anything nor take
// more memory than they may, and true parts of a trace make that trace.
func FuzzAdd(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, uint16(4000))
	f.Add([]byte{9, 9, 0x80, 1, 2, 3}, uint16(900))
	f.Add([]byte{0xff, 0xfe, 3, 2, 1, 0}, uint16(1))
	f.Fuzz(func(t *testing.T, script []byte, length uint16) {
		text := make([]byte, int(length)%6000+1)
		for i := range text {
			text[i] = byte(i * 7)
		}
		all := parts(t, text, false)
		var tr Trace
		lied := false
		for len(script) >= 2 {
			p := all[int(script[0])%len(all)]
			if how := script[1]; how >= 0x80 && len(script) >= 4 {
				lied = true
				v := binary.LittleEndian.Uint16(script[2:])
				script = script[2:]
				switch how & 7 {
				case 0:
					p.No = uint32(v % 256)
				case 1:
					p.Total = uint32(v)
				case 2:
					p.Last = !p.Last && !p.Parity
				case 3:
					p.Chunk = p.Chunk[:min(len(p.Chunk), int(v)%datagram.MaxPiece+1)]
				case 4:
					p.Cut = !p.Cut
				case 5:
					p.Chunk = bytes.Repeat([]byte{byte(v)}, int(v)%datagram.MaxPiece+1)
				}
				// What Parse lets through, and no more.
				b := rewrite(p)
				var why datagram.Reject
				if p, why = datagram.Parse(b); why != datagram.None {
					script = script[2:]
					continue
				}
			}
			script = script[2:]
			whole, err := tr.Add(p)
			if err != nil && !lied {
				t.Fatalf("a true part: %v", err)
			}
			got, _ := tr.Bytes()
			if whole != (got != nil) || tr.Held() > MaxHeld || len(got) > datagram.MaxTrace {
				t.Fatalf("whole: %v, with %d bytes, holding %d", whole, len(got), tr.Held())
			}
			if whole && !lied && !bytes.Equal(got, text) {
				t.Fatal("true parts made another trace")
			}
		}
	})
}

// rewrite writes the datagram of a part, whatever it says.
func rewrite(p datagram.Part) []byte {
	flag := "+"
	switch {
	case p.Parity && p.Cut:
		flag = fmt.Sprintf("x%d!", p.Total)
	case p.Parity:
		flag = fmt.Sprintf("x%d", p.Total)
	case p.Cut:
		flag = "!"
	case p.Last:
		flag = "."
	}
	b := fmt.Appendf(nil, "zf1 %s %016x %d %d %s", p.Build, p.Boot, p.Seq, p.No, flag)
	sum := crc32.Checksum(append(bytes.Clone(b), p.Chunk...), crc32.MakeTable(crc32.Castagnoli))
	return append(fmt.Appendf(b, " %08x\n", sum), p.Chunk...)
}
