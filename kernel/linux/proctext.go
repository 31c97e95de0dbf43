package linux

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/ascii"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/dev/entropy"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/thread"
	"github.com/zeroframe/zeroframe/kernel/vfs"
)

// The bytes of the files in /proc, in the form that proc(5) has. What the kernel does not count,
// such as page faults, is 0.

// text is what is being made: it gathers in buf, and goes from there into a file without a name.
// Under the kernel lock.
var text struct {
	id   vfs.ID // 0: buf is all that there is
	off  int64  // of the file, where buf goes next
	n    int    // bytes of buf
	line int    // bytes since the last line feed
	buf  [4096]byte
}

// makeText makes the bytes of a file that is made up, as a file without a name, which is held.
func makeText(made uint16, of int32) (vfs.ID, vfs.Errno) {
	text.id, text.off, text.n, text.line = vfs.Snapshot(clock.Wall()), 0, 0, 0
	if text.id == 0 {
		return 0, vfs.ENOSPC
	}
	switch made {
	case madeFDInfo:
		putFDInfo(of)
	case madeArguments:
		putStrings(false)
	case madeEnvironment:
		putStrings(true)
	case madeName:
		putName(of)
		put("\n")
	case madeStat:
		putStat(of)
	case madeStatus:
		putStatus(of)
	case madeSizes:
		putSizes()
	case madeMaps:
		putMaps(false)
	case madeSmaps:
		putMaps(true)
	case madeLimits:
		putLimits()
	case madeMounts:
		putMounts(false)
	case madeMountInfo:
		putMounts(true)
	case madeCPU:
		putCPUs()
	case madeCPUList:
		putCPUList()
		put("\n")
	case madeMemory:
		putMemory()
	case madeTimes:
		putTimes()
	case madeUptime:
		putHundredths(clock.Now())
		put(" ")
		all := clock.Now() * numCPUs()
		putHundredths(all - min(thread.CPUTime(), all))
		put("\n")
	case madeLoad: // nobody counts it
		putLine("0.00 0.00 0.00 1/", uint64(thread.Count()), " ")
		putLine("", uint64(thread.MaxTID()), "\n")
	case madeCommandLine:
		putBytes(unsafe.Slice((*byte)(arch.Pointer(commandLine.at)), commandLine.n))
		put("\n")
	case madeTCP, madeTCP6, madeUDP, madeUDP6:
		putInetSockets(made)
	case madeUnix:
		putLocalSockets()
	case madeUUID:
		putUUID(entropy.Word(), entropy.Word())
	case madeBootID:
		if bootID[0] == 0 {
			bootID = [2]uint64{entropy.Word() | 1, entropy.Word()}
		}
		putUUID(bootID[0], bootID[1])
	case madeFiles:
		n := uint64(0)
		for i := range files {
			if files[i].kind != closed {
				n++
			}
		}
		putNumber(n)
		put("\t0\t2048\n")
	}
	flushText()
	return text.id, 0
}

// flushText moves what has gathered into the file. Without memory for it, the end is missing.
func flushText() {
	if n, e := vfs.WriteAt(text.id, text.buf[:text.n], text.off, clock.Wall()); e == 0 {
		text.off += int64(n)
	}
	text.n = 0
}

func putByte(b byte) {
	if text.n == len(text.buf) {
		if text.id == 0 {
			return
		}
		flushText()
	}
	text.buf[text.n] = b
	text.n++
	if text.line++; b == '\n' {
		text.line = 0
	}
}

func put(s string) {
	for i := range len(s) {
		putByte(s[i])
	}
}

func putBytes(b []byte) {
	for _, c := range b {
		putByte(c)
	}
}

// putTo fills the line with blanks up to a column.
func putTo(column int) {
	for text.line < column {
		putByte(' ')
	}
}

func putNumber(v uint64) {
	var digits [maxDigits]byte
	putBytes(digits[decimal(&digits, v):])
}

// putHex puts at least so many digits.
func putHex(v uint64, least int) {
	for i := 15; i >= 0; i-- {
		if d := v >> (4 * uint(i)); d != 0 || i < least {
			const digits = "0123456789abcdef"
			putByte(digits[d&15])
		}
	}
}

// putOctal puts a number as fdinfo has it, with a 0 in front.
func putOctal(v uint64) {
	putByte('0')
	for i := 21; i >= 0; i-- {
		if d := v >> (3 * uint(i)); d != 0 {
			putByte('0' + byte(d&7))
		}
	}
}

// putLine puts a name, a number and what is behind it.
func putLine(name string, v uint64, unit string) {
	put(name)
	putNumber(v)
	put(unit)
}

// putHundredths puts nanoseconds as seconds with two digits behind the point.
func putHundredths(ns uint64) {
	putNumber(ns / 1e9)
	putByte('.')
	putByte('0' + byte(ns/1e8%10))
	putByte('0' + byte(ns/1e7%10))
}

// putPath puts a path; what separates fields where paths are in a line goes in octal.
func putPath(path []byte, escape bool) {
	for _, c := range path {
		if escape && (c == ' ' || c == '\t' || c == '\n' || c == '\\') {
			putByte('\\')
			putByte('0' + c>>6)
			putByte('0' + c>>3&7)
			putByte('0' + c&7)
			continue
		}
		putByte(c)
	}
}

// putNode puts the path of a node.
func putNode(id vfs.ID, escape bool) {
	path, e := vfs.Path(id, block[:])
	if e != 0 { // it has lost its name
		put("/#")
		putNumber(uint64(id))
		put(" (deleted)")
		return
	}
	putPath(path, escape)
}

// commandLine is where the machine's command line is, as the loader gave it. Set once at boot.
var commandLine struct{ at, n uintptr }

// SetCommandLine says what the machine's command line is. Its bytes are kept. Early context.
func SetCommandLine(line []byte) {
	commandLine.at, commandLine.n = uintptr(unsafe.Pointer(unsafe.SliceData(line))), uintptr(len(line))
}

// bootID is what boot_id says, once somebody has asked. Under the kernel lock.
var bootID [2]uint64

// putUUID puts a random UUID (RFC 9562, version 4).
func putUUID(a, b uint64) {
	a, b = a&^0xf000|0x4000, b&^(3<<62)|2<<62
	putHex(a>>32, 8)
	put("-")
	putHex(a>>16&0xffff, 4)
	put("-")
	putHex(a&0xffff, 4)
	put("-")
	putHex(b>>48, 4)
	put("-")
	putHex(b&(1<<48-1), 12)
	put("\n")
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

// putMaps: proc_pid_maps(5), or proc_pid_smaps(5).
func putMaps(sizes bool) {
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
	for i := 0; ; i++ {
		a, ok := mem.AreaAt(i)
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

// putMounts: proc_pid_mounts(5), or proc_pid_mountinfo(5).
func putMounts(info bool) {
	const root, proc, sys = "/", "/proc", "/sys"
	putMount(info, 1, ascii.Bytes(root), "tmpfs", "rw")
	putMount(info, 2, ascii.Bytes(proc), "proc", "rw")
	putMount(info, 3, ascii.Bytes(sys), "sysfs", "rw")
	for i := 1; i <= vfs.MaxShares; i++ {
		id, readOnly := vfs.MountOf(i)
		if id == 0 {
			continue
		}
		path, e := vfs.Path(id, block[:])
		if e != 0 {
			continue
		}
		rights := "rw"
		if readOnly {
			rights = "ro"
		}
		putMount(info, deviceOf(0, i), path, "9p", rights)
	}
}

// deviceOf returns the minor number of the device that a node of a file system, or of a share, is
// on. The major one is 0.
func deviceOf(system uint8, share int) uint64 {
	if share != 0 {
		return uint64(15 + share)
	}
	return 1 + uint64(system)
}

func putMount(info bool, device uint64, path []byte, kind, rights string) {
	if info {
		putNumber(device)
		if device == 1 {
			put(" 0 0:")
		} else {
			put(" 1 0:")
		}
		putNumber(device)
		put(" / ")
		putPath(path, true)
		put(" ")
		put(rights)
		put(",relatime - ")
		put(kind)
		put(" ")
		put(kind)
		put(" ")
		put(rights)
		put("\n")
		return
	}
	put(kind)
	put(" ")
	putPath(path, true)
	put(" ")
	put(kind)
	put(" ")
	put(rights)
	put(",relatime 0 0\n")
}

// putCPUs: proc_cpuinfo(5).
func putCPUs() {
	var name [48]byte
	n := arch.CPUName(&name)
	mhz := clock.TSCHz() / 1000
	all := numCPUs()
	for cpu := range all {
		putLine("processor\t: ", cpu, "\nmodel name\t: ")
		putBytes(name[:n])
		putLine("\ncpu MHz\t\t: ", mhz/1000, ".")
		for unit := uint64(100); unit > 0; unit /= 10 {
			putByte('0' + byte(mhz/unit%10))
		}
		putLine("\nphysical id\t: 0\nsiblings\t: ", all, "")
		putLine("\ncore id\t\t: ", cpu, "")
		putLine("\ncpu cores\t: ", all, "\n\n")
	}
}

// putCPUList puts the list of all CPUs, as cpuset(7) has it.
func putCPUList() {
	put("0")
	if n := numCPUs(); n > 1 {
		putLine("-", n-1, "")
	}
}

// putMemory: proc_meminfo(5).
func putMemory() {
	const kib = pageSize / 1024
	_, tree := vfs.Usage()
	putKiB("MemTotal:", mem.AllFrames()*kib)
	putKiB("MemFree:", mem.FreeFrames()*kib)
	putKiB("MemAvailable:", mem.FreeFrames()*kib)
	putKiB("Buffers:", 0)
	putKiB("Cached:", uint64(tree)*kib)
	putKiB("SwapCached:", 0)
	putKiB("SwapTotal:", 0)
	putKiB("SwapFree:", 0)
	putKiB("Shmem:", uint64(tree)*kib)
	putKiB("PageTables:", mem.TableBytes()/1024)
}

// putKiB puts a number so that it ends in column 24.
func putKiB(name string, v uint64) {
	put(name)
	putRight(v, 24-text.line)
	put(" kB\n")
}

// putTimes: proc_stat(5).
func putTimes() {
	busy, now := thread.CPUTime(), clock.Now() // of all CPUs together: in the parts, the same for each
	all := numCPUs()
	put("cpu  ")
	putBusy(busy, now*all)
	for cpu := range all {
		putLine("cpu", cpu, " ")
		putBusy(busy/all, now)
	}
	putLine("ctxt 0\nbtime ", (uint64(clock.Wall())-now)/1e9, "\n")
	putLine("processes ", uint64(thread.MaxTID()), "\nprocs_running 1\nprocs_blocked 0\n")
}

func putBusy(busy, all uint64) {
	putNumber(ticks(busy))
	put(" 0 0 ")
	putNumber(ticks(all - min(busy, all)))
	put(" 0 0 0 0 0 0\n")
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

// blockIsRoomForLinks: what text gathers fits into block.
const _ = uint(unsafe.Sizeof(block) - unsafe.Sizeof(text.buf))
