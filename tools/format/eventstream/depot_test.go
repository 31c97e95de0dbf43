package eventstream

import (
	"encoding/binary"
	"testing"

	"github.com/zeroframe/zeroframe/tracer"
)

// image makes an image of units of 3 bytes, for a text of 4 KiB at 1 MiB.
func image(units ...uint32) []byte {
	b := []byte("zfdepot1")
	for _, v := range []uint64{3 | uint64(len(units))<<8, 1 << 20, 4096, 0, 4096, 1, 2, 3} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	for _, u := range units {
		b = append(b, byte(u), byte(u>>8), byte(u>>16))
	}
	return b
}

const (
	end  = 2*4096 + 1281
	link = 2*4096 + 1313
)

func TestRead(t *testing.T) {
	d, err := Read(image(0, 16, end+uint32(tracer.EndZero), 4096+8, link+1, 2*4096+512+7, link+3))
	if err != nil {
		t.Fatal(err)
	}
	got, why := d.Stack(5)
	want := []Frame{{tracer.Trap, 0, tracer.VectorSyscall, 7}, {tracer.PC, 1<<20 + 8, 0, 0}, {tracer.RA, 1<<20 + 16, 0, 0}}
	if len(got) != len(want) || why != tracer.EndZero {
		t.Fatalf("%v, %v; want %v", got, why, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("frame %d: %v; want %v", i, got[i], want[i])
		}
	}
	for _, id := range []uint32{0, 7, 1 << 30} {
		if got, why := d.Stack(id); len(got) > 0 || why != 0 {
			t.Errorf("stack %d: %v, %v; want none", id, got, why)
		}
	}
}

func TestReadDamaged(t *testing.T) {
	good := image(0, 16, 17)
	for _, bad := range [][]byte{nil, good[:40], good[:71], good[:75], append([]byte("x"), good...), append(good, 1)} {
		if _, err := Read(bad); err == nil {
			t.Errorf("Read accepts %q", bad)
		}
	}
	// Links that go round.
	d, err := Read(image(0, link+2, link+1, 5, link+3))
	if err != nil {
		t.Fatal(err)
	}
	for id := range uint32(5) {
		if f, why := d.Stack(id); len(f) > 2 || why != 0 {
			t.Errorf("stack %d of a ring: %v, %v", id, f, why)
		}
	}
}

// FuzzRead: no image leads outside of itself or goes round.
func FuzzRead(f *testing.F) {
	f.Add(image(0, 16, end+1, 4096+8, link+1, 2*4096+512+7, link+3), uint32(5))
	f.Add(image(0, link+2, link+1, 5, link+3), uint32(3))
	f.Fuzz(func(t *testing.T, data []byte, id uint32) {
		d, err := Read(data)
		if err != nil {
			return
		}
		for _, id := range []uint32{id, id % 64} {
			if frames, _ := d.Stack(id); len(frames) > tracer.MaxPacked {
				t.Fatalf("%d frames", len(frames))
			}
		}
	})
}
