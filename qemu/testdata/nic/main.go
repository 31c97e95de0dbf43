// A program that sends and receives frames by /dev/nic0, and tells what it has seen, for
// ../../run_network_test.go: ARP with the gateway, datagrams that a program on the host
// sends back after a while and in bursts, and what must be refused. Its argument is the
// host's port.
package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"
)

var (
	mac      = [6]byte{0x52, 0x54, 0, 0x12, 0x34, 0x56} // QEMU's for the first card
	gateway  [6]byte
	ourIP    = [4]byte{10, 0, 2, 15}
	theirIP  = [4]byte{10, 0, 2, 2}
	hostPort uint16
	card     *os.File
)

func main() {
	n, err := strconv.Atoi(os.Args[1])
	if err != nil {
		fail("the port", err)
	}
	hostPort = uint16(n)
	card, err = os.OpenFile("/dev/nic0", os.O_RDWR, 0)
	if err != nil {
		fmt.Println("no card:", err)
		os.Exit(7)
	}
	resolve()
	echo()
	burst()
	refuse()
	interrupted()
	restart()
	fmt.Println("finished")
}

func fail(what string, err error) {
	fmt.Printf("FAILED %s: %v\n", what, err)
	os.Exit(1)
}

// read returns the next frame for which wanted is true.
func read(patience time.Duration, wanted func([]byte) bool) ([]byte, error) {
	if err := card.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	buf := make([]byte, 2048)
	for {
		n, err := card.Read(buf)
		if err != nil {
			return nil, err
		}
		if wanted(buf[:n]) {
			return buf[:n], nil
		}
	}
}

func send(frame []byte) {
	if n, err := card.Write(frame); n != len(frame) || err != nil {
		fail("a write", err)
	}
}

func isARPReply(b []byte) bool {
	return len(b) >= 42 && binary.BigEndian.Uint16(b[12:]) == 0x806 && b[21] == 2 && [4]byte(b[28:32]) == theirIP
}

// resolve asks for the gateway's hardware address, until someone answers: QEMU's e1000
// takes nothing in the first second.
func resolve() {
	var err error
	for range 50 {
		ask := []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
		ask = append(ask, mac[:]...)
		ask = append(ask, 8, 6, 0, 1, 8, 0, 6, 4, 0, 1)
		ask = append(append(ask, mac[:]...), ourIP[:]...)
		ask = append(append(ask, 0, 0, 0, 0, 0, 0), theirIP[:]...)
		send(ask)
		var b []byte
		if b, err = read(300*time.Millisecond, isARPReply); err == nil {
			gateway = [6]byte(b[22:28])
			fmt.Printf("gateway % x\n", gateway)
			return
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
	}
	fail("ARP", err)
}

// datagram makes a frame with a UDP datagram to the host.
func datagram(text string) []byte {
	n := 20 + 8 + len(text)
	b := append(append(append([]byte(nil), gateway[:]...), mac[:]...), 8, 0)
	b = append(b, 0x45, 0, byte(n>>8), byte(n), 0, 0, 0, 0, 64, 17, 0, 0)
	b = append(append(b, ourIP[:]...), theirIP[:]...)
	sum := uint32(0)
	for i := 14; i < 34; i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	sum = sum&0xffff + sum>>16
	binary.BigEndian.PutUint16(b[24:], ^uint16(sum&0xffff+sum>>16))
	b = binary.BigEndian.AppendUint16(b, 4000)
	b = binary.BigEndian.AppendUint16(b, hostPort)
	b = binary.BigEndian.AppendUint16(b, uint16(8+len(text)))
	return append(append(b, 0, 0), text...)
}

func isDatagram(b []byte) bool {
	return len(b) >= 42 && binary.BigEndian.Uint16(b[12:]) == 0x800 && b[23] == 17 && binary.BigEndian.Uint16(b[34:]) == hostPort
}

// text returns what is in a datagram.
func text(b []byte) string { return string(b[42 : 34+binary.BigEndian.Uint16(b[38:])]) }

// echo sends datagrams that come back a while later; the program sleeps until then.
func echo() {
	for i := range 10 {
		long := fmt.Sprintf("back %d %0*d", i, 1+150*i, i)
		send(datagram(long))
		b, err := read(10*time.Second, isDatagram)
		if err != nil {
			fail("an echo", err)
		}
		if text(b) != long {
			fail("an echo", fmt.Errorf("%q; want %q", text(b), long))
		}
	}
	fmt.Println("echoed")
}

// burst asks for as many datagrams as there are buffers, and reads them late.
func burst() {
	send(datagram("burst"))
	time.Sleep(200 * time.Millisecond)
	for i := range 12 {
		b, err := read(10*time.Second, isDatagram)
		if err != nil {
			fail("a burst", err)
		}
		if want := fmt.Sprintf("part %d", i); text(b) != want {
			fail("a burst", fmt.Errorf("%q; want %q", text(b), want))
		}
	}
	fmt.Println("burst")
}

// direct makes a call on the card's descriptor, which stays as it is.
func direct(call func(fd int) error) (err error) {
	c, e := card.SyscallConn()
	if e == nil {
		e = c.Control(func(fd uintptr) { err = call(int(fd)) })
	}
	if e != nil {
		return e
	}
	return err
}

// refuse does what must not work.
func refuse() {
	for n, want := range map[int]error{0: syscall.EINVAL, 13: syscall.EINVAL, 14: nil, 1518: nil, 1519: syscall.EMSGSIZE, 9000: syscall.EMSGSIZE} {
		frame := make([]byte, n)
		if n >= 14 {
			copy(frame, []byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xb6})
		}
		// (os.File.Write makes no call for nothing.)
		err := direct(func(fd int) (err error) { _, err = syscall.Write(fd, frame); return })
		if !errors.Is(err, want) {
			fail(fmt.Sprintf("a write of %d bytes", n), err)
		}
	}
	var err error
	for err == nil {
		err = direct(func(fd int) (err error) { _, err = syscall.Read(fd, make([]byte, 100)); return })
	}
	if err != syscall.EAGAIN {
		fail("an empty read", err)
	}
	// A frame that is longer than the buffer is cut off.
	send(datagram("back cut off"))
	buf := make([]byte, 20)
	card.SetReadDeadline(time.Now().Add(10 * time.Second))
	if n, err := card.Read(buf); n != 20 || err != nil || [6]byte(buf) != mac {
		fail("a short read", fmt.Errorf("%d bytes, % x, %v", n, buf, err))
	}
	if _, err := card.Seek(0, 0); err != nil {
		fail("Seek", err)
	}
	if _, err := os.Stat("/dev/nic0"); err != nil {
		fail("Stat", err)
	}
	fmt.Println("refused")
}
