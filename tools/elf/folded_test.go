package elf

import (
	"bytes"
	"compress/zlib"
	"hash/adler32"
	"math/rand"
	"testing"
)

func TestAdler(t *testing.T) {
	b := make([]byte, 300_000)
	rand.New(rand.NewSource(1)).Read(b)
	high := bytes.Repeat([]byte{0xff}, len(b))
	for n := 0; n <= len(b); n += 1 + n*3/7 {
		for _, b := range [][]byte{b, high} {
			at := n / 3
			if got, want := adlerOf(adlerOf(1, b[:at]), b[at:n]), adler32.Checksum(b[:n]); got != want {
				t.Errorf("%d bytes: %#x; want %#x", n, got, want)
			}
		}
	}
}

// TestUnfoldFrom: each piece of a stream comes from the point before it alone, and one that is
// not what it was is refused.
func TestUnfoldFrom(t *testing.T) {
	data := bytes.Join(samples(), nil)
	data = bytes.Repeat(data, 5*pointEvery/len(data)+1)
	for _, level := range []int{zlib.HuffmanOnly, zlib.NoCompression, 6} {
		in := folded(t, data, level)
		_, points, err := unzlib(bytes.NewReader(in), len(in), uint64(len(data)), uint64(len(data)))
		if err != nil || len(points) < 5 || points[len(points)-1].Out != uint64(len(data)) {
			t.Fatalf("level %d: points %v, %v", level, points, err)
		}
		var z inflater
		for i := len(points) - 2; i >= 0; i-- {
			from, to := points[i], points[i+1]
			window := bytes.Clone(data[from.Out-from.WindowSize() : from.Out])
			stream := append(bytes.Clone(in[from.In/8:(to.In+7)/8]), make([]byte, readBehind)...)
			want := data[from.Out:to.Out]
			if b, err := z.unfoldFrom(from, to, window, stream); err != nil || !bytes.Equal(b, want) {
				t.Fatalf("level %d, point %d: %v, the same %v", level, i, err, bytes.Equal(b, want))
			}
			for n, b := range [][]byte{window, stream[:len(stream)-readBehind]} {
				if len(b) == 0 {
					continue
				}
				for range 2 {
					at := rand.Intn(len(b))
					b[at] ^= 4
					if got, err := z.unfoldFrom(from, to, window, stream); err == nil && !bytes.Equal(got, want) {
						t.Errorf("level %d, point %d, damaged %d at %d: taken", level, i, n, at)
					}
					b[at] ^= 4
				}
			}
			from.Sum++
			if _, err := z.unfoldFrom(from, to, window, stream); err == nil {
				t.Errorf("level %d, point %d: another checksum is taken", level, i)
			}
		}
	}
}
