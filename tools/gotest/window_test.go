package gotest

import (
	"bytes"
	"context"
	le "encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func ramFile(t *testing.T, name string, size int64) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), name))
	if err == nil {
		err = f.Truncate(size)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// put writes a coordinator's memory: a count, and a value.
func put(t *testing.T, f RAM, base int64, count uint64, value string) {
	t.Helper()
	b := le.LittleEndian.AppendUint64(nil, count)
	b = le.LittleEndian.AppendUint64(b, uint64(len(value)))
	if _, err := f.WriteAt(append(append(b, make([]byte, fuzzHeader-len(b))...), value...), base); err != nil {
		t.Error(err)
	}
}

// has returns what put has written.
func has(t *testing.T, f RAM, base int64) (count uint64, value string) {
	t.Helper()
	b := make([]byte, fuzzHeader)
	if _, err := f.ReadAt(b, base); err != nil {
		t.Error(err)
	}
	v := make([]byte, le.LittleEndian.Uint64(b[8:]))
	if _, err := f.ReadAt(v, base+fuzzHeader); err != nil {
		t.Error(err)
	}
	return le.LittleEndian.Uint64(b), string(v)
}

// TestWindows: calls and memory go to a machine and back, whatever their length; a machine that
// does not answer leaves its memory.
func TestWindows(t *testing.T) {
	const base = 3 * page
	w := &Windows{Base: base}
	w.RAM = ramFile(t, "ram", w.End())
	memory := ramFile(t, "memory", fuzzHeader+fuzzRoom)
	// What kernel/observe/fuzzworker does.
	machine := func(n uint64, answer []byte, count uint64, value string) {
		for {
			if now, err := w.get(0); err != nil {
				t.Error(err)
				return
			} else if now == n {
				break
			}
		}
		length, _ := w.get(1)
		call := make([]byte, length)
		w.RAM.ReadAt(call, w.calls()+page)
		was, old := has(t, w.RAM, base)
		put(t, w.RAM, base, count, value)
		if answer == nil {
			return
		}
		answer = fmt.Appendf(answer, "%d %s %d %d", was, old, len(call), call[len(call)-1])
		w.RAM.WriteAt(answer, w.calls()+page+callRoom)
		w.set(3, uint64(len(answer)))
		w.set(2, n)
	}
	for i, call := range [][]byte{[]byte("ping"), bytes.Repeat([]byte("c"), callRoom), []byte("x")} {
		put(t, memory, 0, 7, fmt.Sprint("value", i))
		long := bytes.Repeat([]byte("a"), i*1000)
		go machine(uint64(i+1), slices.Clone(append(long, "answer "...)), 12, fmt.Sprint("another value", i))
		got, err := w.Call(t.Context(), memory, call)
		if want := fmt.Sprintf("%sanswer 7 value%d %d %d", long, i, len(call), call[len(call)-1]); err != nil || string(got) != want {
			t.Errorf("call %d: answer %.60q, %v; want %.60q", i, got, err, want)
		}
		if count, value := has(t, memory, 0); count != 12 || value != fmt.Sprint("another value", i) {
			t.Errorf("call %d: the memory has %d, %q", i, count, value)
		}
	}
	if _, err := w.Call(t.Context(), memory, make([]byte, callRoom+1)); err == nil {
		t.Error("a call is passed that is too long")
	}

	ctx, cancel := context.WithCancel(t.Context())
	put(t, memory, 0, 0, "seed")
	go func() {
		machine(4, nil, 99, "of its end")
		cancel()
	}()
	if _, err := w.Call(ctx, memory, []byte("call")); !errors.Is(err, context.Canceled) {
		t.Errorf("Call = %v; want %v", err, context.Canceled)
	}
	if count, value := has(t, memory, 0); count != 99 || value != "of its end" {
		t.Errorf("the memory has %d, %q, and not what the machine has left", count, value)
	}
}

func TestFuzzArgs(t *testing.T) {
	f, _, err := parsed(t, "-v -run=X -skip=Y -fuzz=Z -timeout=3s -fuzztime 5x -bench=. -count=2 . -args -own -test.v a")
	if err != nil {
		t.Fatal(err)
	}
	got := f.FuzzArgs(f.Binary, "/cache")
	want := []string{"-test.run=^$", "-test.parallel=1", "-test.fuzzcachedir=/cache", "-test.fuzz=Z", "-test.fuzztime=5x", "-test.v=true", "-test.skip=Y", "-own", "-test.v", "a"}
	if !slices.Equal(got, want) {
		t.Errorf("FuzzArgs = %q; want %q", got, want)
	}
}
