// Hostwrite changes a folder in ways that its arguments say, and prints what came of each: the
// same is run on Linux and in a folder of the host that the kernel sees.
//
//	hostwrite DIR random SEED STEPS   what comes by chance
//	hostwrite DIR steps               what programs do
//	hostwrite DIR limit               a file that becomes too long for the host
//	hostwrite DIR busy NAME           to write to a program that runs
//	hostwrite DIR many                several goroutines at once
//	hostwrite DIR across              names that leave the folder, as on another file system
//	hostwrite DIR bits                files that would give rights to who runs them on the host
package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	_ "github.com/zeroframe/zeroframe/kernel"
)

func main() {
	if err := os.Chdir(os.Args[1]); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	syscall.Umask(0o022)
	switch os.Args[2] {
	case "random":
		seed, _ := strconv.ParseUint(os.Args[3], 10, 64)
		steps, _ := strconv.Atoi(os.Args[4])
		random(rand.New(rand.NewPCG(seed, 1)), steps)
	case "steps":
		steps()
	case "limit":
		limit()
	case "busy":
		f, err := os.OpenFile(os.Args[3], os.O_WRONLY, 0)
		say("open of a program that runs", err, f != nil)
	case "many":
		many()
	case "across":
		across()
	case "bits":
		bits()
	}
	fmt.Println("end")
}

// say prints what came of something, without names of folders.
func say(what string, err error, more ...any) {
	var errno syscall.Errno
	word := "ok"
	switch {
	case errors.As(err, &errno):
		word = errno.Error()
	case err != nil:
		word = err.Error()
	}
	fmt.Println(append([]any{what, word}, more...)...)
}

// shown is what a file is, without its times.
func shown(name string) string {
	fi, err := os.Lstat(name)
	if err != nil {
		return "none"
	}
	s := fi.Mode().String()
	switch {
	case fi.Mode().IsRegular():
		b, err := os.ReadFile(name)
		s += fmt.Sprintf(" %d %.4x %v", fi.Size(), sha256.Sum256(b), err)
	case fi.Mode()&fs.ModeSymlink != 0:
		to, err := os.Readlink(name)
		s += fmt.Sprint(" -> ", to, err)
	case fi.IsDir():
		list, err := os.ReadDir(name)
		for _, e := range list {
			s += " " + e.Name()
		}
		s += fmt.Sprint(" ", err)
	}
	return s
}

// random does what comes by chance to a few names.
func random(r *rand.Rand, steps int) {
	dirs := []string{".", "a", "b", "a/c", "a/c/d"}
	name := func() string { return path.Join(dirs[r.IntN(len(dirs))], string(rune('a'+r.IntN(5)))) }
	bytesOf := func() []byte {
		b := make([]byte, []int{0, 1, 100, 4096, 5000, 200_000}[r.IntN(6)])
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	}
	var open []*os.File
	for i := range steps {
		what, err, more := "", error(nil), []any(nil)
		n, m := name(), name()
		switch r.IntN(20) {
		case 0, 1:
			what, err = "write "+n, os.WriteFile(n, bytesOf(), 0o640)
		case 2:
			var f *os.File
			what = "create " + n
			if f, err = os.OpenFile(n, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600); err == nil {
				open = append(open, f)
			}
		case 3:
			var f *os.File
			what = "open " + n
			if f, err = os.OpenFile(n, []int{os.O_RDWR, os.O_RDWR | os.O_APPEND, os.O_RDWR | os.O_TRUNC, os.O_RDWR | os.O_CREATE}[r.IntN(4)], 0o666); err == nil {
				open = append(open, f)
			}
		case 4, 5:
			what, err = "mkdir "+n, os.Mkdir(n, 0o750)
		case 6:
			what, err = "remove "+n, syscall.Unlink(n)
		case 7:
			what, err = "rmdir "+n, syscall.Rmdir(n)
		case 8, 9:
			what, err = "rename "+n+" "+m, syscall.Rename(n, m)
		case 10:
			what, err = "link "+n+" "+m, os.Link(n, m)
		case 11:
			what, err = "symlink "+n+" "+m, os.Symlink([]string{path.Base(n), "nowhere", "./" + path.Base(m) + "2"}[r.IntN(3)], m) // none leads out
		case 12:
			what, err = "chmod "+n, os.Chmod(n, []os.FileMode{0o600, 0o644, 0o755, 0o777}[r.IntN(4)])
		case 13:
			at := time.Unix(r.Int64N(1<<31), r.Int64N(1e9))
			what, err = "utimes "+n, os.Chtimes(n, at, at)
			if err == nil {
				fi, serr := os.Stat(n)
				more = []any{serr, fi.ModTime().UnixNano() == at.UnixNano()}
			}
		case 14:
			what, err = "truncate "+n, os.Truncate(n, r.Int64N(10_000))
		default:
			if len(open) == 0 {
				continue
			}
			j := r.IntN(len(open))
			f := open[j]
			switch r.IntN(7) {
			case 0, 1:
				var k int
				what = "write to"
				k, err = f.Write(bytesOf())
				more = []any{k}
			case 2:
				var k int
				what = "write at"
				if k, err = f.WriteAt(bytesOf(), r.Int64N(20_000)); err != nil && strings.Contains(err.Error(), "O_APPEND") {
					err = errors.New("append")
				}
				more = []any{k}
			case 3:
				what, err = "ftruncate", f.Truncate(r.Int64N(10_000))
			case 4:
				what, err = "fsync", f.Sync()
			case 5:
				fi, serr := f.Stat()
				f.Seek(0, io.SeekStart)
				b, rerr := io.ReadAll(f)
				what, err, more = "read", serr, []any{fi.Size(), len(b), fmt.Sprintf("%.4x", sha256.Sum256(b)), rerr}
			case 6:
				what, err = "close", f.Close()
				open = append(open[:j], open[j+1:]...)
			}
		}
		say(fmt.Sprint(i, " ", what), err, append(more, "|", shown(n), "|", shown(m))...)
	}
}

// steps does what programs do with files.
func steps() {
	// A file is written elsewhere, and gets its name when it is whole.
	f, err := os.CreateTemp(".", "new-")
	say("temporary", err)
	_, err = f.WriteString("whole")
	say("write", err)
	say("sync", f.Sync())
	say("rename", os.Rename(f.Name(), "named"))
	_, err = f.WriteString(" and more")
	say("write after the rename", err, shown("named"))
	say("close", f.Close())

	// It cannot be opened again for writing, but the one who has made it writes.
	say("read-only", os.WriteFile("fixed", []byte("once"), 0o444), shown("fixed"))

	// A file without a name.
	f, err = os.OpenFile("gone", os.O_CREATE|os.O_RDWR, 0o600)
	say("create", err)
	say("remove", os.Remove("gone"))
	_, err = f.WriteString("still")
	say("write", err)
	b := make([]byte, 9)
	n, err := f.ReadAt(b, 0)
	say("read", err, string(b[:n]), shown("gone"))
	say("truncate", f.Truncate(2))
	say("close", f.Close())

	// Two names.
	say("link", os.Link("named", "second"))
	say("remove the first", os.Remove("named"))
	f, err = os.OpenFile("second", os.O_APPEND|os.O_WRONLY, 0)
	say("append", err)
	_, err = f.WriteString(", appended")
	say("write", err, shown("second"))
	f.Close()

	// A tree, and what it becomes.
	say("tree", os.MkdirAll("tree/x/y", 0o755))
	say("file", os.WriteFile("tree/x/y/z", bytes.Repeat([]byte("0123456789"), 50_000), 0o644))
	say("rename of a folder", os.Rename("tree/x", "tree/w"), shown("tree"), shown("tree/w/y/z"))
	say("remove of a full one", os.Remove("tree/w"))
	say("into itself", syscall.Rename("tree", "tree/w/t"))
	say("all of it", os.RemoveAll("tree"), shown("tree"))

	// What leads out leads nowhere on the host.
	say("link out", os.Symlink("../secret", "out"))
	_, err = os.ReadFile("out")
	say("read by it", err)
	_, err = os.ReadFile("../secret")
	say("read beside", err)

	// Parts in one call, and a mapping.
	f, err = os.OpenFile("parts", os.O_CREATE|os.O_RDWR, 0o600)
	say("parts", err)
	k, err := writev(f, bytes.Repeat([]byte("a"), 70_000), nil, []byte("b"), bytes.Repeat([]byte("c"), 300_000))
	at, _ := f.Seek(0, io.SeekCurrent)
	say("writev", err, k, at, shown("parts"))
	m, err := syscall.Mmap(int(f.Fd()), 0, 70_001, syscall.PROT_READ, syscall.MAP_SHARED)
	say("map", err, string(m[69_998:]))
	_, err = f.WriteAt([]byte("X"), 69_999)
	say("through it", err, string(m[69_998:]))
	f.Close()
}

// across moves and links out of the folder and into it.
func across() {
	say("write", os.WriteFile("/from", []byte("from"), 0o600))
	say("write", os.WriteFile("own", []byte("own"), 0o600))
	say("rename out", os.Rename("own", "/own"))
	say("rename in", os.Rename("/from", "from"))
	say("link out", os.Link("own", "/own"))
	say("link in", os.Link("/from", "from"))
	say("pipe", syscall.Mkfifo("pipe", 0o600))
	f, err := os.OpenFile("own", os.O_RDWR, 0)
	say("open", err)
	_, err = syscall.Mmap(int(f.Fd()), 0, 3, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	say("writable mapping", err)
	f.Close()
}

// limit writes more than the host lets a file have.
func limit() {
	f, err := os.OpenFile("long", os.O_CREATE|os.O_RDWR, 0o600)
	say("create", err)
	b := bytes.Repeat([]byte("0123456789abcdef"), 20_000)
	n, err := syscall.Write(int(f.Fd()), b)
	say("write", err, n)
	n, err = syscall.Write(int(f.Fd()), b[n:])
	say("write", err, n)
	say("close", f.Close(), shown("long"))
	say("remove", os.Remove("long"))
}

// many has goroutines write files of their own and one that all have.
func many() {
	all, err := os.OpenFile("all", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	say("create", err)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 20 {
				name := fmt.Sprintf("f%d", g)
				if err := os.WriteFile(name, bytes.Repeat([]byte{byte(i)}, 1000*(g+1)), 0o644); err != nil {
					say("write", err)
				}
				if err := os.Rename(name, fmt.Sprintf("g%d-%d", g, i%3)); err != nil {
					say("rename", err)
				}
				if _, err := fmt.Fprintf(all, "%d\n", g); err != nil {
					say("append", err)
				}
				os.Mkdir("same", 0o755)
				os.Remove("same")
			}
		})
	}
	wg.Wait()
	say("close", all.Close(), shown("."))
	b, err := os.ReadFile("all")
	counts := map[string]int{}
	for _, line := range strings.Fields(string(b)) {
		counts[line]++
	}
	say("all", err, counts, os.Remove("all")) // in what order they came is chance
	for i := range 24 {
		name := fmt.Sprintf("g%d-%d", i/3, i%3)
		say(name, nil, shown(name))
	}
}

// bits makes files and folders with all bits, in each way that there is.
func bits() {
	const all = 0o7755
	fd, err := syscall.Open("open", syscall.O_CREAT|syscall.O_WRONLY, all)
	say("open", err, syscall.Close(fd))
	say("mkdir", syscall.Mkdir("mkdir", all))
	for _, name := range []string{"chmod", "fchmod", "mknod"} {
		say("mknod", syscall.Mknod(name, syscall.S_IFREG|all, 0))
	}
	say("chmod", syscall.Chmod("chmod", all))
	f, err := os.Open("fchmod")
	say("fchmod", err, f.Chmod(os.ModeSetuid|os.ModeSetgid|0o755))
	say("renamed", os.Rename("chmod", "renamed"))
	for _, kind := range []uint32{syscall.S_IFCHR, syscall.S_IFBLK, syscall.S_IFIFO, syscall.S_IFSOCK} {
		say("device", syscall.Mknod("device", kind|0o666, 0x103))
	}
}
