package depot

import (
	"math/rand/v2"
	"syscall"
	"testing"
	"unsafe"

	"github.com/zeroframe/zeroframe/tracer"
)

// An interrupt interns while the interrupted code is in the middle of interning: the steps of
// insert, with a whole Finish between them.

const interruptText = 0x10_0000

func interruptDepot(t *testing.T) *Depot {
	t.Helper()
	b, err := syscall.Mmap(-1, 0, 64<<10, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Munmap(b) })
	d := new(Depot)
	if !d.Init(uintptr(unsafe.Pointer(&b[0])), 64<<10, interruptText, interruptText+1<<20) {
		t.Fatal("Init failed")
	}
	return d
}

// stackOf returns a stack of those offsets.
func stackOf(d *Depot, offsets ...uint32) *tracer.Packed {
	p := new(tracer.Packed)
	d.Begin(p)
	for _, o := range offsets {
		p.Add(o)
	}
	return p
}

// check fails unless the ID has those offsets.
func check(t *testing.T, d *Depot, id uint32, offsets ...uint32) {
	t.Helper()
	c := d.Frames(id)
	for i, o := range offsets {
		if _, addr, _, ok := c.Next(); !ok || addr != interruptText+uintptr(o) {
			t.Fatalf("stack %d: frame %d is at %#x; want %#x", id, i, addr-interruptText, o)
		}
	}
	if _, _, _, ok := c.Next(); ok || c.End != tracer.EndZero {
		t.Fatalf("stack %d: end %v; want zero", id, c.End)
	}
}

func TestInterrupted(t *testing.T) {
	const end = uint32(tracer.EndZero)
	for _, other := range [][]uint32{{10, 20, 30}, {20, 30}, {11, 20, 30}, {40}} {
		for step := range 3 {
			d := interruptDepot(t)
			mine := stackOf(d, 10, 20, 30)
			last := 2*d.span + unitEnd + end
			// As insert does without a known tail.
			first, ok := d.take(4, 4)
			if !ok {
				t.Fatal("take failed")
			}
			var theirs uint32
			interrupt := func() {
				if theirs, ok = d.Finish(stackOf(d, other...), tracer.EndZero); !ok {
					t.Fatal("the interrupt's stack was refused")
				}
				check(t, d, theirs, other...)
			}
			if step == 0 {
				interrupt()
			}
			hash, power := uint64(0), uint64(1)
			for k := range 4 {
				if step == 1 && k == 2 {
					interrupt()
				}
				d.store(first+uint32(k), unitAt(mine, k, last))
			}
			for k := 3; k >= 0; k-- {
				if step == 2 && k == 1 {
					interrupt()
				}
				hash += uint64(unitAt(mine, k, last)) * power
				power *= tracer.HashFactor
				d.publish(hash, first+uint32(k))
			}
			check(t, d, first, 10, 20, 30)
			check(t, d, theirs, other...)
			for range 2 {
				id, ok := d.Finish(stackOf(d, 10, 20, 30), tracer.EndZero)
				if !ok || id != first && id != theirs {
					t.Errorf("the stack has ID %d, %v; want %d or %d", id, ok, first, theirs)
				}
				check(t, d, id, 10, 20, 30)
			}
			if id, ok := d.Finish(stackOf(d, other...), tracer.EndZero); !ok {
				t.Error("the interrupt's stack is lost")
			} else {
				check(t, d, id, other...)
			}
		}
	}
}

// TestInterruptedRecent: a place that is being filled is neither read nor filled by an
// interrupt.
func TestInterruptedRecent(t *testing.T) {
	d := interruptDepot(t)
	id, _ := d.Finish(stackOf(d, 1, 2, 3), tracer.EndZero)
	d.Finish(stackOf(d, 1, 2, 3), tracer.EndZero) // found: it has a place now
	d.version.Add(1)                              // as keep does before it writes
	for i := range d.recents {
		r := (*recent)(at(d.recent + uintptr(i)*unsafe.Sizeof(recent{})))
		r.id = 77 // half written
	}
	for range 2 {
		if got, ok := d.Finish(stackOf(d, 1, 2, 3), tracer.EndZero); !ok || got != id {
			t.Fatalf("ID %d, %v; want %d", got, ok, id)
		}
	}
}

// TestHashAgrees: a walk, which hashes inwards, and insert, which hashes outwards, get the same
// hash for every tail.
func TestHashAgrees(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	d := interruptDepot(t)
	for range 200 {
		n := 1 + r.IntN(30)
		offsets := make([]uint32, n)
		for i := range offsets {
			offsets[i] = r.Uint32N(1 << 20)
		}
		d.Finish(stackOf(d, offsets...), tracer.EndZero)
		for i := range offsets {
			if d.Find(stackOf(d, offsets[i:]...), tracer.EndZero) == 0 {
				t.Fatalf("the tail of %d of %d frames is not found", n-i, n)
			}
		}
	}
}
