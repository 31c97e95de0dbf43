package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// maskNames are the bits of an event.
var maskNames = []string{"access", "modify", "attrib", "close_write", "close_nowrite", "open", "moved_from", "moved_to",
	"create", "delete", "delete_self", "move_self", 13: "unmount", 14: "overflow", 15: "ignored", 30: "isdir"}

// A watcher is an inotify instance.
type watcher struct {
	fd      int
	names   map[uint32]string
	cookies map[uint32]int
	// nameless leaves out what a directory is told of a file that has lost its name, or has several:
	// Linux says by which it was opened.
	nameless bool
}

func newWatcher() *watcher {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		is("inotify_init1", err)
		os.Exit(1)
	}
	return &watcher{fd: fd, names: map[uint32]string{}, cookies: map[uint32]int{0: 0}}
}

func (w *watcher) add(name string, mask uint32) {
	wd, err := unix.InotifyAddWatch(w.fd, name, mask)
	if err != nil {
		is("watch "+name, err)
		return
	}
	w.names[uint32(wd)] = name
}

// events are those that have come since the last call.
func (w *watcher) events(what string) {
	var all []byte
	buf := make([]byte, 65536)
	waiting := 0
	if _, _, e := syscall.Syscall(syscall.SYS_IOCTL, uintptr(w.fd), unix.TIOCINQ, uintptr(unsafe.Pointer(&waiting))); e != 0 {
		is("FIONREAD", e)
	}
	for {
		n, err := unix.Read(w.fd, buf)
		if err != nil {
			break
		}
		all = append(all, buf[:n]...)
	}
	var said []string
	bytesRead := len(all)
	for len(all) > 0 {
		wd, mask, cookie, size := binary.NativeEndian.Uint32(all), binary.NativeEndian.Uint32(all[4:]), binary.NativeEndian.Uint32(all[8:]), binary.NativeEndian.Uint32(all[12:])
		name := string(bytes.TrimRight(all[16:16+size], "\x00"))
		all = all[16+size:]
		if _, ok := w.cookies[cookie]; !ok {
			w.cookies[cookie] = len(w.cookies)
		}
		s := w.names[wd]
		for i, bit := range maskNames {
			if mask>>i&1 != 0 {
				s += " " + bit
			}
		}
		if cookie != 0 {
			s += fmt.Sprint(" cookie ", w.cookies[cookie])
		}
		if name != "" {
			s += " " + name
		}
		if w.nameless && name != "" {
			continue
		}
		said = append(said, s)
	}
	if w.nameless {
		bytesRead, waiting = 0, 0
	}
	is(what, strings.Join(said, ", "), waiting == bytesRead, bytesRead)
}

// watches prints what is told of all that can be done with files.
func watches() {
	dir := filepath.Join(os.Getenv("AROUND"), "watched")
	for _, d := range []string{dir, dir + "/a", dir + "/b", dir + "/a/sub"} {
		os.Mkdir(d, 0o755)
	}
	os.Chdir(dir)
	w := newWatcher()
	w.add("a", unix.IN_ALL_EVENTS)
	w.add("b", unix.IN_ALL_EVENTS)
	file, err := os.OpenFile("a/file", os.O_CREATE|os.O_RDWR, 0o644)
	w.events("create " + fmt.Sprint(err))
	w.add("a/file", unix.IN_ALL_EVENTS)
	file.Write([]byte("one"))
	w.events("write")
	file.Write(nil)
	w.events("write nothing")
	for range 3 {
		file.Write([]byte("more"))
	}
	w.events("write three times")
	file.Seek(0, 0)
	file.Read(make([]byte, 5))
	file.ReadAt(make([]byte, 5), 100)
	w.events("read")
	file.Truncate(2)
	w.events("truncate")
	os.Truncate("a/file", 5)
	w.events("truncate by name")
	file.Chmod(0o600)
	os.Chown("a/file", 0, 0)
	w.events("chmod and chown")
	os.Chtimes("a/file", time.Unix(1, 0), time.Unix(2, 0))
	os.Chtimes("a/file", time.Time{}, time.Unix(2, 0))
	os.Chtimes("a/file", time.Unix(1, 0), time.Time{})
	w.events("times")
	os.Stat("a/file")
	os.Readlink("a/file")
	w.events("stat")
	file.Close()
	w.events("close")
	text, _ := os.ReadFile("a/file")
	w.events("read all " + fmt.Sprint(len(text)))
	os.WriteFile("a/file", []byte("anew"), 0o644)
	w.events("write all")
	os.Symlink("file", "a/symlink")
	os.ReadFile("a/symlink")
	w.events("symlink")
	os.Rename("a/file", "a/new")
	w.events("rename")
	os.Rename("a/new", "b/new")
	w.events("rename to b")
	os.WriteFile("b/other", nil, 0o644)
	w.add("b/other", unix.IN_ALL_EVENTS)
	w.events("other")
	os.Rename("b/new", "b/other")
	w.events("rename over other")
	os.WriteFile("a/third", nil, 0o644)
	w.events("third")
	unix.Renameat2(unix.AT_FDCWD, "a/third", unix.AT_FDCWD, "b/other", unix.RENAME_EXCHANGE)
	w.events("exchange")
	w.add("a/sub", unix.IN_ALL_EVENTS)
	os.Mkdir("a/sub/in", 0o755)
	os.ReadDir("a/sub")
	w.events("directory")
	os.Rename("a/sub", "b/sub")
	w.events("rename a directory")
	os.Remove("b/sub/in")
	os.Remove("b/sub")
	w.events("remove directories")
	unix.Mknod("a/fifo", unix.S_IFIFO|0o600, 0)
	w.events("fifo")
	os.Remove("a/fifo")
	os.Remove("a/symlink")
	w.events("remove")
	os.WriteFile("a/linked", nil, 0o644)
	w.add("a/linked", unix.IN_ALL_EVENTS)
	w.events("linked")
	os.Link("a/linked", "b/link")
	w.events("link")
	os.Remove("b/link")
	w.events("remove a link")
	gone, _ := os.Create("a/gone")
	w.add("a/gone", unix.IN_DELETE_SELF|unix.IN_CLOSE_WRITE)
	w.events("gone")
	os.Remove("a/gone")
	w.events("gone, without a name")
	gone.Close()
	w.nameless = true
	w.events("gone, and closed")
	w.nameless = false

	ways(w)
	overflow()
	waits()
	walk(dir)
}

// ways are the flags and the errors of the calls.
func ways(w *watcher) {
	wd, err := unix.InotifyAddWatch(w.fd, "a", unix.IN_CREATE)
	is("watch again", w.names[uint32(wd)], err)
	os.WriteFile("a/x", nil, 0o644)
	w.events("mask replaced")
	unix.InotifyAddWatch(w.fd, "a", unix.IN_DELETE|unix.IN_MASK_ADD)
	os.Remove("a/x")
	os.WriteFile("a/x", nil, 0o644)
	w.events("mask added")
	unix.InotifyAddWatch(w.fd, "a", unix.IN_CREATE|unix.IN_ONESHOT)
	os.WriteFile("a/y", nil, 0o644)
	os.WriteFile("a/z", nil, 0o644)
	w.events("one shot")
	for _, c := range []struct {
		what string
		fd   int
		name string
		mask uint32
	}{
		{"no events", w.fd, "a", 0}, {"unknown events", w.fd, "a", 0x00800000}, {"no descriptor", 999, "a", unix.IN_CREATE},
		{"no inotify", 1, "a", unix.IN_CREATE}, {"no file", w.fd, "nosuch", unix.IN_CREATE}, {"no directory", w.fd, "a/x", unix.IN_CREATE | unix.IN_ONLYDIR},
		{"exists", w.fd, "b", unix.IN_CREATE | unix.IN_MASK_CREATE}, {"add and create", w.fd, "b", unix.IN_CREATE | unix.IN_MASK_CREATE | unix.IN_MASK_ADD},
		{"empty", w.fd, "", unix.IN_CREATE},
	} {
		_, err := unix.InotifyAddWatch(c.fd, c.name, c.mask)
		is(c.what, err)
	}
	_, err = unix.InotifyRmWatch(w.fd, 999)
	is("no watch", err)
	_, err = unix.InotifyRmWatch(1, 1)
	is("no inotify", err)
	for wd, name := range w.names {
		if name == "b" {
			_, err = unix.InotifyRmWatch(w.fd, wd)
		}
	}
	w.events("no watch any more " + fmt.Sprint(err))
	_, err = unix.InotifyInit1(1)
	is("flags", err)
	_, err = unix.Write(w.fd, []byte("x"))
	is("write", err)
	unix.InotifyAddWatch(w.fd, "a", unix.IN_CREATE)
	os.WriteFile("a/long name", nil, 0o644)
	_, err = unix.Read(w.fd, make([]byte, 20))
	is("small buffer", err)
	n, err := unix.Read(w.fd, make([]byte, 40))
	is("small buffer", n, err)
	_, err = unix.Read(w.fd, make([]byte, 40))
	is("nothing", err)
	link, err := os.Readlink(fmt.Sprint("/proc/self/fd/", w.fd))
	is("link", link, err)
	is("close", unix.Close(w.fd))
}

// overflow makes more events than a queue has.
func overflow() {
	w := newWatcher()
	w.add("a", unix.IN_ATTRIB)
	os.Chmod("a/x", 0o600)
	for i := range 20000 {
		os.Chmod([]string{"a/y", "a/z"}[i%2], 0o600)
	}
	buf := make([]byte, 1<<20)
	n, err := unix.Read(w.fd, buf)
	last := buf[n-16 : n]
	is("overflow", n > 0, err, int32(binary.NativeEndian.Uint32(last)), binary.NativeEndian.Uint32(last[4:]) == unix.IN_Q_OVERFLOW)
	unix.Close(w.fd)
}

// waits is for those who wait for an event.
func waits() {
	w := newWatcher()
	w.add("a", unix.IN_CREATE)
	file := os.NewFile(uintptr(w.fd), "inotify") // the runtime waits by epoll
	got := make(chan int)
	for range 2 {
		go func() {
			n, _ := file.Read(make([]byte, 4096))
			got <- n
		}()
		os.WriteFile("a/waited", nil, 0o644)
		is("waited", <-got)
		os.Remove("a/waited")
	}
	file.Close()
	fd, _ := unix.InotifyInit1(0)
	unix.InotifyAddWatch(fd, "a", unix.IN_CREATE)
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(poll, 0)
	is("poll", n, err)
	go func() {
		n, _ := unix.Read(fd, make([]byte, 4096))
		got <- n
	}()
	time.Sleep(10 * time.Millisecond) // so that it waits, mostly
	os.WriteFile("a/blocked", nil, 0o644)
	is("blocked", <-got)
	os.Remove("a/blocked")
	os.WriteFile("a/blocked", nil, 0o644)
	n, err = unix.Poll(poll, 1000)
	is("poll", n, err, poll[0].Revents)
}

// walk does random things with files that are watched at random.
func walk(dir string) {
	r := rand.New(rand.NewPCG(15, 1))
	w := newWatcher()
	os.RemoveAll("a")
	os.RemoveAll("b")
	for _, d := range []string{"a", "b", "a/c"} {
		os.Mkdir(d, 0o755)
		w.add(d, unix.IN_ALL_EVENTS)
	}
	var open []*os.File
	name := func() string {
		return []string{"a", "b", "a/c", "b/d"}[r.IntN(4)] + "/" + string(rune('v'+r.IntN(4)))
	}
	for i := range 1500 {
		one, two := name(), name()
		what := ""
		var err error
		switch r.IntN(12) {
		case 0, 1:
			var f *os.File
			if f, err = os.OpenFile(one, os.O_CREATE|os.O_RDWR, 0o644); err == nil {
				open = append(open, f)
			}
			what = "open " + one
		case 2:
			if len(open) > 0 {
				n := r.IntN(len(open))
				w.nameless = namesOf(open[n]) != 1
				open[n].Close()
				open = append(open[:n], open[n+1:]...)
			}
			what = "close"
		case 3:
			what, err = "rename "+one+" "+two, os.Rename(one, two)
		case 4:
			what, err = "remove "+one, os.Remove(one)
		case 5:
			what, err = "mkdir "+one, os.Mkdir(one, 0o755)
		case 6, 7:
			if len(open) > 0 {
				f := open[r.IntN(len(open))]
				w.nameless = namesOf(f) != 1
				f.Write([]byte("x"))
			}
			what = "write"
		case 8:
			what, err = "truncate "+one, os.Truncate(one, int64(r.IntN(100)))
		case 9:
			what, err = "chmod "+one, os.Chmod(one, 0o700)
		case 10:
			wd, e := unix.InotifyAddWatch(w.fd, one, []uint32{unix.IN_ALL_EVENTS, unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_MODIFY}[r.IntN(2)])
			if e == nil {
				w.names[uint32(wd)] = fmt.Sprint("watch ", wd)
			}
			what, err = "watch "+one, e
		case 11:
			what, err = "mkdir b/d", os.Mkdir("b/d", 0o755)
		}
		w.events(fmt.Sprint(i, " ", what, " ", err))
		w.nameless = false
	}
}

// namesOf returns how many names an open file has.
func namesOf(f *os.File) int {
	info, err := f.Stat()
	if err != nil {
		return 0
	}
	return int(info.Sys().(*syscall.Stat_t).Nlink)
}
