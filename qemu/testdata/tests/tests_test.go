// Package tests has tests that pass, fail, are skipped, die and hang, each for one run of
// `go test` and one of `zf test`.
package tests

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"time"
)

func TestPass(t *testing.T) {
	t.Log("seen with -v")
	fmt.Println("printed by a test")
}

func TestSub(t *testing.T) {
	for _, name := range []string{"one", "two words", "ü"} {
		t.Run(name, func(t *testing.T) { t.Log(t.Name()) })
	}
}

func TestParallel(t *testing.T) {
	for i := range 2 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			time.Sleep(time.Duration(i) * time.Second)
		})
	}
}

func TestSkip(t *testing.T) {
	t.Skip("not today")
}

func TestShort(t *testing.T) {
	if testing.Short() {
		t.Skip("short")
	}
	t.Log("long")
}

func TestFail(t *testing.T) {
	t.Error("the first")
	t.Run("inner", func(t *testing.T) { t.Fatalf("the second, %d", 2) })
	t.Cleanup(func() { t.Log("cleaned up") })
}

func TestFailToo(t *testing.T) { t.Fail() }

func TestCount(t *testing.T) {
	count++
	t.Log("run", count, flag.NArg(), len(os.Args) > 1)
}

var count int

func TestOpen(t *testing.T) {
	if _, err := os.ReadFile("nosuch"); err != nil {
		t.Fatal(err)
	}
}

func TestPanic(t *testing.T) {
	defer fmt.Println("deferred")
	var m map[string]int
	m["x"]++
}

func TestExit0(t *testing.T) { os.Exit(0) }

func TestExit3(t *testing.T) { os.Exit(3) }

func TestHang(t *testing.T) { select {} }

func TestHangTicking(t *testing.T) {
	for range time.Tick(time.Second) {
	}
}

func BenchmarkNothing(b *testing.B) {
	for b.Loop() {
	}
}

func ExamplePass() {
	fmt.Println("an example")
	// Output: an example
}

func ExampleFail() {
	fmt.Println("one thing")
	// Output: another
}
