// Command forms stops in every way in which a lock is reached that the code of its holder does not
// name. All forms stop at once, each with locks of its own: those of rings.go in a ring of goroutines,
// those of misses.go so that a ring seems to be there, and is not. What is in brackets in a form's
// comment is the number of its ring's goroutines.
package main

import (
	"fmt"
	"sync"
	"time"
)

// meeting is where those of a ring wait until each has its first lock.
type meeting struct{ sync.WaitGroup }

func of(n int) *meeting {
	m := new(meeting)
	m.Add(n)
	return m
}

//go:noinline
func (m *meeting) meet() { m.Done(); m.Wait() }

// taken locks l for good: nobody who has a stack holds it.
func taken(l sync.Locker) {
	done := make(chan bool)
	go func() { l.Lock(); close(done) }()
	<-done
}

func main() {
	for _, f := range rings {
		f()
	}
	for _, f := range misses {
		f()
	}
	fmt.Println("begin forms")
	for {
		time.Sleep(time.Hour) // one who can run: only rings of locks are named
	}
}
