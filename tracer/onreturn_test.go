//go:build amd64

package tracer

import (
	"os"
	"os/exec"
	"reflect"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

// On the host the stacks are goroutines', which OnReturn refuses. So the tests keep the garbage
// collector and stack growth away, and use OnReturnAt.

var hookCalls []uintptr

func hook(arg uintptr) { hookCalls = append(hookCalls, arg) }

// hookCaller sets hooks on the function that calls it.
//
//go:noinline
func hookCaller(t *testing.T, args ...uintptr) {
	fp, moves := hookFrame()
	if !moves {
		t.Error("hookFrame says that a goroutine's stack does not move")
	}
	saved, _ := ReadWord(fp)
	for _, a := range args {
		if why := OnReturnAt(saved+8, hook, a); why != "" {
			t.Errorf("OnReturnAt refuses %d: %s", a, why)
		}
	}
}

//go:noinline
func threeValues(t *testing.T, args ...uintptr) (int, string, float64) {
	hookCaller(t, args...)
	return 7, "seven", 7.5
}

//go:noinline
func hookedTree(t *testing.T, n int) (int, float64) {
	hookCaller(t, uintptr(n))
	if n == 0 {
		return 1, 0.5
	}
	a, x := hookedTree(t, n-1)
	b, y := hookedTree(t, n-1)
	return a + b, x + y
}

// undisturbed runs f on a goroutine whose stack the runtime does not read.
func undisturbed(t *testing.T, f func()) {
	t.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	runtime.GC()
	hookCalls = make([]uintptr, 0, 1<<12)
	done := make(chan bool)
	go func() {
		grown(f)
		close(done)
	}()
	<-done
	if numExits != 0 {
		t.Errorf("%d hooks are left", numExits)
	}
}

func TestOnReturn(t *testing.T) {
	undisturbed(t, func() {
		a, b, c := threeValues(t, 1)
		if a != 7 || b != "seven" || c != 7.5 {
			t.Errorf("a hooked function returned %v, %v, %v; want 7, seven, 7.5", a, b, c)
		}
	})
	if !reflect.DeepEqual(hookCalls, []uintptr{1}) {
		t.Errorf("hooks ran %v; want once", hookCalls)
	}
	// Several on one function: the last one first.
	undisturbed(t, func() { threeValues(t, 1, 2, 3) })
	if !reflect.DeepEqual(hookCalls, []uintptr{3, 2, 1}) {
		t.Errorf("three hooks on one function ran %v; want 3, 2, 1", hookCalls)
	}
	// Functions in functions.
	undisturbed(t, func() {
		if n, x := hookedTree(t, 9); n != 512 || x != 256 {
			t.Errorf("hookedTree = %d, %v; want 512, 256", n, x)
		}
	})
	count := map[uintptr]int{}
	for _, a := range hookCalls {
		count[a]++
	}
	for n := range 10 {
		if count[uintptr(n)] != 1<<(9-n) {
			t.Errorf("the hooks of depth %d ran %d times; want %d", n, count[uintptr(n)], 1<<(9-n))
		}
	}
}

// TestOnReturnGoroutine: a goroutine is refused, with the reason; the test also shows what would
// happen otherwise whenever the runtime reads its stack.
func TestOnReturnGoroutine(t *testing.T) {
	if why := OnReturn(hook, 1); why != OnGoroutine || numExits != 0 {
		t.Errorf("OnReturn on a goroutine's stack: %q, %d hooks are set", why, numExits)
	}
	for name, read := range runtimeReads {
		if os.Getenv("ONRETURN_GOROUTINE") == name {
			hookedReading(t, read)
			return
		}
	}
	for name := range runtimeReads {
		cmd := exec.Command(os.Args[0], "-test.run=^TestOnReturnGoroutine$")
		cmd.Env = append(os.Environ(), "ONRETURN_GOROUTINE="+name)
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "fatal error: ") || !strings.Contains(string(out), "tracer.exitThunk") {
			t.Errorf("%s: %v; want that the runtime dies of the thunk\n%s", name, err, out)
			continue
		}
		_, said, _ := strings.Cut(string(out), "fatal error: ")
		said, _, _ = strings.Cut(said, "\n")
		t.Logf("%s: fatal error: %s", name, said)
	}
}

// runtimeReads are occasions at which the runtime reads the stack of a goroutine.
var runtimeReads = map[string]func(){
	"collection": runtime.GC,
	"growth":     func() { deepStack(2000) },
}

//go:noinline
func deepStack(n int) int {
	var room [64]int
	if n > 0 {
		room[n%64] = deepStack(n - 1)
	}
	return room[n%64] + n
}

//go:noinline
func hookedReading(t *testing.T, read func()) int {
	hookCaller(t, 1)
	read()
	return 1
}

func TestOnReturnFull(t *testing.T) {
	undisturbed(t, func() {
		var words [MaxExits + 2]uintptr
		slot := func(i int) uintptr { return uintptr(reflect.ValueOf(&words[i]).Pointer()) }
		for i := range MaxExits {
			words[i] = 1
			if OnReturnAt(slot(i), hook, 0) != "" {
				t.Fatalf("hook %d of %d is refused", i, MaxExits)
			}
		}
		if OnReturnAt(slot(MaxExits), hook, 0) == "" {
			t.Error("one hook more than there is room for is taken")
		}
		if words[MaxExits] != 0 {
			t.Error("a refused hook has changed the return address")
		}
		if ra, ok := TrueReturn(slot(5), words[5]); ra != 1 || !ok {
			t.Errorf("TrueReturn = %d, %v; want 1, true", ra, ok)
		}
		words[5], words[6] = 0, 0 // they have been left without a return
		if OnReturnAt(slot(MaxExits), hook, 0) != "" {
			t.Error("stale entries are not dropped")
		}
		if words[7] = 3; OnReturnAt(slot(7), hook, 0) != "" {
			t.Error("a frame in the place of one that never returned is refused")
		}
		if ra, _ := TrueReturn(slot(7), words[7]); ra != 3 {
			t.Errorf("TrueReturn = %d; want 3", ra)
		}
		if OnReturnAt(slot(8)+1, hook, 0) == "" {
			t.Error("a misaligned slot is taken")
		}
		numExits = 0
	})
}

// walkHook walks its own stack.
var walkHook struct {
	frames   [32]Frame
	n        int
	records  [8]Record
	captured int
	hooked   bool
}

func walkHere(arg uintptr) {
	fp, _ := hookFrame()
	w := Walker{Stacks: []Stack{{Name: "test", Lo: fp - 1024, Hi: fp + 1<<16}}, TextLo: 1, TextHi: 1 << 40, Frames: walkHook.frames[:]}
	saved, _ := ReadWord(fp)
	ra, _ := ReadWord(fp + 8)
	w.WalkCaller(ra, fp+16, saved)
	walkHook.n = w.N
	c := Capture{Records: walkHook.records[:]}
	c.Set(&w.Stacks[0], 1, 1<<40)
	c.Walk(saved)
	walkHook.captured = c.N
	walkHook.hooked = CalledFromName(ownPath + "walkRoot")
}

//go:noinline
func walkLeaf(t *testing.T) int {
	hookCaller(t, 1, 2)
	walkHere(0)
	return 1
}

//go:noinline
func walkRoot(t *testing.T) int { return walkLeaf(t) + walkLeaf(t) }

// TestWalkWithHooks: a walk shows the addresses to which hooked functions return.
func TestWalkWithHooks(t *testing.T) {
	tab, _ := OwnTable()
	undisturbed(t, func() {
		walkRoot(t)
		var names []string
		for _, f := range walkHook.frames[:min(walkHook.n, 4)] {
			fn, _ := tab.Find(f.Addr - 1)
			names = append(names, string(fn.Name()))
		}
		want := []string{"walkLeaf", "walkRoot", "TestWalkWithHooks.func1", "grown"}
		for i := range want {
			if i >= len(names) || names[i] != ownPath+want[i] {
				t.Fatalf("the walk found %q; want %q", names, want)
			}
		}
		for i, r := range walkHook.records[:min(walkHook.captured, 3)] {
			if r.RA != walkHook.frames[i+1].Addr {
				t.Errorf("record %d of a Capture returns to %#x; want %#x", i, r.RA, walkHook.frames[i+1].Addr)
			}
		}
		if walkHook.captured < 3 {
			t.Errorf("a Capture has %d records; want 3", walkHook.captured)
		}
		if !walkHook.hooked {
			t.Error("CalledFromName does not come past a hooked function")
		}
	})
}
