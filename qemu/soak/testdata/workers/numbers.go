package main

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"hash"
	"hash/adler32"
	"hash/crc32"
	"hash/crc64"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"runtime"

	"golang.org/x/sys/cpu"
)

// What is in the registers of the FPU and of vectors: it must be there when a goroutine
// or a thread that lost the CPU has it again.

// series computes for a while, in a loop without a call, with more values than fit into
// the registers: only an interrupt takes the CPU from it.
//
//go:noinline
func series(x float64) [8]float64 {
	a, b, c, d := x, x+0.25, x+0.5, x+0.75
	e, f, g, h := 1/(x+1), 1/(x+2), 1/(x+3), 1/(x+4)
	for i := 1; i < 30000; i++ {
		t := float64(i)
		a, b = a*0.999+b/t, b*0.998-c/t
		c, d = c*0.997+d/t, d*0.996-a/t
		e, f = e+math.Sqrt(t)*1e-9, f*0.9995+e*1e-3
		g, h = g*0.5+f*0.5, h+g*1e-6
	}
	return [8]float64{a, b, c, d, e, f, g, h}
}

// results are the series of each x, known from when nothing else ran.
var results [8][8]float64

// learn computes what the workers compare with, and says what it is in short.
func learn() {
	all := fnv.New64a()
	for i := range results {
		results[i] = series(float64(i))
		for _, v := range results[i] {
			fmt.Fprintf(all, "%x ", math.Float64bits(v))
		}
	}
	fmt.Printf("soak: known floats %x\n", all.Sum(nil))
}

// floats computes what is known.
func floats(w *worker) {
	for w.goOn() {
		i := w.rand.IntN(len(results))
		got := series(float64(i))
		for j := range got {
			if math.Float64bits(got[j]) != math.Float64bits(results[i][j]) {
				w.wrong("value %d of series %d is %v; want %v", j, i, got[j], results[i][j])
			}
		}
		w.round()
	}
}

// holdSSE loads the 16 vector registers, 128 bits each, from in, counts down from n, and
// stores them to out. holdAVX does with 256 bits.
func holdSSE(in, out *[64]uint64, n uint64)
func holdAVX(in, out *[64]uint64, n uint64)

// vectorBits is the size of vector registers that is looked at.
func vectorBits() int {
	if cpu.X86.HasAVX {
		return 256
	}
	return 128
}

// vectors holds numbers in all vector registers for longer than a thread may run.
func vectors(w *worker) {
	for w.goOn() {
		var in, out [64]uint64
		for i := range in {
			in[i] = w.rand.Uint64()
		}
		n := uint64(w.rand.IntN(2_000_000))
		words := 32
		if vectorBits() == 256 && w.rand.IntN(4) > 0 {
			words = 64
			holdAVX(&in, &out, n)
		} else {
			holdSSE(&in, &out, n)
		}
		for i := range words {
			if in[i] != out[i] {
				per := words / 16
				w.wrong("word %d of vector register %d is %#x; want %#x", i%per, i/per, out[i], in[i])
			}
		}
		w.round()
	}
}

// digests of "123456789" are the check values by which these codes are published (crc32:
// CRC RevEng's catalogue; Adler-32: RFC 1950's method; FNV: its authors' method).
var digests = []struct {
	name string
	new  func() hash.Hash
	want string
}{
	{"CRC-32", func() hash.Hash { return crc32.NewIEEE() }, "cbf43926"},
	{"CRC-32C", func() hash.Hash { return crc32.New(crc32.MakeTable(crc32.Castagnoli)) }, "e3069283"},
	{"CRC-64", func() hash.Hash { return crc64.New(crc64.MakeTable(crc64.ECMA)) }, "995dc9bbdf1939fa"},
	{"Adler-32", func() hash.Hash { return adler32.New() }, "091e01de"},
	{"FNV-1a", func() hash.Hash { return fnv.New64a() }, "06d5573923c6cdfc"},
}

// hashes computes with what vectors there are: known digests, digests in one piece and in
// many, searches, and random numbers. (Package crypto would do it too, but brings 32 MiB
// of variables into the image: crypto/internal/fips140/drbg.memory.)
func hashes(w *worker) {
	for w.goOn() {
		d := &digests[w.rand.IntN(len(digests))]
		h := d.new()
		h.Write([]byte("123456789"))
		if got := hex.EncodeToString(h.Sum(nil)); got != d.want {
			w.wrong("%s of the known text is %s; want %s", d.name, got, d.want)
		}
		text := make([]byte, w.rand.IntN(8000))
		for i := range text {
			text[i] = byte(w.rand.Uint32())
		}
		h.Reset()
		h.Write(text)
		whole := h.Sum(nil)
		h.Reset()
		for rest := text; len(rest) > 0; {
			n := min(len(rest), 1+w.rand.IntN(3000))
			h.Write(rest[:n])
			rest = rest[n:]
			if w.rand.IntN(16) == 0 {
				runtime.Gosched()
			}
		}
		if got := h.Sum(nil); string(got) != string(whole) {
			w.wrong("%s of %d bytes is %x in pieces, %x in one", d.name, len(text), got, whole)
		}
		w.search(text)
		w.stream()
		w.round()
	}
}

// search compares package bytes, which has assembly, with plain loops.
func (w *worker) search(text []byte) {
	for range 20 {
		c := byte(w.rand.Uint32())
		first, n := -1, 0
		for i, b := range text {
			if b == c {
				if first < 0 {
					first = i
				}
				n++
			}
		}
		if i, m := bytes.IndexByte(text, c), bytes.Count(text, []byte{c}); i != first || m != n {
			w.wrong("byte %#x is at %d, %d times in %d; want %d, %d", c, i, m, len(text), first, n)
		}
	}
	other := bytes.Clone(text)
	if !bytes.Equal(text, other) {
		w.wrong("a copy of %d bytes is not equal", len(text))
	}
	if len(other) > 0 {
		other[w.rand.IntN(len(other))]++
		if bytes.Equal(text, other) || bytes.Compare(text, other) == 0 {
			w.wrong("a copy of %d bytes with another byte is equal", len(text))
		}
	}
}

// stream compares two generators of the same seed, one of which was given away and back.
func (w *worker) stream() {
	var seed [32]byte
	for i := range seed {
		seed[i] = byte(w.rand.Uint32())
	}
	a, b := rand.NewChaCha8(seed), rand.NewChaCha8(seed)
	for i := range 200 {
		x := a.Uint64()
		if i == 100 {
			runtime.Gosched()
		}
		if y := b.Uint64(); x != y {
			w.wrong("number %d of ChaCha8 is %#x, and %#x from the same seed", i, y, x)
		}
	}
}
