// Mapped maps files as programs do, and says what comes of it.
package main

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"os"
	"syscall"
	"unsafe"

	"go.etcd.io/bbolt"

	_ "github.com/zeroframe/zeroframe/kernel"
)

const (
	page = 4096
	r    = syscall.PROT_READ
	rw   = syscall.PROT_READ | syscall.PROT_WRITE
)

func main() {
	dir, err := os.MkdirTemp("", "mapped")
	must(err)
	must(os.Chdir(dir))
	defer os.RemoveAll(dir)
	if len(os.Args) > 1 && os.Args[1] == "database" {
		database()
		return
	}
	errors()
	same()
	writer()
	reader()
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func mmap(fd int, off int64, size, prot, flags uintptr) ([]byte, error) {
	a, _, e := syscall.Syscall6(syscall.SYS_MMAP, 0, size, prot, flags, uintptr(fd), uintptr(off))
	if e != 0 {
		return nil, e
	}
	return unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&a))), size), nil
}

func open(name string, flags int) int {
	fd, err := syscall.Open(name, flags, 0o644)
	must(err)
	return fd
}

// errors is what cannot be mapped, on Linux either.
func errors() {
	must(os.WriteFile("file", make([]byte, 3*page), 0o644))
	var pipe [2]int
	must(syscall.Pipe(pipe[:]))
	for _, f := range []struct {
		name string
		fd   int
	}{
		{"read", open("file", syscall.O_RDONLY)}, {"write", open("file", syscall.O_WRONLY)}, {"both", open("file", syscall.O_RDWR)},
		{"path", open("file", 0x200000)}, {"directory", open(".", syscall.O_RDONLY)}, {"pipe", pipe[0]}, {"none", 777},
	} {
		for _, flags := range []uintptr{0, syscall.MAP_SHARED, syscall.MAP_PRIVATE, 4} {
			for _, prot := range []uintptr{0, r, rw} {
				_, err := mmap(f.fd, 0, page, prot, flags)
				_, size := mmap(f.fd, 0, 0, prot, flags)
				_, far := mmap(f.fd, 1<<63-page, 2*page, prot, flags)
				fmt.Println(f.name, flags, prot, "-", err, "-", size, "-", far)
			}
		}
	}
	for _, flags := range []uintptr{0, 1, 2, 4} {
		_, err := mmap(-1, 0, page, rw, syscall.MAP_ANON|flags)
		fmt.Println("anonymous", flags, err)
	}
}

// same is what cannot differ from a private copy.
func same() {
	text := []byte("what the file had")
	must(os.WriteFile("same", text, 0o644))
	fd := open("same", syscall.O_RDONLY)
	b, err := mmap(fd, 0, page, rw, syscall.MAP_PRIVATE)
	must(err)
	copy(b, "mine")
	c := make([]byte, len(text))
	_, err = syscall.Pread(fd, c, 0)
	fmt.Printf("private: %q, the file: %q, %v\n", b[:len(text)], c, err)

	must(os.Remove("same"))
	b, err = mmap(fd, 0, page, r, syscall.MAP_SHARED)
	must(err)
	fmt.Printf("shared, removed and not open for writing: %q, then zero: %v\n", b[:len(text)], b[len(text)] == 0 && b[page-1] == 0)
	fmt.Println("with the right to write:", syscall.Mprotect(b, rw))
	fmt.Println("with no right, and again:", syscall.Mprotect(b, 0), syscall.Mprotect(b, r), b[0] == text[0])

	b, err = mmap(-1, 0, 2*page, rw, syscall.MAP_ANON|syscall.MAP_SHARED)
	must(err)
	b[page]++
	fmt.Println("anonymous:", b[0], b[page])
}

// writer writes to a file through a mapping, and reads it back.
func writer() {
	fd := open("writer", syscall.O_RDWR|syscall.O_CREAT)
	must(syscall.Ftruncate(fd, 2*page))
	b, err := mmap(fd, 0, 2*page, rw, syscall.MAP_SHARED)
	if err != nil {
		fmt.Println("writer: refused:", err)
		return
	}
	copy(b[page-2:], "data")
	c := make([]byte, 4)
	_, err = syscall.Pread(fd, c, page-2)
	fmt.Printf("writer: %q %v\n", c, err)
}

// reader reads through a mapping what it writes to the file.
func reader() {
	must(os.WriteFile("reader", make([]byte, page), 0o644))
	fd := open("reader", syscall.O_RDONLY)
	for range 2 {
		b, err := mmap(fd, 0, page, r, syscall.MAP_SHARED)
		if err != nil {
			fmt.Println("reader: refused:", err)
			continue
		}
		must(os.WriteFile("reader", []byte("data"), 0o644))
		fmt.Printf("reader: %q\n", b[:4])
	}
	removed := open("reader", syscall.O_RDWR)
	must(os.Remove("reader"))
	b, err := mmap(fd, 0, page, r, syscall.MAP_SHARED)
	if err != nil {
		fmt.Println("reader: refused:", err)
		return
	}
	_, err = syscall.Pwrite(removed, []byte("late"), 0)
	fmt.Printf("reader: %q %v\n", b[:4], err)
}

// database keeps values in a file that a library maps, shared, and locks.
func database() {
	const path = "values.db"
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{InitialMmapSize: 1 << 16})
	must(err)
	_, err = bbolt.Open(path, 0o600, &bbolt.Options{Timeout: 1})
	fmt.Println("opened twice:", err)
	value := func(i int) []byte { return bytes.Repeat([]byte{byte(i), byte(i >> 8)}, 50+i%400) }
	key := func(i int) []byte { return fmt.Append(nil, "key", i*7919%1000) }
	for batch := range 20 {
		must(db.Update(func(tx *bbolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists([]byte("b"))
			must(err)
			for i := batch * 50; i < batch*50+50; i++ {
				must(b.Put(key(i), value(i)))
				if i%3 == 0 {
					must(b.Delete(key(i / 2)))
				}
			}
			return nil
		}))
	}
	before := contents(db)
	must(db.Close())
	db, err = bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true})
	must(err)
	fmt.Println(before == contents(db), before)
	must(db.View(func(tx *bbolt.Tx) error {
		for err := range tx.Check() {
			fmt.Println("damaged:", err)
		}
		return nil
	}))
	must(db.Close())
}

// contents returns how many values there are, and a sum over all of them.
func contents(db *bbolt.DB) (s string) {
	must(db.View(func(tx *bbolt.Tx) error {
		n, sum := 0, crc32.NewIEEE()
		must(tx.Bucket([]byte("b")).ForEach(func(k, v []byte) error {
			sum.Write(k)
			sum.Write(v)
			n++
			return nil
		}))
		s = fmt.Sprintf("%d values, sum %08x", n, sum.Sum32())
		return nil
	}))
	return s
}
