// Serial writes to the terminal, or reads from it, and says how long that took.
package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Println("want out|in BYTES")
		os.Exit(1)
	}
	n, err := strconv.Atoi(os.Args[2])
	if err != nil || n <= 0 {
		fmt.Println(os.Args[2], err)
		os.Exit(1)
	}
	line := append(bytes.Repeat([]byte("talkative "), 8)[:79], '\n')
	buf := bytes.Repeat(line, 400)
	done := 0
	if os.Args[1] == "in" {
		fmt.Println("reading")
		if done, err = os.Stdin.Read(buf); err != nil {
			panic(err)
		}
	}
	start := time.Now()
	for k := 0; done < n; done += k {
		if os.Args[1] == "in" {
			k, err = os.Stdin.Read(buf)
		} else {
			k, err = os.Stdout.Write(buf[:min(len(buf), n-done)])
		}
		if err != nil {
			panic(err)
		}
	}
	fmt.Printf("\n%d bytes in %d us\n", done, time.Since(start).Microseconds())
}
