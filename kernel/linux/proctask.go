package linux

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/thread"
	"github.com/zeroframe/zeroframe/kernel/vfs"
)

// The bytes of the files in /proc that tell of a process, of its threads and of its descriptors.

// commandLine is where the machine's command line is, as the loader gave it. Set once at boot.
var commandLine struct{ at, n uintptr }

// SetCommandLine says what the machine's command line is. Its bytes are kept. Early context.
func SetCommandLine(line []byte) {
	commandLine.at, commandLine.n = uintptr(unsafe.Pointer(unsafe.SliceData(line))), uintptr(len(line))
}

// putStrings puts the program's arguments or its variables, which it may have changed.
func putStrings(variables bool) {
	i := 0
	for variables && Vector[i] != 0 {
		i++
	}
	if variables {
		i++
	}
	for ; i < len(Vector) && Vector[i] != 0; i++ {
		s, e := inString(0, Vector[i])
		if e != 0 {
			return
		}
		putBytes(s)
		putByte(0)
	}
}

// threadOf returns the thread that a file tells of; the process's is the first, or any.
func threadOf(tid int32) *thread.Thread {
	if t := thread.Get(max(tid, 1)); t != nil {
		return t
	}
	return thread.Current()
}

// putName puts the name of a thread, or of the process.
func putName(tid int32) {
	name := threadOf(tid).Name
	for _, c := range name {
		if c == 0 {
			break
		}
		putByte(c)
	}
}

// stateOf returns the letter for what a thread is doing, or the process's first.
func stateOf(tid int32) byte {
	if threadOf(tid).State == thread.Waiting {
		return 'S'
	}
	return 'R'
}

// ticks are hundredths of a second.
func ticks(ns uint64) uint64 { return ns / 1e7 }

// timeOf returns for how long a thread, or the process, has run, in ns.
func timeOf(tid int32) uint64 {
	all := thread.CPUTime() // which counts the running thread's, too
	if tid == 0 {
		return all
	}
	return threadOf(tid).CPU
}

// resident returns how many pages the program has in RAM: what is not free, nor the tree's.
func resident() uint64 {
	_, tree := vfs.Usage()
	return mem.AllFrames() - mem.FreeFrames() - uint64(tree) + imagePages()
}

// imagePages returns the size of the program itself.
func imagePages() (pages uint64) {
	for i := 0; ; i++ {
		s, ok := mem.ImageSegment(i)
		if !ok {
			return pages
		}
		pages += uint64(s.Hi-s.Lo+pageSize-1) / pageSize
	}
}

func virtualPages() uint64 { return uint64(mem.Bytes(false))/pageSize + imagePages() }

// putStat: proc_pid_stat(5).
func putStat(tid int32) {
	putNumber(uint64(max(tid, pid)))
	put(" (")
	putName(tid)
	put(") ")
	putByte(stateOf(tid))
	put(" 0 1 1 0 -1 4194560 0 0 0 0 ") // parent, group, session, terminal, its group, flags, faults
	putNumber(ticks(timeOf(tid)))
	put(" 0 0 0 20 0 ") // in the kernel, of children, priority, nice
	putNumber(uint64(thread.Count()))
	put(" 0 0 ")
	putNumber(virtualPages() * pageSize)
	put(" ")
	putNumber(resident())
	put(" 18446744073709551615 ")
	if s, ok := mem.ImageSegment(0); ok {
		putNumber(uint64(s.Lo))
		put(" ")
		putNumber(uint64(s.Hi))
	} else {
		put("0 0")
	}
	put(" 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n")
}

// putSizes: proc_pid_statm(5).
func putSizes() {
	putNumber(virtualPages())
	put(" ")
	putNumber(resident())
	put(" ")
	putNumber(imagePages())
	put(" ")
	putNumber(imagePages())
	put(" 0 ")
	putNumber(uint64(mem.Bytes(true)) / pageSize)
	put(" 0\n")
}

// putStatus: proc_pid_status(5).
func putStatus(tid int32) {
	const kib = pageSize / 1024
	t := threadOf(tid)
	put("Name:\t")
	putName(tid)
	put("\nUmask:\t0")
	for i := 6; i >= 0; i -= 3 {
		putByte('0' + byte(umask>>uint(i)&7))
	}
	put("\nState:\t")
	if stateOf(tid) == 'S' {
		put("S (sleeping)")
	} else {
		put("R (running)")
	}
	put("\nTgid:\t1\nNgid:\t0\n")
	putLine("Pid:\t", uint64(max(tid, pid)), "\nPPid:\t0\nTracerPid:\t0\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\n")
	putLine("FDSize:\t", maxFDs, "\nGroups:\t \n")
	putLine("VmPeak:\t", virtualPages()*kib, " kB\n")
	putLine("VmSize:\t", virtualPages()*kib, " kB\n")
	put("VmLck:\t0 kB\nVmPin:\t0 kB\n")
	putLine("VmHWM:\t", max(mem.MostFrames()+imagePages(), resident())*kib, " kB\n")
	putLine("VmRSS:\t", resident()*kib, " kB\n")
	putLine("RssAnon:\t", (resident()-imagePages())*kib, " kB\n")
	putLine("RssFile:\t", imagePages()*kib, " kB\n")
	putLine("RssShmem:\t0 kB\nVmData:\t", uint64(mem.Bytes(true))/1024, " kB\n")
	putLine("VmExe:\t", imagePages()*kib, " kB\nVmLib:\t0 kB\n")
	putLine("VmPTE:\t", mem.TableBytes()/1024, " kB\nVmSwap:\t0 kB\n")
	putLine("Threads:\t", uint64(thread.Count()), "\n")
	putSet("SigPnd:\t", t.Pending)
	putSet("SigBlk:\t", t.Mask)
	var ignores, catches uint64
	for sig := 1; sig <= numSignals; sig++ {
		switch actions[sig].handler {
		case sigDefault:
		case sigIgnore:
			ignores |= 1 << (sig - 1)
		default:
			catches |= 1 << (sig - 1)
		}
	}
	putSet("SigIgn:\t", ignores)
	putSet("SigCgt:\t", catches)
	putSet("CapInh:\t", 0)
	putSet("CapPrm:\t", 1<<41-1)
	putSet("CapEff:\t", 1<<41-1)
	putSet("CapBnd:\t", 1<<41-1)
	putSet("CapAmb:\t", 0)
	put("NoNewPrivs:\t0\nSeccomp:\t0\nCpus_allowed:\t")
	putHex(allCPUs(), int(numCPUs()+3)/4)
	put("\nCpus_allowed_list:\t")
	putCPUList()
	put("\nMems_allowed:\t1\nMems_allowed_list:\t0\n")
	put("voluntary_ctxt_switches:\t0\nnonvoluntary_ctxt_switches:\t0\n")
}

// putSet puts a line with a set of bits.
func putSet(name string, set uint64) {
	put(name)
	putHex(set, 16)
	put("\n")
}

// putImageMaps is putMaps for the image.
func putImageMaps(sizes bool) {
	for i := 0; ; i++ {
		s, ok := mem.ImageSegment(i)
		if !ok {
			break
		}
		right := mem.ProtRead
		if s.Write {
			right |= mem.ProtWrite
		}
		if s.Exec {
			right |= mem.ProtExec
		}
		putRange(s.Lo, (s.Hi+pageSize-1)&^(pageSize-1), right, false)
		putPlace(uint64(s.Lo-loadedAt), 0)
		putTo(mapsColumn)
		putPath(executable[:executableLen], false)
		put("\n")
		if sizes {
			size := (s.Hi - s.Lo + pageSize - 1) &^ (pageSize - 1)
			putSizesOf(size, size, right, true)
		}
	}
}

// putMaps: proc_pid_maps(5), or proc_pid_smaps(5).
func putMaps(sizes bool) {
	image := false // has been
	for i := 0; ; i++ {
		a, ok := mem.AreaAt(i)
		if !image && (!ok || a.Lo >= mem.SpaceLo()) {
			image = true
			putImageMaps(sizes)
		}
		if !ok {
			break
		}
		putRange(a.Lo, a.Hi, a.Prot, a.Shared)
		putPlace(uint64(a.Page)*pageSize, uint64(a.File))
		switch sp := thread.Get(1); {
		case a.File != 0:
			putTo(mapsColumn)
			putNode(vfs.ID(a.File), false)
		case sp != nil && a.Lo < sp.StackHi && sp.StackHi <= a.Hi:
			putTo(mapsColumn)
			put("[stack]")
		}
		put("\n")
		if sizes {
			putSizesOf(a.Hi-a.Lo, residentOf(a.Lo, a.Hi, a.Prot), a.Prot, a.File != 0)
		}
	}
}

// residentOf returns how many bytes of an area are in RAM.
func residentOf(lo, hi uintptr, prot mem.Prot) (n uintptr) {
	for at := lo; at < hi && prot != 0; at += pageSize {
		if mem.InRAM(at) || inRAM(mem.FileAt(at)) {
			n += pageSize
		}
	}
	return n
}

// putSizesOf puts what smaps has behind the line of a mapping.
func putSizesOf(size, resident uintptr, prot mem.Prot, ofFile bool) {
	in, clean, dirty, anonymous := uint64(resident)/1024, uint64(resident)/1024, uint64(0), uint64(0)
	if prot&mem.ProtWrite != 0 {
		clean, dirty = 0, in
	}
	if !ofFile {
		anonymous = in
	}
	putKiB("Size:", uint64(size)/1024)
	putKiB("KernelPageSize:", pageSize/1024)
	putKiB("MMUPageSize:", pageSize/1024)
	putKiB("Rss:", in)
	putKiB("Pss:", in)
	putKiB("Pss_Dirty:", dirty)
	putKiB("Shared_Clean:", 0)
	putKiB("Shared_Dirty:", 0)
	putKiB("Private_Clean:", clean)
	putKiB("Private_Dirty:", dirty)
	putKiB("Referenced:", in)
	putKiB("Anonymous:", anonymous)
	putKiB("Swap:", 0)
	putKiB("SwapPss:", 0)
	putKiB("Locked:", 0)
	put("VmFlags: ")
	const flags = "rd wr ex "
	for i := range 3 {
		if prot>>uint(i)&1 != 0 {
			put(flags[3*i : 3*i+3])
		}
	}
	put("\n")
}

const (
	mapsColumn = 73       // of the path
	loadedAt   = 0x1ff000 // the address of the file's first byte (tools/image: build.go)
)

func putRange(lo, hi uintptr, prot mem.Prot, shared bool) {
	putHex(uint64(lo), 8)
	put("-")
	putHex(uint64(hi), 8)
	put(" ")
	const letters = "rwx"
	for i := range len(letters) {
		if prot>>uint(i)&1 != 0 {
			putByte(letters[i])
		} else {
			putByte('-')
		}
	}
	if shared {
		put("s ")
	} else {
		put("p ")
	}
}

// putPlace puts where in a file a mapping begins, and which file it is.
func putPlace(off, node uint64) {
	putHex(off, 8)
	if node == 0 {
		put(" 00:00 0")
		return
	}
	put(" 00:01 ")
	putNumber(node)
}

// limitNames are the names of the limits, and what they count. Never written.
var limitNames = [numLimits]struct{ name, unit string }{
	{"cpu time", "seconds"}, {"file size", "bytes"}, {"data size", "bytes"}, {"stack size", "bytes"},
	{"core file size", "bytes"}, {"resident set", "bytes"}, {"processes", "processes"}, {"open files", "files"},
	{"locked memory", "bytes"}, {"address space", "bytes"}, {"file locks", "locks"}, {"pending signals", "signals"},
	{"msgqueue size", "bytes"}, {"nice priority", ""}, {"realtime priority", ""}, {"realtime timeout", "us"},
}

// putLimits: proc_pid_limits(5).
func putLimits() {
	put("Limit                     Soft Limit           Hard Limit           Units     \n")
	for i := range limitNames {
		put("Max ")
		put(limitNames[i].name)
		putTo(26)
		putLimit(limits[i].soft)
		putTo(47)
		putLimit(limits[i].hard)
		putTo(68)
		put(limitNames[i].unit)
		putTo(78)
		put("\n")
	}
}

func putLimit(v uint64) {
	if v == unlimited {
		put("unlimited")
		return
	}
	putNumber(v)
}

// putFDInfo: proc_pid_fdinfo(5).
func putFDInfo(fd int32) {
	f := get(uintptr(fd))
	if f == nil {
		return
	}
	off := f.off
	if f.kind != node {
		off = 0
	}
	i := infoOf(f)
	putLine("pos:\t", uint64(off), "\nflags:\t")
	flags := f.flags | oLarge
	if cloexec[fd] {
		flags |= oCloexec
	}
	putOctal(uint64(flags))
	putLine("\nmnt_id:\t", deviceOf(i.System, 0), "\nino:\t")
	putNumber(i.Ino)
	put("\n")
}

// readMadeLink copies what a link that is made up says into block, and returns the number of bytes.
func readMadeLink(id vfs.ID) (n int, e vfs.Errno) {
	text.id, text.n = 0, 0
	switch made, of := vfs.Made(id); made {
	case madeCwd:
		putNode(cwd, false)
	case madeFD:
		f := get(uintptr(of))
		if f == nil {
			return 0, vfs.ENOENT
		}
		putFile(f)
	}
	bytesOut(blockAddr(), uintptr(unsafe.Pointer(&text.buf)), text.n)
	return text.n, 0
}

// putFile puts what the link that stands for an open file says.
func putFile(f *file) {
	if id := nodeOf(f); id != 0 {
		putNode(id, false)
		return
	}
	switch f.kind {
	case pipeRead, pipeWrite, pipeFIFO:
		put("pipe:[")
	case socketFile:
		put("socket:[")
	case counter:
		put("anon_inode:[eventfd]")
		return
	case epoll:
		put("anon_inode:[eventpoll]")
		return
	case watcher:
		put("anon_inode:inotify")
		return
	default:
		put("anon_inode:[unknown]")
		return
	}
	putNumber(infoOf(f).Ino)
	put("]")
}
