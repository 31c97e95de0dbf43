// Fmt is the hello that everybody writes. It says how much of the RAM is in use as it
// ends; with an argument it stays until its standard input ends, so that Linux can be
// asked how much memory it has.
package main

import (
	"fmt"
	"os"
	"syscall"
)

func main() {
	fmt.Println("hello")
	var s syscall.Sysinfo_t
	if err := syscall.Sysinfo(&s); err != nil {
		panic(err)
	}
	fmt.Println("RAM", s.Totalram, s.Freeram)
	if len(os.Args) > 1 {
		os.Stdin.Read(make([]byte, 1))
	}
}
