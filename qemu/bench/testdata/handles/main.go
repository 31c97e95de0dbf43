// Handles measures what a logged event costs (package kernel/observe/handle): a descriptor is
// duplicated and closed under a stack of 32 frames, and an event of the program's own kind
// is logged there. A line of what it prints is "measure", the name, how many times the
// thing was done, and the ticks of the time stamp counter that this took.
package main

import (
	"fmt"
	"syscall"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/observe/handle"
)

var kind = handle.NewKind("thing")

// deep calls f under so many frames.
//
//go:noinline
func deep(frames int, f func()) {
	if frames == 0 {
		f()
		return
	}
	deep(frames-1, f)
	sink++
}

var sink int

func measure(name string, n int, run func()) {
	// main, runtime.main and goexit are frames, too; so is run.
	deep(32-4, func() {
		for range 15 {
			run() // what is done once only is done now
			ticks := arch.ReadCounter()
			for range n {
				run()
			}
			fmt.Println("measure", name, n, arch.ReadCounter()-ticks)
		}
	})
}

func main() {
	measure("nothing", 1000, func() {})
	measure("pair", 200, func() {
		fd, _, _ := syscall.RawSyscall(syscall.SYS_DUP, 1, 0, 0)
		syscall.RawSyscall(syscall.SYS_CLOSE, fd, 0, 0)
	})

	measure("log", 200, func() { handle.Log(handle.Note, kind, 1, 2) })
}
