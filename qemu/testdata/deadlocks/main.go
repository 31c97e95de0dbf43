// Command deadlocks stops in one of twenty-one ways, which its argument names, or does ordinary work
// in one of eleven. In each way of stopping there is one goroutine, or one ring of them, that the
// others wait for: tools/postmortem/waits is to name it. The eleven are stopped at random, and nothing is to be
// named.
package main

import (
	"fmt"
	"maps"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

// stops are the programs that stop. None returns.
var stops = map[string]func(){
	"abba":       abba,
	"upgrade":    upgrade,
	"lostwakeup": lostWakeUp,
	"chain":      chain,
	"nilchan":    nilChan,
	"nilselect":  nilSelects,
	"waitgroup":  waitGroup,
	"cond":       condition,
	"select":     selectNone,
	"self":       self,
	"dining":     dining,
	"once":       onceAgain,
	"semaphore":  semaphore,
	"timer":      timerStopped,
	"pool":       pool,
	"context":    contextNotCancelled,
	"finalizer":  finalizer,
	"syscall":    inSyscall,
	"spin":       spin,
	"osthread":   lockedThread,
}

// works are the programs that go on for ever.
var works = map[string]func(){
	"mutexes":   mutexes,
	"readers":   readers,
	"pipeline":  pipeline,
	"groups":    groups,
	"conds":     conds,
	"selects":   selects,
	"tickers":   tickers,
	"contexts":  contexts,
	"spinlocks": spinlocks,
	"yields":    yields,
}

func main() {
	name := ""
	if len(os.Args) > 1 {
		name = os.Args[1]
	}
	f := stops[name]
	if f == nil {
		f = works[name]
	}
	if f == nil {
		fmt.Fprintln(os.Stderr, "usage: deadlocks", strings.Join(append(slices.Sorted(maps.Keys(stops)), slices.Sorted(maps.Keys(works))...), "|"))
		os.Exit(2)
	}
	if len(os.Args) > 2 {
		// One who waits for a signal may get one: the runtime does not end the program when
		// all the others wait.
		signal.Notify(make(chan os.Signal, 1), syscall.SIGUSR1)
	}
	fmt.Println("begin", name)
	f()
	fmt.Println("end", name)
}

// stopped says that all but the caller are where they stay, as far as the caller knows. It writes
// something now and then, for the watchdog: each turn of one who spins takes a while.
func stopped() {
	for i := range 100 {
		if i%10 == 0 {
			fmt.Print(".")
		}
		runtime.Gosched()
	}
	fmt.Println("stopped")
}
