// Ptys does with pseudo-terminals what programs do, by system calls: at both ends, in lines and
// raw, waiting and not, and after one end is gone.
package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
	"unsafe"

	_ "github.com/zeroframe/zeroframe/kernel"
)

const (
	tcgets, tcsets, tcsetsw, tcsetsf = 0x5401, 0x5402, 0x5403, 0x5404
	tcsbrk, tcflsh                   = 0x5409, 0x540b
	tiocsctty, tiocgpgrp, tiocspgrp  = 0x540e, 0x540f, 0x5410
	tiocgwinsz, tiocswinsz           = 0x5413, 0x5414
	fionread, tiocgptpeer            = 0x541b, 0x5441
	tiocsptlck, tiocgptlck           = 0x40045431, 0x80045439
	tiocgptn                         = 0x80045430

	nonblock = syscall.O_NONBLOCK
	rdwr     = syscall.O_RDWR | syscall.O_NOCTTY
)

func main() {
	open()
	settings()
	sizes()
	lines()
	editing()
	flow()
	raw()
	output()
	hangUp()
	waits()
	many()
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func ioctl(fd int, op uintptr, arg unsafe.Pointer) (int, error) {
	n, _, e := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), op, uintptr(arg))
	if e != 0 {
		return -1, e
	}
	return int(n), nil
}

func number(fd int) (n uint32, err error) {
	_, err = ioctl(fd, tiocgptn, unsafe.Pointer(&n))
	return n, err
}

func lock(fd int, v int32) error {
	_, err := ioctl(fd, tiocsptlck, unsafe.Pointer(&v))
	return err
}

func name(master int) string {
	n, err := number(master)
	check(err)
	return fmt.Sprintf("/dev/pts/%d", n)
}

// pair opens both ends.
func pair() (master, slave int) {
	master, err := syscall.Open("/dev/ptmx", rdwr, 0)
	check(err)
	check(lock(master, 0))
	slave, err = syscall.Open(name(master), rdwr, 0)
	check(err)
	return master, slave
}

func write(fd int, s string) {
	if n, err := syscall.Write(fd, []byte(s)); n != len(s) {
		fmt.Printf("  writing %q: %d, %v\n", s, n, err)
	}
}

// read reads once.
func read(fd, n int) string {
	b := make([]byte, n)
	n, err := syscall.Read(fd, b)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%q", b[:n])
}

// readFull reads so many bytes.
func readFull(fd, n int) string {
	b := make([]byte, n)
	for have := 0; have < n; {
		m, err := syscall.Read(fd, b[have:])
		if err != nil || m == 0 {
			return fmt.Sprintf("%q, %v", b[:have], err)
		}
		have += m
	}
	return fmt.Sprintf("%q", b)
}

type pollFD struct {
	fd      int32
	events  int16
	revents int16
}

// poll says what is so of a descriptor, after milliseconds at most.
func poll(fd int, events int16, milliseconds int) string {
	p := pollFD{fd: int32(fd), events: events}
	syscall.Syscall(syscall.SYS_POLL, uintptr(unsafe.Pointer(&p)), 1, uintptr(milliseconds))
	all := []string{}
	for i, name := range []string{"IN", "PRI", "OUT", "ERR", "HUP"} {
		if p.revents>>i&1 != 0 {
			all = append(all, name)
		}
	}
	return "[" + strings.Join(all, " ") + "]"
}

const in, out = 1, 4

func get(fd int) (t syscall.Termios, err error) {
	_, err = ioctl(fd, tcgets, unsafe.Pointer(&t))
	return t, err
}

// change changes settings.
func change(fd int, op uintptr, f func(t *syscall.Termios)) {
	t, err := get(fd)
	check(err)
	f(&t)
	_, err = ioctl(fd, op, unsafe.Pointer(&t))
	check(err)
}

func buffered(fd int) (n int32, err error) {
	_, err = ioctl(fd, fionread, unsafe.Pointer(&n))
	return n, err
}

func open() {
	fmt.Println("== open")
	master, err := syscall.Open("/dev/ptmx", rdwr, 0)
	check(err)
	path := name(master)
	_, err = syscall.Open(path, rdwr, 0)
	fmt.Println("locked:", err)
	var locked int32
	_, err = ioctl(master, tiocgptlck, unsafe.Pointer(&locked))
	fmt.Println("is locked:", locked, err)
	_, err = ioctl(master, tiocgptpeer, unsafe.Pointer(uintptr(rdwr)))
	fmt.Println("its peer:", err)
	fmt.Println("unlock:", lock(master, 0))
	slave, err := syscall.Open(path, rdwr, 0)
	fmt.Println("slave:", slave > master, err)
	peer, err := ioctl(master, tiocgptpeer, unsafe.Pointer(uintptr(rdwr|nonblock)))
	fmt.Println("peer:", peer > slave, err)
	fmt.Println("peer:", read(peer, 10))
	write(peer, "from the peer")
	fmt.Println("master:", readFull(master, 13))
	_, err = number(slave)
	fmt.Println("the slave's number:", err)
	fmt.Println("the slave's lock:", lock(slave, 1))
	_, err = ioctl(master, tiocgptn, nil)
	fmt.Println("number to nowhere:", err)
	_, err = ioctl(master, 0x54ff, nil)
	fmt.Println("no such control:", err)
	var st, other syscall.Stat_t
	check(syscall.Fstat(slave, &st))
	check(syscall.Stat(path, &other))
	fmt.Printf("slave: a device %v, the same %v, its number %v\n", st.Mode&syscall.S_IFMT == syscall.S_IFCHR, st.Ino == other.Ino, fmt.Sprintf("/dev/pts/%d", st.Rdev&0xff) == path)
	check(syscall.Fstat(master, &st))
	fmt.Printf("master: %x\n", st.Rdev)
	link, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", slave))
	fmt.Println("link:", link == path, err)
	for _, fd := range []int{master, slave} {
		_, err = syscall.Seek(fd, 0, 1)
		fmt.Print("seek: ", err)
		_, err = syscall.Pread(fd, make([]byte, 1), 0)
		fmt.Print(", pread: ", err)
		_, err = syscall.Pwrite(fd, make([]byte, 1), 0)
		fmt.Print(", pwrite: ", err)
		flags, err := fcntl(fd)
		fmt.Printf(", flags %#x %v\n", flags, err)
		var pgrp int32 = 1
		_, err = ioctl(fd, tiocgpgrp, unsafe.Pointer(&pgrp))
		fmt.Print("group: ", pgrp, " ", err)
		_, err = ioctl(fd, tiocspgrp, unsafe.Pointer(&pgrp))
		fmt.Print(", ", err)
		_, err = ioctl(fd, tiocsctty, nil)
		fmt.Println(", controlling:", err)
	}
	syscall.Close(peer)
	syscall.Close(slave)
	syscall.Close(master)
	_, err = syscall.Open(path, rdwr, 0)
	fmt.Println("after the end:", err)
}

func fcntl(fd int) (uintptr, error) {
	n, _, e := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFL, 0)
	if e != 0 {
		return 0, e
	}
	return n, nil
}

func settings() {
	fmt.Println("== settings")
	master, slave := pair()
	show := func(what string, fd int) {
		t, err := get(fd)
		fmt.Printf("%s: %#x %#x %#x %#x line %d %x %v\n", what, t.Iflag, t.Oflag, t.Cflag, t.Lflag, t.Line, t.Cc[:19], err)
	}
	show("slave", slave)
	show("master", master)
	change(slave, tcsets, func(t *syscall.Termios) {
		t.Lflag &^= syscall.ECHO
		t.Cflag = t.Cflag&^syscall.CSIZE | syscall.CS7 | syscall.PARENB
		t.Cc[syscall.VTIME] = 3
	})
	show("slave", slave)
	show("master", master)
	change(master, tcsetsw, func(t *syscall.Termios) { t.Lflag |= syscall.ECHO })
	show("slave", slave)
	_, err := ioctl(slave, tcsets, nil)
	fmt.Println("from nowhere:", err)
	syscall.Close(slave)
	show("slave closed", master)
	slave, err = syscall.Open(name(master), rdwr, 0)
	check(err)
	show("again", slave)
	for _, fd := range []int{master, slave} {
		for arg := uintptr(0); arg < 4; arg++ {
			_, err := ioctl(fd, tcflsh, unsafe.Pointer(arg))
			fmt.Print("flush ", arg, ": ", err, " ")
		}
		_, err := ioctl(fd, tcsbrk, unsafe.Pointer(uintptr(1)))
		fmt.Println("drain:", err)
	}
	syscall.Close(slave)
	syscall.Close(master)
}

func sizes() {
	fmt.Println("== sizes")
	master, slave := pair()
	show := func() {
		for _, fd := range []int{master, slave} {
			size := [4]uint16{9, 9, 9, 9}
			_, err := ioctl(fd, tiocgwinsz, unsafe.Pointer(&size))
			fmt.Print(size, " ", err, " ")
		}
		fmt.Println()
	}
	show()
	size := [4]uint16{24, 80, 640, 480}
	_, err := ioctl(master, tiocswinsz, unsafe.Pointer(&size))
	fmt.Println(err)
	show()
	size[0] = 50
	_, err = ioctl(slave, tiocswinsz, unsafe.Pointer(&size))
	fmt.Println(err)
	show()
	_, err = ioctl(slave, tiocswinsz, nil)
	fmt.Println(err)
	syscall.Close(slave)
	syscall.Close(master)
}

// lines: what is typed is shown, and read line by line.
func lines() {
	fmt.Println("== lines")
	master, slave := pair()
	fmt.Println(poll(master, in|out, 0), poll(slave, in|out, 0))
	write(master, "ab")
	fmt.Println("shown:", readFull(master, 2), poll(slave, in, 0), poll(master, in, 0))
	write(master, "c\rdef\nghi")
	fmt.Println("shown:", readFull(master, 11), poll(slave, in|out, 0))
	n, err := buffered(slave)
	fmt.Println("buffered:", n, err)
	fmt.Println("read:", read(slave, 2), read(slave, 100), read(slave, 100))
	fmt.Println(poll(slave, in, 0))
	write(master, "\x04")
	fmt.Println("end in a line:", read(slave, 100))
	write(master, "\x04")
	fmt.Println("end:", read(slave, 100))
	write(master, "\x04x\x04\n")
	fmt.Println("ends:", read(slave, 100), read(slave, 100), read(slave, 100))
	fmt.Println("shown:", readFull(master, 3))
	write(slave, "one\ntwo\r\n")
	fmt.Println("written:", readFull(master, 11), poll(master, in, 0))
	change(slave, tcsets, func(t *syscall.Termios) { t.Lflag &^= syscall.ECHO })
	write(master, "secret\n")
	fmt.Println("without echo:", read(slave, 100), poll(master, in, 0))
	change(slave, tcsets, func(t *syscall.Termios) { t.Lflag |= syscall.ECHO; t.Cc[syscall.VEOL] = ';' })
	write(master, "x;y;\n")
	fmt.Println("another line end:", read(slave, 100), read(slave, 100), read(slave, 100), readFull(master, 6))
	change(slave, tcsets, func(t *syscall.Termios) { t.Iflag |= syscall.INLCR; t.Iflag &^= syscall.ICRNL; t.Cc[syscall.VEOL] = 0 })
	write(master, "a\rb\n\x04")
	fmt.Println("INLCR:", read(slave, 100), readFull(master, 6))
	change(slave, tcsets, func(t *syscall.Termios) { t.Iflag = syscall.IGNCR })
	write(master, "a\rb\n")
	fmt.Println("IGNCR:", read(slave, 100), readFull(master, 4))
	change(slave, tcsets, func(t *syscall.Termios) { t.Iflag = syscall.ICRNL })
	write(master, "dropped")
	fmt.Println("shown:", readFull(master, 7))
	change(slave, tcsetsf, func(t *syscall.Termios) {})
	write(master, "kept\n")
	fmt.Println("flushed:", read(slave, 100), readFull(master, 6))
	syscall.Close(slave)
	syscall.Close(master)
}

// editing: the keys that change a line, and what is shown of them.
func editing() {
	fmt.Println("== editing")
	master, slave := pair()
	for _, tt := range []struct {
		typed string
		utf8  bool
	}{
		{typed: "abc\x7fd\n"}, {typed: "\x7f\x7fa\n"}, {typed: "a\bb\n"}, {typed: "one two  \x17x\n"}, {typed: "one two\x15x\n"},
		{typed: "a\tb\x7f\x7f\x7fc\n"}, {typed: "a\x01\x7f\x01b\n"}, {typed: "é\x7f\x7fa\n"}, {typed: "é€\x7fa\n", utf8: true},
		{typed: "a\x16\x7fb\x16\x16\n"}, {typed: "a\x16\x03\x16\x04\n"}, {typed: "\x1b[A\x00\n"},
		{typed: "wrong\x03right\n"}, {typed: "wrong\x1cright\n"}, {typed: "wrong\x1aright\n"},
	} {
		change(slave, tcsets, func(t *syscall.Termios) {
			t.Iflag &^= syscall.IUTF8
			if tt.utf8 {
				t.Iflag |= syscall.IUTF8
			}
		})
		write(master, tt.typed)
		line := read(slave, 100)
		write(slave, "#")
		shown := ""
		for !strings.HasSuffix(shown, "#") {
			var b [1]byte
			syscall.Read(master, b[:])
			shown += string(b[:])
		}
		if strings.Contains(tt.typed, "wrong") { // that may have been shown before it was dropped
			_, shown, _ = strings.Cut(shown, "^")
		}
		fmt.Printf("%q %v: %s, shown %q\n", tt.typed, tt.utf8, line, shown)
	}
	change(slave, tcsets, func(t *syscall.Termios) { t.Lflag &^= syscall.ISIG })
	write(master, "a\x03b\x1c\n")
	fmt.Println("no signals:", read(slave, 100), readFull(master, 8))
	syscall.Close(slave)
	syscall.Close(master)
}

// flow: ^S stops the output, ^Q lets it go on.
func flow() {
	fmt.Println("== flow")
	master, slave := pair()
	check(syscall.SetNonblock(slave, true))
	write(master, "\x13\n")
	check(syscall.SetNonblock(slave, false))
	fmt.Println("a line:", read(slave, 10))
	check(syscall.SetNonblock(slave, true))
	n, err := syscall.Write(slave, []byte("stopped"))
	fmt.Println("stopped:", n, err, poll(slave, out, 0))
	write(master, "\x11\n")
	check(syscall.SetNonblock(slave, false))
	fmt.Println("a line:", read(slave, 10))
	write(slave, "goes on")
	got := ""
	for !strings.HasSuffix(got, "on") {
		var b [1]byte
		syscall.Read(master, b[:])
		got += string(b[:])
	}
	fmt.Printf("goes on: %q\n", strings.ReplaceAll(got, "\r\n", "")) // an echo can wait
	change(slave, tcsets, func(t *syscall.Termios) { t.Iflag &^= syscall.IXON })
	write(master, "\x13\x11\n")
	fmt.Println("as others:", read(slave, 10), readFull(master, 6))
	syscall.Close(slave)
	syscall.Close(master)
}

func makeRaw(t *syscall.Termios) {
	t.Iflag &^= syscall.IGNBRK | syscall.BRKINT | syscall.PARMRK | syscall.ISTRIP | syscall.INLCR | syscall.IGNCR | syscall.ICRNL | syscall.IXON
	t.Oflag &^= syscall.OPOST
	t.Lflag &^= syscall.ECHO | syscall.ECHONL | syscall.ICANON | syscall.ISIG | syscall.IEXTEN
	t.Cc[syscall.VMIN], t.Cc[syscall.VTIME] = 1, 0
}

func raw() {
	fmt.Println("== raw")
	master, slave := pair()
	write(master, "typed before")
	fmt.Println("shown:", readFull(master, 12), poll(slave, in, 0))
	change(slave, tcsets, makeRaw)
	fmt.Println("read:", poll(slave, in, 0), read(slave, 100))
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	write(master, string(all))
	fmt.Println("all bytes, in:", readFull(slave, 256) == fmt.Sprintf("%q", all))
	write(slave, string(all))
	fmt.Println("all bytes, out:", readFull(master, 256) == fmt.Sprintf("%q", all))
	change(slave, tcsets, func(t *syscall.Termios) { t.Cc[syscall.VMIN] = 0 })
	fmt.Println("none:", read(slave, 10), poll(slave, in, 0))
	change(slave, tcsets, func(t *syscall.Termios) { t.Cc[syscall.VTIME] = 2 })
	start := time.Now()
	fmt.Println("none in time:", read(slave, 10), time.Since(start) > 150*time.Millisecond)
	write(master, "in time")
	fmt.Println("in time:", readFull(slave, 7))
	change(slave, tcsets, func(t *syscall.Termios) { t.Cc[syscall.VMIN], t.Cc[syscall.VTIME] = 4, 0; t.Lflag |= syscall.ECHO })
	write(master, "abc")
	fmt.Println("too few:", readFull(master, 3), poll(slave, in, 0))
	n, err := buffered(slave)
	fmt.Println("buffered:", n, err, read(slave, 2))
	write(master, "def")
	fmt.Println("enough:", readFull(master, 3), poll(slave, in, 0), read(slave, 10))
	change(slave, tcsets, func(t *syscall.Termios) { t.Cc[syscall.VMIN] = 1 })
	write(master, "\x01\x7f\n\r")
	fmt.Println("shown:", readFull(master, 8), readFull(slave, 4))
	change(slave, tcsets, func(t *syscall.Termios) { t.Lflag |= syscall.ICANON })
	write(master, "line\n")
	fmt.Println("lines again:", read(slave, 100), readFull(master, 5))
	syscall.Close(slave)
	syscall.Close(master)
}

// output: how line ends go out.
func output() {
	fmt.Println("== output")
	master, slave := pair()
	for _, flags := range []uint32{0, syscall.OPOST, syscall.OPOST | syscall.ONLCR, syscall.ONLCR} {
		change(slave, tcsets, func(t *syscall.Termios) { t.Oflag = flags })
		write(slave, "a\nb\r\n\tc\x00.")
		want := 9
		if flags == syscall.OPOST|syscall.ONLCR {
			want = 11
		}
		fmt.Printf("%#x: %s\n", flags, readFull(master, want))
	}
	text := strings.Repeat("0123456789abcde\n", 2000)
	go write(slave, text)
	got := readFull(master, len(text))
	fmt.Println("much:", got == fmt.Sprintf("%q", text))
	change(slave, tcsets, makeRaw)
	go write(master, text)
	fmt.Println("much:", readFull(slave, len(text)) == fmt.Sprintf("%q", text))
	syscall.Close(slave)
	syscall.Close(master)
}

// hangUp: one end is closed.
func hangUp() {
	fmt.Println("== hang up")
	master, err := syscall.Open("/dev/ptmx", rdwr|nonblock, 0)
	check(err)
	check(lock(master, 0))
	fmt.Println("no slave yet:", read(master, 10), poll(master, in|out, 0))
	write(master, "before\n")
	fmt.Println("shown:", poll(master, in, 10_000), read(master, 10))
	slave, err := syscall.Open(name(master), rdwr, 0)
	check(err)
	fmt.Println("slave:", read(slave, 10))
	again, err := syscall.Open(name(master), rdwr, 0)
	check(err)
	write(slave, "last")
	syscall.Close(slave)
	fmt.Println("one of two:", poll(master, in|out, 10_000))
	syscall.Close(again)
	fmt.Println("both:", poll(master, in|out, 0))
	fmt.Println("master:", read(master, 10), read(master, 10), poll(master, in|out, 0))
	n, err := syscall.Write(master, []byte("nobody\n"))
	fmt.Println("write:", n, err)
	slave, err = syscall.Open(name(master), rdwr, 0)
	fmt.Println("opened again:", err, read(slave, 10), poll(master, out, 0))

	file := os.NewFile(uintptr(slave), "slave")
	dup, err := syscall.Dup(slave)
	check(err)
	path := name(master)
	syscall.Close(master)
	fmt.Println("slave:", poll(slave, in|out, 0), read(slave, 10))
	n, err = syscall.Write(slave, []byte("x"))
	fmt.Println("write:", n, err)
	_, err = get(slave)
	fmt.Println("settings:", err)
	_, err = buffered(slave)
	fmt.Println("buffered:", err)
	_, err = os.Stat(path)
	fmt.Println("name:", os.IsNotExist(err))
	fmt.Println(file.Close(), syscall.Close(dup))
}

// waits: who waits is told, by the Go runtime and by a call that waits itself.
func waits() {
	fmt.Println("== waits")
	open := func() (*os.File, *os.File) {
		master, err := os.OpenFile("/dev/ptmx", rdwr, 0)
		check(err)
		raw, err := master.SyscallConn()
		check(err)
		var path string
		check(raw.Control(func(fd uintptr) { check(lock(int(fd), 0)); path = name(int(fd)) }))
		slave, err := os.OpenFile(path, rdwr, 0)
		check(err)
		return master, slave
	}
	master, slave := open()
	done := make(chan string)
	receive := func(f *os.File, n int) {
		b := make([]byte, n)
		n, err := f.Read(b)
		if e, ok := err.(*os.PathError); ok {
			err = e.Err
		}
		done <- fmt.Sprintf("%q %v", b[:n], err)
	}
	go receive(slave, 10)
	master.WriteString("hello\n")
	fmt.Println("slave:", <-done)
	go receive(master, 7)
	fmt.Println("master:", <-done)
	check(master.SetReadDeadline(time.Now().Add(20 * time.Millisecond)))
	go receive(master, 10)
	fmt.Println("deadline:", <-done)
	check(master.SetReadDeadline(time.Time{}))
	go receive(master, 10)
	slave.Close()
	fmt.Println("the slave closes:", <-done)
	go receive(master, 10)
	fmt.Println("again:", <-done)
	master.Close()

	m, s := pair()
	go func() { done <- read(m, 10) }()
	write(s, "x")
	fmt.Println("master:", <-done)
	go func() { done <- read(m, 10) }()
	syscall.Close(s)
	fmt.Println("the slave closes:", <-done)
	syscall.Close(m)

	master, slave = open()
	go receive(slave, 10)
	runtimeTurn()
	master.Close()
	if got := <-done; got == `"" EOF` || got == `"" input/output error` { // as it happens
		fmt.Println("the master closes: the end")
	}
	go receive(slave, 10)
	fmt.Println("again:", <-done)
	slave.Close()
}

func runtimeTurn() { time.Sleep(time.Millisecond) }

// many: pairs are used again, and have nothing of what they were.
func many() {
	fmt.Println("== many")
	for i := range 200 {
		m, s := pair()
		write(m, "left behind")
		write(s, "left behind")
		change(s, tcsets, makeRaw)
		if i%2 == 0 {
			m, s = s, m
		}
		syscall.Close(s)
		syscall.Close(m)
	}
	m, s := pair()
	write(m, "new\n")
	fmt.Println(read(s, 100), readFull(m, 5), poll(m, in, 0))
	syscall.Close(s)
	syscall.Close(m)
}
