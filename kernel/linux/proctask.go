package linux

import (
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/thread"
	"github.com/zeroframe/zeroframe/kernel/vfs"
)

// The contents of the files in /proc about a process, its threads and its descriptors.

// putStrings writes the program's arguments, or with of = 1 its environment, which it may have
// changed.
func putStrings(of int32) {
	i := 0
	if of != 0 {
		for Vector[i] != 0 {
			i++
		}
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

// threadOf returns the thread that a file is about; for the process's file, the first thread, or
// any.
func threadOf(tid int32) *thread.Thread {
	if t := thread.Get(max(tid, 1)); t != nil {
		return t
	}
	return thread.Current()
}

// putName writes the name of a thread, or of the process.
func putName(tid int32) {
	name := threadOf(tid).Name
	for _, c := range name {
		if c == 0 {
			break
		}
		putByte(c)
	}
}

// stateOf returns the letter for the state of a thread, or of the process's first.
func stateOf(tid int32) byte {
	if threadOf(tid).State == thread.Waiting {
		return 'S'
	}
	return 'R'
}

// ticks converts nanoseconds to hundredths of a second.
func ticks(ns uint64) uint64 { return ns / 1e7 }

// timeOf returns how long a thread, or the process, has run, in ns.
func timeOf(tid int32) uint64 {
	all := thread.CPUTime() // includes the running thread's
	if tid == 0 {
		return all
	}
	return threadOf(tid).CPU
}

// resident returns the number of the program's pages in RAM: those that are neither free nor the
// file tree's.
func resident() uint64 {
	_, tree := vfs.Usage()
	return mem.AllFrames() - mem.FreeFrames() - uint64(tree) + imagePages()
}

// imagePages returns the size of the program itself, in pages.
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

func putComm(tid int32) {
	putName(tid)
	put("\n")
}

// putStat writes proc_pid_stat(5). It leaves out: parent, group, session, terminal, its group,
// flags and faults; time in the kernel and of children, priority and niceness.
func putStat(tid int32) {
	putf("%d (", uint64(max(tid, pid)))
	putName(tid)
	var lo, hi uint64
	if s, ok := mem.ImageSegment(0); ok {
		lo, hi = uint64(s.Lo), uint64(s.Hi)
	}
	putf(") %c 0 1 1 0 -1 4194560 0 0 0 0 %d 0 0 0 20 0 %d 0 0 %d %d 18446744073709551615 %d %d "+
		"0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
		uint64(stateOf(tid)), ticks(timeOf(tid)), uint64(thread.Count()), virtualPages()*pageSize,
		resident(), lo, hi)
}

// putSizes writes proc_pid_statm(5).
func putSizes(int32) {
	image := imagePages()
	putf("%d %d %d %d 0 %d 0\n", virtualPages(), resident(), image, image,
		uint64(mem.Bytes(true))/pageSize)
}

// putStatus writes proc_pid_status(5).
func putStatus(tid int32) {
	const kib, capabilities = pageSize / 1024, 1<<41 - 1
	t := threadOf(tid)
	put("Name:\t")
	putName(tid)
	mask := uint64(umask)
	putf("\nUmask:\t0%d%d%d\nState:\t", mask>>6&7, mask>>3&7, mask&7)
	if stateOf(tid) == 'S' {
		put("S (sleeping)")
	} else {
		put("R (running)")
	}
	virtual, image := virtualPages()*kib, imagePages()*kib
	putf("\nTgid:\t1\nNgid:\t0\nPid:\t%d\nPPid:\t0\nTracerPid:\t0\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\n"+
		"FDSize:\t%d\nGroups:\t \nVmPeak:\t%d kB\nVmSize:\t%d kB\nVmLck:\t0 kB\nVmPin:\t0 kB\n"+
		"VmHWM:\t%d kB\nVmRSS:\t%d kB\nRssAnon:\t%d kB\nRssFile:\t%d kB\nRssShmem:\t0 kB\nVmData:\t%d kB\n"+
		"VmExe:\t%d kB\nVmLib:\t0 kB\nVmPTE:\t%d kB\nVmSwap:\t0 kB\nThreads:\t%d\n",
		uint64(max(tid, pid)), maxFDs, virtual, virtual,
		max(mem.MostFrames()*kib+image, resident()*kib), resident()*kib, resident()*kib-image, image,
		uint64(mem.Bytes(true))/1024,
		image, mem.TableBytes()/1024, uint64(thread.Count()))
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
	putf("SigPnd:\t%16x\nSigBlk:\t%16x\nSigIgn:\t%16x\nSigCgt:\t%16x\n", t.Pending, t.Mask, ignores,
		catches)
	putf("CapInh:\t%16x\nCapPrm:\t%16x\nCapEff:\t%16x\nCapBnd:\t%16x\nCapAmb:\t%16x\n", 0,
		capabilities, capabilities, capabilities, 0)
	put("NoNewPrivs:\t0\nSeccomp:\t0\nCpus_allowed:\t")
	putDigits(allCPUs(), 16, int(numCPUs()+3)/4, '0')
	put("\nCpus_allowed_list:\t")
	putCPUList(0)
	put("Mems_allowed:\t1\nMems_allowed_list:\t0\nvoluntary_ctxt_switches:\t0\nnonvoluntary_ctxt_switches:\t0\n")
}

// putImageMaps is putMaps for the image.
func putImageMaps() {
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
	}
}

// putMaps writes proc_pid_maps(5).
func putMaps(int32) {
	image := false // the image has been written
	for i := 0; ; i++ {
		a, ok := mem.AreaAt(i)
		if !image && (!ok || a.Lo >= mem.SpaceLo()) {
			image = true
			putImageMaps()
		}
		if !ok {
			break
		}
		putRange(a.Lo, a.Hi, a.Prot, a.Shared)
		putPlace(uint64(a.Page)*pageSize, uint64(a.File))
		switch sp := thread.Get(1); {
		case a.File != 0:
			putTo(mapsColumn)
			putNode(vfs.ID(a.File))
		case sp != nil && a.Lo < sp.StackHi && sp.StackHi <= a.Hi:
			putTo(mapsColumn)
			put("[stack]")
		}
		put("\n")
	}
}

const (
	mapsColumn = 73       // of the path
	loadedAt   = 0x1ff000 // the address of the file's first byte (tools/machine/image: build.go)
)

func putRange(lo, hi uintptr, prot mem.Prot, shared bool) {
	rights := [4]uint64{'-', '-', '-', 'p'}
	const letters = "rwx"
	for i := range len(letters) {
		if prot>>uint(i)&1 != 0 {
			rights[i] = uint64(letters[i])
		}
	}
	if shared {
		rights[3] = 's'
	}
	putf("%8x-%8x %c%c%c%c ", uint64(lo), uint64(hi), rights[0], rights[1], rights[2], rights[3])
}

// putPlace writes which file a mapping belongs to, and its offset there.
func putPlace(off, node uint64) {
	putf("%8x 00:0%d %d", off, min(node, 1), node)
}

// limitNames are the names and the units of the limits. Never written.
var limitNames = [numLimits]struct{ name, unit string }{
	{"cpu time", "seconds"}, {"file size", "bytes"}, {"data size", "bytes"}, {"stack size", "bytes"},
	{"core file size", "bytes"}, {"resident set", "bytes"}, {"processes", "processes"},
	{"open files", "files"},
	{"locked memory", "bytes"}, {"address space", "bytes"}, {"file locks", "locks"},
	{"pending signals", "signals"},
	{"msgqueue size", "bytes"}, {"nice priority", ""}, {"realtime priority", ""},
	{"realtime timeout", "us"},
}

// putLimits writes proc_pid_limits(5).
func putLimits(int32) {
	put("Limit                     Soft Limit           Hard Limit           Units     \n")
	for i := range limitNames {
		put("Max ", limitNames[i].name)
		putTo(26)
		putLimit(limits[i].soft)
		putTo(47)
		putLimit(limits[i].hard)
		putTo(68)
		put(limitNames[i].unit)
		putf("%78|\n")
	}
}

func putLimit(v uint64) {
	if v == unlimited {
		put("unlimited")
		return
	}
	putf("%d", v)
}

// readMadeLink copies the target of a made-up link into block, and returns its length in bytes.
func readMadeLink(id vfs.ID) (n int, e vfs.Errno) {
	text.id, text.n = 0, 0
	switch made, of := vfs.Made(id); made {
	case madeCwd:
		putNode(cwd)
	case madeFD:
		f := get(uintptr(of))
		if f == nil {
			return 0, vfs.ENOENT
		}
		putFile(f)
	}
	bytesOut(blockAddr(), addressOf(&text.buf), text.n)
	return text.n, 0
}

// putFile writes the target of an open file's link.
func putFile(f *file) {
	if id := nodeOf(f); id != 0 {
		putNode(id)
		return
	}
	if k := &kinds[f.kind]; k.link[len(k.link)-1] == '[' {
		put(k.link)
		putf("%d]", infoOf(f).Ino)
	} else {
		put(k.link)
	}
}
