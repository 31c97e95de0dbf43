package vfs

// The steps of the model (model_test.go), and how it compares.

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"golang.org/x/sys/unix"
)

func (m *model) step() {
	r := m.r
	d, p := m.dir(), m.path()
	b := []byte(p)
	switch r.Intn(24) {
	case 0, 1, 2, 3, 4:
		if id, e := Walk(d.id, b, true); e == 0 && at(id).is(S_IFIFO) {
			return // opening one is not for the file tree to decide
		}
		flags := r.Intn(3)
		for _, f := range []int{O_CREAT, O_CREAT, O_EXCL, O_TRUNC, O_NOFOLLOW, O_DIRECTORY, O_PATH} {
			if r.Intn(4) == 0 {
				flags |= f
			}
		}
		if flags&O_CREAT == 0 {
			flags &^= O_EXCL // undefined
		} else {
			flags &^= O_DIRECTORY // EINVAL since Linux 6.4, else before
		}
		mode := uint32(r.Intn(0o10000)) & m.modes
		fd, err := unix.Openat(d.fd, p, flags|unix.O_NONBLOCK|unix.O_CLOEXEC, mode)
		id, e := Open(d.id, b, flags, mode, 1)
		m.outcome(err, e, "open", "%d %q %#x %o", d.id, p, flags, mode)
		if err == nil && e == 0 {
			m.handles = append(m.handles, handle{fd, id})
			if len(m.handles) > 20 || flags&O_PATH != 0 {
				m.close(1 + r.Intn(len(m.handles)-1))
			}
			// A handle that cannot be read or written tests little.
			if flags&O_PATH != 0 && m.handles[len(m.handles)-1].fd == fd {
				m.close(len(m.handles) - 1)
			}
		}
	case 5, 6, 7:
		mode := uint32(r.Intn(0o2000)) // with the sticky bit
		if r.Intn(8) == 0 {
			mode |= S_ISGID
		}
		err := unix.Mkdirat(d.fd, p, mode)
		// Linux ignores mkdir's set-user-ID and set-group-ID bits; its system call does that, not
		// the file system.
		_, e := Mkdir(d.id, b, mode&0o1777, 1)
		m.outcome(err, e, "mkdir", "%d %q %o", d.id, p, mode)
	case 8:
		to := m.path()
		err := unix.Symlinkat(to, d.fd, p)
		_, e := Symlink([]byte(to), d.id, b, 1)
		m.outcome(err, e, "symlink", "%q %d %q", to, d.id, p)
	case 9, 10:
		d2, p2 := m.dir(), m.path()
		flag, follow := 0, r.Intn(2) == 0
		if follow {
			flag = unix.AT_SYMLINK_FOLLOW
		}
		err := unix.Linkat(d.fd, p, d2.fd, p2, flag)
		e := Link(d.id, b, d2.id, []byte(p2), follow, 1)
		m.outcome(err, e, "link", "%d %q %d %q %v", d.id, p, d2.id, p2, follow)
	case 11:
		err := unix.Unlinkat(d.fd, p, 0)
		m.outcome(err, Unlink(d.id, b, 1), "unlink", "%d %q", d.id, p)
	case 12:
		err := unix.Unlinkat(d.fd, p, unix.AT_REMOVEDIR)
		m.outcome(err, Rmdir(d.id, b, 1), "rmdir", "%d %q", d.id, p)
	case 13, 14, 15:
		d2, p2 := m.dir(), m.path()
		flags := 0
		if r.Intn(3) == 0 {
			flags = r.Intn(4)
		}
		err := unix.Renameat2(d.fd, p, d2.fd, p2, uint(flags))
		e := Rename(d.id, b, d2.id, []byte(p2), flags, 1)
		m.outcome(err, e, "rename", "%d %q %d %q %d", d.id, p, d2.id, p2, flags)
	case 16:
		mode := uint32([]int{S_IFIFO, 0, S_IFREG, S_IFDIR, 0x3000}[r.Intn(5)] | 0o600)
		err := unix.Mknodat(d.fd, p, mode, 0)
		_, e := Mknod(d.id, b, mode, 0, 1)
		m.outcome(err, e, "mknod", "%d %q %o", d.id, p, mode)
	case 17:
		var buf, buf2 [5000]byte
		size := 1 + r.Intn(len(buf))
		if r.Intn(2) == 0 {
			size = 1 + r.Intn(5)
		}
		n, err := unix.Readlinkat(d.fd, p, buf[:size])
		n2 := 0
		id, e := Walk(d.id, b, false)
		if e == 0 {
			n2, e = Readlink(id, buf2[:size])
		}
		m.outcome(err, e, "readlink", "%d %q", d.id, p)
		if err == nil && !bytes.Equal(buf[:n], buf2[:n2]) {
			m.fail("target %q; Linux has %q", buf2[:n2], buf[:n])
		}
	case 18:
		mode := uint32(r.Intn(0o10000)) & m.modes
		err := unix.Fchmodat(d.fd, p, mode, 0)
		id, e := Walk(d.id, b, true)
		if e == 0 {
			e = Chmod(id, mode, 1)
		}
		m.outcome(err, e, "chmod", "%d %q %o", d.id, p, mode)
	case 19:
		follow := r.Intn(2) == 0
		flag := 0
		if !follow {
			flag = unix.AT_SYMLINK_NOFOLLOW
		}
		var st unix.Stat_t
		err := unix.Fstatat(d.fd, p, &st, flag)
		id, e := Walk(d.id, b, follow)
		m.outcome(err, e, "stat", "%d %q %v", d.id, p, follow)
		if err == nil && e == 0 {
			m.same(p, &st, id)
		}
	case 20:
		m.write(m.handles[r.Intn(len(m.handles))])
	case 21:
		h := m.handles[r.Intn(len(m.handles))]
		size := int64(r.Intn(20000))
		if r.Intn(10) == 0 {
			size = int64(r.Intn(1 << 40))
		}
		if !writable(h.fd) {
			return
		}
		err := unix.Ftruncate(h.fd, size)
		m.outcome(err, SetSize(h.id, size, 1), "cut", "%d %d", h.id, size)
	case 22:
		m.read(m.handles[r.Intn(len(m.handles))])
	case 23:
		i := r.Intn(len(m.handles))
		h := m.handles[i]
		if at(h.id).dir() {
			m.cwd(h)
			m.list(fmt.Sprint("handle ", h.fd), h.fd, h.id)
		}
		if i != 0 && r.Intn(2) == 0 {
			m.close(i)
		}
	}
}

func (m *model) close(i int) {
	h := m.handles[i]
	m.log = append(m.log, fmt.Sprintf("close %d", h.id))
	var st unix.Stat_t
	if err := unix.Fstat(h.fd, &st); err != nil {
		m.fail("fstat: %v", err)
	}
	m.same(fmt.Sprint("handle ", h.fd), &st, h.id)
	unix.Close(h.fd)
	Release(h.id)
	m.handles = append(m.handles[:i], m.handles[i+1:]...)
}

func writable(fd int) bool {
	f, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	return err == nil && f&3 != 0 && f&O_PATH == 0
}

func (m *model) write(h handle) {
	if !writable(h.fd) {
		return
	}
	b := make([]byte, 1+m.r.Intn(10000))
	m.r.Read(b)
	off := int64(m.r.Intn(20000))
	if m.r.Intn(10) == 0 {
		off = int64(m.r.Intn(1 << 40))
	}
	n, err := unix.Pwrite(h.fd, b, off)
	n2, e := WriteAt(h.id, b, off, 1)
	m.outcome(err, e, "write", "%d %d at %d", h.id, len(b), off)
	if e == 0 && n != n2 {
		m.fail("%d bytes written; Linux has %d", n2, n)
	}
}

func (m *model) read(h handle) {
	if f, _ := unix.FcntlInt(uintptr(h.fd), unix.F_GETFL, 0); f&3 == 1 || f&O_PATH != 0 {
		return
	}
	off := int64(m.r.Intn(30000))
	if m.r.Intn(10) == 0 {
		off = int64(m.r.Intn(1 << 40))
	}
	if m.r.Intn(3) == 0 {
		off = max(0, Size(h.id)-int64(m.r.Intn(5000)))
	}
	b, b2 := make([]byte, 10000), make([]byte, 10000)
	n, err := unix.Pread(h.fd, b, off)
	n2, e := ReadAt(h.id, b2, off)
	m.outcome(err, e, "read", "%d at %d", h.id, off)
	if e == 0 && !bytes.Equal(b[:n], b2[:n2]) {
		m.fail("other bytes (%d; Linux has %d)", n2, n)
	}
}

func (m *model) cwd(h handle) {
	defer unix.Chdir("/")
	if err := unix.Fchdir(h.fd); err != nil {
		return // no search permission is no matter of root
	}
	var buf, buf2 [8192]byte
	n, err := unix.Getcwd(buf[:])
	p, e := Path(h.id, buf2[:])
	m.outcome(err, e, "getcwd", "%d", h.id)
	if e == 0 && string(p) != string(buf[:n-1]) {
		m.fail("path %q; Linux has %q", p, buf[:n-1])
	}
}

// same compares the results of stat, and which node it is.
func (m *model) same(path string, st *unix.Stat_t, id ID) {
	s := Stat(id)
	if st.Mode&S_IFMT == S_IFDIR {
		st.Size = pageSize
	}
	if s.Mode != st.Mode || uint64(s.Nlink) != st.Nlink || s.Size != st.Size || s.UID != st.Uid || s.GID != st.Gid {
		m.fail("%s is %+v; Linux has %+v", path, s, *st)
	}
}

// list compares the entries of a directory and returns them.
func (m *model) list(path string, fd int, id ID) []string {
	d, err := unix.Openat(fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		if Stat(id).Nlink != 0 {
			m.fail("open %s: %v", path, err)
		}
		return nil
	}
	f := os.NewFile(uintptr(d), path)
	defer f.Close()
	entries, err := f.ReadDir(-1)
	if err != nil && err != io.EOF {
		if Stat(id).Nlink != 0 || len(list(id)) != 0 {
			m.fail("read %s: %v", path, err)
		}
		return nil
	}
	var theirs, ours, names []string
	for _, e := range entries {
		theirs = append(theirs, fmt.Sprintf("%q", e.Name()))
	}
	for cookie := uint64(2); ; {
		name, node, kind, next, ok := ReadDir(id, cookie)
		if !ok {
			break
		}
		cookie = next
		names = append(names, string(name))
		ours = append(ours, fmt.Sprintf("%q", name))
		if uint32(kind) != Mode(node)>>12 {
			m.fail("%s: kind %d; the node has mode %o", filepath.Join(path, string(name)), kind, Mode(node))
		}
	}
	sort.Strings(theirs)
	sort.Strings(ours)
	m.seen["list 0"]++
	if strings.Join(theirs, " ") != strings.Join(ours, " ") {
		m.fail("%s holds %v; Linux has %v", path, ours, theirs)
	}
	return names
}

// compare compares the whole tree under a directory.
func (m *model) compare(path string, fd int, id ID) {
	if path == "/" {
		clear(m.inos)
	}
	for _, name := range m.list(path, fd, id) {
		if m.wrong != "" {
			return
		}
		p := filepath.Join(path, name)
		var st unix.Stat_t
		if err := unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			m.fail("stat %s: %v", p, err)
			return
		}
		child, e := Walk(id, []byte(name), false)
		if e != 0 {
			m.fail("Walk %s: errno %d", p, e)
			return
		}
		m.same(p, &st, child)
		var buf [8192]byte
		if named, e := Path(child, buf[:]); e == 0 {
			if to, _ := Walk(Root, named, false); to != child {
				m.fail("the path of %s is said to be %s, which is node %d, not %d", p, named, to, child)
			}
		} else if e != ERANGE && st.Mode&S_IFMT == S_IFDIR {
			m.fail("Path %s: errno %d", p, e)
		}
		if ino, ok := m.inos[st.Ino]; ok && ino != uint64(child) {
			m.fail("%s is node %d; another name of it is node %d", p, child, ino)
		}
		m.inos[st.Ino] = uint64(child)
		kind := st.Mode & S_IFMT
		if kind != S_IFDIR && kind != S_IFREG {
			continue
		}
		f, err := unix.Openat(fd, name, unix.O_RDONLY|unix.O_NOFOLLOW, 0)
		if err != nil {
			m.fail("open %s: %v", p, err)
			return
		}
		if kind == S_IFDIR {
			m.compare(p, f, child)
		} else {
			for i := 0; i < 4; i++ {
				m.read(handle{f, child})
			}
			if st.Size < 1<<20 {
				b, b2 := make([]byte, st.Size+1), make([]byte, st.Size+1)
				n, err := unix.Pread(f, b, 0)
				n2, e := ReadAt(child, b2, 0)
				if err != nil || e != 0 || !bytes.Equal(b[:n], b2[:n2]) {
					m.fail("%s holds other bytes (%d, errno %d; Linux has %d, %v)", p, n2, e, n, err)
				}
			}
		}
		unix.Close(f)
	}
}
