// Command sockets does with sockets what programs do, over loopback only, and writes what
// comes of it, without anything that may differ from one run to the next. The test runs
// it on the kernel and on Linux, and wants the same lines.
package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	if len(os.Args) > 2 && os.Args[1] == "crowd" {
		n, _ := strconv.Atoi(os.Args[2])
		crowd(n)
		return
	}
	if len(os.Args) > 2 && os.Args[1] == "storm" {
		n, _ := strconv.Atoi(os.Args[2])
		storm(n)
		return
	}
	for _, part := range []struct {
		name string
		do   func()
	}{
		{"tcp", tcp}, {"udp", udp}, {"unix", unixSockets}, {"rights", rights}, {"http", serve},
		{"errors", errorTable}, {"blocking", blocking}, {"epoll", epolls}, {"model", model},
		{"options", options}, {"control", control}, {"many", many}, {"credentials", credentials}, {"groups", groups}, {"groups6", groups6},
		{"filters", filters},
		{"interfaces", interfaces},
	} {
		if len(os.Args) == 1 && part.name == "groups6" || len(os.Args) > 1 && !slices.Contains(os.Args[1:], part.name) {
			continue
		}
		fmt.Println("==", part.name)
		part.do()
	}
	fmt.Println("== end")
}

// ports finds what differs from run to run: ports that were chosen by the system, and
// names that it made up.
var ports = regexp.MustCompile(`(127\.0\.0\.\d+|\[::1?\]|0\.0\.0\.0):\d{4,5}`)

// say writes a line, with ports from the system made equal.
func say(format string, args ...any) {
	fmt.Println(ports.ReplaceAllString(fmt.Sprintf(format, args...), "$1:PORT"))
}

// must ends the program at an error where there should be none.
func must[T any](v T, err error) T {
	check(err)
	return v
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// kindOf says of an error what programs ask of it.
func kindOf(err error) string {
	if err == nil {
		return "no error"
	}
	s := err.Error()
	var ne net.Error
	if errors.As(err, &ne) && ne.Timeout() {
		s += " (timeout)"
	}
	if errors.Is(err, net.ErrClosed) {
		s += " (closed)"
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		s += " (deadline)"
	}
	return s
}

// why says it of a call's error.
func why[T any](_ T, err error) string { return kindOf(err) }

// storm makes and ends n connections one after the other, each with some bytes that are
// read and some that are not: what they leave behind would soon fill a small memory.
func storm(n int) {
	ln := must(net.Listen("tcp", "127.0.0.1:0"))
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			var b [4]byte
			c.Read(b[:])
			c.Write([]byte("reply"))
			c.Close()
		}
	}()
	for i := range n {
		c, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			fmt.Println("connection", i, err)
			os.Exit(1)
		}
		c.SetDeadline(time.Now().Add(10 * time.Minute))
		c.Write([]byte("ask"))
		if i%2 == 0 {
			var b [8]byte
			if _, err := c.Read(b[:]); err != nil {
				fmt.Println("connection", i, err)
				os.Exit(1)
			}
		}
		c.Close()
	}
	ln.Close()
	fmt.Println(strings.Repeat("=", 3), n, "connections")
}
