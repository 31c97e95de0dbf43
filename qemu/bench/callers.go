package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"runtime"
	"sort"
	"strings"
	"text/template"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/tracer"
)

// callersDepth is how many frames are taken of a stack.
const callersDepth = 32

// callers holds a Capture against runtime.Callers, on two stacks of a goroutine: one
// of calls through several packages of the standard library, as programs have them, and
// one of a function that calls itself. What Callers needs of the pc tables it keeps for
// the last few return addresses, and a recursion has only one.
func (b *bench) callers() error {
	for name, through := range map[string]func(f func()){
		"library": throughLibrary, "recursion": func(f func()) { recursion(2*callersDepth, f) },
	} {
		done := make(chan error)
		go func() {
			runtime.LockOSThread()
			through(func() {}) // the stack is large enough from here on
			top := arch.FramePointer() + 64
			err := errors.New("callers: the calls did not come to their end")
			through(func() {
				var times float64
				if times, err = b.callersBelow(top); err == nil {
					b.add("callers."+name, times)
				}
			})
			done <- err
		}()
		if err := <-done; err != nil {
			return err
		}
	}
	return nil
}

// callersBelow takes the stack that it is called on, whose outermost frames are at top.
//
//go:noinline
func (b *bench) callersBelow(top uintptr) (times float64, err error) {
	fp := arch.FramePointer()
	p := &tracer.Capture{Records: make([]tracer.Record, callersDepth)}
	p.Set(&tracer.Stack{Lo: fp, Hi: top}, 1, 1<<47) // where this program's text is is not the point
	p.Walk(fp)
	pcs := make([]uintptr, callersDepth)
	found := runtime.Callers(2, pcs) // without itself and this function
	if p.N != callersDepth || found != callersDepth {
		return 0, fmt.Errorf("callers: the Capture has %d return addresses, runtime.Callers %d; want %d",
			p.N,
			found, callersDepth)
	}
	// Callers leaves out what the compiler has made, such as wrappers of methods.
	same := 0
	for _, r := range p.Records[:p.N] {
		if r.RA == pcs[same] {
			same++
		}
	}
	if same < callersDepth*3/4 {
		return 0, fmt.Errorf(
			"callers: of %d return addresses of the Capture runtime.Callers has only the first %d", p.N,
			same)
	}
	const each = 100 // as many more captures, so that the two windows are of a size
	times = each * b.faster(
		func(n int) {
			for range n {
				sink += uintptr(runtime.Callers(2, pcs))
			}
		},
		func(n int) {
			for range n * each {
				p.Walk(fp)
			}
		}, 10)
	if p.N != callersDepth {
		return 0, fmt.Errorf("callers: the stack has moved: %d return addresses", p.N)
	}
	return times, nil
}

//go:noinline
func recursion(n int, f func()) {
	if n == 0 {
		f()
	} else {
		recursion(n-1, f)
	}
	sink++ // no tail call
}

// throughLibrary calls f through some packages of the standard library.
func throughLibrary(f func()) {
	called := false
	sorted := func() {
		sort.Slice([]int{2, 1}, func(i, j int) bool {
			strings.FieldsFunc("a", func(rune) bool {
				if !called {
					called = true
					f()
				}
				return false
			})
			return false
		})
	}
	replaced := func() {
		regexp.MustCompile("a+").ReplaceAllStringFunc("baab", func(string) string { sorted(); return "" })
	}
	printed := func() string { fmt.Fprintf(io.Discard, "%v", []any{formatter(replaced)}); return "" }
	page := template.Must(template.New("page").Funcs(template.FuncMap{"print": printed}).
		Parse("{{if true}}{{with 1}}{{print}}{{end}}{{end}}"))
	// What these return is not the point.
	json.Marshal(map[string]any{"a": []any{marshaler(func() { page.Execute(io.Discard, nil) })}})
}

type formatter func()

func (f formatter) Format(fmt.State, rune) { f() }

type marshaler func()

func (f marshaler) MarshalJSON() ([]byte, error) { f(); return []byte("0"), nil }
