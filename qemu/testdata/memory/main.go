// Memory is an ordinary Go program that says how much memory the system has, uses as many
// MiB of it as its argument says, and checks that it holds what was written.
package main

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
	"unsafe"
)

func main() {
	var before, after syscall.Sysinfo_t
	if err := syscall.Sysinfo(&before); err != nil {
		panic(err)
	}
	fmt.Println("total", before.Totalram*uint64(before.Unit), "free", before.Freeram*uint64(before.Unit))
	mib, err := strconv.Atoi(os.Args[1])
	if err != nil {
		panic(err)
	}
	const page = 4096
	b := make([]byte, mib<<20)
	// A page that were there twice would hold the later one's words at its end.
	word := func(i int) *uint64 { return (*uint64)(unsafe.Pointer(&b[i])) }
	for i := 0; i < len(b); i += page {
		*word(i) = uint64(i) * 0x9e3779b97f4a7c15
		*word(i + page - 8) = ^uint64(i)
	}
	wrong := 0
	for i := 0; i < len(b); i += page {
		if *word(i) != uint64(i)*0x9e3779b97f4a7c15 || *word(i + page - 8) != ^uint64(i) || *word(i + page/2) != 0 {
			wrong++
		}
	}
	syscall.Sysinfo(&after)
	fmt.Println("used", len(b), "wrong", wrong, "free", after.Freeram*uint64(after.Unit))
}
