// Teller tells what its loader has brought, and dies. The boot after that finds the
// crash record, and ends in peace.
package main

import (
	"fmt"
	"os"
)

func main() {
	record, err := os.ReadFile("/sys/fs/pstore/dmesg-zeroframe-0")
	if err == nil {
		fmt.Printf("teller: the boot before has left %d bytes\n", len(record))
		return
	}
	file, err := os.ReadFile("/etc/motd")
	fmt.Printf("teller: args %q env %q file %q %v\n", os.Args[1:], os.Getenv("TELL"), file, err)
	deathA()
}

//go:noinline
func deathA() { deathB() }

//go:noinline
func deathB() { deathC() }

//go:noinline
func deathC() { panic("teller: the end") }
