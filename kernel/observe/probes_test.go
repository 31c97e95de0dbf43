package observe

import (
	"bytes"
	"runtime"
	"testing"
	"unsafe"

	"github.com/zeroframe/zeroframe/tools/machine/initrd"
)

// archive returns a cpio archive with files of these names and contents.
func archive(t testing.TB, files ...string) []byte {
	t.Helper()
	var a initrd.Archive
	for i := 0; i < len(files); i += 2 {
		a.AddFile("/"+files[i], 0o444, []byte(files[i+1]))
	}
	var b bytes.Buffer
	if err := a.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// find is inArchive in a slice.
func find(b []byte, name string) (data []byte, inside bool) {
	if len(b) == 0 {
		return nil, true
	}
	lo := uintptr(unsafe.Pointer(&b[0]))
	at, size := inArchive(lo, lo+uintptr(len(b)), name)
	defer runtime.KeepAlive(b)
	if size == 0 {
		return nil, true
	}
	if at < lo || at-lo > uintptr(len(b)) || size > uintptr(len(b))-(at-lo) {
		return nil, false
	}
	return b[at-lo:][:size], true
}

func TestInArchive(t *testing.T) {
	b := archive(t, "a", "first", "etc/hosts", "127.0.0.1", ".zf/probes", "the table", "z", "last")
	for name, want := range map[string]string{".zf/probes": "the table", "a": "first", "etc/hosts": "127.0.0.1", "z": "last", "none": "", ".zf": "", ".zf/probe": ""} {
		if got, _ := find(b, name); string(got) != want {
			t.Errorf("%s has %q; want %q", name, got, want)
		}
	}
}

func FuzzInArchive(f *testing.F) {
	b := archive(f, "a", "first", ".zf/probes", "the table")
	f.Add(b)
	f.Add(b[:len(b)-300])
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, ok := find(b, ".zf/probes"); !ok {
			t.Error("what was found is not in the archive")
		}
	})
}
