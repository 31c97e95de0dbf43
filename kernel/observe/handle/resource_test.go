package handle

import (
	"math/rand/v2"
	"syscall"
	"testing"
	"unsafe"

	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/percpu/percputest"
)

// start begins a log in fresh memory, with room for that many events and entries, for kinds.
func start(t *testing.T, events, entries int, kinds string) {
	t.Helper()
	memory := func(n uintptr) uintptr {
		b, err := syscall.Mmap(-1, 0, int(n), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { syscall.Munmap(b) })
		return uintptr(unsafe.Pointer(&b[0]))
	}
	reset()
	if wrong := Select([]byte(kinds)); wrong != nil {
		t.Fatalf("Select(%q) does not know %q", kinds, wrong)
	}
	m := Memory{RingBytes: uintptr(events) * eventSize, TableBytes: uintptr(entries) * EntryBytes}
	m.Ring, m.Table = memory(m.RingBytes), memory(m.TableBytes)
	percputest.Use(t).Thread = 7
	Start(&m)
	t.Cleanup(reset)
}

// reset restores the package's state at boot.
func reset() {
	on, wanted, numKinds = 0, 0, own
	ring, ringSize, events = 0, 0, 0
	table, buckets, room, fresh, oldest, latest, overflow, forgot = 0, 0, 0, 0, 0, 0, 0, 0
	heads, kinds, numDoubles = [MaxKinds]uint32{}, [MaxKinds]stats{}, 0
}

// last is the newest event.
func last() event { return *eventAt((events - 1) % ringSize) }

func TestSelect(t *testing.T) {
	for _, tt := range []struct {
		words, wrong string
		want         []Kind
	}{
		{"all", "", []Kind{Pages, Maps, FDs, Threads, Timers, Futexes}},
		{"fds", "", []Kind{FDs}},
		{"pages,futexes", "", []Kind{Pages, Futexes}},
		{"user", "", nil},
		{"fds,", "", []Kind{FDs}},
		{"fds,fish,maps", "fish", []Kind{FDs}},
		{"fd", "fd", nil},
		{",", "", nil},
	} {
		reset()
		wrong := Select([]byte(tt.words))
		if string(wrong) != tt.wrong {
			t.Errorf("Select(%q) = %q; want %q", tt.words, wrong, tt.wrong)
		}
		want := map[Kind]bool{}
		for _, k := range tt.want {
			want[k] = true
		}
		for k := Pages; k < own; k++ {
			if Wanted(k) != want[k] {
				t.Errorf("Select(%q): kind %d wanted: %v", tt.words, k, Wanted(k))
			}
		}
	}
	reset()
}

// TestOff: without record= nothing is logged, and nothing is touched.
func TestOff(t *testing.T) {
	reset()
	for k := range Kind(MaxKinds) {
		if Logs(k) {
			t.Errorf("kind %d is logged", k)
		}
		Log(Open, k, 1, 2) // there is no memory: it would fault
	}
	if k := NewKind("conn"); k != 0 {
		t.Errorf("NewKind = %d; want 0", k)
	}
	Dump()
}

func TestNewKind(t *testing.T) {
	start(t, 64, 64, "user")
	a, b := newKind([]byte("conn")), newKind([]byte("buffer"))
	if a == 0 || b == 0 || a == b || newKind([]byte("conn")) != a || !Logs(a) || !Logs(b) || Logs(FDs) {
		t.Errorf("kinds %d and %d; on %#x", a, b, on)
	}
	if newKind(nil) != 0 {
		t.Error("a kind without a name")
	}
	n := 2
	for i := range 2 * MaxKinds {
		if newKind([]byte{'k', byte('A' + i)}) != 0 {
			n++
		}
	}
	if n != int(MaxKinds-own) {
		t.Errorf("%d kinds; want %d", n, MaxKinds-own)
	}
	start(t, 64, 64, "fds")
	if newKind([]byte("conn")) != 0 {
		t.Error("a kind of the program's with record=fds")
	}
}

// TestModel: whatever is opened and closed, the table knows what is open and what was closed twice,
// as a map does.
func TestModel(t *testing.T) {
	start(t, 128, 4096, "fds,threads,futexes")
	type key struct {
		k     Kind
		key   uintptr
		owner uint16
	}
	open, closedBefore := map[key]uintptr{}, map[key]bool{}
	var sums [MaxKinds]stats
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 200_000 {
		k := key{Kind(FDs + Kind(r.IntN(2))), uintptr(r.IntN(500)), 0}
		if r.IntN(4) == 0 {
			k = key{Futexes, uintptr(r.IntN(50)) * 8, uint16(r.IntN(20))}
		}
		s := &sums[k.k]
		if r.IntN(2) == 0 {
			size := uintptr(r.IntN(1000))
			note(Open, k.k, k.key, size, k.owner)
			open[k] = size
			delete(closedBefore, k)
			s.opens++
			if last().event != Open {
				t.Fatalf("step %d: event %d", i, last().event)
			}
			continue
		}
		note(Close, k.k, k.key, 0, k.owner)
		want := Stray
		if size, ok := open[k]; ok {
			want = Close
			if last().size != uint64(size) {
				t.Fatalf("step %d: a close of %d bytes; want %d", i, last().size, size)
			}
			s.closes++
		} else if closedBefore[k] {
			want = Double
			s.doubles++
		} else {
			s.strays++
		}
		if got := last(); got.event != want || got.thread != 7 || got.key != uint64(k.key) {
			t.Fatalf("step %d: %+v; want event %d", i, got, want)
		}
		if _, ok := open[k]; ok {
			delete(open, k)
			closedBefore[k] = true
		}
	}
	check(t, func(k Kind, k2 uint64, owner uint16) (uint64, bool) {
		size, ok := open[key{k, uintptr(k2), owner}]
		return uint64(size), ok
	}, len(open))
	for k := range kinds {
		if g, w := kinds[k], sums[k]; g.opens != w.opens || g.closes != w.closes || g.doubles != w.doubles || g.strays != w.strays {
			t.Errorf("kind %d: %+v; want %+v", k, g, w)
		}
	}
	if numDoubles != maxDoubles {
		t.Errorf("%d doubles are kept; want %d", numDoubles, maxDoubles)
	}
	if events != 200_000 || overflow != 0 || forgot != 0 {
		t.Errorf("%d events, overflow %d, forgot %d", events, overflow, forgot)
	}
}

// check compares the open entries, n of them, with want, and checks the lists.
func check(t *testing.T, want func(k Kind, key uint64, owner uint16) (size uint64, ok bool), n int) {
	t.Helper()
	seen := 0
	for k := range heads {
		bytes, prev, count := uint64(0), uint32(0), uint64(0)
		for i := heads[k]; i != 0; i = entryAt(i).next {
			e := entryAt(i)
			if e.prev != prev || !e.isOpen || int(e.kind) != k {
				t.Fatalf("the list of kind %d is broken at %d: %+v", k, i, *e)
			}
			if size, ok := want(e.kind, e.key, e.owner); !ok || size != e.size {
				t.Errorf("kind %d, key %#x, owner %d of %d bytes is open; want %d, %v", e.kind, e.key, e.owner, e.size, size, ok)
			}
			if lookUp(e.kind, e.key, e.owner) != i {
				t.Errorf("key %#x is not found", e.key)
			}
			prev = i
			bytes += e.size
			count++
			seen++
		}
		if kinds[k].open != count || kinds[k].bytes != bytes {
			t.Errorf("kind %d: %d open of %d bytes; the sums say %d of %d", k, count, bytes, kinds[k].open, kinds[k].bytes)
		}
	}
	if seen != n {
		t.Errorf("%d are open; want %d", seen, n)
	}
}

// TestFull: a full table forgets the entry that was closed first, and counts the entries that it
// cannot hold.
func TestFull(t *testing.T) {
	start(t, 64, 64, "fds")
	for fd := range uintptr(64) {
		note(Open, FDs, fd, 0, 0)
	}
	note(Open, FDs, 100, 0, 0)
	if overflow != 1 {
		t.Errorf("overflow %d; want 1", overflow)
	}
	note(Close, FDs, 5, 0, 0)
	note(Close, FDs, 6, 0, 0)
	note(Open, FDs, 101, 0, 0) // takes the place of 5
	note(Close, FDs, 6, 0, 0)
	if last().event != Double || forgot != 1 {
		t.Errorf("event %d, forgot %d; want a double, 1", last().event, forgot)
	}
	note(Close, FDs, 5, 0, 0)
	if last().event != Stray {
		t.Errorf("event %d; want a stray", last().event)
	}
}

// TestMaps: the mappings equal a plain array of pages, whatever parts are mapped and unmapped.
func TestMaps(t *testing.T) {
	start(t, 64, 1024, "maps")
	const pages, size = 96, 4096
	var mapped [pages]int // by which call, 0: not
	r := rand.New(rand.NewPCG(3, 4))
	for i := 1; i < 20_000; i++ {
		lo := r.IntN(pages)
		n := 1 + r.IntN(min(12, pages-lo))
		any := false
		for p := lo; p < lo+n; p++ {
			any = any || mapped[p] != 0
		}
		if r.IntN(2) == 0 {
			percpu.This().Thread = int32(i % 60000)
			note(Open, Maps, uintptr(lo*size), uintptr(n*size), 0)
			for p := lo; p < lo+n; p++ {
				mapped[p] = i
			}
			continue
		}
		note(Close, Maps, uintptr(lo*size), uintptr(n*size), 0)
		if got := last().event; any != (got == Close) || !any && got != Double && got != Stray {
			t.Fatalf("step %d: event %d; mapped: %v", i, got, any)
		}
		for p := lo; p < lo+n; p++ {
			mapped[p] = 0
		}
		if i%100 != 0 {
			continue
		}
		var have [pages]int
		for i := heads[Maps]; i != 0; i = entryAt(i).next {
			e := entryAt(i)
			for p := e.key / size; p < (e.key+e.size)/size; p++ {
				if have[p] != 0 {
					t.Fatalf("page %d is in two mappings", p)
				}
				have[p] = int(e.openBy)
			}
		}
		for p := range have {
			if want := mapped[p] % 60000; have[p] != want {
				t.Fatalf("step %d: page %d was mapped by call %d; want %d", i, p, have[p], want)
			}
		}
	}
	percpu.This().Thread = 7
	bytes, count := uint64(0), 0
	for i := heads[Maps]; i != 0; i = entryAt(i).next {
		bytes += entryAt(i).size
		count++
	}
	if kinds[Maps].bytes != bytes || kinds[Maps].open != uint64(count) {
		t.Errorf("%d open of %d bytes; the sums say %d of %d", count, bytes, kinds[Maps].open, kinds[Maps].bytes)
	}
}

// TestAnswer: a program can log only kinds of its own, and no event that the log itself makes.
func TestAnswer(t *testing.T) {
	start(t, 64, 64, "user,fds")
	k := Kind(Answer(opNewKind, 0, 0, 0, 0, []byte("conn")))
	if k != own {
		t.Fatalf("kind %d", k)
	}
	if at, n := NameArgument(opNewKind, 0x1000, 500); at != 0x1000 || n != MaxName {
		t.Errorf("NameArgument = %#x, %d", at, n)
	}
	if _, n := NameArgument(opLog, 1, 2); n != 0 {
		t.Errorf("a log has a name of %d bytes", n)
	}
	for _, tt := range []struct {
		op, a, b uintptr
		want     int64
	}{
		{opLog, uintptr(Open), uintptr(k), 0},
		{opLog, uintptr(Note), uintptr(k), 0},
		{opLog, uintptr(Close), uintptr(k), 0},
		{opLog, uintptr(Double), uintptr(k), -22},
		{opLog, 0, uintptr(k), -22},
		{opLog, 256 + uintptr(Open), uintptr(k), -22},
		{opLog, uintptr(Open), uintptr(FDs), -22},
		{opLog, uintptr(Open), MaxKinds, -22},
		{opLog, uintptr(Open), 256 + uintptr(k), -22},
		{99, 0, 0, -22},
	} {
		if got := Answer(tt.op, tt.a, tt.b, 5, 6, nil); got != tt.want {
			t.Errorf("Answer(%d, %d, %d) = %d; want %d", tt.op, tt.a, tt.b, got, tt.want)
		}
	}
	if events != 3 || kinds[k].opens != 1 || kinds[k].closes != 1 {
		t.Errorf("%d events, %+v", events, kinds[k])
	}
}
