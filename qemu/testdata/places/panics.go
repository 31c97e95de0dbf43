package main

import (
	"errors"
	"fmt"
	"os"
	"sort"
	"strings"
	"sync"
	"text/template"
	"unsafe"

	"github.com/zeroframe/zeroframe/qemu/testdata/places/lib"
)

// What the compiler cannot know.
var (
	zero    int
	three   = []int{1, 2, 3}
	noMap   map[string]int
	nobody  *person
	nothing any
	noFunc  func()
)

type person struct {
	name string
	age  int
}

//go:noinline
func (p *person) older() { p.age++ } // dies: method-value

// grow is small enough to be inlined.
func grow(p *person) { p.age++ } // dies: inlined

func init() {
	for name, f := range map[string]func(){
		"nil-map":      func() { noMap["x"] = 1 },                         // dies: nil-map
		"nil-pointer":  func() { fmt.Println(nobody.age) },                // dies: nil-pointer
		"nil-func":     func() { noFunc() },                               // dies: nil-func
		"index":        func() { three[zero+3]++ },                        // dies: index
		"slice":        func() { three = three[zero+2 : zero+1] },         // dies: slice
		"array":        func() { _ = [4]int(three) },                      // dies: array
		"divide":       func() { three[0] /= zero },                       // dies: divide
		"assert":       func() { three[0] = nothing.(int) },               // dies: assert
		"make":         func() { three = make([]int, zero-1) },            // dies: make
		"shift":        func() { three[0] <<= zero - 1 },                  // dies: shift
		"unhashable":   func() { fmt.Println(map[any]int{}[any(three)]) }, // dies: unhashable
		"compare":      func() { fmt.Println(any(three) == any(three)) },  // dies: compare
		"negative":     func() { strings.Repeat("x", zero-1) },            // dies: negative
		"inlined":      func() { grow(nobody) },
		"method-value": func() { f := nobody.older; f() },
		"generic":      func() { lib.At(three, 7) },                           // in lib.go
		"error":        func() { panic(errors.New("an error")) },              // dies: error
		"stringer":     func() { panic(stringer{}) },                          // dies: stringer
		"custom":       func() { panic(person{"x", 1}) },                      // dies: custom
		"goexit-nil":   func() { panic(nil) },                                 // dies: goexit-nil
		"write-fault":  func() { *(*int)(unsafe.Pointer(^uintptr(0xfff)))++ }, // dies: write-fault
	} {
		deaths[name] = f
	}
	deaths["callback"] = callback
	deaths["template"] = inTemplate
	deaths["once"] = inOnce
	deaths["once-func"] = sync.OnceFunc(inOnceFunc)
	deaths["goroutine"] = inGoroutine
	deaths["repanic"] = repanic
	deaths["replaced"] = replaced
	deaths["nested"] = nested
	deaths["deferred"] = deferred
	deaths["recovered"] = recovered
	deaths["iterator"] = iterator
	deaths["stringer-dies"] = func() { panic(dying{}) } // dies: stringer-dies
	if len(os.Args) > 1 && os.Args[1] == "init" {
		panic("in init") // dies: init
	}
}

type stringer struct{}

func (stringer) String() string { return "a Stringer" }

// dying panics when its value is printed.
type dying struct{}

func (dying) Error() string { panic("in Error") } // again: stringer-dies

func callback() {
	sort.Slice(three, func(i, j int) bool {
		return three[i+zero+3] < three[j] // dies: callback
	})
}

func inTemplate() {
	t := template.Must(template.New("").Funcs(template.FuncMap{"f": func() string {
		var mu sync.Mutex
		mu.Unlock() // dies: template
		return ""
	}}).Parse("{{f}}"))
	t.Execute(os.Stdout, nil)
}

func inOnce() {
	var once sync.Once
	once.Do(func() {
		three[zero+3]++ // dies: once
	})
}

func inOnceFunc() {
	three[zero+3]++ // dies: once-func
}

func inGoroutine() {
	done := make(chan bool)
	go func() {
		defer close(done)
		three[zero+3]++ // dies: goroutine
	}()
	select {}
}

func repanic() {
	defer func() {
		if r := recover(); r != nil {
			panic(r) // again: repanic
		}
	}()
	three[zero+3]++ // dies: repanic
}

func replaced() {
	defer func() {
		if r := recover(); r != nil {
			panic(fmt.Sprint("wrapped: ", r)) // again: replaced
		}
	}()
	lib.Apply(three, func(n int) {
		noMap["x"] = n // dies: replaced
	})
}

func nested() {
	defer func() {
		nobody.age++ // again: nested
	}()
	panic("the first") // dies: nested
}

func deferred() {
	defer func() {
		nobody.age++ // dies: deferred
	}()
}

// recovered dies in a function whose deferred one has recovered from an earlier panic.
func recovered() {
	func() {
		defer func() { recover() }()
		panic("the first")
	}()
	panic("the second") // dies: recovered
}

func iterator() {
	each := func(yield func(int) bool) {
		for _, n := range three {
			yield(n)
		}
	}
	for n := range each {
		fmt.Println(three[n+2]) // dies: iterator
	}
}
