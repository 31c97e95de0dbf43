package main

import (
	"fmt"
	"os"
	"syscall"
	"time"
	"unsafe"
)

// Descriptors that are no files: timers, signals, processes; what waits for them; flags and names.

func timers() {
	const create, settime, gettime = 283, 286, 287
	for clock := range uintptr(13) {
		if clock != 8 && clock != 9 { // alarms, which not every machine has
			r := call(create, clock, 0)
			fmt.Println("timer by clock", clock, r > 0, min(r, 0))
			if r > 0 {
				closeAll(u(r))
			}
		}
	}
	for _, flags := range []uintptr{syscall.O_NONBLOCK, syscall.O_CLOEXEC, 1, none} {
		fmt.Println("timer with flags", flags, min(call(create, 1, flags), 0))
	}
	f := u(call(create, 1, syscall.O_NONBLOCK))
	fmt.Println(stat(f), fmt.Sprintf("%x", call(syscall.SYS_FCNTL, f, 3)))
	fmt.Println("read", got(f, 8), "short", got(f, 7), "write", put(f, "12345678"), "seek", call(syscall.SYS_LSEEK, f, 0, 1))
	a, spec := words(0, 0, 0, 0)
	do("get", gettime, f, a)
	fmt.Println(spec)
	set := func(what string, flags uintptr, s ...uint64) { do("set "+what, settime, f, flags, wordsAt(s...), a) }
	set("nothing", 0, 0, 0, 0, 0)
	set("a long one", 0, 5, 6, 1000, 0)
	do("get", gettime, f, a)
	fmt.Println(spec[0], spec[1], spec[2] >= 990 && spec[2] <= 1000)
	fmt.Println("readable", pollOf(f, 0))
	set("a short one", 0, 0, 0, 0, 1)
	fmt.Println("the old one", spec[0], spec[1], spec[2] >= 990 && spec[2] <= 1000)
	fmt.Println("readable", pollOf(f, 1000), got(f, 100), got(f, 8), "readable", pollOf(f, 0))
	do("get", gettime, f, a)
	fmt.Println(spec)
	set("a time long ago", 1, 0, 0, 0, 1)
	fmt.Println("readable", pollOf(f, 1000), got(f, 8))
	set("intervals since a time", 1, 0, 1e3, 0, 1)
	fmt.Println("readable", pollOf(f, 1000))
	time.Sleep(5 * time.Millisecond)
	b := make([]byte, 8)
	_, err := syscall.Read(int(f), b)
	n := *(*uint64)(unsafe.Pointer(&b[0]))
	fmt.Println("many", n > 1000, err)
	fmt.Println("readable", pollOf(f, 1000), got(f, 8) != "-11")
	do("get", gettime, f, a)
	fmt.Println(spec[:3], spec[3] > 0 && spec[3] <= 1e3)
	set("intervals", 0, 0, 1e6, 0, 1e6)
	must(syscall.SetNonblock(int(f), false))
	for range 3 {
		_, err = syscall.Read(int(f), b)
		fmt.Println("wait", *(*uint64)(unsafe.Pointer(&b[0])) >= 1, err)
	}
	set("nothing", 0, 0, 0, 0, 0)
	fmt.Println("the old one", spec[:3], spec[3] <= 1e6)
	e, err := syscall.EpollCreate1(0)
	must(err)
	must(syscall.EpollCtl(e, syscall.EPOLL_CTL_ADD, int(f), &syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: 7}))
	set("for epoll", 0, 0, 0, 0, 1e6)
	events := make([]syscall.EpollEvent, 3)
	r, err := syscall.EpollWait(e, events, 1000)
	fmt.Println("epoll", r, err, events[0].Events, events[0].Fd)
	set("flags", 4, 0, 0, 0, 1)
	set("cancelled by setting the clock", 3, 0, 0, 1<<40, 0)
	set("a bad time", 0, 0, 0, 0, 1e9)
	set("a bad interval", 0, ^uint64(0), 0, 0, 1)
	do("set from nowhere", settime, f, 0, 8, 0)
	do("set nowhere", settime, 999, 0, wordsAt(0, 0, 0, 0), 0)
	do("get nowhere", gettime, 999, a)
	do("get to nowhere", gettime, f, 8)
	p, w := pipe(0)
	do("set a pipe", settime, p, 0, wordsAt(0, 0, 0, 0), 0)
	do("get of a pipe", gettime, p, a)
	d := u(call(syscall.SYS_DUP, f))
	set("a duplicate's", 0, 0, 0, 0, 1)
	fmt.Println("the duplicate", pollOf(d, 1000), got(d, 8))
	closeAll(f, d, p, w, u(e))
}

// pollOf returns what poll says of a descriptor.
func pollOf(fd uintptr, ms int) string {
	b := []byte{byte(fd), byte(fd >> 8), 0, 0, 0x5, 0, 0, 0}
	r := call(syscall.SYS_POLL, at(b), 1, u(ms))
	return fmt.Sprintf("%d:%x", r, b[6])
}

func processes() {
	const pidfdOpen, sendSignal, byDescriptor, exited = 434, 424, 3, 4
	pid := u(os.Getpid())
	f := u(call(pidfdOpen, pid, 0))
	fmt.Println("close on exec", call(syscall.SYS_FCNTL, f, 1), "readable", pollOf(f, 0), "read", got(f, 8), "write", put(f, "12345678"))
	do("none", pidfdOpen, 0, 0)
	do("negative", pidfdOpen, none, 0)
	do("no such", pidfdOpen, 1<<30, 0)
	do("flags", pidfdOpen, pid, 1)
	fmt.Println("nonblock", call(pidfdOpen, pid, syscall.O_NONBLOCK) > 0)
	do("signal 0", sendSignal, f, 0, 0, 0)
	do("signal 65", sendSignal, f, 65, 0, 0)
	do("flags", sendSignal, f, 0, 0, 8)
	do("two flags", sendSignal, f, 0, 0, 3)
	do("nowhere", sendSignal, 999, 0, 0, 0)
	do("a pipe's", sendSignal, 0, 0, 0, 0)
	do("a bad place", sendSignal, f, 0, 8, 0)
	do("another signal", sendSignal, f, 10, wordsAt(12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), 0)
	do("wait by descriptor", syscall.SYS_WAITID, byDescriptor, f, 0, exited, 0)
	do("wait by a bad descriptor", syscall.SYS_WAITID, byDescriptor, 999, 0, exited, 0)
	do("wait by no descriptor", syscall.SYS_WAITID, byDescriptor, none, 0, exited, 0)
	do("wait for anyone", syscall.SYS_WAITID, 0, 0, 0, exited, 0)
	do("wait for one", syscall.SYS_WAITID, 1, 1<<30, 0, exited, 0)
	do("wait for 0", syscall.SYS_WAITID, 1, 0, 0, exited, 0)
	do("wait for a group", syscall.SYS_WAITID, 2, 0, 0, exited, 0)
	do("wait for nothing", syscall.SYS_WAITID, 0, 0, 0, 1, 0)
	do("wait with flags", syscall.SYS_WAITID, 0, 0, 0, exited|0x100, 0)
	do("wait for what", syscall.SYS_WAITID, 9, 0, 0, exited, 0)
	p, err := os.FindProcess(os.Getpid())
	must(err)
	fmt.Println("package os:", p.Signal(syscall.Signal(0)), p.Release())
	closeAll(f)
}

func waits() {
	const ppoll, pselect, epwait2 = 271, 270, 441
	r, w := pipe(0)
	put(w, "x")
	bit := func(fds ...uintptr) (set [2]uint64) {
		for _, fd := range fds {
			set[fd/64] |= 1 << (fd % 64)
		}
		return set
	}
	sel := func(what string, number uintptr, n uintptr, in, out [2]uint64, timeout uintptr) {
		a, got := words(in[0], in[1], out[0], out[1], 0, 0)
		res := call(number, n, a, a+16, a+32, timeout, 0)
		fmt.Println("select", what, res, [2]uint64(got[:2]) == in, [2]uint64(got[2:4]) == out, got[0] == 0, got[2] == 0)
	}
	for _, number := range []uintptr{syscall.SYS_SELECT, pselect} {
		sel("both ready", number, 100, bit(r), bit(w), 0)
		sel("no room for the second", number, w, bit(r), bit(w), 0)
		sel("the wrong ends", number, 100, bit(w), [2]uint64{}, wordsAt(0, 0))
		sel("a time", number, 100, bit(w), [2]uint64{}, wordsAt(0, 1000))
		sel("not open", number, 128, bit(r, 127), bit(w), 0)
		sel("files", number, 100, bit(r, open("in", 0)), bit(w), 0)
		sel("negative", number, none, bit(r), bit(w), 0)
		sel("a bad time", number, 100, bit(r), bit(w), 8)
		sel("a negative time", number, 100, bit(r), bit(w), wordsAt(^uint64(0), 0))
		do("select nothing", number, 0, 0, 0, 0, wordsAt(0, 0), 0)
		do("select a bad place", number, 100, 8, 0, 0, 0, 0)
		a, left := words(1000, 0)
		sel("and the rest of the time", number, 100, bit(r), bit(w), a)
		fmt.Println(left[0] == 999 || left[0] == 1000)
	}
	fmt.Println(got(r, 10))
	go func() {
		time.Sleep(time.Millisecond)
		put(w, "y")
	}()
	sel("what comes later", pselect, 100, bit(r), [2]uint64{}, wordsAt(100, 0))
	a, got6 := words(bit(r)[0], bit(r)[1])
	mask, _ := words(wordsOf(0), 8)
	do("pselect with a mask", pselect, 100, a, 0, 0, wordsAt(0, 0), mask)
	fmt.Println([2]uint64(got6) == bit(r))
	do("pselect with a bad mask", pselect, 100, a, 0, 0, wordsAt(0, 0), wordsAt(wordsOf(0), 4))
	poll := at([]byte{byte(r), byte(r >> 8), 0, 0, 1, 0, 0, 0})
	do("ppoll", ppoll, poll, 1, wordsAt(0, 0), wordsAt(0), 8)
	do("ppoll with a bad mask", ppoll, poll, 1, wordsAt(0, 0), wordsAt(0), 4)
	e, err := syscall.EpollCreate1(0)
	must(err)
	must(syscall.EpollCtl(e, syscall.EPOLL_CTL_ADD, int(r), &syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: 7}))
	events := at(make([]byte, 100))
	do("epoll_pwait2", epwait2, u(e), events, 3, wordsAt(0, 0), 0, 8)
	do("epoll_pwait2 for ever", epwait2, u(e), events, 3, 0, 0, 8)
	fmt.Println(got(r, 10))
	do("epoll_pwait2 for a while", epwait2, u(e), events, 3, wordsAt(0, 1000), wordsAt(0), 8)
	do("epoll_pwait2 for a bad time", epwait2, u(e), events, 3, wordsAt(0, 1e9), 0, 8)
	// An event counter that counts down.
	ev := u(call(290, 3, 1|syscall.O_NONBLOCK))
	for range 4 {
		fmt.Print(got(ev, 8), " ")
	}
	fmt.Println(put(ev, "\x02\x00\x00\x00\x00\x00\x00\x00"), got(ev, 8), pollOf(ev, 0), got(ev, 8), pollOf(ev, 0))
	closeAll(r, w, u(e), ev)
}

// wordsOf returns the address of a word.
func wordsOf(w uint64) uint64 { return uint64(wordsAt(w)) }

// advised are calls that say what will be read or written.
func advised() {
	const getrandom = 318
	f := fresh("v", "0123456789")
	r, w := pipe(0)
	do("sync a range", 277, f, 0, 100, 7)
	do("sync a range", 277, f, none, 100, 7)
	do("sync a range", 277, f, 0, 100, 8)
	do("sync a range of a pipe", 277, r, 0, 100, 7)
	do("advise", syscall.SYS_FADVISE64, f, 0, 100, 3)
	do("advise for a pipe", syscall.SYS_FADVISE64, r, 0, 100, 3)
	do("advise what", syscall.SYS_FADVISE64, f, 0, 100, 9)
	do("read ahead", syscall.SYS_READAHEAD, f, 0, 100)
	do("read ahead in a pipe", syscall.SYS_READAHEAD, r, 0, 100)
	do("read ahead in a folder", syscall.SYS_READAHEAD, open(".", 0), 0, 100)
	do("read ahead in a writer", syscall.SYS_READAHEAD, open("v", 1), 0, 100)
	do("sync all", 306, f)
	do("sync all of nothing", 306, 999)
	for _, flags := range []uintptr{0, 1, 2, 3, 4, 5, 6, 8} {
		do(fmt.Sprint("random bytes with ", flags), getrandom, at(make([]byte, 100)), 100, flags)
	}
	closeAll(f, r, w)
	const closeRange = 436
	var fds [5]uintptr
	for i := range fds {
		fds[i] = open("v", 0)
	}
	do("close on exec", closeRange, fds[0], fds[1], 4)
	do("close", closeRange, fds[2], fds[3], 0)
	do("close backwards", closeRange, fds[3], fds[2], 0)
	do("close how", closeRange, fds[3], fds[3], 8)
	for _, fd := range fds {
		fmt.Print(call(syscall.SYS_FCNTL, fd, 1), " ")
	}
	fmt.Println()
}

func names() {
	const openat2, statx, faccessat2, renameat2, tmpfile = 437, 332, 439, 316, 0x410000
	must(os.MkdirAll("dir/sub/deep", 0o755))
	must(os.WriteFile("dir/sub/file", []byte("here"), 0o644))
	must(os.WriteFile("outside", []byte("outside"), 0o644))
	must(os.MkdirAll("dir/dir", 0o755))
	must(os.WriteFile("dir/outside", []byte("inside"), 0o644))
	for name, target := range map[string]string{"dir/up": "..", "dir/out": "../outside", "dir/abs": "/outside", "dir/in": "sub/file",
		"dir/sub/back": "../outside", "dir/slash": "/"} {
		must(os.Symlink(target, name))
	}
	d := open("dir", 0)
	const xdev, magic, links, beneath, root, cached = 1, 2, 4, 8, 16, 32
	try := func(path string, flags, mode, resolve uint64) {
		r := call(openat2, d, text(path), wordsAt(flags, mode, resolve), 24)
		if r < 0 {
			fmt.Println("openat2", path, flags, mode, resolve, "=", r)
			return
		}
		fmt.Println("openat2", path, flags, mode, resolve, "=", got(u(r), 100))
		closeAll(u(r))
	}
	for _, path := range []string{"sub/file", "outside", "../outside", "/outside", "up/outside", "out", "abs", "in", "sub/back", "sub/../sub/file",
		"sub/../../outside", "slash/outside", "..", "/", "none", "sub/deep/../file", "sub/none/../file"} {
		for _, resolve := range []uint64{magic, links, beneath, root, beneath | links | xdev} {
			try(path, 0, 0, resolve)
		}
	}
	try("sub/file", 0, 0o600, 0)
	try("sub/file", 1<<30, 0, 0)
	try("sub/file", 0, 0, 64)
	try("sub/file", 0, 0, beneath|root)
	try("new", syscall.O_CREAT|2, 0o600, beneath)
	try("new", syscall.O_CREAT|2, 0o100600, beneath)
	try("../new", syscall.O_CREAT|2, 0o600, beneath)
	try("/new2", syscall.O_CREAT|2, 0o600, root)
	try("new", syscall.O_CREAT, 0o600, cached)
	try("in", 0x200000|syscall.O_NOFOLLOW, 0, links)
	try("in", 0x200000|syscall.O_CREAT, 0, 0)
	fmt.Println(exists("dir/new"), exists("dir/new2"), exists("new"))
	do("how small", openat2, d, text("sub/file"), wordsAt(0, 0, 0), 23)
	fmt.Println("how large", call(openat2, d, text("sub/file"), wordsAt(0, 0, 0, 0), 32) > 0)
	do("how much", openat2, d, text("sub/file"), wordsAt(0, 0, 0, 1), 32)
	do("how very large", openat2, d, text("sub/file"), wordsAt(0, 0, 0), 5000)
	do("how bad", openat2, d, text("sub/file"), 8, 24)

	// Files without a name.
	f := u(call(syscall.SYS_OPENAT, cwd, text("dir"), tmpfile|2, 0o640))
	put(f, "nameless")
	fmt.Println(stat(f), fmt.Sprintf("%x", call(syscall.SYS_FCNTL, f, 3)))
	do("link", syscall.SYS_LINKAT, f, text(""), cwd, text("named"), 0x1000)
	do("link again", syscall.SYS_LINKAT, f, text(""), cwd, text("named"), 0x1000)
	do("link twice", syscall.SYS_LINKAT, f, text(""), cwd, text("twice"), 0x1000)
	fmt.Println(stat(f), content("named"))
	must(os.Remove("named"))
	must(os.Remove("twice"))
	do("link what has lost its names", syscall.SYS_LINKAT, f, text(""), cwd, text("named"), 0x1000)
	closeAll(f)
	f = u(call(syscall.SYS_OPENAT, cwd, text("dir"), tmpfile|2|syscall.O_EXCL, 0o640))
	do("link a private one", syscall.SYS_LINKAT, f, text(""), cwd, text("named"), 0x1000)
	closeAll(f)
	do("to read", syscall.SYS_OPENAT, cwd, text("dir"), tmpfile, 0o640)
	do("in a file", syscall.SYS_OPENAT, cwd, text("outside"), tmpfile|2, 0o640)
	do("nowhere", syscall.SYS_OPENAT, cwd, text("none"), tmpfile|2, 0o640)
	do("made", syscall.SYS_OPENAT, cwd, text("dir"), tmpfile|2|syscall.O_CREAT, 0o640)
	do("no folder", syscall.SYS_OPENAT, cwd, text("dir"), 0x400000|2, 0o640)

	x := func(what string, dirfd uintptr, path uintptr, flags, mask uintptr) {
		var b [256]byte
		r := call(statx, dirfd, path, flags, mask, uintptr(unsafe.Pointer(&b)))
		w := (*[64]uint32)(unsafe.Pointer(&b))
		fmt.Printf("statx %s = %d mask %x mode %o, %d links, size %d, %d blocks, rdev %d:%d, born %v\n",
			what, r, w[0]&0xfff, uint16(w[7]), w[4], w[10], w[12], w[32], w[33], int64(w[20]) > 1e9)
	}
	const basic, nofollow, empty, sync = 0x7ff, 0x100, 0x1000, 0x6000
	x("a file", cwd, text("outside"), 0, basic)
	x("a link", cwd, text("dir/in"), nofollow, basic|0x800)
	x("its target", cwd, text("dir/in"), 0, 0xfff)
	x("a folder's", d, text("sub/file"), 0, basic)
	x("a descriptor", open("outside", 0), text(""), empty, basic)
	x("a device", cwd, text("/dev/null"), 0, 0x7ff)
	x("nothing", cwd, text("none"), 0, basic)
	x("no name", cwd, text(""), 0, basic)
	x("flags", cwd, text("outside"), 1, basic)
	x("sync", cwd, text("outside"), sync, basic)
	x("what", cwd, text("outside"), 0, 1<<31)
	do("statx to nowhere", statx, cwd, text("outside"), 0, basic, 8)

	do("rename, not over another", renameat2, cwd, text("outside"), cwd, text("dir/outside"), 1)
	do("rename, not over another", renameat2, cwd, text("outside"), cwd, text("renamed"), 1)
	do("exchange", renameat2, cwd, text("renamed"), cwd, text("dir/outside"), 2)
	fmt.Println(content("renamed"), content("dir/outside"))
	do("exchange with a folder", renameat2, cwd, text("renamed"), cwd, text("dir/sub"), 2)
	do("exchange with nothing", renameat2, cwd, text("renamed"), cwd, text("none"), 2)
	do("rename how", renameat2, cwd, text("renamed"), cwd, text("none"), 3)
	fmt.Println(content("renamed/file"), content("dir/sub"))
	do("access", faccessat2, cwd, text("dir/sub"), 4, 0x200)
	do("execute", faccessat2, cwd, text("dir/sub"), 1, 0x200)
	do("access to a link", faccessat2, cwd, text("dir/in"), 0, 0x100)
	do("access to its target", faccessat2, cwd, text("dir/in"), 0, 0)
	do("access how", faccessat2, cwd, text("dir/sub"), 4, 1)
	do("access to a descriptor", faccessat2, d, text(""), 4, 0x1000)
	closeAll(d)
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}
