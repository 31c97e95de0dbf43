package symbol

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// A testStore has one file, and counts who asks.
type testStore struct {
	id, path string // an empty ID is any
	err      error
	asked    atomic.Int32
}

func (s *testStore) DebugFile(ctx context.Context, id string) (string, error) {
	s.asked.Add(1)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case s.err != nil:
		return "", s.err
	case s.path == "" || s.id != "" && id != s.id:
		return "", fs.ErrNotExist
	}
	return s.path, nil
}

// stripped returns a program, the same without symbols, its debug information, and the build ID.
func stripped(t *testing.T) (whole, bare, debug, id string) {
	t.Helper()
	whole = buildC(t, "-g", "-Wl,--build-id")
	dir := t.TempDir()
	bare, debug = filepath.Join(dir, "bare"), filepath.Join(dir, "debug")
	for _, args := range [][]string{{"objcopy", "--only-keep-debug", whole, debug}, {"strip", "-o", bare, whole}} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
	}
	if id = openTest(t, whole).BuildID(); id == "" {
		t.Fatal("no build ID")
	}
	return whole, bare, debug, id
}

// TestStores: many goroutines ask a File whose debug information is in a store: that is asked once,
// and the answers are those of the whole file.
func TestStores(t *testing.T) {
	path, bare, debug, id := stripped(t)
	whole := openTest(t, path)
	addrs := textAddrs(whole, 1)
	want := whole.LookupAll(addrs, false)
	empty, wrong, good := &testStore{}, &testStore{err: errors.New("out of order")}, &testStore{id: id, path: debug}
	f, err := OpenWith(t.Context(), bare, Options{Stores: []Store{empty, wrong, good}})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if empty.asked.Load() != 0 {
		t.Error("a store was asked before the first look-up")
	}
	var wait sync.WaitGroup
	for n := range 8 {
		wait.Go(func() {
			if n%2 == 0 {
				got, err := f.LookupContext(t.Context(), addrs, false)
				if err != nil || len(got) != len(want) {
					t.Errorf("LookupContext: %d answers, %v", len(got), err)
					return
				}
				for i := range got {
					if !equalFrames(got[i], want[i]) {
						t.Errorf("%#x: %+v; want %+v", addrs[i], got[i], want[i])
						return
					}
				}
				return
			}
			for i, addr := range addrs {
				if got := f.Lookup(addr, false); !equalFrames(got, want[i]) {
					t.Errorf("%#x: %+v; want %+v", addr, got, want[i])
					return
				}
				f.Details(addr, false)
				f.Locals(addr)
				f.Incomplete()
			}
		})
	}
	wait.Wait()
	for _, s := range []*testStore{empty, wrong, good} {
		if n := s.asked.Load(); n != 1 {
			t.Errorf("a store was asked %d times", n)
		}
	}
}

// What a store does wrong is said, and a file of another build is not used.
func TestStoreErrors(t *testing.T) {
	path, bare, _, id := stripped(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*testStore{{err: errors.New("out of order")}, {id: id, path: self}, {}} {
		f, err := OpenWith(t.Context(), bare, Options{Stores: []Store{s}})
		if err != nil {
			t.Fatal(err)
		}
		for _, frames := range f.LookupAll(textAddrs(openTest(t, path), 8), false) {
			if len(frames) > 0 && frames[0].Line != 0 {
				t.Errorf("%v: %+v", s.err, frames)
			}
		}
		if err := f.Incomplete(); (err != nil) != (s.err != nil) || err != nil && (!strings.Contains(err.Error(), "out of order") || !strings.Contains(err.Error(), id)) {
			t.Errorf("Incomplete() = %v; the store's error is %v", err, s.err)
		}
		if err := f.CanResolve(); !errors.Is(err, ErrNoSymbols) || s.err != nil && !strings.Contains(err.Error(), "out of order") {
			t.Errorf("CanResolve() = %v", err)
		}
		f.Close()
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f, err := OpenWith(ctx, bare, Options{Stores: []Store{&testStore{id: id}}})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.LookupContext(ctx, []uint64{1, 2}, false); !errors.Is(err, context.Canceled) {
		t.Errorf("LookupContext, cancelled: %v", err)
	}
	if err := f.CanResolve(); !strings.Contains(err.Error(), context.Canceled.Error()) {
		t.Errorf("CanResolve, cancelled: %v", err)
	}
}
