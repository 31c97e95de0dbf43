package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// proc is what /proc and /sys say of the process and of the machine.
func proc() {
	self := fmt.Sprint("/proc/", os.Getpid())
	link, err := os.Readlink("/proc/self")
	is("self", "/proc/"+link == self, err)
	exe, err := os.Executable()
	is("executable", strings.Contains(exe, "around"), err)
	text, err := os.ReadFile("/proc/self/cmdline")
	is("cmdline", strings.HasSuffix(string(text), "\x00proc\x00"), err)
	text, err = os.ReadFile("/proc/self/environ")
	is("environ", slices.Contains(strings.Split(string(text), "\x00"), "HOME=/root"), err)
	for _, name := range []string{"comm", "task/" + fmt.Sprint(os.Getpid()) + "/comm"} {
		text, err = os.ReadFile(self + "/" + name)
		is("comm", string(text) == filepath.Base(exe)[:min(15, len(filepath.Base(exe)))]+"\n", err)
	}
	stat(self)
	status(self)
	maps(self)
	limits(self)
	descriptors(self)
	threads(self)
	mounts(self)
	network()
	sizes()
	links(self)
	for _, dir := range []string{"/proc", self, "/sys/devices/system/cpu", "/proc/sys/kernel", "/sys/class/net"} {
		entries, err := os.ReadDir(dir)
		names := map[string]bool{}
		for _, e := range entries {
			names[e.Name()] = true
		}
		for _, want := range []string{"self", "cpuinfo", "meminfo", "stat", "status", "maps", "fd", "task", "online", "possible", "hostname", "osrelease", "lo"} {
			if names[want] {
				is("in "+number.ReplaceAllString(dir, "N"), want)
			}
		}
		is("list "+number.ReplaceAllString(dir, "N"), len(names) > 0, err)
	}
	machine()
	refused()
}

// fields of a line, each as its kind: a number, or itself.
func fields(s string) string {
	words := strings.Fields(s)
	for i, w := range words {
		if _, err := strconv.ParseFloat(strings.TrimSuffix(w, "kB"), 64); err == nil {
			words[i] = "N"
		}
	}
	return strings.Join(words, " ")
}

// used is for how long the process has run.
func used() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func read(name string) string {
	text, err := os.ReadFile(name)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func stat(self string) {
	before := read("/proc/self/stat")
	for start := used(); used()-start < 100*time.Millisecond; {
	}
	after := read("/proc/self/stat")
	_, b, _ := strings.Cut(before, ") ")
	_, a, _ := strings.Cut(after, ") ")
	is("stat", len(strings.Fields(a)), strings.Contains("RS", strings.Fields(a)[0]), strings.HasPrefix(after, fmt.Sprint(os.Getpid())+" ("))
	sum := func(s string) (n int) {
		for _, w := range strings.Fields(s)[11:13] {
			v, _ := strconv.Atoi(w)
			n += v
		}
		return n
	}
	is("time", sum(a) > sum(b))
	threads, _ := strconv.Atoi(strings.Fields(a)[17])
	size, _ := strconv.Atoi(strings.Fields(a)[20])
	pages, _ := strconv.Atoi(strings.Fields(a)[21])
	is("threads, size, pages", threads > 1 && threads < 100, size > 1<<20, pages > 100 && pages < size/4096)
	is("statm", fields(read("/proc/self/statm")))
}

// status prints the lines that programs look for.
func status(self string) {
	for line := range strings.Lines(read("/proc/self/status")) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch name {
		case "Pid", "Tgid":
			is("status "+name, strings.TrimSpace(value) == fmt.Sprint(os.Getpid()))
		case "Uid", "Gid":
			is("status "+name, strings.TrimSpace(value))
		case "VmSize", "VmRSS", "VmHWM", "Threads", "voluntary_ctxt_switches":
			is("status "+name, fields(value))
		case "SigBlk", "SigCgt", "CapEff":
			is("status "+name, len(strings.TrimSpace(value)))
		}
	}
}

// maps looks for the code of this function, its stack and its heap.
func maps(self string) {
	pc, _, _, _ := runtime.Caller(0)
	onHeap := make([]byte, 1<<20)
	addresses := map[string]uint64{"code": uint64(pc), "heap": uint64(addressOf(onHeap))}
	n, ordered, last := 0, true, uint64(0)
	for line := range strings.Lines(read("/proc/self/maps")) {
		var lo, hi, off uint64
		var rights, device, path string
		var inode int
		words, err := fmt.Sscanf(line, "%x-%x %s %x %s %d %s", &lo, &hi, &rights, &off, &device, &inode, &path)
		if words < 6 {
			is("map", line, err)
		}
		n++
		ordered = ordered && lo >= last && lo < hi
		last = hi
		for what, a := range addresses {
			if a >= lo && a < hi {
				exe, _ := os.Executable()
				is("map of "+what, rights, path == exe)
				delete(addresses, what)
			}
		}
		if path == "[stack]" {
			is("map of stack", rights)
		}
	}
	is("maps", n > 5, ordered, len(addresses))
}

func limits(self string) {
	for line := range strings.Lines(read("/proc/self/limits")) {
		if strings.HasPrefix(line, "Limit") || strings.HasPrefix(line, "Max open files") || strings.HasPrefix(line, "Max cpu") {
			is("limit", len(strings.TrimRight(line, "\n")), fields(line))
		}
	}
}

func descriptors(self string) {
	folder := os.Getenv("AROUND")
	file, err := os.Create(filepath.Join(folder, "a file"))
	if err != nil {
		panic(err)
	}
	file.WriteString("hello, again")
	r, w, _ := os.Pipe()
	pair, _ := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	socket := os.NewFile(uintptr(pair[0]), "socket")
	null, _ := os.Open("/dev/null")
	dir, _ := os.Open(folder)
	for _, f := range []*os.File{file, r, w, socket, null, dir} {
		name := fmt.Sprint("/proc/self/fd/", f.Fd())
		link, err := os.Readlink(name)
		is("descriptor", form(strings.Replace(link, folder, "FOLDER", 1)), err)
		info, err := os.Lstat(name)
		if err != nil {
			is("descriptor", err)
			continue
		}
		there, err := os.Stat(name)
		own, _ := f.Stat()
		is("descriptor", info.Mode(), there.Mode() == own.Mode(), os.SameFile(there, own), err)
	}
	text, err := os.ReadFile(fmt.Sprint("/proc/self/fd/", file.Fd()))
	is("read again", string(text), err)
	os.Remove(file.Name())
	text, err = os.ReadFile(fmt.Sprint("/dev/fd/", file.Fd()))
	is("read without a name", string(text), err)
	again, err := os.OpenFile(fmt.Sprint("/proc/self/fd/", w.Fd()), os.O_WRONLY, 0)
	is("pipe", err)
	fmt.Fprint(again, "through")
	buf := make([]byte, 100)
	n, err := r.Read(buf)
	is("pipe", string(buf[:n]), err)
	_, err = os.Open(fmt.Sprint("/proc/self/fd/", socket.Fd()))
	is("socket", strings.HasSuffix(fmt.Sprint(err), syscall.ENXIO.Error()))
	entries, err := os.ReadDir("/proc/self/fd")
	found := 0
	for _, e := range entries {
		fd, _ := strconv.Atoi(e.Name())
		for _, f := range []*os.File{file, r, w, socket, null, dir} {
			if uintptr(fd) == f.Fd() {
				found++
			}
		}
	}
	is("descriptors", found, err)
	number := fmt.Sprint("/proc/self/fd/", null.Fd())
	null.Close()
	_, err = os.Lstat(number)
	is("closed", errors.Is(err, fs.ErrNotExist))
}

func threads(self string) {
	started, tid := make(chan int), os.Getpid()
	var end chan bool
	for tid == os.Getpid() { // which does not end
		mine := make(chan bool)
		go func() {
			runtime.LockOSThread()
			started <- syscall.Gettid()
			<-mine
		}()
		end = mine
		tid = <-started
	}
	entries, err := os.ReadDir("/proc/self/task")
	found := slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == fmt.Sprint(tid) })
	is("thread", found, err)
	text, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/stat", tid))
	is("thread", len(strings.Fields(string(text))), strings.HasPrefix(string(text), fmt.Sprint(tid, " (")), err)
	end <- true
	dir := fmt.Sprint("/proc/self/task/", tid)
	for {
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			break
		}
		time.Sleep(time.Millisecond)
	}
	is("thread ended")
}

func mounts(self string) {
	for _, point := range []string{"/", "/proc", "/sys"} {
		for line := range strings.Lines(read("/proc/self/mounts")) {
			if w := strings.Fields(line); w[1] == point {
				is("mount "+point, len(w), point == "/" || w[2] == strings.TrimPrefix(point, "/") || w[2] == "sysfs")
			}
		}
		for line := range strings.Lines(read("/proc/self/mountinfo")) {
			w := strings.Fields(line)
			if at := slices.Index(w, "-"); w[4] == point {
				is("mountinfo "+point, at >= 6 && len(w) == at+4, w[3])
			}
		}
	}
	for _, name := range []string{"/proc", "/sys"} {
		var s syscall.Statfs_t
		err := syscall.Statfs(name, &s)
		is("statfs "+name, fmt.Sprintf("%#x", s.Type), err)
	}
}

// network prints what /proc says of the network.
func network() {
	head, _, _ := strings.Cut(read("/proc/net/dev"), "\n")
	is("dev", head)
	for line := range strings.Lines(read("/proc/net/dev")) {
		if strings.HasPrefix(line, "    lo:") {
			is("dev", fields(line))
		}
	}
	is("somaxconn", read("/proc/sys/net/core/somaxconn"))
}

// sizes prints the form of files with numbers.
func sizes() {
	w := strings.Fields(read("/proc/loadavg"))
	is("loadavg", len(w), len(strings.Split(w[3], "/")))
	is("command line", strings.HasSuffix(read("/proc/cmdline"), "\n"))
}

func links(self string) {
	folder := os.Getenv("AROUND")
	os.Chdir(folder)
	cwd, err := os.Readlink("/proc/self/cwd")
	is("cwd", cwd == folder, err)
	os.WriteFile("here", []byte("here"), 0o644)
	is("cwd", read("/proc/self/cwd/here"))
	root, err := os.Readlink("/proc/self/root")
	is("root", root, err)
	os.Chdir("/")
	cwd, err = os.Readlink("/proc/self/cwd")
	is("cwd", cwd, err)
	one, err := os.Stat("/proc/self/exe")
	is("exe", one != nil || errors.Is(err, fs.ErrNotExist))
	for _, name := range []string{"/dev/stdin", "/dev/stdout", "/dev/fd", "/dev/fd/1", "/dev/null", "/dev/full", "/dev/shm", "/dev/zero"} {
		info, err := os.Stat(name)
		is(name, info != nil, err)
	}
	out, err := os.OpenFile("/dev/stdout", os.O_WRONLY|os.O_APPEND, 0)
	is("stdout", err)
	if err == nil {
		fmt.Fprintln(out, "by another name")
		out.Close()
	}
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err == nil {
		_, err = full.WriteString("x")
	}
	is("full", err)
}

// machine prints the forms of what there is of the machine.
func machine() {
	wanted := map[string][]string{
		"/proc/meminfo": {"MemTotal", "MemFree", "MemAvailable", "Buffers", "Cached", "SwapTotal", "SwapFree"},
		"/proc/cpuinfo": {"processor", "model name", "cpu MHz", "physical id", "core id", "cpu cores"},
	}
	for _, file := range []string{"/proc/meminfo", "/proc/cpuinfo"} {
		seen := map[string]bool{}
		for s := bufio.NewScanner(strings.NewReader(read(file))); s.Scan(); {
			name, value, _ := strings.Cut(s.Text(), ":")
			if name = strings.TrimSpace(name); slices.Contains(wanted[file], name) && !seen[name] {
				seen[name] = true
			}
			if name == "MemTotal" {
				is(name, len(s.Text()), fields(value))
			}
		}
		is(file, len(seen))
	}
	var cpu, btime, processes bool
	for line := range strings.Lines(read("/proc/stat")) {
		w := strings.Fields(line)
		cpu = cpu || w[0] == "cpu" && len(w) == 11
		processes = processes || w[0] == "processes" && len(w) == 2
		if w[0] == "btime" {
			at, _ := strconv.ParseInt(w[1], 10, 64)
			btime = time.Since(time.Unix(at, 0)) > 0
		}
	}
	is("/proc/stat", cpu, btime, processes)
	is("uptime", fields(read("/proc/uptime")))
	is("version", fields(read("/proc/version")[:14]))
	is("filesystems", strings.Contains(read("/proc/filesystems"), "nodev\ttmpfs\n"))
	is("uuid", form(strings.Map(hexDigit, read("/proc/sys/kernel/random/uuid"))), read("/proc/sys/kernel/random/uuid") != read("/proc/sys/kernel/random/uuid"))
	is("boot_id", form(strings.Map(hexDigit, read("/proc/sys/kernel/random/boot_id"))), read("/proc/sys/kernel/random/boot_id") == read("/proc/sys/kernel/random/boot_id"))
	host, _ := os.Hostname()
	is("hostname", strings.TrimSpace(read("/proc/sys/kernel/hostname")) == host)
	is("ostype", read("/proc/sys/kernel/ostype"))
	is("file-nr", fields(read("/proc/sys/fs/file-nr")))
	is("lo", strings.TrimSpace(read("/sys/class/net/lo/mtu")), strings.TrimSpace(read("/sys/class/net/lo/address")), strings.TrimSpace(read("/sys/class/net/lo/type")))
	for _, name := range []string{"online", "possible", "present"} {
		is("cpus "+name, strings.HasPrefix(read("/sys/devices/system/cpu/"+name), "0"))
	}
	is("nobody", read("/proc/999999/stat"))
}

func hexDigit(r rune) rune {
	if r >= '0' && r <= '9' || r >= 'a' && r <= 'f' {
		return 'x'
	}
	return r
}

// refused is what cannot be done to it.
func refused() {
	_, err := os.Create("/proc/new")
	is("create", err)
	is("mkdir", os.Mkdir("/proc/new", 0o777))
	is("remove", os.Remove("/proc/self/stat"))
	is("rename", os.Rename("/proc/self/stat", "/proc/self/new") != nil)
	file, err := os.Open("/proc/self/status")
	if err != nil {
		is("status", err)
		return
	}
	first := make([]byte, 5)
	file.Read(first)
	rest, err := io.ReadAll(file)
	is("rest", string(first), bytes.Contains(rest, []byte("Threads:")), err)
	again := make([]byte, 5)
	_, err = file.ReadAt(again, 0)
	is("again", string(again), err)
	info, err := file.Stat()
	is("size", info.Size(), info.Mode(), err)
}
