package vfs

import (
	"bytes"
	"fmt"
	"testing"
)

// TestAttributes: values are kept, replaced and removed, and go with their file (finish).
func TestAttributes(t *testing.T) {
	start(t)
	set := func(id ID, name, value string) {
		t.Helper()
		v, e := Nameless(0, 0, false, 1)
		if e == 0 {
			_, e = WriteAt(v, []byte(value), 0, 1)
		}
		if e == 0 {
			e = SetAttribute(id, []byte(name), v, 2)
		}
		if e != 0 {
			t.Fatalf("%s: errno %d", name, e)
		}
	}
	all := func(id ID) (text string) {
		for name, next, ok := NextAttribute(id, 0); ok; name, next, ok = NextAttribute(id, next) {
			v := Attribute(id, name)
			b := make([]byte, Size(v))
			ReadAt(v, b, 0)
			text += fmt.Sprintf("%s=%d:%.3s ", name, len(b), b)
		}
		return text
	}
	long := string(bytes.Repeat([]byte("n"), 255))
	newFile(t, "/f", "text")
	Mkdir(Root, []byte("/d"), 0o755, 1)
	newFile(t, "/d/user.a", "no attribute")
	for _, id := range []ID{walkTo(t, "/f"), walkTo(t, "/d")} {
		want(t, "none", all(id), "")
		set(id, "user.a", "one")
		set(id, "user.b", string(bytes.Repeat([]byte("big"), 20000)))
		set(id, long, "")
		set(id, "user.a", "other")
		want(t, "all", all(id), "user.a=5:oth user.b=60000:big "+long+"=0: ")
		want(t, "ctime", Stat(id).Ctime, int64(2))
		RemoveAttribute(id, []byte("user.b"), 3)
		want(t, "the rest", all(id), "user.a=5:oth "+long+"=0: ")
		want(t, "what is not there", Attribute(id, []byte("user.b")), ID(0))
	}
}
