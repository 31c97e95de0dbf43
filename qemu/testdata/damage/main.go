// Damage breaks something that the panic path meets, and dies.
package main

import (
	"fmt"
	"os"
	_ "unsafe" // for linkname
)

//go:linkname vga github.com/zeroframe/zeroframe/kernel/screen.vga
var vga uintptr

//go:linkname threads github.com/zeroframe/zeroframe/kernel/sched.table
var threads [2]uintptr

// nowhere is an address that nothing is mapped at.
const nowhere = 0x70_0000_0000

func main() {
	switch os.Args[1] {
	case "screen":
		vga = nowhere
		fmt.Print("a line that is begun")
	case "threads":
		threads[1] = nowhere
		os.Getwd()
	case "threads-wild":
		threads[1] = 1 << 63
		os.Getwd()
	case "asleep":
		for range 3 {
			go func() { select {} }()
		}
		<-make(chan int)
	}
}
