package input

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestFollow reads a file that grows, is cut short and is replaced, and waits at its end.
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
	synctest.Test(t, func(t *testing.T) {
		w, err := Follow(path)
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		done := make(chan error)
		go func() {
			_, err := io.Copy(&got, w)
			for err == ErrCut {
				got.WriteString("|")
				_, err = io.Copy(&got, w)
			}
			done <- err
		}()
		wait := func(want string) {
			t.Helper()
			time.Sleep(3 * PollInterval) // a file is given up one look after its end
			synctest.Wait()
			if got.String() != want {
				t.Fatalf("read %q; want %q", got.String(), want)
			}
		}
		wait("start ")
		write(os.O_APPEND, "grows ")
		wait("start grows ")
		write(os.O_TRUNC, "cut ")
		wait("start grows |cut ")

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
		wait("start grows |cut late ")
		write(0, "new file ")
		wait("start grows |cut late new file ")
		w.Close()
		if err := <-done; err != nil {
			t.Errorf("Read after Close = %v; want the end", err)
		}
	})
	if _, err := Follow(path + ".none"); !os.IsNotExist(err) {
		t.Errorf("Follow of no file = %v; want that it does not exist", err)
	}
}
