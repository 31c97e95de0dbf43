// Work is the program that the chapters of doc observe: it computes, forgets to close
// files, and sends an event of its own.
package main

import (
	"fmt"
	"log"
	"os"
	"strings"
)

// numbers is the input of parse.
var numbers = strings.Repeat("12345 ", 4000)

// parse returns the sum of the numbers in s.
func parse(s string) (sum int) {
	for word := range strings.SplitSeq(s, " ") {
		sum += value(word)
	}
	return sum
}

//go:noinline
func value(word string) (n int) {
	for _, digit := range word {
		n = 10*n + int(digit-'0')
	}
	return n
}

// openThree opens three files and closes two.
func openThree() {
	for i := range 3 {
		f, err := os.CreateTemp("/tmp", "work")
		if err != nil {
			log.Fatal(err)
		}
		if i > 0 {
			f.Close()
		} else {
			forgotten = append(forgotten, f)
		}
	}
}

var forgotten []*os.File

func main() {
	sum := 0
	for range 300 {
		sum += parse(numbers)
	}
	for range 5 {
		openThree()
	}
	event, err := os.OpenFile("/dev/record", os.O_WRONLY, 0)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Fprintf(event, "work.sum\n%d\n", sum)
	event.Close()
	fmt.Println("work: done")
}
