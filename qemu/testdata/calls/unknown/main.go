// Unknown makes system calls that are not answered, each as often as it says below.
package main

import (
	"fmt"
	"os"
	"strconv"
	"syscall"

	_ "github.com/zeroframe/zeroframe/kernel"
)

func main() {
	calls := map[uintptr]int{
		syscall.SYS_ACCT: 3, syscall.SYS_EXECVE: 1, syscall.SYS_PTRACE: 2,
		335: 1, 425: 4, // one that Linux does not have, io_uring_setup
		600: 1, 999: 1, 511: 1, // all beyond the table
	}
	if os.Getenv("QUIET") != "" {
		calls = nil
	}
	for number, times := range calls {
		for range times {
			if r, _, e := syscall.RawSyscall(number, 0, 0, 0); e != syscall.ENOSYS {
				fmt.Println("call", number, "returned", r, e)
				os.Exit(1)
			}
		}
	}
	fmt.Println("all ENOSYS")
	status, _ := strconv.Atoi(os.Getenv("STATUS"))
	os.Exit(status)
}
