package vfs

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/ascii"
)

// Filling the tree from a cpio archive in the format that Linux takes as its initial RAM disk
// ("newc", Documentation/driver-api/early-userspace/buffer-format.rst):
//
//	header   110 bytes: "070701" (or "070702", with a checksum), 13 numbers of 8 hexadecimal digits
//	name     ended by a zero byte, padded so that header and name are a multiple of 4 bytes
//	data     padded to a multiple of 4 bytes
//
// and so on, up to an entry named "TRAILER!!!". Another archive may follow, after zeros. Of files
// with several names (hard links), usually only the last entry has the data.
//
// Files refer to their data in the archive, which must stay in place. The archive is not trusted:
// all offsets are checked, so that a damaged file leads to an error text and not to a fault.

// Numbers of a header, in their order.
const (
	cpioIno = iota
	cpioMode
	cpioUID
	cpioGID
	cpioNlink
	cpioMtime
	cpioSize
	cpioDevMajor
	cpioDevMinor
	cpioRdevMajor
	cpioRdevMinor
	cpioNameSize
	cpioCheck
	numCPIO

	cpioHeader = 6 + numCPIO*8
)

// What can be wrong with an archive, as text: there is no runtime to make error values.
const (
	errEmpty      = "the archive is empty"
	errGzip       = "the archive is compressed with gzip; unpack it first (gunzip)"
	errXz         = "the archive is compressed with xz; unpack it first (unxz)"
	errZstd       = "the archive is compressed with zstd; unpack it first (unzstd)"
	errBzip2      = "the archive is compressed with bzip2; unpack it first (bunzip2)"
	errLz4        = "the archive is compressed with lz4; unpack it first (unlz4)"
	errOldFormat  = "the archive is cpio of an old format; make it with cpio -H newc"
	errNoCPIO     = "the archive is no cpio: an entry does not begin with 070701 or 070702"
	errCut        = "the archive ends in the middle of an entry"
	errNoTrailer  = "the archive ends without the entry TRAILER!!!; it was cut off"
	errDigit      = "an entry's header in the archive has something else than hexadecimal digits"
	errNameSize   = "an entry's name in the archive is empty, or longer than 4095 bytes"
	errNameEnd    = "an entry's name in the archive has no zero byte at its end, or another one before"
	errNameLong   = "an entry of the archive has a part of its name longer than 255 bytes"
	errDotDot     = "an entry's name in the archive goes up with \"..\""
	errNotDir     = "an entry of the archive lies in something that is no directory"
	errLoop       = "an entry of the archive lies behind too many symbolic links"
	errOverDir    = "an entry of the archive that is no directory has the name of a directory"
	errLinkTarget = "a symbolic link in the archive has a target that is empty, longer than 4095 bytes, or has a zero byte"
	errKind       = "an entry of the archive is of an unknown kind"
	errCheck      = "the checksum of a file in the archive is wrong"
	errMemory     = "out of memory for the archive's files"
	errSize       = "the archive lies beyond the end of memory"
)

// LoadCPIO adds the files of the archive at addr, size bytes long, to the tree; they replace
// existing ones. The archive must stay in place as long as the tree lives: its bytes are the files'
// until they are written. It returns the number of entries that were loaded, and "" or what is
// wrong with the next one. Kernel context.
func LoadCPIO(addr, size uintptr) (entries int, wrong string) {
	if addr == 0 || size == 0 {
		return 0, errEmpty
	}
	if addr+size < addr || int(size) < 0 {
		return 0, errSize
	}
	// The names that are links to one file: a hash table by the archive's numbers for it, chained
	// through the nodes.
	links := frame()
	if links == 0 {
		return 0, errMemory
	}
	l := loader{archive: bytesAt(addr, int(size)), links: links}
	for {
		done, wrong := l.entry()
		if wrong != "" || done {
			l.forget()
			freeFrame(links)
			return l.loaded, wrong
		}
	}
}

// loader is the state of LoadCPIO.
type loader struct {
	archive []byte
	off     int // of the next entry
	loaded  int // entries
	links   uintptr
	header  [numCPIO]uint32
}

// entry loads one entry and advances to the next. It reports whether the archive is done.
func (l *loader) entry() (done bool, wrong string) {
	a := l.archive[l.off:]
	if len(a) < 6 {
		return false, errNoTrailer
	}
	if wrong := magic(a); wrong != "" {
		return false, wrong
	}
	if len(a) < cpioHeader {
		return false, errCut
	}
	for i := range l.header {
		v, ok := ascii.Hex(a[6+i*8:][:8])
		if !ok {
			return false, errDigit
		}
		l.header[i] = v
	}
	// Both sizes are below 4 GiB and int has 64 bits: no sum overflows.
	nameSize := int(l.header[cpioNameSize])
	if nameSize < 2 || nameSize > PathMax+1 {
		return false, errNameSize
	}
	if len(a) < cpioHeader+nameSize {
		return false, errCut
	}
	name := a[cpioHeader:][:nameSize]
	for i := range name {
		if (name[i] == 0) != (i == nameSize-1) {
			return false, errNameEnd
		}
	}
	name = name[:nameSize-1]
	lo := (cpioHeader + nameSize + 3) &^ 3
	hi := lo + int(l.header[cpioSize])
	if hi == lo {
		lo, hi = min(lo, len(a)), min(hi, len(a)) // the last padding may be missing
	}
	if len(a) < hi {
		return false, errCut
	}
	start := l.off
	l.off += hi

	if ascii.Same(name, "TRAILER!!!") {
		return l.trailer(), ""
	}
	l.off = min(start+(hi+3)&^3, len(l.archive)) // the same here
	data := a[lo:hi]
	if a[5] == '2' && l.header[cpioMode]&S_IFMT == S_IFREG && !l.sum(data) {
		return false, errCheck
	}
	if wrong := l.load(name, data); wrong != "" {
		return false, wrong
	}
	l.loaded++
	return false, ""
}

// trailer advances to an archive that follows, and reports whether there is none.
func (l *loader) trailer() (done bool) {
	l.forget() // another archive has numbers of its own
	for l.off < len(l.archive) && l.archive[l.off] == 0 {
		l.off++
	}
	return l.off == len(l.archive)
}

// sum checks a file's data against the sum of its bytes.
func (l *loader) sum(data []byte) bool {
	s := uint32(0)
	for _, c := range data {
		s += uint32(c)
	}
	return s == l.header[cpioCheck]
}

// magic says what an entry that begins with a is, if it is not of newc. a has at least 6 bytes.
func magic(a []byte) (wrong string) {
	switch {
	case ascii.Same(a[:6], "070701"), ascii.Same(a[:6], "070702"):
		return ""
	case a[0] == 0x1f && a[1] == 0x8b:
		return errGzip
	case ascii.Same(a[:6], "\xfd7zXZ\x00"):
		return errXz
	case ascii.Same(a[:4], "\x28\xb5\x2f\xfd"):
		return errZstd
	case ascii.Same(a[:3], "BZh"):
		return errBzip2
	case ascii.Same(a[:4], "\x02\x21\x4c\x18"), ascii.Same(a[:4], "\x04\x22\x4d\x18"):
		return errLz4
	case ascii.Same(a[:6], "070707"), a[0] == 0xc7 && a[1] == 0x71, a[0] == 0x71 && a[1] == 0xc7:
		return errOldFormat
	}
	return errNoCPIO
}

// load makes the node of an entry, or changes the one that is there.
func (l *loader) load(name, data []byte) (wrong string) {
	mode := l.header[cpioMode]
	mtime := int64(l.header[cpioMtime]) * 1e9
	switch mode & S_IFMT {
	case S_IFREG, S_IFDIR, S_IFCHR, S_IFBLK, S_IFIFO, S_IFSOCK:
	case S_IFLNK:
		if len(data) == 0 || len(data) > PathMax {
			return errLinkTarget
		}
		for _, c := range data {
			if c == 0 {
				return errLinkTarget
			}
		}
	default:
		return errKind
	}
	p, wrong := parents(name, mtime)
	if wrong != "" {
		return wrong
	}

	id := p.id
	if id != 0 && (!at(id).dir() || mode&S_IFMT != S_IFDIR) {
		// Only a directory under another directory stays.
		if at(id).dir() {
			return errOverDir
		}
		remove(p.entry)
		unname(id, mtime)
		id = 0
	}
	if first := l.linked(mode); first != 0 && id == 0 {
		en := newEntry(p.dir, p.name, first)
		if en == 0 {
			return errMemory
		}
		add(en)
		at(first).nlink++
		id = first
	} else if id == 0 {
		// The directory keeps its time, which is also the archive's.
		d := *at(p.dir)
		var e Errno
		if id, e = create(p, mode, mtime); e != 0 {
			return errMemory
		}
		at(p.dir).mtime, at(p.dir).ctime = d.mtime, d.ctime
		l.link(id, mode)
	}

	l.describe(at(id), data, mtime)
	return ""
}

// describe gives a node what the entry's header says, and its contents.
func (l *loader) describe(n *node, data []byte, mtime int64) {
	n.mode = l.header[cpioMode] & (S_IFMT | modeBits)
	n.uid, n.gid = l.header[cpioUID], l.header[cpioGID]
	n.atime, n.mtime, n.ctime = mtime, mtime, mtime
	switch n.mode & S_IFMT {
	case S_IFCHR, S_IFBLK:
		n.rdev = uint32(Dev(l.header[cpioRdevMajor], l.header[cpioRdevMinor]))
	case S_IFREG, S_IFLNK:
		if len(data) > 0 {
			n.orig, n.origLen, n.size = address(data), int64(len(data)), int64(len(data))
		}
	}
}

// parents walks to an entry's place and makes missing directories on the way.
func parents(name []byte, now int64) (p place, wrong string) {
	for i := 0; i < len(name); {
		j := slashes(name, i)
		for i = j; i < len(name) && name[i] != '/'; {
			i++
		}
		if i-j == 2 && name[j] == '.' && name[j+1] == '.' {
			return p, errDotDot
		}
	}
	p, e := walk(Root, name, 0)
	if e == ENOENT {
		for i := slashes(name, 0); i < len(name); i++ {
			if name[i] != '/' {
				continue
			}
			// Whatever exists already, or cannot be made, shows in the second walk.
			if _, e := Mkdir(Root, name[:i], 0o755, now); e == ENOSPC {
				return p, errMemory
			}
		}
		p, e = walk(Root, name, 0)
	}
	switch e {
	case 0:
		return p, ""
	case ENAMETOOLONG:
		return p, errNameLong
	case ELOOP:
		return p, errLoop
	}
	return p, errNotDir
}

// linked returns the node that an earlier entry made for the same file, or 0.
func (l *loader) linked(mode uint32) ID {
	if mode&S_IFMT != S_IFREG || l.header[cpioNlink] < 2 {
		return 0
	}
	id := *l.bucket()
	for id != 0 {
		n := at(id)
		if n.arcIno == l.header[cpioIno] && n.arcDev == l.dev() {
			return id
		}
		id = n.arcChain
	}
	return 0
}

// link remembers the node for the names that follow, and holds it, because its name may be another
// file's by then.
func (l *loader) link(id ID, mode uint32) {
	if mode&S_IFMT != S_IFREG || l.header[cpioNlink] < 2 {
		return
	}
	b := l.bucket()
	n := at(id)
	n.arcIno, n.arcDev, n.arcChain = l.header[cpioIno], l.dev(), *b
	*b = id
	n.opens++
}

// forget releases all nodes that link holds.
func (l *loader) forget() {
	for i := uintptr(0); i < pageSize; i += 4 {
		b := (*ID)(arch.Pointer(l.links + i))
		for *b != 0 {
			id := *b
			*b = at(id).arcChain
			Release(id)
		}
	}
}

// bucket returns the bucket of the entry's file.
func (l *loader) bucket() *ID {
	h := (l.header[cpioIno]*0x9e3779b1 ^ l.dev()) * 0x85ebca6b
	return (*ID)(arch.Pointer(l.links + uintptr(h>>22)*4))
}

func (l *loader) dev() uint32 {
	return uint32(Dev(l.header[cpioDevMajor], l.header[cpioDevMinor]))
}
