// Records sends records between text, as the tests of streams want it.
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

// data are n bytes of which the test has the same.
func data(seed uint64, n int) []byte {
	b := make([]byte, n)
	x := seed*2685821657736338717 + 1
	for i := range b {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		b[i] = byte(x >> 32)
	}
	return b
}

// begin begins a record.
func begin(kind string) *os.File {
	f, err := os.OpenFile("/dev/record", os.O_WRONLY, 0)
	if err == nil {
		_, err = fmt.Fprintln(f, kind)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	return f
}

func send(f *os.File, b []byte) {
	if n, err := f.Write(b); n != len(b) || err != nil {
		fmt.Println(n, err)
		os.Exit(1)
	}
}

func main() {
	switch os.Args[1] {
	case "text":
		// In the middle of a line, and of a UTF-8 character.
		for i, n := range []int{0, 1, 479, 480, 481, 5000} {
			fmt.Printf("before %d, ", i)
			f := begin("test.size")
			os.Stdout.WriteString("\xe2\x82")
			send(f, data(uint64(i), n))
			os.Stdout.WriteString("\xac, ")
			f.Close()
			fmt.Println("after")
		}
		// Two at a time, with text between their pieces.
		a, b := begin("test.a"), begin("test.b")
		if _, err := os.OpenFile("/dev/record", os.O_WRONLY, 0); err == nil {
			fmt.Println("a third record could be begun")
		}
		for i := range 10 {
			send(a, data(uint64(100+i), 700))
			send(b, data(uint64(200+i), 900))
			fmt.Print(i, " ")
		}
		b.Close()
		a.Close()
		fmt.Println("end")
	case "large":
		n, _ := strconv.Atoi(os.Args[2])
		b := data(7, n)
		start := time.Now()
		f := begin("test.large")
		send(f, b)
		f.Close()
		fmt.Printf("%d bytes in %d us\n", n, time.Since(start).Microseconds())
	case "open":
		// A program may leave the closing of its files to its end.
		send(begin("test.short"), data(3, 5))
		send(begin("test.long"), data(4, 1000))
	case "death":
		fmt.Print("about to die")
		send(begin("test.death"), data(1, 10_000))
		panic("in the middle of a record")
	}
}
