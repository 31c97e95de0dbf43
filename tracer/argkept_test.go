package tracer

import (
	"reflect"
	"regexp"
	"runtime"
	"strconv"
	"testing"
)

//go:noinline
func keepsSome(a, b, c int, buf []byte, unused string) int {
	n := a + runtime.Stack(buf, false)
	return n + b + len(buf)
}

//go:noinline
func keepsAll(a *int, b string, c []int, buf []byte) int {
	n := runtime.Stack(buf, false)
	return n + *a + len(b) + len(c) + cap(c) + len(buf)
}

var (
	keepsLine = regexp.MustCompile(`tracer\.(keeps\w+)\((.*)\)\n.* \+0x([0-9a-f]+)\n`)
	keepsWord = regexp.MustCompile(`0x[0-9a-f]+(\??)`)
)

// TestArgKept: an argument counts as kept if the runtime prints it without a question mark.
func TestArgKept(t *testing.T) {
	table, ok := OwnTable()
	if !ok {
		t.Fatal("no pc table")
	}
	one := 1
	for _, f := range []struct {
		entry uintptr
		args  uintptr // bytes
		call  func(buf []byte) int
	}{
		{reflect.ValueOf(keepsSome).Pointer(), 64, func(buf []byte) int { return keepsSome(1, 2, 3, buf, "") - 1 - 2 - len(buf) }},
		{reflect.ValueOf(keepsAll).Pointer(), 72, func(buf []byte) int { return keepsAll(&one, "b", nil, buf) - 1 - 1 - len(buf) }},
	} {
		buf := make([]byte, 4096)
		m := keepsLine.FindSubmatch(buf[:f.call(buf)])
		if m == nil {
			t.Fatalf("no line of the function in %s", buf)
		}
		fn, ok := table.Find(f.entry)
		if !ok || fn.ArgsSize() != f.args {
			t.Fatalf("%s: %v, %d bytes of arguments; want %d", m[1], ok, fn.ArgsSize(), f.args)
		}
		off, _ := strconv.ParseUint(string(m[3]), 16, 64)
		kept := 0
		for i, w := range keepsWord.FindAllSubmatch(m[2], -1) {
			sure := len(w[1]) == 0
			if fn.ArgKept(f.entry+uintptr(off)-1, uint8(i*8)) != sure {
				t.Errorf("%s: the word at %d is kept: %v; the runtime prints %s", m[1], i*8, !sure, m[2])
			}
			if sure {
				kept++
			}
			if fn.ArgKept(f.entry, uint8(i*8)) {
				t.Errorf("%s has kept the word at %d as it begins", m[1], i*8)
			}
		}
		if kept == 0 {
			t.Errorf("%s has kept nothing: %s", m[1], m[2])
		}
		if fn.ArgKept(f.entry+uintptr(off)-1, uint8(f.args)) {
			t.Errorf("%s has kept a word that it does not have", m[1])
		}
	}
}

// FuzzArgKept: damaged data gives an answer, too.
func FuzzArgKept(f *testing.F) {
	f.Add([]byte{argOpen, 0, 8, argClose, argEnd, 0, 1}, uint8(0))
	table, _ := OwnTable()
	fn, _ := table.Find(reflect.ValueOf(keepsAll).Pointer())
	off, _ := fn.FuncData(funcdataArgInfo)
	f.Fuzz(func(t *testing.T, data []byte, offset uint8) {
		damaged := table.WithFuncData(append(make([]byte, min(off, 1<<20)), data...))
		if fn, ok := damaged.Find(fn.Entry()); ok {
			fn.ArgKept(fn.End()-1, offset)
		}
	})
}
