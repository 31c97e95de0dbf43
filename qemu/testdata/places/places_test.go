package main

import (
	"sync"
	"testing"
)

func TestPanic(t *testing.T) {
	three[zero+3]++ // dies: TestPanic
}

func TestSub(t *testing.T) {
	t.Run("sub", func(t *testing.T) {
		noMap["x"] = 1 // dies: TestSub
	})
}

func TestHelper(t *testing.T) {
	help(t)
}

func help(t *testing.T) {
	t.Helper()
	defer t.Log("over")
	nobody.age++ // dies: TestHelper
}

func TestCleanup(t *testing.T) {
	t.Cleanup(func() {
		three[zero+3]++ // dies: TestCleanup
	})
}

func TestRepanic(t *testing.T) {
	defer func() {
		panic(recover()) // again: TestRepanic
	}()
	var mu sync.WaitGroup
	mu.Done() // dies: TestRepanic
}
