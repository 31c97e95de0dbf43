package trace

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zeroframe/zeroframe/tools/format/input"
)

// TestFollow: a trace that is written in pieces is resolved as they come.
func TestFollow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	in := textForm(sample(), false)
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	synctest.Test(t, func(t *testing.T) {
		from, err := input.Follow(path)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		f, err := NewFilter(&out, Options{Symbols: testImage()})
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() {
			_, err := io.Copy(f, from)
			done <- err
		}()
		for rest := in; len(rest) > 0; {
			k := min(len(rest), 37)
			file.Write(rest[:k])
			rest = rest[k:]
			time.Sleep(input.PollInterval)
			synctest.Wait()
			if sent := in[:len(in)-len(rest)]; bytes.Contains(sent, []byte("0x200110 sp 0x3e8fc0 fp 0x3e8fe0 boot\r\n")) && !strings.Contains(out.String(), "main.f1+0x10") {
				t.Fatalf("of %q: %q", sent, out.Bytes())
			}
		}
		from.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
		f.Close()
		if s := f.Stats(); s.Traces != 1 || s.Damaged != 0 || !strings.Contains(out.String(), "main.f1+0x10") {
			t.Errorf("followed: %+v, %q", s, out.Bytes())
		}
	})
}
