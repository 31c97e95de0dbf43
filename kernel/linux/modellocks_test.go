package linux

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/zeroframe/zeroframe/kernel/vfs"
)

// makeFiles makes two files with the same names in both systems.
func (m *model) makeFiles() (paths []string) {
	dir, err := os.MkdirTemp("/tmp", "locks")
	if err != nil {
		m.t.Fatal(err)
	}
	if n, _ := vfs.Usage(); n == 0 {
		vfs.Init(0)
	}
	vfs.Mkdir(vfs.Root, []byte(dir), 0o700, 0)
	for _, name := range []string{"a", "b"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, make([]byte, 100), 0o600); err != nil {
			m.t.Fatal(err)
		}
		id, e := vfs.Open(vfs.Root, []byte(path), vfs.O_CREAT|vfs.O_RDWR, 0o600, 0)
		if e == 0 {
			_, e = vfs.WriteAt(id, make([]byte, 100), 0, 0)
		}
		if e != 0 {
			m.t.Fatal(e)
		}
		vfs.Release(id)
		paths = append(paths, path)
	}
	return paths
}

// locks locks files and parts of them, and queries locks. No two workers wait for the same file:
// Linux does not define which is first.
func (m *model) locks() {
	paths := m.makeFiles()
	defer os.RemoveAll(filepath.Dir(paths[0]))
	waiting := map[int]int{} // by worker, the file; -1 and below for flock
	taken := func(what int) bool {
		return slices.ContainsFunc(m.workers, func(w *worker) bool {
			return w.waits && waiting[slices.Index(m.workers, w)] == what
		})
	}
	m.deadlock(paths[0])
	for range 700 {
		i := m.oneIdle()
		w, last := m.workers[i], true
		for _, o := range m.workers {
			last = last && (o == w || o.waits)
		}
		if len(m.slots) < 3 || m.r.IntN(15) == 0 && len(m.slots) < 9 {
			const path = 0x200000
			obj := m.r.IntN(len(paths))
			m.open(i, paths[obj], obj, []int{syscall.O_RDWR, syscall.O_RDWR, syscall.O_RDWR, syscall.O_RDONLY, syscall.O_WRONLY, 3, path}[m.r.IntN(7)])
			continue
		}
		k := m.r.IntN(len(m.slots))
		s := &m.slots[k]
		if s.kind == closed && m.r.IntN(10) > 0 {
			continue
		}
		record, flock := s.obj, -1-s.obj
		switch op := m.r.IntN(16); op {
		case 0:
			if taken(record) || taken(flock) {
				continue // with Linux, it goes on waiting for what the descriptor was
			}
			m.do(i, nil, "close", syscall.SYS_CLOSE, fd(k))
			s.kind, s.fd = closed, [2]int{900, 900}
		case 1:
			a, b, _ := m.do(i, nil, "new dup", syscall.SYS_DUP, fd(k))
			m.keep(a, b, *s)
		case 2:
			m.do(i, nil, "lseek", syscall.SYS_LSEEK, fd(k), m.r.IntN(30), 0)
		case 3, 4, 5, 6:
			const noWait = 4
			how := []int{1, 1, 2, 2, 8, 8, 0, 3, 11, 16}[m.r.IntN(10)]
			if last || taken(flock) || m.r.IntN(2) == 0 {
				how |= noWait
			}
			waiting[i] = flock
			m.do(i, nil, "flock", syscall.SYS_FLOCK, fd(k), how)
		case 7:
			m.interrupt1(i, syscall.SIGUSR2)
		case 8:
			m.interrupt1(i, syscall.SIGUSR1)
		default:
			m.setRange(w)
			how := []int{5, 6, 7, 36, 37, 38}[m.r.IntN(6)]
			if how == 36 && binary.LittleEndian.Uint16(w.room[0]) == noLock {
				how = 37 // EINVAL with old Linux
			}
			if waits := how == 7 || how == 38; waits && (last || taken(record)) {
				how--
			}
			waiting[i] = record
			m.do(i, func(int64) int {
				if b := w.room[1][24:]; binary.LittleEndian.Uint32(b) == uint32(os.Getpid()) {
					binary.LittleEndian.PutUint32(b, pid)
				}
				return 32
			}, "fcntl", syscall.SYS_FCNTL, fd(k), how, at(0))
		}
	}
	m.interrupt()
}

// open opens a file of both, which is number obj.
func (m *model) open(i int, path string, obj, flags int) {
	for _, room := range m.workers[i].room {
		copy(room, path+"\x00")
	}
	a, b, _ := m.do(i, nil, "new openat", syscall.SYS_OPENAT, -100, at(0), flags, 0)
	m.keep(a, b, slot{kind: node, obj: obj})
}

// deadlock lets an open file and the process wait for each other, which they may not.
func (m *model) deadlock(path string) {
	const set, setWait, setOpen, waitOpen = 6, 7, 37, 38
	m.open(0, path, 0, syscall.O_RDWR)
	m.open(0, path, 0, syscall.O_RDWR)
	lock := func(i, k, how int, kind uint16, start uint64) int64 {
		for _, room := range m.workers[i].room {
			clear(room[:32])
			binary.LittleEndian.PutUint16(room, kind)
			binary.LittleEndian.PutUint64(room[8:], start)
			binary.LittleEndian.PutUint64(room[16:], 10)
		}
		r, _, _ := m.do(i, nil, "fcntl", syscall.SYS_FCNTL, fd(k), how, at(0))
		return r
	}
	lock(0, 0, set, writeLock, 0)
	lock(0, 1, setOpen, writeLock, 20)
	lock(1, 1, waitOpen, writeLock, 0)
	if r := lock(0, 0, setWait, readLock, 20); r != -eDEADLK || !m.workers[1].waits {
		m.fail("it is %d; want EDEADLK, and a thread that waits", r)
	}
	lock(0, 0, set, noLock, 0)
	lock(0, 1, setOpen, noLock, 0)
}

// TestLocksFull: when there is no room, a lock is refused with ENOLCK, and nothing changes.
func TestLocksFull(t *testing.T) {
	defer func() { numLocks = 0 }()
	n := int64(0)
	for changeLocks(&fileLock{what: 1, owner: 1, record: true, lo: 2 * n, hi: 2 * n}, false) == 0 {
		n++
	}
	before := locks
	if n != maxLocks-1 || numLocks != maxLocks-1 {
		t.Errorf("%d locks fit, %d are there; want %d", n, numLocks, maxLocks-1)
	}
	if e := changeLocks(&fileLock{what: 1, owner: 1, record: true, hi: 9}, true); e != -eNOLCK || locks != before {
		t.Errorf("an unlock that may take room is %d; want ENOLCK", e)
	}
	if e := changeLocks(&fileLock{what: 1, owner: 1, record: true, hi: endOfFile}, true); e != 0 || numLocks != 0 {
		t.Errorf("the last unlock is %d and leaves %d locks; want 0 and 0", e, numLocks)
	}
}

// interrupt1 sends a signal to the first worker that waits.
func (m *model) interrupt1(from int, sig syscall.Signal) {
	for j, w := range m.workers {
		if w.waits {
			m.do(from, nil, "tgkill", syscall.SYS_TGKILL, pids{}, tid(j), int(sig))
			return
		}
	}
}

// setRange writes a struct flock for a call.
func (m *model) setRange(w *worker) {
	start, size := int64(m.r.IntN(40)), int64(m.r.IntN(12))
	switch m.r.IntN(30) {
	case 0:
		start = []int64{-1, -5, 1 << 62, 1<<63 - 1}[m.r.IntN(4)]
	case 1:
		size = []int64{-1, -5, -1 << 63, 1 << 62, 1<<63 - 1}[m.r.IntN(5)]
	}
	kind, whence, owner := m.r.IntN(3), 0, uint32(0)
	switch m.r.IntN(20) {
	case 0:
		kind = 3 + m.r.IntN(3)
	case 1, 2:
		whence = m.r.IntN(4)
	case 3:
		owner = 7
	}
	for _, room := range w.room {
		binary.LittleEndian.PutUint16(room[0:], uint16(kind))
		binary.LittleEndian.PutUint16(room[2:], uint16(whence))
		binary.LittleEndian.PutUint32(room[4:], 0)
		binary.LittleEndian.PutUint64(room[8:], uint64(start))
		binary.LittleEndian.PutUint64(room[16:], uint64(size))
		binary.LittleEndian.PutUint64(room[24:], uint64(owner))
	}
}

// keep keeps a descriptor of both, by the numbers that it has.
func (m *model) keep(a, b int64, s slot) {
	if a < 0 || b < 0 {
		if a != b {
			m.fail("it is %d; Linux has %d", a, b)
		}
		return
	}
	s.fd = [2]int{int(a), int(b)}
	for k := range m.slots {
		if m.slots[k].kind == closed {
			m.slots[k] = s
			return
		}
	}
	m.slots = append(m.slots, s)
}
