package covered

import (
	"sync"
	"testing"
)

func TestWords(t *testing.T) {
	if got := Words("one two"); got != 2 {
		t.Errorf("Words = %d; want 2", got)
	}
}

func TestSign(t *testing.T) {
	if got := Sign(-3); got != -1 {
		t.Errorf("Sign = %d; want -1", got)
	}
}

// TestWait gives the profiles of blocked goroutines and of mutexes something to hold.
func TestWait(t *testing.T) {
	var mu sync.Mutex
	done := make(chan bool)
	mu.Lock()
	go func() {
		mu.Lock()
		mu.Unlock()
		done <- true
	}()
	mu.Unlock()
	<-done
}
