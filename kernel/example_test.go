package kernel_test

import (
	"fmt"
	"os"

	"github.com/zeroframe/zeroframe/kernel"
)

// What they do needs the kernel, so these examples are compiled, and not run. The program
// qemu/testdata/public does the same, in QEMU.

type request struct{ body []byte }

func parse(r *request) {}

func ExamplePanic() {
	state := 3
	if state > 2 {
		kernel.Panic("the state is not one of the protocol's")
	}
}

func ExampleStacks() {
	kernel.ResetStacks()
	parse(new(request))
	for _, s := range kernel.Stacks() {
		fmt.Println(s.Name, s.Used, "of", s.Size(), "bytes")
	}
}

func ExampleMeasure() {
	r := new(request)
	if bytes, ok := kernel.Measure(func() { parse(r) }); ok {
		fmt.Println("parse takes", bytes, "bytes of stack")
	}
}

func ExampleCalledFrom() {
	if kernel.CalledFrom(parse) || kernel.CalledFromName("net/http.(*Server).Serve") {
		fmt.Println("in a request")
	}
}

func ExampleSecret() {
	key, err := os.ReadFile("/key")
	if err != nil || !kernel.Secret(key) {
		return
	}
	defer kernel.Forget(key)
	defer clear(key)
}

var requests = kernel.NewHandleKind("request")

func ExampleHandleKind() {
	const key = 17
	r := &request{make([]byte, 100)}
	requests.Open(key, uintptr(len(r.body)))
	requests.Note(key, 0)
	requests.Close(key)
	kernel.DumpHandles()
}
