package elf

import (
	"bytes"
	"compress/zlib"
	"io"
	"math/rand"
	"testing"
)

// folded returns data in zlib's format.
func folded(t testing.TB, data []byte, level int) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := zlib.NewWriterLevel(&b, level)
	if err != nil {
		t.Fatal(err)
	}
	w.Write(data)
	w.Close()
	return b.Bytes()
}

// unfold is unzlib of in.
func unfold(in []byte, size, room uint64) ([]byte, error) {
	b, _, err := unzlib(bytes.NewReader(in), len(in), size, room)
	return b, err
}

// samples returns data of all kinds: none, runs, words of few letters, noise, and pieces of
// all of them in turn.
func samples() (all [][]byte) {
	r := rand.New(rand.NewSource(1))
	all = append(all, nil, []byte{7}, make([]byte, 100_000))
	for _, n := range []int{1, 2, 3, 7, 8, 9, 257, 258, 259, 65_535, 65_536, 100_000} {
		noise, few, words := make([]byte, n), make([]byte, n), []byte(nil)
		r.Read(noise)
		for i := range few {
			few[i] = "abcd"[r.Intn(4)]
		}
		for len(words) < n {
			at := r.Intn(min(n, 40_000))
			words = append(words, few[min(at, n-1):min(at+3+r.Intn(300), n)]...)
			words = append(words, noise[r.Intn(n)])
		}
		// Codes of up to 15 bits: each byte half as likely as the one before.
		rare := make([]byte, n)
		for i := range rare {
			for rare[i] = 0; rare[i] < 40 && r.Intn(2) == 0; rare[i]++ {
			}
		}
		all = append(all, noise, few, words, rare, append(bytes.Clone(few), noise...))
	}
	return all
}

// TestUnzlib: what compress/zlib has folded comes back, whatever room is made for it at first
// and wherever the reader wants to stop.
func TestUnzlib(t *testing.T) {
	for i, data := range samples() {
		for _, level := range []int{zlib.HuffmanOnly, zlib.NoCompression, 1, 6, 9} {
			in := folded(t, data, level)
			for _, room := range []uint64{0, uint64(len(data)), 1 << 20} {
				got, err := unfold(in, uint64(len(data)), room)
				if err != nil || !bytes.Equal(got, data) {
					t.Fatalf("sample %d of %d bytes, level %d, room %d: %v, the same %v", i, len(data), level, room, err, bytes.Equal(got, data))
				}
			}
			if got, err := unfold(in, uint64(len(data))+10, 0); err != nil || !bytes.Equal(got, data) {
				t.Fatalf("sample %d, level %d, 10 bytes more than there are: %v", i, level, err)
			}
			if got, err := unfold(in, uint64(len(data)/2), 0); err != nil || !bytes.Equal(got, data[:len(data)/2]) {
				t.Fatalf("sample %d, level %d, half of it: %v", i, level, err)
			}
		}
	}
}

// FuzzUnzlib holds the reader against compress/zlib: both refuse a stream, or both give the
// same bytes. What follows the bytes that were asked for may be damaged; and at a cut end
// compress/zlib wants as many bits as the code that ends a block has, and gives up earlier.
func FuzzUnzlib(f *testing.F) {
	for i, data := range samples() {
		if len(data) > 300 {
			data = data[:300]
		}
		in := folded(f, data, i%10)
		f.Add(in, uint16(len(data)))
		f.Add(in[:len(in)/2], uint16(len(data)))
	}
	f.Add([]byte("\x78\x9c\x63\x00\x00\x00\x01\x00\x01"), uint16(1))
	f.Fuzz(func(t *testing.T, in []byte, size uint16) {
		got, err := unfold(in, uint64(size), 0)
		var want []byte
		r, werr := zlib.NewReader(bytes.NewReader(in))
		if werr == nil {
			want, werr = io.ReadAll(io.LimitReader(r, int64(size)+1))
		}
		more := len(want) > int(size)
		want = want[:min(len(want), int(size))]
		switch {
		case err == nil && (werr == nil || more) && !bytes.Equal(got, want):
			t.Errorf("%d bytes, compress/zlib %d, or others", len(got), len(want))
		case err == nil && werr == io.ErrUnexpectedEOF && len(got) == int(size) && bytes.HasPrefix(got, want):
		case err == nil && werr != nil && !more:
			t.Errorf("%d bytes, where compress/zlib says: %v", len(got), werr)
		case err != nil && werr == nil && !more:
			t.Errorf("%v, where compress/zlib gives %d bytes", err, len(want))
		}
	})
}

// BenchmarkUnzlib is for what one looks at while changing the loop.
func BenchmarkUnzlib(b *testing.B) {
	var data []byte
	for len(data) < 1<<22 {
		data = append(data, samples()[5]...)
	}
	for i := range data {
		data[i] ^= byte(i>>9) & 3
	}
	in := folded(b, data, 6)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := unfold(in, uint64(len(data)), uint64(len(data))); err != nil {
			b.Fatal(err)
		}
	}
}
