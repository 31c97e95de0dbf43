package eventstream

import (
	"bytes"
	"strings"
	"testing"

	read "github.com/zeroframe/zeroframe/tools/format/eventstream"
)

// wire replaces the port for a test and returns a function that reads the records.
func wire(t *testing.T) (records map[string][]byte, end func()) {
	t.Helper()
	records = map[string][]byte{}
	text := read.NewText(nil, read.Options{
		OnRecord: func(r read.Record) { records[r.Kind] = r.Data },
		OnDamage: func(d read.Damage) { t.Error(d) },
	})
	take := func(p []byte) { text.Write(p) }
	old, oldLatest := [...]func([]byte){kernels.Out, files[0].w.Out, files[1].w.Out}, latest
	kernels.Out, files[0].w.Out, files[1].w.Out = take, take, take
	t.Cleanup(func() {
		kernels.Out, files[0].w.Out, files[1].w.Out = old[0], old[1], old[2]
		latest = oldLatest
	})
	return records, func() { text.Close() }
}

// TestFiles: two records of programs and one of the kernel at a time, in any pieces.
func TestFiles(t *testing.T) {
	records, end := wire(t)
	a, ok1 := Open()
	b, ok2 := Open()
	if _, ok := Open(); !ok1 || !ok2 || ok || a == b {
		t.Fatalf("Open: %d %v, %d %v, a third: %v; want two", a, ok1, b, ok2, ok)
	}
	want := map[string][]byte{"test.a": nil, "test-b_2": nil, "kernel": nil}
	if !Write(a, []byte("test")) || !Write(a, []byte(".a\nfirst\n")) || !Write(b, []byte("test-b_2\n")) {
		t.Fatal("a kind was refused")
	}
	want["test.a"] = append(want["test.a"], "first\n"...)
	w := Begin("kernel")
	for i := range 20 {
		for _, f := range []struct {
			name string
			n    int
		}{{"test-b_2", b}, {"test.a", a}} { // what was begun last is on the wire first
			piece := bytes.Repeat([]byte{byte(i), f.name[4]}, 50*i)
			Write(f.n, piece)
			want[f.name] = append(want[f.name], piece...)
		}
		w.Byte(byte(i))
		want["kernel"] = append(want["kernel"], byte(i))
	}
	w.End()
	Close(b)
	Close(a)
	end()
	for kind, data := range want {
		if got, ok := records[kind]; !ok || !bytes.Equal(got, data) {
			t.Errorf("%s: %d bytes, there: %v; want %d", kind, len(got), ok, len(data))
		}
	}
	if n, ok := Open(); !ok {
		t.Error("a file that was closed cannot be opened again")
	} else {
		Close(n) // without a kind there is no record
	}
}

// TestKind: an invalid kind is refused.
func TestKind(t *testing.T) {
	records, end := wire(t)
	for _, s := range []string{"\n", "two words\n", "ctrl\x01\n", strings.Repeat("k", 33), "ü\n", "zfr/\n"} {
		n, ok := Open()
		if !ok {
			t.Fatal("Open: no file")
		}
		if Write(n, []byte(s)) {
			t.Errorf("%q was taken for a kind", s)
		}
		Close(n)
	}
	n, _ := Open()
	if longest := strings.Repeat("k", 32); !Write(n, []byte(longest+"\n")) {
		t.Errorf("a kind of 32 letters was refused")
	}
	Close(n)
	end()
	if len(records) != 1 {
		t.Errorf("%d records; want one", len(records))
	}
}

func TestConfigure(t *testing.T) {
	for _, port := range []string{"com1", ""} {
		var value []byte
		if port != "" {
			value = []byte(port)
		}
		if wrong := Configure(value); wrong != "" || second {
			t.Errorf("record.port=%s: %q, second port %v", port, wrong, second)
		}
	}
	for _, port := range []string{"com3", "COM1", "com", "com22", " "} {
		if wrong := Configure([]byte(port)); wrong != "want com1 or com2" {
			t.Errorf("record.port=%s: %q", port, wrong)
		}
	}
}
