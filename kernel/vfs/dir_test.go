package vfs

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"
)

// TestReadDirWhileItChanges: each entry that is there all the time is read exactly once, whatever
// happens to the others between two reads.
func TestReadDirWhileItChanges(t *testing.T) {
	for seed := int64(0); seed < 50; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			start(t)
			r := rand.New(rand.NewSource(seed))
			d := mkdir(t, "/d")
			var stays, goes []string
			for i := 0; i < 200; i++ {
				name := fmt.Sprintf("%d%s", i, strings.Repeat("y", r.Intn(2)*100))
				newFile(t, "/d/"+name, "")
				if r.Intn(2) == 0 {
					stays = append(stays, name)
				} else {
					goes = append(goes, name)
				}
			}
			// Two readers, one ahead of the other, so that neither owns the cursor.
			var cookies [2]uint64
			var met [2][]string
			made := 0
			for done := 0; done < 2; {
				i := r.Intn(2)
				name, _, _, next, ok := ReadDir(d, cookies[i])
				if !ok {
					done = 0
					for j := range cookies {
						if _, _, _, _, ok := ReadDir(d, cookies[j]); !ok {
							done++
						}
					}
					continue
				}
				if r.Intn(5) != 0 { // else the caller's buffer was full: it reads the same again
					met[i] = append(met[i], string(name))
					cookies[i] = next
				}
				switch r.Intn(4) {
				case 0:
					if len(goes) > 0 {
						j := r.Intn(len(goes))
						want(t, "errno of Unlink", Unlink(d, []byte(goes[j]), 1), Errno(0))
						goes = slices.Delete(goes, j, j+1)
					}
				case 1:
					if made < 100 {
						made++
						newFile(t, fmt.Sprintf("/d/new %d", made), "")
					}
				case 2:
					if len(goes) > 0 { // into another name, of any length
						j := r.Intn(len(goes))
						to := goes[j] + strings.Repeat("z", r.Intn(100)+1)
						if len(to) < NameMax {
							want(t, "errno of Rename", Rename(d, []byte(goes[j]), d, []byte(to), 0, 1), Errno(0))
							goes[j] = to
						}
					}
				}
			}
			for i := range met {
				for _, name := range stays {
					n := 0
					for _, m := range met[i] {
						if m == name {
							n++
						}
					}
					if n != 1 {
						t.Errorf("reader %d met %q %d times", i, name, n)
					}
				}
			}
		})
	}
}

// TestRenameWhileReading: a reader that renames every file that it finds comes to an end.
func TestRenameWhileReading(t *testing.T) {
	start(t)
	d := mkdir(t, "/d")
	for i := 0; i < 50; i++ {
		newFile(t, fmt.Sprintf("/d/%d", i), "")
	}
	n := 0
	for cookie := uint64(2); ; n++ {
		name, _, _, next, ok := ReadDir(d, cookie)
		if !ok {
			break
		}
		if n > 50 {
			t.Fatal("the reader meets renamed entries again")
		}
		to := append([]byte("new "), name...)
		want(t, "errno of Rename", Rename(d, name, d, to, 0, 1), Errno(0))
		cookie = next
	}
	want(t, "entries", n, 50)
}

// TestReadDirFromAnywhere: a cookie that lies after the last entry, or far from the last read, is
// good.
func TestReadDirFromAnywhere(t *testing.T) {
	start(t)
	d := mkdir(t, "/d")
	if _, _, _, _, ok := ReadDir(d, 2); ok {
		t.Error("an empty directory has an entry")
	}
	for i := 0; i < 10; i++ {
		newFile(t, fmt.Sprintf("/d/%d", i), "")
	}
	for _, i := range []int{0, 9, 0, 5, 4, 6, 9, 3, 2, 8, 0} {
		name, _, kind, next, ok := ReadDir(d, uint64(2+i))
		if string(name) != fmt.Sprint(i) || kind != 8 || next != uint64(3+i) || !ok {
			t.Errorf("ReadDir(%d) = %q, kind %d, next %d, %v", 2+i, name, kind, next, ok)
		}
	}
	for _, c := range []uint64{12, 13, 1 << 63, 1<<64 - 1} {
		if name, _, _, _, ok := ReadDir(d, c); ok {
			t.Errorf("ReadDir(%d) = %q; want the end", c, name)
		}
	}
	if _, _, _, _, ok := ReadDir(walkTo(t, "/d/3"), 0); ok {
		t.Error("a file has entries")
	}
}
