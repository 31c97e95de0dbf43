// Victim has eight bytes or less of its memory overwritten, works, and dies, if it has not
// done so by then. It is what `make attack` boots:
//
//	victim ADDRESS SIZE VALUE store|force
//
// The numbers are hexadecimal. A store faults where the page is read-only; forced, the bytes
// change there, too, as by a device or by broken RAM.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"time"
	"unsafe"
)

func main() {
	address, size, value := number(1), number(2), number(3)
	if os.Args[4] == "force" {
		disableWriteProtect()
	}
	store(uintptr(address), size, value)
	enableWriteProtect()
	work()
	fmt.Println("victim: dies")
	deathA()
}

func number(i int) uint64 {
	n, err := strconv.ParseUint(os.Args[i], 16, 64)
	if err != nil {
		fmt.Println("victim:", err)
		os.Exit(1)
	}
	return n
}

//go:noinline
func store(address uintptr, size, value uint64) {
	p := *(*unsafe.Pointer)(unsafe.Pointer(&address))
	switch size {
	case 1:
		*(*uint8)(p) = uint8(value)
	case 2:
		*(*uint16)(p) = uint16(value)
	case 4:
		*(*uint32)(p) = uint32(value)
	default:
		*(*uint64)(p) = value
	}
}

// kept keeps what work has made, so that it is made.
var kept [][]byte

// work makes goroutines, garbage and system calls, sleeps, faults and recovers.
func work() {
	sums := make(chan int)
	for i := range 4 {
		go func() {
			b := make([]byte, 64<<10)
			sum := 0
			for j := range b {
				b[j] = byte(i * j)
				sum += int(b[j])
			}
			kept = append(kept, b[:1])
			sums <- sum
		}()
	}
	sum := 0
	for range 4 {
		sum += <-sums
	}
	runtime.GC()
	time.Sleep(time.Millisecond)
	_, err := os.ReadFile("/nowhere")
	fmt.Println("victim:", sum, err, recovered())
}

func recovered() (r any) {
	defer func() { r = recover() }()
	return load(nil)
}

//go:noinline
func load(p *int) int { return *p }

//go:noinline
func deathA() { deathB() }

//go:noinline
func deathB() { deathC() }

//go:noinline
func deathC() { load(nil) }

// In assembly: whether this code may write to read-only pages (CR0.WP).

func disableWriteProtect()
func enableWriteProtect()
