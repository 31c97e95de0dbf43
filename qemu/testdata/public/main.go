// Public is a program that calls all that a program may call of the kernel.
package main

import (
	"fmt"
	_ "unsafe" // for linkname

	"github.com/zeroframe/zeroframe/kernel"
)

//go:linkname earlyHook github.com/zeroframe/zeroframe/kernel.earlyHook
var earlyHook = early

// What the early hook has found.
var (
	measured uintptr
	refused  int // characters of the reason
	returned []uintptr
	room     [2]uintptr
	sink     byte
)

func early() {
	kernel.CheckStacks()
	measured, _ = kernel.Measure(deep)
	hooked()
}

//go:noinline
func deep() {
	var b [1000]byte
	for i := range b {
		b[i] = byte(i)
	}
	sink = b[measured%1000]
}

//go:noinline
func hooked() { refused = len(kernel.OnReturn(hook, 7)) }

// hook also runs in early context, where nothing can be allocated.
func hook(arg uintptr) {
	room[0] = arg
	if kernel.CalledFromName("main.early") {
		room[1]++
	}
	returned = room[:]
}

//go:noinline
func asks() (bool, bool, bool) {
	return kernel.CalledFrom(main), kernel.CalledFrom(asks), kernel.CalledFromName("main.main")
}

//go:noinline
func handles() {
	buffers := kernel.NewHandleKind("buffer")
	buffers.Open(1, 100)
	buffers.Open(2, 200)
	buffers.Note(2, 0)
	buffers.Close(1)
	kernel.DumpHandles()
}

//go:noinline
func giveUp() { kernel.Panic("the program gave up") }

func main() {
	fmt.Println("early:", measured >= 1000 && measured < 2000, refused, returned)
	fmt.Println(asks())
	bytes, ok := kernel.Measure(deep)
	fmt.Println("deep:", bytes >= 1000 && bytes < 2000, ok)
	fmt.Println("refused:", kernel.OnReturn(hook, 0) != "")
	used := kernel.Stacks()[0].Used
	fmt.Println("reset:", kernel.ResetStacks(), kernel.Stacks()[0].Used < used)
	key := []byte("secret")
	fmt.Println("secret:", kernel.Secret(key))
	kernel.Forget(key)
	handles()
	fmt.Println("version:", kernel.Version != "")
	giveUp()
}
