// A server and client that dies with its network in use, for ../../inetdeath_test.go:
//
//	mortal KIND N HTTP UDP   its N-th event brings the death; the servers of the host are at HTTP, UDP
//
// An event is a request or datagram, of either side, that is answered.
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/dev/nic"
	"github.com/zeroframe/zeroframe/kernel/fault"
	"github.com/zeroframe/zeroframe/kernel/linux"
)

var (
	events atomic.Int64
	last   int64 // event that brings the death
	kind   string
)

func main() {
	kind = os.Args[1]
	last, _ = strconv.ParseInt(os.Args[2], 10, 64)
	linux.OnUnknown(inKernel)
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		io.Copy(w, io.LimitReader(r.Body, 1<<20))
		event()
	})
	http.HandleFunc("/die", func(http.ResponseWriter, *http.Request) { go panic("the end") })
	l, err := net.Listen("tcp", ":80")
	if err != nil {
		panic(err)
	}
	u, err := net.ListenPacket("udp", ":7")
	if err != nil {
		panic(err)
	}
	for range 2 {
		go get("http://" + os.Args[3] + "/")
		go send(os.Args[4])
	}
	go echo(u)
	fmt.Println("alive")
	panic(http.Serve(l, nil))
}

// get asks the host's server.
func get(url string) {
	client := http.Client{Timeout: time.Second}
	for {
		r, err := client.Get(url)
		if err != nil {
			continue
		}
		io.Copy(io.Discard, r.Body)
		r.Body.Close()
		event()
	}
}

// send sends datagrams to the host, which come back.
func send(to string) {
	c, err := net.Dial("udp", to)
	if err != nil {
		panic(err)
	}
	b := make([]byte, 4000)
	for n := 1; ; n = n*7%3001 + 1 {
		c.Write(b[:n])
		c.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		if _, err := c.Read(b); err == nil {
			event()
		}
	}
}

// echo sends back what comes.
func echo(c net.PacketConn) {
	b := make([]byte, 1<<16)
	for {
		n, from, err := c.ReadFrom(b)
		if err != nil {
			panic(err)
		}
		c.WriteTo(b[:n], from)
		event()
	}
}

// event counts one, and dies of the last.
func event() {
	if events.Add(1) == last {
		die()
	}
}

var (
	lock sync.Mutex
	null *[4]uint64
	sink uint64
)

//go:noinline
func die() {
	switch kind {
	case "nmi":
		fmt.Println("ask now")
	case "panic":
		go func() { panic("the last event") }()
	case "nil":
		go func() { null[1] = 1 }() // not here, where net/http may recover
	case "throw":
		lock.Unlock()
	case "wild":
		*(*byte)(arch.Pointer(1 << 60)) = 1
	case "overflow":
		debug.SetMaxStack(128 << 10)
		deep(1)
	default:
		syscall.RawSyscall(linux.OwnCalls, 0, 0, 0)
	}
}

//go:noinline
func deep(n uint64) uint64 { sink++; return deep(n+1) + n }

// inKernel runs in kernel context, with the kernel lock.
//
//go:noinline
func inKernel(number uintptr) int64 {
	switch kind {
	case "kernel":
		null[2] = 1
	case "kernel-overflow":
		arch.ClearStackGuard()
		deepInKernel()
	case "send":
		within(func() { nic.Post(frameAt(), len(frame)); nic.Send(frameAt(), len(frame)) })
	case "receive":
		within(func() { nic.Receive(uintptr(unsafe.Pointer(&room)), len(room)) })
	case "restart":
		within(func() { nic.Restart() })
	}
	return 0
}

//go:noinline
//lint:ignore SA5007 the stack is to end
func deepInKernel() { deepInKernel(); sink++ }

// frame is one that nobody takes.
var (
	frame = [60]byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xb5}
	room  [nic.MaxFrame]byte
)

func frameAt() uintptr { return uintptr(unsafe.Pointer(&frame)) }

// steps counts instructions; one of them faults.
var steps, strike int64

// within faults at one of the instructions of f, that last says.
func within(f func()) {
	fault.StepTraces(struck)
	f()
	fault.StepTraces(nil)
	strike = 1 + last%steps
	steps = 0
	fault.StepTraces(struck)
	f()
	fault.StepTraces(nil)
	null[3] = 1 // the second time it took fewer
}

// struck runs before each instruction.
func struck(uintptr) bool {
	if steps++; steps == strike {
		null[1] = 1
	}
	return false
}
