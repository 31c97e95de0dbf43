// Command callers makes the calls that its argument names, ends up in a function
// that copies its registers and the words at its stack pointer, and prints them.
package main

import (
	"fmt"
	"os"
)

var pc, sp, bp uint64
var words [64]uint64

func case1()
func case2()
func case3()
func case4()
func case5()
func case6()
func indirect()
func ambiguous()
func calls()

func main() {
	f := map[string]func(){
		"1": case1, "2": case2, "3": case3, "4": case4, "5": case5, "6": case6,
		"indirect": indirect, "ambiguous": ambiguous, "calls": calls,
	}[os.Args[1]]
	f()
	fmt.Printf("%x %x %x", pc, sp, bp)
	for _, w := range words {
		fmt.Printf(" %x", w)
	}
	fmt.Println()
}
