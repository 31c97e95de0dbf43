// Files is an ordinary Go program that says what it finds in a folder, works on files
// there and in another folder, and says what comes of it. It knows nothing of the kernel:
// the same is run on Linux, and must say the same. With a third argument it fills the
// memory with a file as well.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"time"
)

// say prints what came of something, with an error's number in place of its words.
func say(what string, results ...any) {
	fmt.Print(what, ":")
	for _, r := range results {
		var errno syscall.Errno
		if err, ok := r.(error); ok && errors.As(err, &errno) {
			r = fmt.Sprintf("errno %d", int(errno))
		}
		fmt.Printf(" %v", r)
	}
	fmt.Println()
}

// all returns all that a call returns.
func all(results ...any) []any { return results }

func main() {
	data, work := os.Args[1], os.Args[2]
	show("found", data, true)
	change(data)
	show("changed", data, false)
	if err := os.Chdir(work); err != nil {
		panic(err)
	}
	files()
	folders()
	links()
	copies(data)
	show("made", ".", false)
	if len(os.Args) > 3 {
		fill()
	}
	fmt.Println("done")
}

// show says all about a tree.
func show(what, dir string, times bool) {
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			say(what+" "+path, err)
			return nil
		}
		rel, _ := filepath.Rel(dir, path)
		info, err := d.Info()
		if err != nil {
			return err
		}
		line := []any{info.Mode()}
		if rel == "." {
			line = nil // a temporary folder has a mode of its own
		} else if times {
			line = append(line, info.ModTime().Unix())
		}
		switch info.Mode().Type() {
		case 0:
			line = append(line, info.Size(), info.Sys().(*syscall.Stat_t).Nlink, sum(path))
		case fs.ModeSymlink:
			target, err := os.Readlink(path)
			line = append(line, info.Size(), target, err)
		}
		say(what+" "+rel, line...)
		return nil
	})
	say(what, err)
}

// sum reads a file to its end.
func sum(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer file.Close()
	h := fnv.New128a()
	n, err := io.Copy(h, file)
	return fmt.Sprintf("%d %x %v", n, h.Sum(nil), err)
}

// pattern is n bytes that differ from page to page.
func pattern(n int) []byte {
	b := make([]byte, n)
	x := uint32(n)
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	return b
}

// change works on files that the archive has brought.
func change(dir string) {
	big := filepath.Join(dir, "big")
	file, err := os.OpenFile(big, os.O_RDWR, 0)
	say("open big", err)
	n, err := file.WriteAt([]byte("in the middle"), 1<<20+4090) // across a page's end
	say("write into it", n, err)
	b := make([]byte, 40)
	n, err = file.ReadAt(b, 1<<20+4080)
	say("read there", n, err, fmt.Sprintf("%x", b))
	say("cut it", file.Truncate(3<<20+100))
	say("grow it", file.Truncate(3<<20+9000))
	say("close it", file.Close())
	file, err = os.OpenFile(filepath.Join(dir, "sub/small"), os.O_APPEND|os.O_WRONLY, 0)
	say("open small", err)
	n, err = file.WriteString("and more\n")
	say("append", n, err, file.Close())
	say("rename", os.Rename(filepath.Join(dir, "sub/empty"), filepath.Join(dir, "empty2")))
	say("replace", os.Rename(filepath.Join(dir, "empty2"), filepath.Join(dir, "sub/x/y/deep")))
	say("remove", os.Remove(filepath.Join(dir, "link")))
	say("remove all", os.RemoveAll(filepath.Join(dir, "many")))
	say("mode", os.Chmod(filepath.Join(dir, "script"), 0o600))
}

func files() {
	file, err := os.Create("file")
	say("create", err)
	data := pattern(100_000)
	n, err := file.Write(data[:50_000])
	say("write", n, err)
	say("write again", all(file.WriteString(string(data[50_000:])))...)
	at, err := file.Seek(-10, io.SeekEnd)
	say("seek", at, err)
	b := make([]byte, 20)
	n, err = file.Read(b)
	say("read", n, err, bytes.Equal(b[:n], data[99_990:]))
	say("read at the end", all(file.Read(b))...)
	say("seek before the beginning", all(file.Seek(-1, io.SeekStart))...)
	say("write behind the end", all(file.WriteAt([]byte("far"), 10<<20))...)
	n, err = file.ReadAt(b, 10<<20-10)
	say("read the hole", n, err, string(b[:n]))
	say("cut", file.Truncate(70_000), file.Sync(), file.Close())
	say("write when closed", all(file.Write(b))[1])
	got, err := os.ReadFile("file")
	say("contents", len(got), err, bytes.Equal(got, data[:70_000]))

	say("append", os.WriteFile("log", []byte("one\n"), 0o640))
	for _, line := range []string{"two\n", "three\n"} {
		file, err := os.OpenFile("log", os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
		n, _ := file.WriteString(line)
		say("append", n, err, file.Close())
	}
	got, err = os.ReadFile("log")
	say("log", string(got), err)
	say("create what is there", all(os.OpenFile("log", os.O_CREATE|os.O_EXCL, 0o600))[1])
	say("open what is not there", all(os.Open("nosuch"))[1])
	say("create in no folder", all(os.Create("no/such"))[1])
	say("open in a file", all(os.Open("log/x"))[1])
	file, err = os.Open("log")
	say("open", err)
	say("write what is open for reading", all(file.Write(b))...)
	say("remove what is open", os.Remove("log"))
	n, err = file.Read(b)
	say("read what is removed", n, err, string(b[:n]))
	_, err = os.Stat("log")
	say("stat", err, file.Close())
	say("long name", os.WriteFile(strings.Repeat("n", 256), nil, 0o600), os.WriteFile(strings.Repeat("n", 255), nil, 0o600))
	when := time.Unix(1_234_567_890, 987_654_321)
	say("times", os.Chtimes("file", when, when))
	info, err := os.Stat("file")
	say("time", info.ModTime().UnixNano(), err)
}

func folders() {
	say("mkdir", os.Mkdir("dir", 0o750), os.Mkdir("dir", 0o750), os.Mkdir("no/dir", 0o750))
	say("mkdir all", os.MkdirAll("dir/a/b/c", 0o755))
	for i := range 2000 {
		if err := os.WriteFile(fmt.Sprintf("dir/a/%d", i*7%2000), nil, 0o644); err != nil {
			say("write", i, err)
		}
	}
	entries, err := os.ReadDir("dir/a")
	var names strings.Builder
	for _, e := range entries {
		fmt.Fprint(&names, e.Name(), e.IsDir(), e.Type(), " ")
	}
	say("read dir", len(entries), err, names.String())
	// In pieces, with files removed meanwhile: each is seen once.
	dir, err := os.Open("dir/a")
	seen := map[string]int{}
	for err == nil {
		var some []string
		some, err = dir.Readdirnames(100)
		for _, name := range some {
			seen[name]++
			if name != "b" {
				os.Remove("dir/a/" + name)
			}
		}
	}
	say("read dir in pieces", len(seen), err, dir.Close())
	entries, err = os.ReadDir("dir/a")
	say("left", len(entries), err)
	say("remove", os.Remove("dir/a/b/c"), os.Remove("dir"))
	say("rename", os.Rename("dir/a", "moved"), os.Rename("moved", "dir"), os.Mkdir("other", 0o700), os.Rename("other", "dir"))
	say("rename into itself", os.Rename("dir", "dir/dir"))
	say("rename a file over a folder", os.Rename("file", "dir"), os.Rename("dir", "file"))
	got, err := os.ReadFile("dir")
	say("read a folder", len(got), err)
	say("read a file as a folder", all(os.ReadDir("file"))[1])
	say("cd", os.Chdir("dir"), os.Chdir(".."), os.Chdir("file"))
	err = os.Mkdir("empty", 0o700)
	say("remove", err, syscall.Unlink("empty"), syscall.Rmdir("file"), os.Remove("empty"))
}

func links() {
	say("symlink", os.Symlink("file", "to-file"), os.Symlink("to-file", "to-link"), os.Symlink("x", "to-file"), os.Symlink("loop", "loop"))
	got, err := os.ReadFile("to-link")
	say("read", len(got), err)
	say("read a loop", all(os.ReadFile("loop"))[1])
	target, err := os.Readlink("to-link")
	say("target", target, err)
	info, err := os.Lstat("to-file")
	say("lstat", info.Mode(), info.Size(), err)
	say("link", os.Link("file", "again"), os.Link("dir", "hard"), os.Link("file", "again"))
	say("write", os.WriteFile("again", []byte("short"), 0o600))
	got, err = os.ReadFile("to-link")
	say("read", string(got), err)
	say("make through a link", os.Symlink("made-by-link", "dangling"), os.WriteFile("dangling", []byte("x"), 0o644))
	say("remove", os.Remove("to-file"))
	say("stat", all(os.Stat("to-link"))[1])
	root, err := os.OpenRoot(".")
	say("root", err)
	say("in the root", all(root.Open("file"))[1])
	_, err = root.Open("../x")
	say("outside of it", err != nil)
}

// copies copies the tree with the library's own means.
func copies(data string) {
	os.Remove(filepath.Join(data, "sub/out")) // it leads outside
	say("copy", os.CopyFS("copy", os.DirFS(data)))
}

// fill fills the memory with a file: that is an error of a write, and no more.
func fill() {
	// The runtime is not to give memory back meanwhile.
	debug.SetGCPercent(-1)
	debug.FreeOSMemory()
	var before, full syscall.Statfs_t
	syscall.Statfs(".", &before)
	chunk := pattern(64 << 10)
	file, err := os.Create("full")
	if err != nil {
		panic(err)
	}
	size := int64(0)
	for err == nil {
		var n int
		n, err = file.Write(chunk)
		size += int64(n)
	}
	say("full", errors.Is(err, syscall.ENOSPC))
	syscall.Statfs(".", &full)
	room := int64(before.Bfree) * before.Bsize
	fmt.Println("room", room, "size", size, "left", full.Bfree)
	// What the program needs to go on is there.
	b := pattern(1 << 20)
	say("alive", len(b))
	_, err = file.WriteString(strings.Repeat("x", 5000))
	say("write", errors.Is(err, syscall.ENOSPC))
	err = nil
	for i := 0; err == nil; i++ {
		err = os.Mkdir(fmt.Sprint("full-", i), 0o700)
	}
	say("mkdir", errors.Is(err, syscall.ENOSPC))
	info, err := file.Stat()
	say("stat", info.Size() == size, err)
	got := make([]byte, len(chunk))
	for at := int64(0); at+int64(len(got)) <= size; at += int64(len(got)) {
		if _, err := file.ReadAt(got, at); err != nil || !bytes.Equal(got, chunk) {
			say("read", at, err)
		}
	}
	say("remove", file.Close(), os.Remove("full"))
	syscall.Statfs(".", &full)
	fmt.Println("room again", int64(full.Bfree)*full.Bsize)
	say("write", os.WriteFile("again", b, 0o600))
}
