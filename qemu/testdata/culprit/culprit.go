// Package culprit is what the programs share that die of something another place has done: they are started with the name
// of one of their kinds.
package culprit

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// Main runs the kind that the command line names.
func Main(kinds map[string]func()) {
	if len(os.Args) != 2 || kinds[os.Args[1]] == nil {
		fmt.Println("usage: PROGRAM KIND")
		os.Exit(2)
	}
	kinds[os.Args[1]]()
	fmt.Println("nothing happened")
}

// Work is what happens between the cause and the death: memory is allocated, and the collector runs.
//
//go:noinline
func Work() {
	var all [][]byte
	for i := range 200 {
		all = append(all, []byte(strings.Repeat("x", i)))
	}
	runtime.GC()
	time.Sleep(time.Millisecond)
	runtime.KeepAlive(all)
}
