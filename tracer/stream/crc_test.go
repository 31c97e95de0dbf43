package stream

import (
	"hash/crc32"
	"math/rand"
	"testing"
)

func TestCRC(t *testing.T) {
	makeTables()
	r := rand.New(rand.NewSource(1))
	for n := range 100 {
		b := make([]byte, n)
		r.Read(b)
		cut := r.Intn(n + 1)
		want := crc32.ChecksumIEEE(b)
		if got := crc32sum(crc32sum(0, b[:cut]), b[cut:]); got != want {
			t.Errorf("CRC of %d bytes in two parts = %#x; want %#x", n, got, want)
		}
	}
}
