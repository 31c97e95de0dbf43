// Clocks looks at the time, as its first argument says.
package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	_ "github.com/zeroframe/zeroframe/kernel"
)

func main() {
	switch os.Args[1] {
	case "wall":
		fmt.Println("now", time.Now().UnixNano())
	case "ask":
		fmt.Println("ready")
		os.Stdin.Read(make([]byte, 1))
		fmt.Println("now", time.Now().UnixNano())
	case "monotonic":
		monotonic()
	case "set":
		set()
	case "timers":
		timers()
	case "sleep":
		d, err := time.ParseDuration(os.Args[2])
		if err != nil {
			panic(err)
		}
		time.Sleep(d)
		fmt.Println("slept")
	}
}

// monotonic reads the clock in several goroutines: nobody reads less than another has
// before.
func monotonic() {
	start := time.Now()
	var latest, reads atomic.Int64
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				seen := latest.Load()
				now := time.Since(start)
				if int64(now) < seen {
					fmt.Println("it goes back from", seen, "to", int64(now))
					os.Exit(1)
				}
				for old := seen; int64(now) > old && !latest.CompareAndSwap(old, int64(now)); {
					old = latest.Load()
				}
				if reads.Add(1); now > time.Second {
					return
				}
			}
		})
	}
	wg.Wait()
	fmt.Println("read", reads.Load(), "times")
}

// set sets the date back and forth, which must not touch what measures time.
func set() {
	start := time.Now()
	for _, s := range []int64{0, 1_000_000_000, 4_000_000_000} {
		spec := syscall.Timespec{Sec: s}
		if _, _, e := syscall.Syscall(syscall.SYS_CLOCK_SETTIME, 0, uintptr(unsafe.Pointer(&spec)), 0); e != 0 {
			panic(e)
		}
		time.Sleep(10 * time.Millisecond)
		now := time.Now()
		if d := now.Unix() - s; d < 0 || d > 5 {
			fmt.Println("set to", s, "it is", now.Unix())
			os.Exit(1)
		}
		if d := now.Sub(start); d < 10*time.Millisecond || d > 5*time.Second {
			fmt.Println("since the start there were", d)
			os.Exit(1)
		}
	}
	fmt.Println("set")
}

// timers lets many timers run out: none too early, so none before another that is due a
// while earlier, unless that one is late.
func timers() {
	const n = 300
	var at, first, last [n]time.Duration // when it ran out; when it is due, between these
	var wg sync.WaitGroup
	start := time.Now()
	for i := range n {
		d := time.Duration(1+rand.IntN(300_000)) * time.Microsecond
		first[i] = time.Since(start) + d
		t := time.NewTimer(d)
		last[i] = time.Since(start) + d
		wg.Go(func() { <-t.C; at[i] = time.Since(start) })
	}
	early := time.AfterFunc(100*time.Millisecond, func() { panic("a stopped timer has run out") })
	early.Stop()
	ticks := 0
	ticker := time.NewTicker(20 * time.Millisecond)
	for range ticker.C {
		if ticks++; ticks == 15 {
			break
		}
	}
	if d := time.Since(start); d < 300*time.Millisecond {
		fmt.Println("15 ticks of 20 ms came in", d)
		os.Exit(1)
	}
	wg.Wait()
	late := time.Duration(0)
	for i := range n {
		if at[i] < first[i] {
			fmt.Println("a timer for", first[i], "ran out at", at[i])
			os.Exit(1)
		}
		late = max(late, at[i]-last[i])
	}
	fmt.Println("none too early, late by", late.Milliseconds(), "ms")
}
