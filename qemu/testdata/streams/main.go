// Streams does with its standard input and output what its first argument says.
package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/pprof"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	_ "github.com/zeroframe/zeroframe/kernel"
)

func main() {
	// What the packages have started runs first, so that a ^C does not find it at work.
	runtime.Gosched()
	switch os.Args[1] {
	case "park":
		park()
	case "keys":
		keys()
	case "echo":
		echo(number(2))
	case "hash":
		hash(number(2))
	case "write":
		write(os.Args[2])
	case "wait":
		fmt.Println("ready")
		time.Sleep(time.Hour)
	}
}

func number(i int) int {
	n, err := strconv.Atoi(os.Args[i])
	if err != nil {
		panic(err)
	}
	return n
}

// park reads from 200 pipes and the standard input, of which nothing comes, and works
// meanwhile.
func park() {
	const pipes = 200
	before := pprof.Lookup("threadcreate").Count()
	done := make(chan error)
	var ends []*os.File
	for range pipes {
		r, w, err := os.Pipe()
		if err != nil {
			panic(err)
		}
		ends = append(ends, w)
		go func() {
			_, err := r.Read(make([]byte, 1))
			done <- err
		}()
	}
	var line atomic.Pointer[string]
	go func() {
		s, _ := bufio.NewReader(os.Stdin).ReadString('\n')
		line.Store(&s)
	}()
	count := 0
	for range 20 {
		time.Sleep(time.Millisecond)
		count++
	}
	fmt.Println("counted to", count, "with", pprof.Lookup("threadcreate").Count()-before, "more threads")
	for line.Load() == nil {
		time.Sleep(time.Millisecond)
	}
	for _, w := range ends {
		w.Close()
		if err := <-done; err != io.EOF {
			panic(err)
		}
	}
	fmt.Printf("read %q with %d more threads\n", *line.Load(), pprof.Lookup("threadcreate").Count()-before)
}

// keys says what each read returns, and each SIGINT.
func keys() {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGINT)
	go func() {
		for s := range c {
			fmt.Println("signal:", s)
		}
	}()
	fmt.Println("ready")
	buf := make([]byte, 5000)
	for {
		n, err := os.Stdin.Read(buf)
		switch {
		case err == io.EOF:
			fmt.Println("end of file")
		case err != nil:
			panic(err)
		case n > 200:
			fmt.Printf("read %d bytes, %x\n", n, sha256.Sum256(buf[:n]))
		default:
			fmt.Printf("read %q\n", buf[:n])
		}
		if string(buf[:n]) == "exit\n" {
			return
		}
	}
}

// echo writes n bytes as they come.
func echo(n int) {
	fmt.Println("ready")
	if _, err := io.CopyN(os.Stdout, os.Stdin, int64(n)); err != nil {
		panic(err)
	}
}

// hash reads n bytes, or to the end, and says what their sum is. It is in no hurry, so
// that more comes than can be kept.
func hash(n int) {
	fmt.Println("ready")
	time.Sleep(300 * time.Millisecond)
	var r io.Reader = os.Stdin
	if n > 0 {
		r = io.LimitReader(r, int64(n))
	}
	h := sha256.New()
	got, err := io.Copy(h, r)
	fmt.Printf("%d bytes, %v, %x\n", got, err, h.Sum(nil))
}

// write writes much and ends at once.
func write(end string) {
	var b bytes.Buffer
	for i := 0; b.Len() < 200<<10; i++ {
		fmt.Fprintln(&b, "line", i)
	}
	if _, err := os.Stdout.Write(b.Bytes()); err != nil {
		panic(err)
	}
	switch end {
	case "return":
	case "exit":
		os.Exit(3)
	case "syscall":
		syscall.Exit(4)
	case "panic":
		panic(errors.New("the end"))
	case "goroutine":
		go panic("the end")
		select {}
	case "fault":
		*none = 1
	case "throw":
		m := map[int]int{}
		for range 2 {
			go func() {
				for {
					m[1]++
				}
			}()
		}
		select {}
	case "deadlock":
		select {}
	case "signal":
		syscall.Kill(syscall.Getpid(), syscall.SIGTERM)
		select {}
	}
}

var none *int
