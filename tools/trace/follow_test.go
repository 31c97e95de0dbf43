package trace

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// follow starts to follow the file and returns what has been read so far, and
// a function that ends it.
func follow(t *testing.T, path string) (got *lockedBuffer, stop func()) {
	t.Helper()
	w, err := Follow(path)
	if err != nil {
		t.Fatal(err)
	}
	w.poll = time.Millisecond
	got = &lockedBuffer{}
	done := make(chan error)
	go func() {
		_, err := io.Copy(got, w)
		for err == ErrCut {
			got.Write([]byte("|"))
			_, err = io.Copy(got, w)
		}
		done <- err
	}()
	return got, func() {
		t.Helper()
		w.Close()
		if err := <-done; err != nil {
			t.Errorf("Read after Close = %v; want the end", err)
		}
	}
}

func wait(t *testing.T, b *lockedBuffer, want string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); b.String() != want; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("read %q; want %q", b.String(), want)
		}
	}
}

func TestFollow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	write := func(flag int, s string) {
		t.Helper()
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|flag, 0o666)
		if err == nil {
			_, err = f.WriteString(s)
			f.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write(0, "start ")
	got, stop := follow(t, path)
	wait(t, got, "start ")
	write(os.O_APPEND, "grows ")
	wait(t, got, "start grows ")
	write(os.O_TRUNC, "cut ")
	wait(t, got, "start grows |cut ")

	// Replaced, with a line more in the old file after that.
	old, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	old.WriteString("late ")
	old.Close()
	wait(t, got, "start grows |cut late ")
	write(0, "new file ")
	wait(t, got, "start grows |cut late new file ")
	stop()

	if _, err := Follow(path + ".none"); !os.IsNotExist(err) {
		t.Errorf("Follow of no file = %v; want that it does not exist", err)
	}
}

// TestFollowTrace: a trace that is written byte by byte is resolved at its end.
func TestFollowTrace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	in := textForm(sample(), false)
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got, stop := follow(t, path)
	defer stop()
	for len(in) > 0 {
		k := min(len(in), 37)
		f.Write(in[:k])
		in = in[k:]
	}
	wait(t, got, string(textForm(sample(), false)))
	r := filter(t, Options{Symbols: testImage()}, []byte(got.String()))
	if !bytes.Contains(r.out.Bytes(), []byte("main.f1+0x10")) || r.stats.Damaged != 0 {
		t.Errorf("followed: %+v", r.stats)
	}
}
