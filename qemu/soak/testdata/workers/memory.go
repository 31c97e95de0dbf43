package main

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
)

// What lies in the heap and on stacks: it must be found as it was left, whatever the
// garbage collector has done meanwhile.

// tree is a node of a tree of which each has a sum of all that is below.
type tree struct {
	left, right *tree
	data        []byte
	sum         uint64
}

func grow(r *rand.Rand, depth int) *tree {
	if depth == 0 {
		return nil
	}
	t := &tree{left: grow(r, depth-1), data: make([]byte, r.IntN(300))}
	if r.IntN(4) > 0 {
		t.right = grow(r, depth-1)
	}
	for i := range t.data {
		t.data[i] = byte(r.Uint32())
	}
	t.sum = t.count()
	return t
}

// count computes what the sum must be.
func (t *tree) count() uint64 {
	s := uint64(14695981039346656037)
	for _, b := range t.data {
		s = (s ^ uint64(b)) * 1099511628211
	}
	if t.left != nil {
		s = s*31 + t.left.sum
	}
	if t.right != nil {
		s = s*37 + t.right.sum
	}
	return s
}

func (t *tree) check(w *worker) {
	if t == nil {
		return
	}
	if got := t.count(); got != t.sum {
		w.wrong("a tree's node at %p with %d bytes has the sum %#x; it was %#x", t, len(t.data), got, t.sum)
	}
	t.left.check(w)
	t.right.check(w)
}

// trees keeps some trees, replaces one after the other, and moves branches between them.
func trees(w *worker) {
	var kept [12]*tree
	for w.goOn() {
		i, j := w.rand.IntN(len(kept)), w.rand.IntN(len(kept))
		kept[i].check(w)
		kept[i] = grow(w.rand, 3+w.rand.IntN(5))
		if t := kept[j]; t != nil && j != i {
			// The branch is seen from two trees now, and soon from one.
			t.right = kept[i].left
			t.sum = t.count()
			t.check(w)
		}
		if w.rand.IntN(200) == 0 {
			runtime.GC()
		}
		w.round()
	}
	for _, t := range kept {
		t.check(w)
	}
}

// maps changes maps together with arrays that say what must be in them.
func maps(w *worker) {
	const keys = 1500
	var (
		numbers = map[uint64]uint64{}
		names   = map[string]*[3]uint64{}
		model   [keys]uint64 // 0: the key is in neither
		n       int
	)
	key := func(k int) uint64 { return uint64(k) * 0x9e3779b97f4a7c15 }
	name := func(k int) string { return fmt.Sprint("key ", k) }
	for w.goOn() {
		for range 100 {
			k := w.rand.IntN(keys)
			v, ok := numbers[key(k)]
			p := names[name(k)]
			if v != model[k] || ok != (model[k] != 0) || (p != nil) != ok || p != nil && *p != [3]uint64{v, ^v, uint64(k)} {
				w.wrong("key %d has the values %#x and %v; want %#x in both", k, v, p, model[k])
			}
			switch {
			case w.rand.IntN(3) > 0:
				v := w.rand.Uint64() | 1
				if model[k] == 0 {
					n++
				}
				model[k], numbers[key(k)], names[name(k)] = v, v, &[3]uint64{v, ^v, uint64(k)}
			case model[k] != 0:
				n--
				model[k] = 0
				delete(numbers, key(k))
				delete(names, name(k))
			}
		}
		if len(numbers) != n || len(names) != n {
			w.wrong("the maps have %d and %d keys; want %d", len(numbers), len(names), n)
		}
		var got, want uint64
		for k, v := range numbers {
			got += k ^ v
		}
		for _, p := range names {
			got += p[0] - p[2]
		}
		for k, v := range model {
			if v != 0 {
				want += key(k) ^ v
				want += v - uint64(k)
			}
		}
		if got != want {
			w.wrong("the sum over the maps is %#x; want %#x", got, want)
		}
		if w.rand.IntN(40) == 0 {
			numbers, names, model, n = map[uint64]uint64{}, map[string]*[3]uint64{}, [keys]uint64{}, 0
		}
		w.round()
	}
}

// deep fills its frame, and has the functions that it calls look at it through a pointer.
//
//go:noinline
func deep(w *worker, n int, above *[16]uint64) uint64 {
	var here [16]uint64
	for i := range here {
		here[i] = uint64(n)<<32 | uint64(i)
	}
	sum := uint64(0)
	if n > 0 {
		sum = deep(w, n-1, &here)
	}
	for i, v := range here {
		if v != uint64(n)<<32|uint64(i) {
			w.wrong("word %d of frame %d is %#x", i, n, v)
		}
		if above != nil && above[i] != uint64(n+1)<<32|uint64(i) {
			w.wrong("word %d of frame %d is %#x, seen from the next", i, n+1, above[i])
		}
		sum += v
	}
	return sum
}

// stacks makes goroutines whose stacks grow from the smallest on, and move as they do.
func stacks(w *worker) {
	for w.goOn() {
		depth := 1 << w.rand.IntN(12)
		sum := make(chan uint64)
		go func() { sum <- deep(w, depth, nil) }()
		want := uint64(0)
		for n := range depth + 1 {
			want += uint64(n)<<36 + 120
		}
		if got := <-sum; got != want {
			w.wrong("the sum over %d frames is %#x; want %#x", depth+1, got, want)
		}
		w.round()
	}
}

// pool has buffers that go from hand to hand and are empty in between, and objects with
// finalizers, none of which may run twice or while the object is in use.
func pool(w *worker) {
	type object struct {
		alive *bool
		data  [40]uint64
	}
	p := sync.Pool{New: func() any { return new([512]byte) }}
	for w.goOn() {
		b := p.Get().(*[512]byte)
		for i, v := range b {
			if v != 0 {
				w.wrong("byte %d of a pool's buffer is %#x; want 0", i, v)
			}
		}
		for i := range b {
			b[i] = byte(w.id + 1)
		}
		alive := new(bool)
		*alive = true
		o := &object{alive: alive}
		runtime.SetFinalizer(o, func(o *object) {
			if !*o.alive {
				w.wrong("a finalizer runs for the second time")
			}
			*o.alive = false
		})
		runtime.Gosched()
		if !*o.alive {
			w.wrong("a finalizer has run, and the object is in use")
		}
		runtime.KeepAlive(o)
		for i, v := range b {
			if v != byte(w.id+1) {
				w.wrong("byte %d of a buffer in use is %#x; want %#x", i, v, w.id+1)
			}
		}
		*b = [512]byte{}
		p.Put(b)
		w.round()
	}
}
