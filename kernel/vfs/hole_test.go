package vfs

import (
	"bytes"
	"math/rand"
	"testing"
)

// holeText is what the files of TestPunch begin with, as if an archive held it.
var holeText = bytes.Repeat([]byte("a text of some pages, "), 700)

// TestPunch: holes read as zeros wherever they are made, also in an archive's bytes; the bytes
// beside them stay; and a reported hole contains only zeros.
func TestPunch(t *testing.T) {
	start(t)
	for seed := range int64(300) {
		r := rand.New(rand.NewSource(seed))
		if e := AddText([]byte("/f"), S_IFREG|0o644, holeText, 1); e != 0 {
			t.Fatal(e)
		}
		id, _ := Open(Root, []byte("/f"), O_RDWR, 0, 1)
		model := bytes.Clone(holeText)
		// A place, often at the bounds of a page.
		place := func() int { return max(0, r.Intn(7)*pageSize+r.Intn(2)*(r.Intn(5)-2)*r.Intn(1000)) }
		for step := range 12 {
			lo, hi := place(), place()
			if lo > hi {
				lo, hi = hi, lo
			}
			switch r.Intn(4) {
			case 0:
				b := bytes.Repeat([]byte{byte('A' + step)}, min(hi-lo, 5000))
				WriteAt(id, b, int64(lo), 1)
				if len(b) > 0 {
					model = append(model, make([]byte, max(0, lo+len(b)-len(model)))...)
					copy(model[lo:], b)
				}
			case 1:
				SetSize(id, int64(hi), 1)
				model = append(model, make([]byte, max(0, hi-len(model)))...)[:hi]
			default:
				if e := Punch(id, int64(lo), int64(hi), 1); e != 0 {
					t.Fatal(e)
				}
				clear(model[min(lo, len(model)):min(hi, len(model))])
			}
			got := make([]byte, len(model)+1)
			n, _ := ReadAt(id, got, 0)
			if !bytes.Equal(got[:n], model) {
				i := 0
				for i < min(n, len(model)) && got[i] == model[i] {
					i++
				}
				t.Fatalf("seed %d, step %d, %d to %d: %d bytes, want %d; the first that differs is %d", seed, step, lo, hi, n, len(model), i)
			}
			for off := int64(0); ; {
				data, ok := NextData(id, off, false)
				if !ok {
					data = int64(len(model))
				}
				if len(bytes.Trim(model[off:data], "\x00")) > 0 {
					t.Fatalf("seed %d, step %d: from %d to %d is no hole", seed, step, off, data)
				}
				if !ok {
					break
				}
				if off, ok = NextData(id, data, true); !ok || off <= data {
					t.Fatalf("seed %d, step %d: data from %d to %d", seed, step, data, off)
				}
				if off == int64(len(model)) {
					break
				}
			}
		}
		before := Stat(id).Blocks
		if before > 0 {
			Punch(id, 0, 1<<40, 1)
			want(t, "blocks of nothing but a hole", Stat(id).Blocks, int64(0))
			want(t, "what that lacks", Lacks(id, 0, 5*pageSize), uint64(5))
		}
		Release(id)
		want(t, "errno of Unlink", Unlink(Root, []byte("/f"), 1), Errno(0))
	}
}

// TestNameless: a file without a name lives while it is held, and gets a name once, if it may.
func TestNameless(t *testing.T) {
	start(t)
	for _, named := range []bool{true, false} {
		nodes, _ := Usage()
		id, e := Nameless(Root, 0o640, named, 1)
		if e != 0 {
			t.Fatal(e)
		}
		WriteAt(id, []byte("text"), 0, 1)
		e = LinkNode(id, Root, []byte("/named"), 2)
		if named {
			want(t, "errno of LinkNode", e, Errno(0))
			want(t, "errno of Unlink", Unlink(Root, []byte("/named"), 1), Errno(0))
			e = LinkNode(id, Root, []byte("/named"), 2)
		}
		want(t, "errno of LinkNode", e, ENOENT)
		Release(id)
		now, _ := Usage()
		want(t, "nodes", now, nodes)
	}
}
