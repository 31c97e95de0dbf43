package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
)

// What files hold: room and holes, copies, pipes and sockets between them, memory that is shared.

// allocate: fallocate, and where files have holes.
func allocate() {
	const keep, punch, collapse, zero, insert, unshare = 1, 2, 8, 16, 32, 64
	f := fresh("a", strings.Repeat("x", 10000))
	fmt.Println(stat(f))
	do("keep the size", syscall.SYS_FALLOCATE, f, keep, 0, 100)
	do("longer, kept", syscall.SYS_FALLOCATE, f, keep, 0, 10001)
	fmt.Println(size("a"))
	do("longer", syscall.SYS_FALLOCATE, f, 0, 9000, 2000)
	fmt.Println(size("a"), content("a"))
	do("shorter", syscall.SYS_FALLOCATE, f, 0, 0, 5)
	do("punch alone", syscall.SYS_FALLOCATE, f, punch, 0, 4096)
	do("punch a page", syscall.SYS_FALLOCATE, f, punch|keep, 4096, 4096)
	fmt.Println(content("a"), stat(f))
	holes(f, 0, 4095, 4096, 5000, 8191, 8192, 10999, 11000)
	do("punch within a page", syscall.SYS_FALLOCATE, f, punch|keep, 10, 20)
	do("punch over pages", syscall.SYS_FALLOCATE, f, punch|keep, 100, 8200)
	fmt.Println(content("a"), stat(f))
	holes(f, 0, 1, 4096, 8192, 8299, 8300)
	do("punch behind the end", syscall.SYS_FALLOCATE, f, punch|keep, 10990, 100000)
	do("punch far away", syscall.SYS_FALLOCATE, f, punch|keep, 1<<40, 1<<40)
	fmt.Println(content("a"), stat(f))
	for _, mode := range []uintptr{collapse, zero, zero | keep, insert, unshare, collapse | keep, punch | zero, 4, 128, none} {
		do(fmt.Sprintf("mode %#x", uint32(mode)), syscall.SYS_FALLOCATE, f, mode, 0, 4096)
	}
	do("no length", syscall.SYS_FALLOCATE, f, punch|keep, 0, 0)
	do("before the beginning", syscall.SYS_FALLOCATE, f, punch|keep, none, 1)
	do("too far", syscall.SYS_FALLOCATE, f, 0, 1<<63-10, 100)
	do("a folder", syscall.SYS_FALLOCATE, open(".", 0), 0, 0, 100)
	do("reading only", syscall.SYS_FALLOCATE, open("a", 0), 0, 0, 100)
	r, w := pipe(0)
	do("a pipe", syscall.SYS_FALLOCATE, w, 0, 0, 100)
	do("its other end", syscall.SYS_FALLOCATE, r, 0, 0, 100)
	closeAll(r, w)
	do("sparse", syscall.SYS_FTRUNCATE, f, 1<<40)
	_, err := syscall.Pwrite(int(f), []byte("far"), 1<<39+5)
	must(err)
	holes(f, 20000, 1<<39, 1<<39+4096, 1<<40-1)
	mapped(f)
	closeAll(f)
}

func size(name string) int64 {
	i, err := os.Stat(name)
	must(err)
	return i.Size()
}

func holes(f uintptr, offsets ...int64) {
	for _, off := range offsets {
		const data, hole = 3, 4
		fmt.Println("from", off, "data", call(syscall.SYS_LSEEK, f, uintptr(off), data), "hole", call(syscall.SYS_LSEEK, f, uintptr(off), hole))
	}
	syscall.Seek(int(f), 0, 0)
}

// mapped punches a hole where the program has mapped the file.
func mapped(f uintptr) {
	must(syscall.Ftruncate(int(f), 0))
	_, err := syscall.Pwrite(int(f), []byte(strings.Repeat("m", 12288)), 0)
	must(err)
	m, err := syscall.Mmap(int(f), 0, 12288, 3, syscall.MAP_SHARED)
	must(err)
	m[4096], m[8192] = 'a', 'b'
	do("punch what is mapped", syscall.SYS_FALLOCATE, f, 3, 4096, 4096)
	fmt.Printf("%q\n", []byte{m[0], m[4095], m[4096], m[8191], m[8192]})
	m[4097] = 'c'
	b := make([]byte, 4)
	_, err = syscall.Pread(int(f), b, 4095)
	fmt.Printf("%q %v\n", b, err)
	must(syscall.Munmap(m))
}

func copies() {
	const sysCopy = 326
	in, out := fresh("in", "0123456789"), fresh("out", "")
	do("copy 4", sysCopy, in, 0, out, 0, 4, 0)
	do("copy the rest", sysCopy, in, 0, out, 0, 100, 0)
	do("copy at the end", sysCopy, in, 0, out, 0, 100, 0)
	fmt.Println(content("out"), place(in), place(out))
	a, offs := words(2, 20)
	do("by offsets", sysCopy, in, a, out, a+8, 5, 0)
	fmt.Println(offs, content("out"), place(in), place(out))
	do("over itself", sysCopy, in, wordsAt(0), in, wordsAt(3), 5, 0)
	do("beside itself", sysCopy, in, wordsAt(0), in, wordsAt(5), 5, 0)
	fmt.Println(content("in"))
	do("flags", sysCopy, in, 0, out, 0, 5, 1)
	do("negative", sysCopy, in, wordsAt(^uint64(0)), out, 0, 5, 0)
	do("to a negative", sysCopy, in, wordsAt(0), out, wordsAt(^uint64(4)), 5, 0)
	do("nothing", sysCopy, in, wordsAt(0), out, 0, 0, 0)
	do("a bad place", sysCopy, in, 8, out, 0, 5, 0)
	do("to an appender", sysCopy, in, wordsAt(0), open("out", syscall.O_WRONLY|syscall.O_APPEND), 0, 5, 0)
	do("to a reader", sysCopy, in, wordsAt(0), open("out", 0), 0, 5, 0)
	do("from a writer", sysCopy, open("in", 1), wordsAt(0), out, 0, 5, 0)
	do("from a folder", sysCopy, open(".", 0), 0, out, 0, 5, 0)
	r, w := pipe(0)
	do("from a pipe", sysCopy, r, 0, out, 0, 5, 0)
	do("to a pipe", sysCopy, in, wordsAt(0), w, 0, 5, 0)
	do("from nowhere", sysCopy, 999, 0, out, 0, 5, 0)
	big := fresh("big", strings.Repeat("0123456789abcdef", 20000))
	do("much", sysCopy, big, 0, out, wordsAt(3000), 1<<40, 0)
	fmt.Println(content("out"))
	must(syscall.Ftruncate(int(big), 1<<20))
	do("holes", sysCopy, big, wordsAt(319990), out, wordsAt(0), 5000, 0)
	fmt.Println(content("out"))
	closeAll(in, out, r, w, big)
	from, err := os.Open("in")
	must(err)
	to, err := os.Create("to")
	must(err)
	n, err := to.ReadFrom(from)
	fmt.Println("package os:", n, err, content("to"))
}

func sends() {
	in := fresh("in", "0123456789")
	send := func(what string, out, in, off, n uintptr) { do("send to "+what, syscall.SYS_SENDFILE, out, in, off, n) }
	out := fresh("sent", "......")
	send("a file", out, in, 0, 4)
	fmt.Println(content("sent"), place(in), place(out))
	a, off := words(6)
	send("a file, by offset", out, in, a, 100)
	fmt.Println(content("sent"), off, place(in), place(out))
	send("a file, at the end", out, in, wordsAt(10), 100)
	send("itself", in, in, wordsAt(0), 5)
	fmt.Println(content("in"))
	r, w := pipe(syscall.O_NONBLOCK)
	send("a pipe", w, in, wordsAt(0), 7)
	fmt.Println(got(r, 100))
	send("a reading end", r, in, wordsAt(0), 7)
	big := fresh("big", strings.Repeat("0123456789abcdef", 20000))
	send("a pipe, much", w, big, wordsAt(0), 1<<30)
	send("a full pipe", w, big, wordsAt(0), 1<<30)
	var s [2]int
	s, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	must(err)
	send("a socket", u(s[0]), in, wordsAt(3), 4)
	fmt.Println(got(u(s[1]), 100))
	null, zero := open("/dev/null", 2), open("/dev/zero", 2)
	send("/dev/null", null, in, wordsAt(0), 100)
	send("a file from /dev/zero", out, zero, 0, 5)
	fmt.Println(content("sent"))
	send("a file from /dev/null", out, null, 0, 5)
	send("a file from a pipe", out, r, 0, 5)
	send("a file from a socket", out, u(s[1]), 0, 5)
	send("a file from a folder", out, open(".", 0), 0, 5)
	send("a reader", open("sent", 0), in, wordsAt(0), 5)
	send("an appender", open("sent", 1|syscall.O_APPEND), in, wordsAt(0), 5)
	send("a file from a writer", out, open("in", 1), wordsAt(0), 5)
	send("a file, bad place", out, in, 8, 5)
	send("a file, negative", out, in, wordsAt(^uint64(0)), 5)
	send("a file, negative size", out, in, wordsAt(0), none)
	send("nowhere", 999, in, wordsAt(0), 5)
	send("a file from nowhere", out, 999, 0, 5)
	ev := u(call(290, 0, 0))
	send("an event counter", ev, in, wordsAt(0), 8)
	closeAll(in, out, r, w, big, u(s[0]), u(s[1]), null, zero, ev)
}

func splices() {
	const nonblock = 2
	in, out := fresh("in", "0123456789"), fresh("out", "......")
	r, w := pipe(0)
	splice := func(what string, in, offIn, out, offOut, n, flags uintptr) {
		do("splice "+what, syscall.SYS_SPLICE, in, offIn, out, offOut, n, flags)
	}
	splice("a file to a pipe", in, 0, w, 0, 4, 0)
	splice("a file to a pipe, by offset", in, wordsAt(8), w, 0, 100, 0)
	fmt.Println(place(in))
	r2, w2 := pipe(0)
	splice("a pipe to a file", r, 0, out, wordsAt(2), 3, 0)
	fmt.Println(content("out"), place(out))
	splice("a pipe to a pipe", r, 0, w2, 0, 2, 0)
	fmt.Println(got(r2, 100))
	splice("a pipe to a file", r, 0, out, 0, 100, 0)
	fmt.Println(content("out"), place(out))
	splice("an empty pipe", r, 0, out, 0, 100, nonblock)
	splice("a file at its end", in, wordsAt(10), w, 0, 5, 0)
	splice("two files", in, 0, out, 0, 5, 0)
	splice("a pipe to itself", r, 0, w, 0, 5, nonblock)
	splice("an offset of a pipe", r, wordsAt(0), out, 0, 5, nonblock)
	splice("an offset of a pipe", in, 0, w, wordsAt(0), 5, nonblock)
	splice("the wrong end", w, 0, out, 0, 5, nonblock)
	splice("to the wrong end", in, 0, r, 0, 5, nonblock)
	splice("nothing", 999, 0, 999, 0, 0, 99)
	splice("flags", in, 0, w, 0, 5, 16)
	splice("nowhere", in, 0, 999, 0, 5, 0)
	splice("a negative offset", in, wordsAt(^uint64(0)), w, 0, 5, 0)
	splice("a folder", open(".", 0), 0, w, 0, 5, nonblock)
	put(w, "text")
	splice("to an appender", r, 0, open("out", 1|syscall.O_APPEND), 0, 5, 0)
	splice("to a reader", r, 0, open("out", 0), 0, 5, 0)
	splice("to /dev/null", r, 0, open("/dev/null", 1), 0, 2, 0)
	s, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	must(err)
	splice("a pipe to a socket", r, 0, u(s[0]), 0, 100, 0)
	fmt.Println(got(u(s[1]), 100))
	put(u(s[0]), "from a socket")
	splice("a socket to a pipe", u(s[1]), 0, w, 0, 6, 0)
	splice("a socket to a pipe", u(s[1]), 0, w, 0, 100, 0)
	splice("an empty socket to a pipe", u(s[1]), 0, w, 0, 100, nonblock)
	fmt.Println(got(r, 100))
	must(syscall.Close(s[0]))
	splice("a closed socket to a pipe", u(s[1]), 0, w, 0, 100, 0)
	splice("an offset of a socket", u(s[1]), wordsAt(0), w, 0, 100, nonblock)
	must(syscall.Close(int(w)))
	splice("a pipe without a writer", r, 0, out, 0, 5, 0)
	// One that waits.
	r3, w3 := pipe(0)
	go func() {
		time.Sleep(time.Millisecond)
		put(w3, "late")
	}()
	splice("a pipe to which somebody writes later", r3, 0, w2, 0, 100, 0)
	fmt.Println(got(r2, 100))
	closeAll(in, out, r, r2, w2, u(s[1]), r3, w3)
}

// memory shares a file without a name between two mappings.
func memory() {
	const tmpfile = 0x400000 | syscall.O_DIRECTORY
	f, err := syscall.Open(".", syscall.O_RDWR|tmpfile, 0o600)
	must(err)
	must(syscall.Ftruncate(f, 8192))
	a, err := syscall.Mmap(f, 0, 8192, 3, syscall.MAP_SHARED)
	must(err)
	b, err := syscall.Mmap(f, 4096, 4096, 3, syscall.MAP_SHARED)
	must(err)
	a[4096], b[1] = 'a', 'b'
	must(syscall.Close(f))
	fmt.Printf("%q %q\n", a[4096:4098], b[:2])
	must(syscall.Munmap(a))
	b[2] = 'c'
	fmt.Printf("%q\n", b[:3])
	must(syscall.Munmap(b))
}
