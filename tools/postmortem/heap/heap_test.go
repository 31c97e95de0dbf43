package heap

// The sums of a dead program's heap are those of its runtime, and what is known of its objects
// is so.

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/go-delve/delve/pkg/proc"

	"github.com/zeroframe/zeroframe/qemu/coretest"
	"github.com/zeroframe/zeroframe/tools/postmortem/inspect"
)

var memStats = regexp.MustCompile(`HeapAlloc (\d+) HeapObjects (\d+)`)

// near reports whether two numbers differ by 1 % at most.
func near(a, b uint64) bool { return max(a, b)-min(a, b) <= max(a, b)/100 }

func check(t *testing.T, flags ...string) *Heap {
	t.Helper()
	d := coretest.Make(t, "../inspect/testdata/dead", flags...)
	p, err := inspect.Open(d.Core, d.ELF, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	h, err := Open(p, d.ELF)
	if err != nil {
		t.Fatal(err)
	}
	said := memStats.FindStringSubmatch(d.Text)
	if said == nil {
		t.Fatalf("no statistics in\n%s", d.Text)
	}
	alloc, _ := strconv.ParseUint(said[1], 10, 64)
	objects, _ := strconv.ParseUint(said[2], 10, 64)
	t.Logf("%s; MemStats: %d bytes in %d", h.Summary(), alloc, objects)
	if !near(h.Bytes, alloc) || !near(h.Objects, objects) || !near(h.Bytes, h.RuntimeBytes) {
		t.Errorf("%s; runtime.MemStats had %d bytes in %d objects", h.Summary(), alloc, objects)
	}
	if len(h.Notes) > 0 {
		t.Error(h.Notes)
	}
	return h
}

// TestHeap: sums, types, holders, a path, and the profile's sum.
func TestHeap(t *testing.T) {
	h := check(t)
	counts, sum := map[string]uint64{}, uint64(0)
	for _, r := range h.Rows() {
		sum += r.Bytes
		if !r.Unreachable {
			counts[r.Type] += r.Count
		}
		if r.Known == strings.HasPrefix(r.Type, Unknown) {
			t.Errorf("%s: known: %t", r.Type, r.Known)
		}
	}
	if sum != h.Bytes {
		t.Errorf("the types have %d bytes, the heap %d", sum, h.Bytes)
	}
	for name, least := range map[string]uint64{"main.node": 2000, "[]uint8": 50, "runtime.g": 15, "[][]uint8": 1} {
		if n := counts[name]; n < least || name == "main.node" && n != least {
			t.Errorf("%d of %s, want %d", n, name, least)
		}
	}
	unknown := uint64(0)
	for name, n := range counts {
		if strings.HasPrefix(name, Unknown) {
			unknown += n
		}
	}
	if unknown*50 > h.ReachableObjects {
		t.Errorf("%d of %d objects have no certain type", unknown, h.ReachableObjects)
	}
	found := false
	for _, x := range h.Holders(30) {
		if x.Name == "main.held" {
			found = true
			if x.Holds < 50*10000 || x.Holds > 60*10240 {
				t.Errorf("main.held holds %d bytes", x.Holds)
			}
		}
	}
	if !found {
		t.Errorf("main.held is none of the holders")
	}

	// The way to the third node of the list leads over the first two.
	list, err := h.load(h.at["main.list"].addr)
	if err != nil {
		t.Fatal(err)
	}
	third := list
	for range 2 {
		if third, err = h.load(third + 16); err != nil {
			t.Fatal(err)
		}
	}
	o, err := h.Object(third + 8)
	if err != nil {
		t.Fatal(err)
	}
	if o.Type != "main.node" || !o.Reachable || uint64(o.Address) != third || len(o.Path) < 3 || len(o.Referrers) != 1 {
		t.Errorf("%+v", o)
	}
	if _, err := h.Object(0x1000); err == nil {
		t.Error("an object at 0x1000")
	}
	var b bytes.Buffer
	if err := o.Write(&b); err != nil || !strings.Contains(b.String(), fmt.Sprintf("%#x: main.node", third)) {
		t.Errorf("%v\n%s", err, b.String())
	}

	p := h.Profile()
	if err := p.CheckValid(); err != nil {
		t.Fatal(err)
	}
	var objects, space int64
	for _, s := range p.Sample {
		objects, space = objects+s.Value[0], space+s.Value[1]
	}
	if uint64(objects) != h.Objects || uint64(space) != h.Bytes {
		t.Errorf("the profile has %d bytes in %d objects", space, objects)
	}
}

// TestMost: the most of a heap is told by types, where few of its objects are looked at by sizes; where
// nothing leads to them it is said that they cannot be told.
func TestMost(t *testing.T) {
	d := coretest.Make(t, "../inspect/testdata/dead")
	p, err := inspect.Open(d.Core, d.ELF, false)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for claims, want := range map[int]string{
		mostClaims: `(?m)^\d+ main\.node$`,
		2000:       `(?m)^\d+ objects of 24 bytes \(\d+ of the \d+ looked at are main\.node\)$`,
		1:          `(?m)^\d+ objects of 24 bytes( \(|$)`,
	} {
		h, err := open(p, d.ELF, p.Target().Memory(), claims)
		if err != nil {
			t.Fatal(err)
		}
		text, bytes, count := "", uint64(0), uint64(0)
		for _, x := range h.parts() {
			text += fmt.Sprintf("%d %s\n", x.count, x.what)
			bytes, count = bytes+x.bytes, count+x.count
		}
		if !regexp.MustCompile(want).MatchString(text) || bytes != h.Bytes || count != h.Objects {
			t.Errorf("of %d claims: %d bytes in %d objects, want %d in %d and %s:\n%s", claims, bytes, count, h.Bytes, h.Objects, want, text)
		}
	}
	if line, err := Most(p, d.ELF); err != nil || line != "" && !strings.Contains(line, ": ") {
		t.Errorf("%q, %v", line, err)
	}
	for _, tt := range []struct {
		size
		n, most uint64
		want    string
	}{
		{size{24, false}, 3, 24, "objects of 24 bytes"},
		{size{maxSmall + 1, true}, 1, 3 << 20, "object of 3072 KiB without pointers"},
		{size{maxSmall + 1, false}, 2, 3 << 20, "objects of up to 3072 KiB"},
	} {
		if got := tt.objects(tt.n, tt.most); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

// TestHeapBuilds: the same without optimization, where it may lie anywhere, and without the
// collector of Go 1.26.
func TestHeapBuilds(t *testing.T) {
	for _, flags := range [][]string{{"-gcflags=all=-N -l"}, {"-buildmode=pie"}} {
		t.Run(flags[0], func(t *testing.T) { check(t, flags...) })
	}
	t.Run("nogreenteagc", func(t *testing.T) {
		t.Setenv("GOEXPERIMENT", "nogreenteagc")
		check(t)
	})
}

// lying is memory in which some words are others.
type lying struct {
	proc.MemoryReader
	seed uint64
}

func (l *lying) ReadMemory(b []byte, addr uint64) (int, error) {
	n, err := l.MemoryReader.ReadMemory(b, addr)
	for i := 0; i+8 <= n; i += 8 {
		if l.seed = l.seed*6364136223846793005 + 1442695040888963407; l.seed>>33%997 == 0 {
			b[i+int(l.seed>>60)%8] ^= byte(l.seed >> 40)
		}
	}
	return n, err
}

// TestCorrupt: a heap in which a word in a thousand is another one is shown somehow, or is an
// error, but no panic gets out and nothing goes on for ever.
func TestCorrupt(t *testing.T) {
	d := coretest.Make(t, "../inspect/testdata/dead")
	p, err := inspect.Open(d.Core, d.ELF, false)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	opened := 0
	for seed := range uint64(20) {
		h, err := open(p, d.ELF, &lying{p.Target().Memory(), seed}, maxClaims)
		if err != nil {
			continue
		}
		opened++
		h.Rows()
		h.Holders(10)
		if err := h.Profile().CheckValid(); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
	t.Logf("%d of 20 were opened", opened)
}

// TestDominators: against the definition, on small random graphs.
func TestDominators(t *testing.T) {
	seed := uint32(1)
	random := func(n uint32) uint32 {
		seed = seed*1664525 + 1013904223
		return seed >> 8 % n
	}
	for range 2000 {
		n := 2 + (seed>>8)%9
		var g graph
		for v := range n {
			g.from = append(g.from, uint64(len(g.to)))
			for w := range n {
				if w != 0 && (seed>>9)%3 == 0 {
					g.to = append(g.to, w)
				}
				random(2)
			}
			_ = v
		}
		g.from = append(g.from, uint64(len(g.to)))
		g.search()
		g.dominate()
		// reach marks what is reachable without a node.
		reach := func(without uint32) map[uint32]bool {
			seen := map[uint32]bool{}
			var visit func(v uint32)
			visit = func(v uint32) {
				if v == without || seen[v] {
					return
				}
				seen[v] = true
				for _, w := range g.edges(v) {
					visit(w)
				}
			}
			visit(0)
			return seen
		}
		all := reach(n)
		dominates := map[[2]uint32]bool{}
		for d := range n {
			left := reach(d)
			for v := range all {
				dominates[[2]uint32{d, v}] = d == v || !left[v]
			}
		}
		for v := range all {
			if g.number[v] == 0 {
				t.Fatalf("%d is not found", v)
			}
			if v == 0 {
				continue
			}
			i := g.order[g.idom[g.number[v]]]
			if i == v || !dominates[[2]uint32{i, v}] {
				t.Fatalf("%d is said to dominate %d", i, v)
			}
			for d := range all {
				if d != v && dominates[[2]uint32{d, v}] && !dominates[[2]uint32{d, i}] {
					t.Fatalf("%d is nearer to %d than %d", d, v, i)
				}
			}
		}
	}
}
