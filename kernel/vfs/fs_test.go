package vfs

import (
	"bytes"
	"fmt"
	"os"
	"sort"
	"syscall"
	"testing"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/mem"
)

// On the host, the frames are a part of the process's address space, where touched pages become
// memory.
func TestMain(m *testing.M) {
	if dir := os.Getenv(modelDir); dir != "" {
		os.Exit(modelChild(dir))
	}
	addFrames(128 << 20)
	os.Exit(m.Run())
}

func addFrames(size int) {
	lo := address(mmap(size))
	mem.AddFrames(lo, lo+uintptr(size))
}

func mmap(size int) []byte {
	b, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE|syscall.MAP_NORESERVE)
	if err != nil {
		panic(err)
	}
	return b
}

// start makes the tree; at the test's end it removes all of it, and every node, entry and frame
// must be free again.
func start(t testing.TB) {
	t.Helper()
	if e := Init(1); e != 0 {
		t.Fatalf("Init: errno %d", e)
	}
	t.Cleanup(func() { finish(t) })
}

func finish(t testing.TB) {
	t.Helper()
	for _, wrong := range dispose() {
		t.Error(wrong)
	}
}

// dispose removes the tree and returns what is wrong afterwards.
func dispose() (wrong []string) {
	problem := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if err := removeAll(Root); err != nil {
		problem("%v", err)
	}
	if n := at(Root); n.nlink != 2 || n.count != 0 || n.first != 0 || n.last != 0 || n.opens != 0 {
		problem("root of the empty tree: %+v", *n)
	}
	if n, _ := Usage(); n != 1 || numEntries != 0 || shortEntries.used != 0 || longEntries.used != 0 {
		problem("an empty tree has %d nodes, %d entries (%d short, %d long) in use", n, numEntries, shortEntries.used, longEntries.used)
	}
	for _, s := range []*slab{&nodes, &shortEntries, &longEntries} {
		s.dispose()
	}
	for i := range buckets {
		if buckets[i] != 0 {
			freeFrame(buckets[i])
			buckets[i] = 0
		}
	}
	numBuckets, lowerBuckets, numEntries = 0, 0, 0
	if frames != 0 {
		problem("%d frames are lost", frames)
		frames = 0
	}
	return wrong
}

func (s *slab) dispose() {
	for i := range s.tables {
		if s.tables[i] == 0 {
			continue
		}
		for o := uintptr(0); o < pageSize; o += 8 {
			if f := *word(s.tables[i] + o); f != 0 {
				freeFrame(f)
			}
		}
		freeFrame(s.tables[i])
		s.tables[i] = 0
	}
	s.fresh, s.free, s.used = 0, 0, 0
}

// removeAll empties a directory as os.RemoveAll does: it reads some names,
// removes them, and reads on from the beginning.
func removeAll(dir ID) error {
	for {
		var names []string
		cookie := uint64(2)
		for len(names) < 100 {
			name, _, _, next, ok := ReadDir(dir, cookie)
			if !ok {
				break
			}
			names = append(names, string(name))
			cookie = next
		}
		if len(names) == 0 {
			return nil
		}
		for _, name := range names {
			if e := Unlink(dir, []byte(name), 1); e == EISDIR {
				id, e := Walk(dir, []byte(name), false)
				if e != 0 {
					return fmt.Errorf("Walk(%q): errno %d", name, e)
				}
				if err := removeAll(id); err != nil {
					return err
				}
				if e := Rmdir(dir, []byte(name), 1); e != 0 {
					return fmt.Errorf("Rmdir(%q): errno %d", name, e)
				}
			} else if e != 0 {
				return fmt.Errorf("Unlink(%q): errno %d", name, e)
			}
		}
	}
}

func want(t testing.TB, what string, got, want any) {
	t.Helper()
	if got != want {
		t.Errorf("%s = %v; want %v", what, got, want)
	}
}

func walkTo(t testing.TB, path string) ID {
	t.Helper()
	id, e := Walk(Root, []byte(path), false)
	if e != 0 {
		t.Fatalf("Walk(%q): errno %d", path, e)
	}
	return id
}

func mkdir(t testing.TB, path string) ID {
	t.Helper()
	id, e := Mkdir(Root, []byte(path), 0o755, 1)
	if e != 0 {
		t.Fatalf("Mkdir(%q): errno %d", path, e)
	}
	return id
}

// newFile makes a file that is not held.
func newFile(t testing.TB, path, content string) ID {
	t.Helper()
	id, e := Open(Root, []byte(path), O_CREAT|O_EXCL|O_WRONLY, 0o644, 1)
	if e != 0 {
		t.Fatalf("Open(%q): errno %d", path, e)
	}
	if _, e := WriteAt(id, []byte(content), 0, 1); e != 0 {
		t.Fatalf("WriteAt(%q): errno %d", path, e)
	}
	Release(id)
	return id
}

func content(t testing.TB, id ID) []byte {
	t.Helper()
	b := make([]byte, Size(id)+1)
	n, e := ReadAt(id, b, 0)
	if e != 0 || n != len(b)-1 {
		t.Fatalf("ReadAt(%d) = %d, errno %d; want %d bytes", id, n, e, len(b)-1)
	}
	return b[:n]
}

func list(dir ID) (names []string) {
	for cookie := uint64(0); ; {
		name, _, _, next, ok := ReadDir(dir, cookie)
		if !ok {
			return names
		}
		names = append(names, string(name))
		cookie = next
	}
}

func TestPreset(t *testing.T) {
	start(t)
	names := list(Root)
	sort.Strings(names)
	want(t, "names of /", fmt.Sprint(names), "[. .. dev etc proc root sys tmp]")
	for _, tt := range []struct {
		path string
		mode uint32
		rdev uint64
	}{
		{"/", S_IFDIR | 0o755, 0},
		{"/tmp", S_IFDIR | 0o1777, 0},
		{"/root", S_IFDIR | 0o700, 0},
		{"/etc", S_IFDIR | 0o755, 0},
		{"/proc", S_IFDIR | 0o555, 0},
		{"/sys", S_IFDIR | 0o555, 0},
		{"/dev/console", S_IFCHR | 0o600, 0x501},
		{"/dev/fd", S_IFLNK | 0o777, 0},
		{"/dev/full", S_IFCHR | 0o666, 0x107},
		{"/dev/shm", S_IFDIR | 0o1777, 0},
		{"/dev/null", S_IFCHR | 0o666, 0x103},
		{"/dev/zero", S_IFCHR | 0o666, 0x105},
		{"/dev/random", S_IFCHR | 0o666, 0x108},
		{"/dev/urandom", S_IFCHR | 0o666, 0x109},
		{"/dev/tty", S_IFCHR | 0o666, 0x500},
	} {
		s := Stat(walkTo(t, tt.path))
		if s.Mode != tt.mode || s.Rdev != tt.rdev {
			t.Errorf("%s: mode %o, device %#x; want %o, %#x", tt.path, s.Mode, s.Rdev, tt.mode, tt.rdev)
		}
	}
	want(t, "links of /", Stat(Root).Nlink, uint32(8))
	want(t, "Dev(0x123, 0x45678)", Dev(0x123, 0x45678), uint64(0x45612378))
}

func TestLinksInAWalk(t *testing.T) {
	start(t)
	newFile(t, "/l0", "x")
	for i := 1; i <= 41; i++ {
		if _, e := Symlink(fmt.Appendf(nil, "l%d", i-1), Root, fmt.Appendf(nil, "/l%d", i), 1); e != 0 {
			t.Fatal(e)
		}
	}
	_, e := Walk(Root, []byte("/l40"), true)
	want(t, "errno behind 40 links", e, Errno(0))
	_, e = Walk(Root, []byte("/l41"), true)
	want(t, "errno behind 41 links", e, ELOOP)
	// Links within links: each has a path left to walk after it.
	mkdir(t, "/d")
	Symlink([]byte("."), Root, []byte("/d/s0"), 1)
	for i := 1; i <= 39; i++ {
		Symlink(fmt.Appendf(nil, "s%d/.", i-1), Root, fmt.Appendf(nil, "/d/s%d", i), 1)
	}
	id, e := Walk(Root, []byte("/d/s39/../l0"), true)
	if e != 0 || id != walkTo(t, "/l0") {
		t.Errorf("Walk through 40 links in each other = %d, errno %d; want %d, 0", id, e, walkTo(t, "/l0"))
	}
	Symlink([]byte("s39/."), Root, []byte("/d/s40"), 1)
	_, e = Walk(Root, []byte("/d/s40/../l0"), true)
	want(t, "errno of 41 links in each other", e, ELOOP)
	_, e = Walk(Root, bytes.Repeat([]byte("/"), PathMax+1), true)
	want(t, "errno of a path of 4096 bytes", e, ENAMETOOLONG)
	_, e = Walk(Root, bytes.Repeat([]byte("/"), PathMax), true)
	want(t, "errno of a path of 4095 bytes", e, Errno(0))
	_, e = Symlink(bytes.Repeat([]byte("x"), PathMax+1), Root, []byte("/long"), 1)
	want(t, "errno of a target of 4096 bytes", e, ENAMETOOLONG)
}

// TestUnlinkedFile: a file without a name lives as long as it is held.
func TestUnlinkedFile(t *testing.T) {
	start(t)
	before, _ := Usage()
	newFile(t, "/f", "")
	id, e := Open(Root, []byte("/f"), O_RDWR, 0, 1)
	want(t, "errno of Open", e, Errno(0))
	want(t, "errno of Unlink", Unlink(Root, []byte("/f"), 2), Errno(0))
	WriteAt(id, []byte("still here"), 0, 3)
	want(t, "content", string(content(t, id)), "still here")
	want(t, "links", Stat(id).Nlink, uint32(0))
	want(t, "errno of LinkNode", LinkNode(id, Root, []byte("/g"), 1), ENOENT)
	Retain(id)
	Release(id)
	want(t, "content", string(content(t, id)), "still here")
	Release(id)
	after, _ := Usage()
	want(t, "nodes", after, before)
}

// TestRemovedDirectories: a process is in /a/b/c while all three are removed.
func TestRemovedDirectories(t *testing.T) {
	start(t)
	before, _ := Usage()
	a, b, c := mkdir(t, "/a"), mkdir(t, "/a/b"), mkdir(t, "/a/b/c")
	Retain(c)
	buf := make([]byte, 100)
	p, e := Path(c, buf)
	want(t, "Path", string(p), "/a/b/c")
	want(t, "errno", e, Errno(0))
	_, e = Path(c, buf[:5])
	want(t, "errno of Path in 5 bytes", e, ERANGE)
	p, e = Path(c, buf[:6])
	want(t, "Path in 6 bytes", string(p), "/a/b/c")
	want(t, "errno", e, Errno(0))
	p, _ = Path(Root, buf)
	want(t, "Path of the root", string(p), "/")
	_, e = Path(Root, nil)
	want(t, "errno of Path in no bytes", e, ERANGE)

	for _, d := range []string{"/a/b/c", "/a/b", "/a"} {
		want(t, "errno of Rmdir "+d, Rmdir(Root, []byte(d), 1), Errno(0))
	}
	_, e = Path(c, buf)
	want(t, "errno of Path when removed", e, ENOENT)
	id, e := Walk(c, []byte(".."), true)
	want(t, "..", id, b)
	want(t, "errno of ..", e, Errno(0))
	id, _ = Walk(c, []byte("../.."), true)
	want(t, "../..", id, a)
	id, _ = Walk(c, []byte("../../.."), true)
	want(t, "../../..", id, Root)
	_, e = Mkdir(c, []byte("x"), 0, 1)
	want(t, "errno of Mkdir in a removed directory", e, ENOENT)
	_, e = Open(c, []byte("x"), O_CREAT, 0, 1)
	want(t, "errno of Open in a removed directory", e, ENOENT)
	mkdir(t, "/x")
	want(t, "errno of Rename into a removed directory", Rename(Root, []byte("/x"), c, []byte("x"), 0, 1), ENOENT)
	Rmdir(Root, []byte("/x"), 1)
	want(t, "entries of a removed directory", len(list(c)), 0)
	Release(c)
	after, _ := Usage()
	want(t, "nodes", after, before)
}

// TestSparse: holes take no frames, and cutting a file gives all of them back.
func TestSparse(t *testing.T) {
	start(t)
	_, before := Usage()
	id := newFile(t, "/f", "begin")
	const far = 512<<30 - 3
	for _, off := range []int64{far, 5 << 30, 4096*512 - 2, 1 << 46} {
		if n, e := WriteAt(id, []byte("abcdef"), off, 1); n != 6 || e != 0 {
			t.Fatalf("WriteAt(%d) = %d, errno %d", off, n, e)
		}
	}
	if _, now := Usage(); now-before > 30 {
		t.Errorf("a sparse file takes %d frames", now-before)
	}
	want(t, "size", Size(id), int64(1<<46+6))
	b := make([]byte, 10)
	for _, tt := range []struct {
		off  int64
		want string
	}{
		{0, "begin\x00\x00\x00\x00\x00"},
		{far - 1, "\x00abcdef\x00\x00\x00"},
		{5<<30 - 2, "\x00\x00abcdef\x00\x00"},
		{4096*512 - 2, "abcdef\x00\x00\x00\x00"},
		{300 << 30, "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"},
		{1 << 46, "abcdef"},
		{1<<46 + 6, ""},
		{1 << 60, ""},
	} {
		n, e := ReadAt(id, b, tt.off)
		if string(b[:n]) != tt.want || e != 0 {
			t.Errorf("ReadAt(%d) = %q, errno %d; want %q", tt.off, b[:n], e, tt.want)
		}
	}
	SetSize(id, far+1, 1)
	SetSize(id, far+6, 1)
	n, _ := ReadAt(id, b, far)
	want(t, "content behind a cut", string(b[:n]), "a\x00\x00\x00\x00\x00")
	_, _, e := PageForWrite(id, SizeMax)
	want(t, "errno of PageForWrite(1<<48)", e, EFBIG)
	want(t, "errno of SetSize(1<<48+1)", SetSize(id, SizeMax+1, 1), EFBIG)
	want(t, "errno of SetSize(-1)", SetSize(id, -1, 1), EINVAL)
	want(t, "errno of SetSize(1<<48)", SetSize(id, SizeMax, 1), Errno(0))
	SetSize(id, 0, 1)
	want(t, "blocks", Stat(id).Blocks, int64(0))
	want(t, "errno of Unlink", Unlink(Root, []byte("/f"), 1), Errno(0))
	// Entries' and nodes' frames stay.
	if _, now := Usage(); now != before {
		t.Errorf("%d frames more than before the file", now-before)
	}
}

func TestTimesAndOwners(t *testing.T) {
	start(t)
	d := mkdir(t, "/d")
	id, _ := Open(Root, []byte("/d/f"), O_CREAT|O_RDWR, 0o4755, 10)
	times := func(id ID) string { s := Stat(id); return fmt.Sprint(s.Atime, s.Mtime, s.Ctime) }
	want(t, "times of a new file", times(id), "10 10 10")
	want(t, "times of its directory", times(d), "1 10 10")
	WriteAt(id, []byte("x"), 0, 20)
	want(t, "times after a write", times(id), "10 20 20")
	Utimes(id, OmitTime, 5, 30)
	want(t, "times after Utimes", times(id), "10 5 30")
	Chown(id, 7, ^uint32(0), 40)
	s := Stat(id)
	want(t, "owner", fmt.Sprint(s.UID, s.GID, s.Mode == S_IFREG|0o755, s.Ctime), "7 0 true 40")
	Chmod(id, 0o1644, 50)
	want(t, "mode", Stat(id).Mode, uint32(S_IFREG|0o1644))
	Rename(Root, []byte("/d/f"), Root, []byte("/d/g"), 0, 60)
	want(t, "times after Rename", times(id), "10 5 60")
	want(t, "times of its directory", times(d), "1 60 60")
	Unlink(Root, []byte("/d/g"), 70)
	want(t, "times after Unlink", times(id), "10 5 70")
	want(t, "times of its directory", times(d), "1 70 70")
	Release(id)
}

// TestMappedTail: bytes that a program has written after the end of a mapped file, in its last
// page, are zero when the file grows in any way.
func TestMappedTail(t *testing.T) {
	if e := Init(1); e != 0 {
		t.Fatalf("Init: errno %d", e)
	}
	defer finish(t)
	id, e := Open(Root, []byte("/file"), O_CREAT|O_RDWR, 0o644, 1)
	if e != 0 {
		t.Fatal(e)
	}
	RetainMapped(id)
	Release(id)
	defer Release(id)
	for what, grow := range map[string]func(){
		"SetSize": func() { SetSize(id, 20, 1) },
		"WriteAt": func() { WriteAt(id, []byte{0}, 19, 1) },
		"twice":   func() { SetSize(id, pageSize, 1); SetSize(id, 20, 1) },
	} {
		SetSize(id, 0, 1)
		WriteAt(id, []byte("begin"), 0, 1)
		page, _, _ := PageForWrite(id, 0)
		behind := bytesAt(page+5, 30)
		for i := range behind {
			behind[i] = 'x'
		}
		grow()
		b := make([]byte, 40)
		if n, _ := ReadAt(id, b, 0); string(b[:n]) != "begin"+string(make([]byte, 15)) {
			t.Errorf("%s: there is %q", what, b[:n])
		}
	}
}

// ReadAt reads bytes of a regular file into b, and returns how many it read. Errors: EISDIR, EINVAL.
func ReadAt(id ID, b []byte, off int64) (int, Errno) {
	f := at(id)
	if f.dir() {
		return 0, EISDIR
	}
	if !f.is(S_IFREG) || off < 0 {
		return 0, EINVAL
	}
	done := 0
	for done < len(b) {
		a, n := Page(id, off+int64(done))
		if n == 0 {
			break
		}
		n = min(n, len(b)-done)
		for i := 0; i < n; i++ {
			c := byte(0)
			if a != 0 {
				c = *(*byte)(arch.Pointer(a + uintptr(i)))
			}
			b[done+i] = c
		}
		done += n
	}
	return done, 0
}
