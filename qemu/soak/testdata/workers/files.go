package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Files, pipes and sockets: what is read is what was written.

// pattern is n bytes that depend on where they are and on a key.
func pattern(key uint64, at, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte((uint64(at+i) + key) * 0x9e3779b97f4a7c15 >> 56)
	}
	return b
}

// files writes files in the memory's tree, in pieces and in any order, and reads them.
func files(w *worker) {
	dir, err := os.MkdirTemp("", "soak-")
	w.must("a folder", err)
	defer os.RemoveAll(dir)
	for w.goOn() {
		key, size := w.rand.Uint64(), w.rand.IntN(100_000)
		name := filepath.Join(dir, fmt.Sprint("file ", w.rand.IntN(5)))
		f, err := os.Create(name)
		w.must("a file", err)
		const piece = 7000
		for _, i := range w.rand.Perm((size + piece - 1) / piece) {
			_, err := f.WriteAt(pattern(key, i*piece, min(piece, size-i*piece)), int64(i)*piece)
			w.must("writing", err)
		}
		w.must("closing", f.Close())
		moved := name + ".moved"
		w.must("renaming", os.Rename(name, moved))
		got, err := os.ReadFile(moved)
		w.must("reading", err)
		if !bytes.Equal(got, pattern(key, 0, size)) {
			w.wrong("a file of %d bytes is not what was written: %d bytes", size, len(got))
		}
		if size > 0 {
			cut := w.rand.IntN(size)
			w.must("truncating", os.Truncate(moved, int64(cut)))
			got, err := os.ReadFile(moved)
			w.must("reading", err)
			if !bytes.Equal(got, pattern(key, 0, cut)) {
				w.wrong("a file cut to %d bytes has %d, or others", cut, len(got))
			}
		}
		all, err := os.ReadDir(dir)
		if err != nil || len(all) != 1 || all[0].Name() != filepath.Base(moved) {
			w.wrong("the folder has %v, %v; want %s", all, err, moved)
		}
		w.must("removing", os.Remove(moved))
		w.round()
	}
}

// pipes sends through a pipe.
func pipes(w *worker) {
	for w.goOn() {
		r, wr, err := os.Pipe()
		w.must("a pipe", err)
		w.transfer(r, wr, wr.Close)
		w.must("closing", r.Close())
		w.round()
	}
}

// sockets sends through TCP, there and back.
func sockets(w *worker) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	w.must("listening", err)
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return // closed
			}
			go func() {
				io.Copy(c, c)
				c.Close()
			}()
		}
	}()
	for w.goOn() {
		c, err := net.Dial("tcp", l.Addr().String())
		w.must("dialing", err)
		p := patient{c.(*net.TCPConn)}
		w.transfer(p, p, p.CloseWrite)
		w.must("closing", c.Close())
		w.round()
	}
}

// patient is a connection each piece of which has a time of its own: a lost wake-up is found, and a busy host, which runs
// one of many CPUs at a time, is not taken for one.
type patient struct{ *net.TCPConn }

func (p patient) Read(b []byte) (int, error) {
	p.SetReadDeadline(time.Now().Add(grace))
	return p.TCPConn.Read(b)
}

func (p patient) Write(b []byte) (int, error) {
	p.SetWriteDeadline(time.Now().Add(grace))
	return p.TCPConn.Write(b)
}

// mostSteps bounds a transfer's pieces.
const mostSteps = 500

// transfer writes in pieces of any size, and reads until the end in others.
func (w *worker) transfer(r io.Reader, wr io.Writer, end func() error) {
	key, size := w.rand.Uint64(), w.rand.IntN(60_000)
	most, b := 1+w.rand.IntN(9000), make([]byte, 1+w.rand.IntN(9000))
	size = min(size, mostSteps*min(most, len(b)))
	sent := make(chan error, 1)
	go func() {
		for at := 0; at < size; at += most {
			if _, err := wr.Write(pattern(key, at, min(most, size-at))); err != nil {
				sent <- err
				return
			}
		}
		sent <- end()
	}()
	at := 0
	for {
		n, err := r.Read(b)
		if !bytes.Equal(b[:n], pattern(key, at, n)) {
			w.wrong("%d bytes at %d of %d are not those that were sent", n, at, size)
		}
		at += n
		if err == io.EOF {
			break
		}
		w.must("reading", err)
	}
	w.must("writing", <-sent)
	if at != size {
		w.wrong("%d bytes came; want %d", at, size)
	}
}
