package vfs

// How the tree behaves when memory runs out or must be kept for others; it gives all of it back.

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/zeroframe/zeroframe/kernel/mem"
)

// TestOutOfFrames lets each allocation of some operations fail: the tree stays whole, and nothing
// is lost (finish).
func TestOutOfFrames(t *testing.T) {
	long := bytes.Repeat([]byte("n"), 200)
	failed, succeeded := 0, 0
	for left := 0; left < 40; left++ {
		func() {
			if e := Init(1); e != 0 {
				t.Fatalf("Init: errno %d", e)
			}
			defer finish(t)
			newFile(t, "/old", "old")
			var taken []uintptr
			for mem.FreeFrames() > uint64(left) {
				taken = append(taken, mem.Frame())
			}
			defer func() {
				for _, f := range taken {
					mem.FreeFrame(f)
				}
			}()
			check := func(what string, e Errno) {
				switch e {
				case 0:
					succeeded++
				case ENOSPC:
					failed++
				default:
					t.Errorf("%s with %d frames: errno %d; want 0 or ENOSPC", what, left, e)
				}
			}
			id, e := Open(Root, []byte("/file"), O_CREAT, 0o644, 1)
			check("Open", e)
			if e == 0 {
				for _, off := range []int64{0, 1 << 20, 1 << 40} {
					_, e = WriteAt(id, []byte("x"), off, 1)
					check("WriteAt", e)
				}
				Release(id)
			}
			for i := 0; i < 60; i++ {
				_, e = Mkdir(Root, fmt.Appendf(nil, "/tmp/%d", i), 0o755, 1)
				check("Mkdir", e)
			}
			_, e = Symlink([]byte("target"), Root, []byte("/tmp/link"), 1)
			check("Symlink", e)
			check("Link", Link(Root, []byte("/old"), Root, append([]byte("/tmp/"), long...), false, 1))
			check("Rename", Rename(Root, []byte("/old"), Root, append([]byte("/"), long...), 0, 1))
			if value, e := Nameless(0, 0, false, 1); e == 0 {
				e = SetAttribute(walkTo(t, "/tmp"), long, value, 1)
				check("SetAttribute", e)
				if e != 0 {
					Release(value)
				}
			}
			if id, e := Walk(Root, []byte("/old"), false); e == 0 {
				want(t, "content", string(content(t, id)), "old")
			} else {
				want(t, "content", string(content(t, walkTo(t, "/"+string(long)))), "old")
			}
		}()
	}
	if failed < 100 || succeeded < 100 {
		t.Errorf("%d operations failed, %d succeeded; want 100 of each", failed, succeeded)
	}
}

// TestKeep: memory kept for others is not taken, and can be used again later.
func TestKeep(t *testing.T) {
	start(t)
	defer Keep(0)
	id := newFile(t, "/big", "")
	Keep(mem.FreeFrames() - 10)
	want(t, "FreeFrames", FreeFrames(), uint64(10))
	left, n := mem.FreeFrames()-10, 0
	for off := int64(0); ; off += pageSize {
		if _, e := WriteAt(id, []byte("x"), off, 1); e != 0 {
			want(t, "errno of WriteAt", e, ENOSPC)
			break
		}
		n++
	}
	want(t, "free frames", mem.FreeFrames(), left)
	if n < 5 || n > 10 {
		t.Errorf("%d pages of 10 frames could be written", n)
	}
	Keep(mem.FreeFrames() + 1)
	want(t, "FreeFrames", FreeFrames(), uint64(0))
}

// TestInitOutOfFrames: without memory for the first tree, Init says so.
func TestInitOutOfFrames(t *testing.T) {
	for left := uint64(0); left < 5; left++ {
		var taken []uintptr
		for mem.FreeFrames() > left {
			taken = append(taken, mem.Frame())
		}
		want(t, "errno of Init", Init(1), ENOSPC)
		for _, f := range taken {
			mem.FreeFrame(f)
		}
		for _, s := range []*slab{&nodes, &shortEntries, &longEntries} {
			s.dispose()
		}
		if buckets[0] != 0 {
			freeFrame(buckets[0])
			buckets[0] = 0
		}
		numEntries = 0
		want(t, "frames", frames, 0)
	}
}

// TestManyFiles fills a directory with so many files that a quadratic algorithm would take hours,
// and reads and empties it as programs do.
func TestManyFiles(t *testing.T) {
	start(t)
	const n = 200_000
	begin := time.Now()
	d := mkdir(t, "/d")
	for i := 0; i < n; i++ {
		id, e := Open(d, fmt.Appendf(nil, "file %d", i), O_CREAT|O_EXCL, 0o644, 1)
		if e != 0 {
			t.Fatalf("file %d: errno %d", i, e)
		}
		Release(id)
	}
	for i := 0; i < n; i += 7 {
		walkTo(t, fmt.Sprintf("/d/file %d", i))
	}
	names := list(d)
	want(t, "entries", len(names), n+2)
	longest := 0
	for i := uint32(0); i < numBuckets; i++ {
		l := 0
		for e := *bucketSlot(i); e != 0; e = entryAt(e).chain {
			l++
		}
		longest = max(longest, l)
	}
	if longest > 20 {
		t.Errorf("the longest chain of the hash table has %d entries; want at most 20", longest)
	}
	if err := removeAll(d); err != nil {
		t.Error(err)
	}
	want(t, "entries", len(list(d)), 2)
	t.Logf("%d files made, read and removed in %v; longest chain %d", n, time.Since(begin), longest)
}
