package probe

import (
	"encoding/binary"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zeroframe/zeroframe/tools/symbol"
)

// own opens the running test.
func own(t testing.TB) *symbol.File {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f, err := symbol.Open(exe)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

//go:noinline
func checked(n int) int {
	var room [40]int
	room[n&31] = n
	if n > 3 {
		return checked(n-1) + room[2]
	}
	return room[3]
}

//go:noinline
func leaf(n int) int { return n*3 + 1 }

func small(n int) int {
	if n > 5 {
		sink++
	}
	return n + 1
}

//go:noinline
func usesSmall(n int) int { return small(n) + small(n*2) }

//go:noinline
func loops(n int) int {
	for n&1 == 0 {
		n >>= 1
	}
	return n
}

var sink int

const path = "github.com/zeroframe/zeroframe/tools/format/probe."

func TestChoose(t *testing.T) {
	sym := own(t)
	sink = checked(9) + leaf(3) + usesSmall(2) + loops(6)
	p, err := Choose(sym, []string{path + "checked", path + "leaf", path + "small", path + "usesSmall", "runtime.mcall"})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range p.Functions {
		names = append(names, strings.TrimPrefix(f.Name, path))
		pc := uint64(map[string]uintptr{
			"checked": reflect.ValueOf(checked).Pointer(), "leaf": reflect.ValueOf(leaf).Pointer(), "usesSmall": reflect.ValueOf(usesSmall).Pointer(),
		}[names[len(names)-1]])
		if f.Start != pc {
			t.Errorf("%s starts at %#x; want %#x", f.Name, f.Start, pc)
		}
		if f.Places[0].Kind != Entry || len(f.Places) < 2 || f.Places[1].Kind != Return {
			t.Errorf("%s has the places %+v; want an entry and returns", f.Name, f.Places)
		}
	}
	slices.Sort(names)
	if want := []string{"checked", "leaf", "usesSmall"}; !slices.Equal(names, want) {
		t.Errorf("probed are %q; want %q", names, want)
	}
	// checked is probed behind its check of the stack, where RBP is pushed.
	for _, f := range p.Functions {
		if e := f.Places[0]; strings.HasSuffix(f.Name, ".checked") && (e.Addr == f.Start || e.action != actPushBP || e.first != 0x55) {
			t.Errorf("the entry of checked is at +%#x with the byte %#x; want a PUSH RBP behind the check", e.Addr-f.Start, e.first)
		}
	}
	if p.Inlined[path+"small"] != 2 {
		t.Errorf("small is inlined in %d places; want 2", p.Inlined[path+"small"])
	}
	if len(p.Refused) != 1 || p.Refused[0].Refused != "it leaves its stack" {
		t.Errorf("refused are %+v; want runtime.mcall, which leaves its stack", p.Refused)
	}
	for pattern, want := range map[string]string{
		"no.such": "no function matches", path + "small": "inlined in 2 places", "runtime.mcall": "leaves its stack",
	} {
		if _, err := Choose(sym, []string{pattern}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Choose(%q): %v; want an error with %q", pattern, err, want)
		}
	}
}

// TestChooseAll looks at all functions of the test.
func TestChooseAll(t *testing.T) {
	sym := own(t)
	begun := time.Now()
	p, err := Choose(sym, []string{"*"})
	if err != nil {
		t.Fatal(err)
	}
	reasons := make(map[string]int)
	for _, f := range p.Refused {
		reason, _, _ := strings.Cut(f.Refused, " at +")
		reasons[reason]++
	}
	t.Logf("%d probed, %d refused, in %v: %v", len(p.Functions), len(p.Refused), time.Since(begun), reasons)
	if len(p.Functions) < 2000 || len(p.Refused)*10 > len(p.Functions) {
		t.Errorf("%d functions are probed, %d refused; want thousands, and few", len(p.Functions), len(p.Refused))
	}
	if n := reasons["its code cannot be decoded"]; n > 0 {
		t.Errorf("%d functions cannot be decoded", n)
	}
	if n := reasons["its check of the stack is not understood"]; n > 0 {
		t.Errorf("the stack checks of %d functions are not understood", n)
	}
	seen := make(map[uint64]bool)
	for _, f := range p.Functions {
		for i, at := range f.Places {
			if seen[at.Addr] {
				t.Fatalf("%s: %#x is a place twice", f.Name, at.Addr)
			}
			seen[at.Addr] = true
			b, ok := sym.BytesAt(at.Addr, 1)
			if at.Addr < f.Start || at.Addr >= f.End || !ok || b[0] != at.first || at.first == 0xcc || (i == 0) != (at.Kind == Entry) {
				t.Fatalf("%s: place %+v", f.Name, at)
			}
			if fn := runtime.FuncForPC(uintptr(at.Addr)); fn == nil || uint64(fn.Entry()) != f.Start && !strings.Contains(fn.Name(), "[...]") && fn.Entry() == uintptr(f.Start) {
				t.Fatalf("%s: %#x is in %v", f.Name, at.Addr, fn)
			}
		}
	}
	table := p.Table(true)
	if n := len(seen)*16 + 64 - 8; string(table[:8]) != magic || len(table) != n {
		t.Errorf("the table has %d bytes; want %d", len(table), n)
	}
	if n := binary.LittleEndian.Uint32(table[8:]); int(n) != len(p.Functions) {
		t.Errorf("the table has %d functions; want %d", n, len(p.Functions))
	}
}

// TestPlacesOfProbes decides about pieces of code.
func TestPlacesOfProbes(t *testing.T) {
	const base = 0x1000
	grow := func(addr uint64) bool { return addr == base+0x100 }
	call := func(at, to int) []byte {
		return append([]byte{0xe8}, binary.LittleEndian.AppendUint32(nil, uint32(to-at-5))...)
	}
	for _, tt := range []struct {
		what   string
		code   []byte
		asm    bool
		places []Place // without first and length
		err    string
	}{
		{what: "a leaf", code: []byte{0x48, 0x01, 0xd8, 0xc3, 0xcc, 0xcc}, places: []Place{
			{Addr: 0, Kind: Entry, action: actStep}, {Addr: 3, Kind: Return, action: actRet}}},
		{what: "a check, a frame, two returns", code: slices.Concat(
			[]byte{0x49, 0x3b, 0x66, 0x10, 0x76, 0x05, 0x55, 0x5d, 0xc3, 0x90, 0xc3}, call(11, 0x100), []byte{0xeb, 0xee}), places: []Place{
			{Addr: 6, Kind: Entry, action: actPushBP}, {Addr: 8, Kind: Return, action: actRet}, {Addr: 10, Kind: Return, action: actRet}}},
		{what: "a jump to another function", code: []byte{0x55, 0x5d, 0xe9, 0, 1, 0, 0}, places: []Place{
			{Addr: 0, Kind: Entry, action: actPushBP}, {Addr: 2, Kind: Tail, action: actJump, arg: 0x100}}},
		{what: "a jump by a register", code: []byte{0x55, 0x5d, 0xff, 0xe0}, places: []Place{
			{Addr: 0, Kind: Entry, action: actPushBP}, {Addr: 2, Kind: Tail, action: actStep}}},
		{what: "no way out", code: []byte{0x55, 0x0f, 0x0b}, places: []Place{{Addr: 0, Kind: Entry, action: actPushBP}}},
		{what: "the same in assembly", asm: true, code: []byte{0x55, 0x5d, 0xff, 0xe0}, err: "nobody knows where"},
		{what: "a loop at once", code: []byte{0xff, 0xc8, 0x75, 0xfc, 0xc3}, err: "loop begins"},
		{what: "a conditional jump out", code: []byte{0x55, 0x75, 0x20, 0xc3}, err: "conditional jump leaves it at +0x1"},
		{what: "a jump into an instruction", code: []byte{0x55, 0xeb, 0x01, 0x48, 0x01, 0xd8, 0xc3}, err: "middle of an instruction"},
		{what: "one instruction", code: []byte{0xc3}, err: "single instruction"},
		{what: "SYSCALL", code: []byte{0x0f, 0x05, 0xc3}, err: "stepped over"},
		{what: "PUSHF", code: []byte{0x9c, 0x58, 0xc3}, err: "stepped over"},
		{what: "CLI with a prefix", code: []byte{0x66, 0xfa, 0xc3}, err: "stepped over"},
		{what: "IRET", code: []byte{0x55, 0x48, 0xcf}, err: "another return"},
		{what: "a far return", code: []byte{0x55, 0xcb}, err: "another return"},
		{what: "nothing", code: nil, err: "no code"},
		{what: "filling", code: []byte{0xcc, 0xcc}, err: "no code"},
		{what: "no code", code: []byte{0x55, 0x06, 0xc3}, err: "decoded at +0x1"},
		{what: "a cut instruction", code: []byte{0x55, 0xe8, 0, 0}, err: "decoded at +0x1"},
		{what: "a call for more stack without a check", code: append(call(0, 0x100), 0xc3), err: "check of the stack"},
	} {
		f, err := decode(base, tt.code)
		var places []Place
		if err == nil {
			places, err = f.places(tt.asm, grow)
		}
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: %+v, %v; want an error with %q", tt.what, places, err, tt.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.what, err)
			continue
		}
		for i := range places {
			places[i].Addr -= base
			places[i].first, places[i].length = 0, 0
		}
		if !reflect.DeepEqual(places, tt.places) {
			t.Errorf("%s: %+v; want %+v", tt.what, places, tt.places)
		}
	}
}

func FuzzPlaces(f *testing.F) {
	f.Add([]byte{0x49, 0x3b, 0x66, 0x10, 0x76, 0x05, 0x55, 0x5d, 0xc3, 0x90, 0xc3, 0xe8, 0xf0, 0, 0, 0, 0xeb, 0xee}, false)
	f.Add([]byte{0x55, 0x5d, 0xff, 0xe0}, true)
	f.Fuzz(func(t *testing.T, b []byte, asm bool) {
		body, err := decode(0x1000, b)
		if err != nil {
			return
		}
		places, err := body.places(asm, func(addr uint64) bool { return addr == 0x1100 })
		if err == nil && (len(places) == 0 || places[0].Kind != Entry) {
			t.Errorf("no entry in %+v", places)
		}
		for _, p := range places {
			if _, ok := body.at[p.Addr]; !ok || b[p.Addr-0x1000] != p.first {
				t.Errorf("a place that is no instruction: %+v", p)
			}
		}
	})
}

func TestMatch(t *testing.T) {
	for _, tt := range []struct {
		pattern, name string
		want          bool
	}{
		{"main.parse*", "main.parse", true}, {"main.parse*", "main.parseLine", true}, {"main.parse*", "main.par", false},
		{"*", "a/b.c", true}, {"*.Serve", "net/http.(*Server).Serve", true}, {"net/http.(*Server).Serve", "net/http.(*Server).Serve", true},
		{"main.(*T).*", "main.(*T).M", true}, {"main.(*T).*", "main.T.M", false}, {"main.f", "main.f.func1", false}, {"", "main.f", false},
		{"a*b*c", "axxbyyc", true}, {"a*b*c", "axxbyy", false},
	} {
		if got := match(tt.pattern, tt.name); got != tt.want {
			t.Errorf("match(%q, %q) = %v; want %v", tt.pattern, tt.name, got, tt.want)
		}
	}
}
