//go:build !linux

// Command bench measures the receiver. It runs on Linux, whose system calls it uses.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "bench: this runs on Linux only")
	os.Exit(2)
}
