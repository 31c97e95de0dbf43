// Dumped is a program whose memory is worth having when it has died: numbers in the heap and in
// variables that a test finds again, and goroutines that wait.
package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"sync"

	_ "github.com/zeroframe/zeroframe/kernel"
)

// numbers is what the test looks for: 8 bytes each, of which no two are the same.
var numbers []byte

// where tells the test where they are: the mark is followed by address and length.
var where = [4]uint64{0x5f65726568777a5f}

var waiting sync.WaitGroup

//go:noinline
func wait(n int, c chan int) int {
	waiting.Done()
	return n + <-c
}

func main() {
	size := 4 << 20
	if len(os.Args) > 1 {
		mib, err := strconv.Atoi(os.Args[1])
		if err != nil {
			panic(err)
		}
		size = mib << 20
	}
	numbers = make([]byte, size)
	x := uint64(1)
	for i := 0; i < size; i += 8 {
		x = x*6364136223846793005 + 1442695040888963407
		binary.LittleEndian.PutUint64(numbers[i:], x)
	}
	where[1], where[2] = address(numbers), uint64(size)
	c := make(chan int)
	for i := range 20 {
		waiting.Add(1)
		go wait(i, c)
	}
	waiting.Wait()
	fmt.Println("ready to die")
	var p *[2]int
	p[1] = len(numbers)
}
