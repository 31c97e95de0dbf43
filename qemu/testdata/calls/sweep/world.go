package main

import (
	"fmt"
	"hash/crc32"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// The world in which each case of calls.txt begins: files, descriptors, what the process is
// like, and a window of memory. Which of that is looked at afterwards, the section says.
type world struct {
	look string            // the section
	then map[string]string // what is seen of it before a case
	root string
}

// Descriptors have numbers from first on. Those below are all taken.
const first = 100

var (
	descriptors = map[string]int{}
	probe       [2]int // a pipe by which the window is looked at
)

// window is where the window of memory is.
const (
	window = 0x5000_0000_0000
	wide   = 12 // pages of it
)

func newWorld() *world {
	w := new(world)
	must(os.Mkdir("world", 0o755))
	must(os.Chdir("world"))
	dir, err := os.Getwd()
	must(err)
	w.root = dir
	must(syscall.Pipe2(probe[:], 0))
	must(os.WriteFile("f", nil, 0o600)) // the runtime opens what it needs for files
	ignore := [4]uintptr{1}
	// The Go runtime's own signals end no wait, and a file that gets too long not the program.
	for _, sig := range []syscall.Signal{syscall.SIGURG, syscall.SIGXFSZ} {
		raw(syscall.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&ignore)), 0, 8)
	}
	for {
		fd, err := syscall.Dup(probe[0])
		must(err)
		if fd >= first {
			syscall.Close(fd)
			return w
		}
	}
}

func raw(number uintptr, args ...uintptr) uintptr {
	args = append(args, 0, 0, 0, 0, 0, 0)
	r, _, e := syscall.RawSyscall6(number, args[0], args[1], args[2], args[3], args[4], args[5])
	if e != 0 {
		panic(fmt.Sprint("call ", number, args, ": ", e))
	}
	return r
}

// places are the descriptors that cases make and name.
func places() (all []int) {
	for fd := first; fd < first+30; fd++ {
		all = append(all, fd)
	}
	return append(all, 150, 151, 200, 201)
}

// rebuild makes the world as it was.
func (w *world) rebuild() {
	w.process()
	for _, fd := range places() {
		syscall.Close(fd)
	}
	syscall.Umask(0o022)
	must(os.Chdir(w.root))
	entries, err := os.ReadDir(".")
	must(err)
	for _, e := range entries {
		must(os.RemoveAll(e.Name()))
	}
	file := func(name, text string, mode os.FileMode) { must(os.WriteFile(name, []byte(text), mode)) }
	file("f", strings.Repeat("0123456789", 10), 0o644)
	file("g", "", 0o600)
	must(os.Mkdir("d", 0o755))
	file("d/h", "h", 0o755)
	must(os.Mkdir("e", 0o700))
	for name, target := range map[string]string{"s": "f", "dl": "d", "x": "nowhere", "o": "o"} {
		must(os.Symlink(target, name))
	}
	must(syscall.Mkfifo("p", 0o644))
	w.descriptors()
	if w.look == "[memory]" {
		w.memory()
	}
	for _, name := range []string{"f", "g", "d/h", "d", "e"} {
		must(os.Chtimes(name, oldTime, oldTime))
	}
	w.then = w.now()
}

// descriptors opens them.
func (w *world) descriptors() {
	next := first
	put := func(name string, fd int, err error) {
		must(err)
		if fd != next {
			panic(fmt.Sprint(name, " is descriptor ", fd))
		}
		descriptors[name] = fd
		next++
	}
	open := func(name, path string, flags int) {
		fd, err := syscall.Open(path, flags, 0)
		put(name, fd, err)
	}
	open("rw", "f", syscall.O_RDWR)
	open("ro", "f", syscall.O_RDONLY)
	open("wo", "f", syscall.O_WRONLY)
	open("ap", "f", syscall.O_RDWR|syscall.O_APPEND)
	open("dir", ".", syscall.O_RDONLY)
	open("sub", "d", syscall.O_RDONLY)
	open("path", "f", 0x200000)
	var two [2]int
	pair := func(a, b string, err error) {
		put(a, two[0], err)
		put(b, two[1], nil)
	}
	pair("pr", "pw", syscall.Pipe2(two[:], syscall.O_NONBLOCK))
	fill := func(name string) {
		_, err := syscall.Write(descriptors[name], []byte("0123456789"))
		must(err)
	}
	fill("pw")
	put("ev", int(raw(290, 5, syscall.O_NONBLOCK)), nil)
	fd, err := syscall.EpollCreate1(0)
	put("ep", fd, err)
	var err2 error
	two, err2 = syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK, 0)
	pair("ua", "ub", err2)
	fill("ub")
	two, err2 = syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_DGRAM|syscall.SOCK_NONBLOCK, 0)
	pair("da", "db", err2)
	fill("db")
	socket := func(name string, kind int) {
		fd, err := syscall.Socket(syscall.AF_INET, kind|syscall.SOCK_NONBLOCK, 0)
		put(name, fd, err)
	}
	socket("tcp", syscall.SOCK_STREAM)
	socket("lis", syscall.SOCK_STREAM)
	must(syscall.Bind(descriptors["lis"], loopback()))
	must(syscall.Listen(descriptors["lis"], 5))
	socket("udp", syscall.SOCK_DGRAM)
}

// oldTime is when files were last changed.
var oldTime = time.Unix(1000, 0)

// effects says what is different from what it was.
func (w *world) effects() string {
	now := w.now()
	var all []string
	for k, v := range now {
		if w.then[k] != v {
			all = append(all, k+":"+v)
		}
	}
	for k := range w.then {
		if _, ok := now[k]; !ok {
			all = append(all, "-"+k)
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// now looks at the world.
func (w *world) now() map[string]string {
	see := map[string]string{}
	switch w.look {
	case "[files]":
		w.seeDescriptors(see)
		dir, err := os.Getwd()
		if err != nil {
			dir = err.Error()
		}
		see["cwd"], _ = strings.CutPrefix(dir, w.root)
		old := syscall.Umask(0)
		syscall.Umask(old)
		see["umask"] = fmt.Sprintf("%o", old)
		must(syscall.Chdir(w.root))
		seeFolder(".", see)
		must(syscall.Chdir(dir))
	case "[process]":
		w.seeDescriptors(see)
		w.seeProcess(see)
	case "[memory]":
		w.seeMemory(see)
	}
	return see
}

func (w *world) seeDescriptors(see map[string]string) {
	const getFD, getFL, fionread = 1, 3, 0x541b
	for _, fd := range places() {
		flags, _, e := syscall.RawSyscall(syscall.SYS_FCNTL, uintptr(fd), getFD, 0)
		if e != 0 {
			continue
		}
		status, _, _ := syscall.RawSyscall(syscall.SYS_FCNTL, uintptr(fd), getFL, 0)
		text := fmt.Sprintf("%x,%x", flags, status)
		var st syscall.Stat_t
		must(syscall.Fstat(fd, &st))
		switch st.Mode & syscall.S_IFMT {
		case syscall.S_IFREG, syscall.S_IFDIR:
			at, err := syscall.Seek(fd, 0, 1)
			if st.Mode&syscall.S_IFMT == syscall.S_IFDIR && at > 0 {
				at = 1 // how it counts is a file system's own
			}
			text += fmt.Sprintf(",%d", at)
			_ = err
		case syscall.S_IFIFO, syscall.S_IFSOCK:
			n := int32(-1)
			syscall.RawSyscall(syscall.SYS_IOCTL, uintptr(fd), fionread, uintptr(unsafe.Pointer(&n)))
			text += fmt.Sprintf(",%d", n)
		}
		see[fmt.Sprint("fd", fd)] = text
	}
}

func seeFolder(dir string, see map[string]string) {
	entries, err := os.ReadDir(dir)
	must(err)
	for _, e := range entries {
		name := e.Name()
		if dir != "." {
			name = dir + "/" + name
		}
		var st syscall.Stat_t
		must(syscall.Lstat(name, &st))
		text := fmt.Sprintf("%o,%d,%d", st.Mode, st.Uid, st.Gid)
		when := fmt.Sprint(st.Mtim.Sec)
		if st.Mtim.Sec > 1e9 {
			when = "now"
		}
		switch st.Mode & syscall.S_IFMT {
		case syscall.S_IFREG:
			sum := uint32(0)
			if st.Size < 1<<16 {
				b, err := os.ReadFile(name)
				must(err)
				sum = crc32.ChecksumIEEE(b)
			}
			text += fmt.Sprintf(",%d,%d,%08x,%s", st.Nlink, st.Size, sum, when)
		case syscall.S_IFLNK:
			text, err = os.Readlink(name)
			must(err)
		case syscall.S_IFDIR:
			text += "," + when
		case syscall.S_IFCHR, syscall.S_IFBLK:
			text += fmt.Sprintf(",%x", st.Rdev)
		}
		see[name] = text
		if e.IsDir() {
			seeFolder(name, see)
		}
	}
}

// process takes back what cases have changed of it.
func (w *world) process() {
	if w.look != "[process]" {
		return
	}
	const numLimits = 16
	if limits == nil {
		limits = make([][2]uint64, numLimits)
		for i := range limits {
			raw(syscall.SYS_PRLIMIT64, 0, uintptr(i), 0, uintptr(unsafe.Pointer(&limits[i])))
		}
	}
	for i := range limits {
		raw(syscall.SYS_PRLIMIT64, 0, uintptr(i), uintptr(unsafe.Pointer(&limits[i])), 0)
	}
	var off [4]uint64
	for which := range uintptr(3) {
		raw(syscall.SYS_SETITIMER, which, uintptr(unsafe.Pointer(&off)), 0)
	}
	for id := range uintptr(40) {
		syscall.RawSyscall(syscall.SYS_TIMER_DELETE, id, 0, 0)
	}
	restoreThread()
	raw(syscall.SYS_PRCTL, 4, 1)
	raw(syscall.SYS_PRCTL, 8, 0)
	name := [16]byte{'s', 'w', 'e', 'e', 'p'}
	raw(syscall.SYS_PRCTL, 15, uintptr(unsafe.Pointer(&name)))
	var action [4]uintptr
	for _, sig := range []uintptr{10, 12, 64} {
		action[0] = 1 // ignored
		raw(syscall.SYS_RT_SIGACTION, sig, uintptr(unsafe.Pointer(&action)), 0, 8)
	}
}

// limits are those that the process began with.
var limits [][2]uint64

func (w *world) seeProcess(see map[string]string) {
	for i := range limits {
		var l [2]uint64
		raw(syscall.SYS_PRLIMIT64, 0, uintptr(i), 0, uintptr(unsafe.Pointer(&l)))
		if l != limits[i] {
			see[fmt.Sprint("limit", i)] = fmt.Sprint(l)
		}
	}
	var now uint64
	raw(syscall.SYS_RT_SIGPROCMASK, 0, 0, uintptr(unsafe.Pointer(&now)), bits)
	see["mask"] = fmt.Sprintf("%x", now)
	var stack [3]uint64
	raw(syscall.SYS_SIGALTSTACK, 0, uintptr(unsafe.Pointer(&stack)))
	if stack != altStack {
		see["sigaltstack"] = fmt.Sprint(stack[1:])
	}
	var timer [4]uint64
	for which := range uintptr(3) {
		raw(syscall.SYS_GETITIMER, which, uintptr(unsafe.Pointer(&timer)))
		see[fmt.Sprint("itimer", which)] = fmt.Sprint(timer[0], timer[1], timer[2] > 0 || timer[3] > 0)
	}
	see["dumpable"] = fmt.Sprint(raw(syscall.SYS_PRCTL, 3))
	see["keepcaps"] = fmt.Sprint(raw(syscall.SYS_PRCTL, 7))
	var name [16]byte
	raw(syscall.SYS_PRCTL, 16, uintptr(unsafe.Pointer(&name)))
	see["name"] = fmt.Sprintf("%q", strings.TrimRight(string(name[:]), "\x00"))
	for _, sig := range []uintptr{10, 12, 64} {
		var action [4]uintptr
		raw(syscall.SYS_RT_SIGACTION, sig, 0, uintptr(unsafe.Pointer(&action)), 8)
		see[fmt.Sprint("sig", sig)] = fmt.Sprintf("%x", action)
	}
}

// memory fills the window: pages 0 and 1 with the right to write, 2 to read, 3 without a right,
// a hole, 5 and 6 a file that is 1 page long, private, and from 8 on the same, shared.
func (w *world) memory() {
	raw(syscall.SYS_MUNMAP, window, wide*page)
	const rw, private, shared, anon, fixed = 3, syscall.MAP_PRIVATE, syscall.MAP_SHARED, syscall.MAP_ANON, syscall.MAP_FIXED
	must(os.WriteFile("m", slices.Repeat([]byte("m"), page+100), 0o644))
	fd, err := syscall.Open("m", syscall.O_RDWR, 0)
	must(err)
	none := ^uintptr(0)
	raw(syscall.SYS_MMAP, window, 4*page, rw, private|anon|fixed, none)
	raw(syscall.SYS_MMAP, window+5*page, 3*page, rw, private|fixed, uintptr(fd))
	raw(syscall.SYS_MMAP, window+8*page, 3*page, rw, shared|fixed, uintptr(fd))
	syscall.Close(fd)
	b := windowBytes()
	for i := range 3 {
		b[i*page] = byte('a' + i)
	}
	b[5*page] = 'p'
	raw(syscall.SYS_MPROTECT, window+2*page, page, 1)
	raw(syscall.SYS_MPROTECT, window+3*page, page, 0)
}

func windowBytes() []byte {
	at := uintptr(window)
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&at)), wide*page)
}

// seeMemory says of each page of the window what is in its first byte, and w if it can be
// written to.
func (w *world) seeMemory(see map[string]string) {
	for i := range uintptr(wide) {
		at := window + i*page
		text := "-"
		if _, _, e := syscall.RawSyscall(syscall.SYS_WRITE, uintptr(probe[1]), at, 1); e == 0 {
			var b [1]byte
			if _, _, e := syscall.RawSyscall(syscall.SYS_READ, uintptr(probe[0]), at, 1); e == 0 {
				text = "w"
			} else {
				text = "r"
				raw(syscall.SYS_READ, uintptr(probe[0]), uintptr(unsafe.Pointer(&b)), 1)
			}
			text += fmt.Sprintf("%q", windowBytes()[i*page])
		}
		see[fmt.Sprint("page", i)] = text
	}
}
