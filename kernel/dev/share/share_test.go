package share

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"syscall"
	"testing"
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/dev/virtio"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/vfs"
)

// In these tests the device is plain memory, and the tests write its answers. qemu's TestShares has
// a real one.

func TestMain(m *testing.M) {
	lo := room(256 << 20)
	mem.AddFrames(lo, lo+256<<20)
	if vfs.Init(1) != 0 || vfs.Mount(1, []byte("/host"), vfs.SharePrivate, 1) != 0 {
		panic("no tree")
	}
	s := &shares[0]
	s.FromMemory(room(arch.PageSize), 2)
	s.queue.Place(room(int(virtio.QueueBytes(queueLength))), queueLength)
	s.question, s.answer = room(questionBytes), room(answerBytes)
	count = 1
	os.Exit(m.Run())
}

func room(n int) uintptr {
	b, err := syscall.Mmap(-1, 0, n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE|syscall.MAP_NORESERVE)
	if err != nil {
		panic(err)
	}
	return uintptr(unsafe.Pointer(&b[0]))
}

// reply makes a message of that kind.
func reply(kind byte, body ...any) []byte {
	var b bytes.Buffer
	for _, v := range body {
		if s, ok := v.(string); ok {
			binary.Write(&b, binary.LittleEndian, uint16(len(s)))
			b.WriteString(s)
		} else {
			binary.Write(&b, binary.LittleEndian, v)
		}
	}
	head := binary.LittleEndian.AppendUint32(nil, uint32(headBytes+b.Len()))
	return append(append(head, kind, 0, 0), b.Bytes()...)
}

// give delivers an answer of the device.
func (s *share) give(b []byte) {
	n := copy(bytesAt(s.answer, answerBytes), b)
	s.next(n)
}

type qid [qidBytes]byte

func entry(name string, kind byte) []any { return []any{qid{}, uint64(1), kind, name} }

// attributes returns the answer to getattr for a file.
func attributes(mode uint32, size uint64) []byte {
	return reply(askGetattr+1, uint64(0), qid{}, mode, [2]uint32{}, [2]uint64{}, size, [4]uint64{}, uint64(5), uint64(7), [8]uint64{})
}

// fetched lets the device answer the requests for the node that is lacking.
func fetched(t testing.TB, what uint8, answers ...[]byte) int64 {
	t.Helper()
	s := &shares[0]
	id, _ := vfs.Lacking()
	s.begin(id, what, 1)
	for i, b := range answers {
		if s.step == idle {
			t.Fatalf("nothing is asked before answer %d, errno %d", i, s.failure)
		}
		s.give(b)
	}
	if s.step != idle {
		t.Fatalf("step %d goes on", s.step)
	}
	return s.failure
}

func list(entries ...[]any) []byte {
	var b []byte
	for _, e := range entries {
		b = append(b, reply(0, e...)[headBytes:]...)
	}
	return reply(askReaddir+1, uint32(len(b)), b)
}

// TestFetch: a directory, a file, a link, and names that the host may not use.
func TestFetch(t *testing.T) {
	s := &shares[0]
	if _, e := vfs.Walk(vfs.Root, []byte("/host/x"), true); e != vfs.EMISSING {
		t.Fatalf("errno %d", e)
	}
	walked, opened, clunked := reply(askWalk+1, uint16(0)), reply(askLopen+1, qid{}, uint32(0)), reply(askClunk+1)
	errno := fetched(t, vfs.LacksData,
		reply(askVersion+1, uint32(answerBytes), "9P2000.L"), reply(askAttach+1, qid{}), walked, attributes(0o40755, 0), opened,
		list(entry("file", 8), entry("link", 10), entry(".", 4), entry("..", 4), entry("a/b", 8), entry("", 8), entry("null\x00", 8), entry("pipe", 1)),
		list(entry("folder", 4), entry("file", 4)), list(), clunked)
	if errno != 0 || !s.attached {
		t.Fatalf("errno %d", errno)
	}
	if _, e := vfs.Mkdir(vfs.Root, []byte("/host/folder/own"), 0o755, 1); e != vfs.EMISSING {
		t.Errorf("errno %d; want that the folder is read first", e)
	}
	names := ""
	id, _ := vfs.Walk(vfs.Root, []byte("/host"), true)
	for at, ok := uint64(0), true; ok; {
		var name []byte
		if name, _, _, at, ok = vfs.ReadDir(id, at); ok {
			names += string(name) + " "
		}
	}
	if names != ". .. file link folder " {
		t.Errorf("the folder has %s", names)
	}

	one := reply(askWalk+1, uint16(1))
	if _, e := vfs.Walk(vfs.Root, []byte("/host/link"), true); e != vfs.EMISSING {
		t.Fatalf("errno %d", e)
	}
	if errno := fetched(t, vfs.LacksInfo, one, attributes(0o120777, 4), reply(askReadlink+1, "file"), clunked); errno != 0 {
		t.Fatalf("errno %d", errno)
	}
	if _, e := vfs.Open(vfs.Root, []byte("/host/link"), 0, 0, 1); e != vfs.EMISSING {
		t.Fatalf("errno %d", e)
	}
	part := bytes.Repeat([]byte("0123456789"), 1000)
	errno = fetched(t, vfs.LacksInfo|vfs.LacksData, one, attributes(0o100640, 5), opened,
		reply(askRead+1, uint32(len(part)), part), reply(askRead+1, uint32(3), []byte("end")), reply(askRead+1, uint32(0)), clunked)
	file, e := vfs.Open(vfs.Root, []byte("/host/link"), 0, 0, 1)
	b := contents(file)
	if info := vfs.Stat(file); errno != 0 || e != 0 || string(b) != string(part)+"end" || info.Mode != 0o100640 || info.Mtime != 5e9+7 || info.Size != 10_003 {
		t.Errorf("errno %d, %d: %d bytes, %+v", errno, e, len(b), info)
	}
	vfs.Release(file)
	if vfs.Reclaim() == 0 {
		t.Error("a file that nobody has open keeps its frames")
	}
	if _, e := vfs.Open(vfs.Root, []byte("/host/file"), 0, 0, 1); e != vfs.EMISSING {
		t.Errorf("errno %d; want that it is missing again", e)
	}
	// If the host reports errors, the first one counts, and the file can be asked for again.
	if errno := fetched(t, vfs.LacksData, one, reply(replyError, uint32(13)), clunked); errno != 13 {
		t.Errorf("errno %d; want EACCES", errno)
	}
	if errno := fetched(t, vfs.LacksData, one, attributes(0o100640, 5), opened, reply(replyError, uint32(116)), clunked); errno != eIO {
		t.Errorf("errno %d; want EIO", errno)
	}
	if done, errno := Fetch(file, vfs.LacksData, true, 1); !done || errno != eIO {
		t.Errorf("who has waited gets %v, errno %d; want EIO", done, errno)
	}
}

func busy() bool { _, ok := Wait(); return ok }

// TestFetchDead: a device that does not answer for a minute, or wants a reset, is given up.
func TestFetchDead(t *testing.T) {
	s := &shares[0]
	defer func(was share) { *s = was }(*s)
	vfs.Walk(vfs.Root, []byte("/host/folder/x"), true)
	id, what := vfs.Lacking()
	if done, _ := Fetch(id, what, false, 1); done || !busy() {
		t.Fatal("it has come")
	}
	if Poll(deadline); !busy() {
		t.Error("given up early")
	}
	if Poll(deadline + 2); busy() || !Ended() || Ended() {
		t.Error("not given up")
	}
	if done, errno := Fetch(id, what, false, 1); !done || errno != eIO {
		t.Errorf("%v, errno %d; want EIO", done, errno)
	}
}

// FuzzAnswers has a device that answers anything: each job ends, the tree has only possible names,
// and no more than was sent.
func FuzzAnswers(f *testing.F) {
	seed := func(answers ...[]byte) {
		var b []byte
		for _, a := range answers {
			b = append(append(b, byte(len(a)), byte(len(a)>>8)), a...)
		}
		f.Add(b)
	}
	walked, opened, clunked := reply(askWalk+1, uint16(0)), reply(askLopen+1, qid{}, uint32(0)), reply(askClunk+1)
	seed(walked, attributes(0o40755, 0), opened, list(entry("a", 8), entry("b", 4)), list(), clunked)
	seed(walked, attributes(0o100640, 1<<62), opened, reply(askRead+1, uint32(1<<31), []byte("x")))
	seed(reply(askWalk+1, uint16(1)), attributes(0o120777, 1), reply(askReadlink+1, ""), clunked)
	seed(reply(replyError, uint32(0)), reply(askClunk+1))
	seed([]byte{0, 0, 0, 0}, []byte{255, 255, 255, 255, 7, 0, 0})
	seed(walked, attributes(0o40755, 0), opened, reply(askReaddir+1, uint32(24), qid{}, uint64(1), byte(8), uint16(500)))
	n := 0
	f.Fuzz(func(t *testing.T, b []byte) {
		s := &shares[0]
		s.attached = true
		n++
		name := fmt.Appendf(nil, "f%d", n)
		kinds := []uint32{vfs.S_IFDIR, vfs.S_IFREG, vfs.S_IFLNK}
		host, _ := vfs.Walk(vfs.Root, []byte("/host"), true)
		if host == 0 {
			host, _ = vfs.Lacking()
		}
		if vfs.AddShared(host, name, kinds[len(b)%3]) != 0 {
			return // the tree is full
		}
		vfs.Filled(host, 0)
		if _, e := vfs.Open(vfs.Root, append([]byte("/host/"), name...), vfs.O_NOFOLLOW, 0, 1); e != vfs.EMISSING {
			if e != vfs.ELOOP {
				t.Fatalf("errno %d", e)
			}
			return
		}
		id, _ := vfs.Lacking()
		s.begin(id, vfs.LacksInfo|vfs.LacksData, 1)
		for len(b) >= 2 && s.step != idle {
			m := min(int(b[0])|int(b[1])<<8, len(b)-2)
			s.give(b[2 : 2+m])
			b = b[2+m:]
		}
		for range 3 { // an answer that cannot be
			if s.step != idle {
				s.give(nil)
			}
		}
		if s.step != idle {
			t.Fatalf("step %d goes on", s.step)
		}
		for at, ok := uint64(2), true; ok; {
			var name []byte
			if name, _, _, at, ok = vfs.ReadDir(id, at); ok && (len(name) == 0 || len(name) > vfs.NameMax || bytes.ContainsAny(name, "/\x00")) {
				t.Fatalf("a name is %q", name)
			}
		}
	})
}

// contents returns the bytes of a file.
func contents(id vfs.ID) (b []byte) {
	for {
		at, n := vfs.Page(id, int64(len(b)))
		if n == 0 {
			return b
		}
		b = append(b, unsafe.Slice((*byte)(arch.Pointer(at)), n)...)
	}
}
