package linux

import (
	"github.com/zeroframe/zeroframe/kernel/ascii"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/thread"
	"github.com/zeroframe/zeroframe/kernel/vfs"
)

// The trees of /proc and /sys, as far as programs in Go read them. They are made when somebody
// looks into them first; the directories of descriptors and threads are brought up to date when
// somebody looks after these have changed. proctext.go makes the bytes of the files.

// What a node is that is made up: vfs.Made tells it, with a number.
const (
	_           uint16 = iota
	madeRoot           // /proc or /sys
	madeDir            // a directory below
	madeFDs            // of links, one a descriptor
	madeFDInfos        // of files, one a descriptor
	madeTasks          // of directories, one a thread
	madeTask           // the number: the thread
	madeFD             // the number: the descriptor
	madeCwd            // the working directory
	madeFDInfo         // the first kind of files; the number: the descriptor
	madeArguments
	madeEnvironment
	madeName // the number: the thread, here and below; 0 for the process
	madeStat
	madeStatus
	madeSizes
	madeMaps
	madeLimits
	madeMounts
	madeMountInfo
	madeCPU
	madeCPUList
	madeMemory
	madeTimes
	madeUptime
	madeUUID
	madeBootID
	madeFiles
	madeCommandLine
	madeLoad
	madeSmaps
	madeTCP
	madeTCP6
	madeUDP
	madeUDP6
	madeUnix
)

const (
	dirMode  = vfs.S_IFDIR | 0o555
	fileMode = vfs.S_IFREG | 0o444
	setMode  = vfs.S_IFREG | 0o644 // what a program writes stays, and has no effect
	linkMode = vfs.S_IFLNK | 0o777
)

// A procRow is a node of the trees: with text, a file of these bytes or a link to there.
type procRow struct {
	path string
	mode uint32
	made uint16
	text string
}

const _ = -uint(thread.MaxThreads ^ 2000)
const _ = -uint(maxFDs ^ 2048)

// procRows are in the order of their paths' lengths, as far as one is in the other. Never written.
var procRows = [...]procRow{
	{"/proc/1", dirMode, madeDir, ""},
	{"/proc/self", linkMode, 0, "1"},
	{"/proc/1/cmdline", fileMode, madeArguments, ""},
	{"/proc/1/comm", fileMode, madeName, ""},
	{"/proc/1/cwd", linkMode, madeCwd, ""},
	{"/proc/1/environ", vfs.S_IFREG | 0o400, madeEnvironment, ""},
	{"/proc/1/fd", vfs.S_IFDIR | 0o500, madeFDs, ""},
	{"/proc/1/fdinfo", dirMode, madeFDInfos, ""},
	{"/proc/1/limits", fileMode, madeLimits, ""},
	{"/proc/1/maps", fileMode, madeMaps, ""},
	{"/proc/1/mountinfo", fileMode, madeMountInfo, ""},
	{"/proc/1/mounts", fileMode, madeMounts, ""},
	{"/proc/1/net", dirMode, madeDir, ""},
	{"/proc/1/net/dev", fileMode, 0, "Inter-|   Receive                                                |  Transmit\n" +
		" face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n" +
		"    lo:       0       0    0    0    0     0          0         0        0       0    0    0    0     0       0          0\n"},
	{"/proc/1/net/if_inet6", fileMode, 0, "00000000000000000000000000000001 01 80 10 80       lo\n"},
	{"/proc/1/net/netstat", fileMode, 0, "IpExt: InOctets OutOctets\nIpExt: 0 0\n"}, // as in dev, nothing is counted
	{"/proc/1/net/route", fileMode, 0, "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"},
	{"/proc/1/net/tcp", fileMode, madeTCP, ""},
	{"/proc/1/net/tcp6", fileMode, madeTCP6, ""},
	{"/proc/1/net/udp", fileMode, madeUDP, ""},
	{"/proc/1/net/udp6", fileMode, madeUDP6, ""},
	{"/proc/1/net/unix", fileMode, madeUnix, ""},
	{"/proc/1/oom_score", fileMode, 0, "0\n"},
	{"/proc/1/oom_score_adj", setMode, 0, "0\n"},
	{"/proc/1/root", linkMode, 0, "/"},
	{"/proc/1/smaps", fileMode, madeSmaps, ""},
	{"/proc/1/stat", fileMode, madeStat, ""},
	{"/proc/1/statm", fileMode, madeSizes, ""},
	{"/proc/1/status", fileMode, madeStatus, ""},
	{"/proc/1/task", dirMode, madeTasks, ""},
	{"/proc/cmdline", fileMode, madeCommandLine, ""},
	{"/proc/cpuinfo", fileMode, madeCPU, ""},
	{"/proc/filesystems", fileMode, 0, "nodev\tsysfs\nnodev\ttmpfs\nnodev\tproc\nnodev\t9p\n"},
	{"/proc/loadavg", fileMode, madeLoad, ""},
	{"/proc/meminfo", fileMode, madeMemory, ""},
	{"/proc/mounts", linkMode, 0, "self/mounts"},
	{"/proc/net", linkMode, 0, "self/net"},
	{"/proc/stat", fileMode, madeTimes, ""},
	{"/proc/swaps", fileMode, 0, "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"},
	{"/proc/sys", dirMode, madeDir, ""},
	{"/proc/sys/fs", dirMode, madeDir, ""},
	{"/proc/sys/fs/file-max", setMode, 0, "2048\n"},
	{"/proc/sys/fs/file-nr", fileMode, madeFiles, ""},
	{"/proc/sys/fs/inotify", dirMode, madeDir, ""},
	{"/proc/sys/fs/inotify/max_queued_events", setMode, 0, "16384\n"},
	{"/proc/sys/fs/inotify/max_user_instances", setMode, 0, "64\n"},
	{"/proc/sys/fs/inotify/max_user_watches", setMode, 0, "1048576\n"},
	{"/proc/sys/fs/nr_open", setMode, 0, "2048\n"},
	{"/proc/sys/fs/pipe-max-size", setMode, 0, "65536\n"},
	{"/proc/sys/kernel", dirMode, madeDir, ""},
	{"/proc/sys/kernel/cap_last_cap", fileMode, 0, "40\n"},
	{"/proc/sys/kernel/domainname", setMode, 0, "(none)\n"},
	{"/proc/sys/kernel/hostname", setMode, 0, HostName + "\n"},
	{"/proc/sys/kernel/ngroups_max", fileMode, 0, "65536\n"},
	{"/proc/sys/kernel/osrelease", fileMode, 0, release + "\n"},
	{"/proc/sys/kernel/ostype", fileMode, 0, "Linux\n"},
	{"/proc/sys/kernel/pid_max", setMode, 0, "2000\n"},
	{"/proc/sys/kernel/random", dirMode, madeDir, ""},
	{"/proc/sys/kernel/random/boot_id", fileMode, madeBootID, ""},
	{"/proc/sys/kernel/random/entropy_avail", fileMode, 0, "256\n"},
	{"/proc/sys/kernel/random/poolsize", fileMode, 0, "256\n"},
	{"/proc/sys/kernel/random/uuid", fileMode, madeUUID, ""},
	{"/proc/sys/kernel/threads-max", setMode, 0, "2000\n"},
	{"/proc/sys/kernel/version", fileMode, 0, version + "\n"},
	{"/proc/sys/net", dirMode, madeDir, ""},
	{"/proc/sys/net/core", dirMode, madeDir, ""},
	{"/proc/sys/net/core/rmem_default", setMode, 0, "212992\n"},
	{"/proc/sys/net/core/rmem_max", setMode, 0, "212992\n"},
	{"/proc/sys/net/core/somaxconn", setMode, 0, "4096\n"},
	{"/proc/sys/net/core/wmem_default", setMode, 0, "212992\n"},
	{"/proc/sys/net/core/wmem_max", setMode, 0, "212992\n"},
	{"/proc/sys/net/ipv4", dirMode, madeDir, ""},
	{"/proc/sys/net/ipv4/ip_forward", setMode, 0, "0\n"},
	{"/proc/sys/net/ipv4/ip_local_port_range", setMode, 0, "32768\t60999\n"},
	{"/proc/sys/net/ipv6", dirMode, madeDir, ""},
	{"/proc/sys/net/ipv6/bindv6only", setMode, 0, "0\n"},
	{"/proc/sys/vm", dirMode, madeDir, ""},
	{"/proc/sys/vm/max_map_count", setMode, 0, "4096\n"},
	{"/proc/sys/vm/mmap_min_addr", setMode, 0, "65536\n"},
	{"/proc/sys/vm/overcommit_memory", setMode, 0, "0\n"},
	{"/proc/sys/vm/swappiness", setMode, 0, "0\n"},
	{"/proc/uptime", fileMode, madeUptime, ""},
	{"/proc/version", fileMode, 0, "Linux version " + release + " (zeroframe) " + version + "\n"},

	{"/sys/class", dirMode, madeDir, ""},
	{"/sys/class/net", dirMode, madeDir, ""},
	{"/sys/class/net/lo", linkMode, 0, "../../devices/virtual/net/lo"},
	{"/sys/devices", dirMode, madeDir, ""},
	{"/sys/devices/system", dirMode, madeDir, ""},
	{"/sys/devices/system/cpu", dirMode, madeDir, ""},
	{"/sys/devices/system/cpu/cpu0", dirMode, madeDir, ""},
	{"/sys/devices/system/cpu/cpu0/topology", dirMode, madeDir, ""},
	{"/sys/devices/system/cpu/cpu0/topology/core_id", fileMode, 0, "0\n"},
	{"/sys/devices/system/cpu/cpu0/topology/core_siblings_list", fileMode, 0, "0\n"},
	{"/sys/devices/system/cpu/cpu0/topology/physical_package_id", fileMode, 0, "0\n"},
	{"/sys/devices/system/cpu/cpu0/topology/thread_siblings_list", fileMode, 0, "0\n"},
	{"/sys/devices/system/cpu/online", fileMode, madeCPUList, ""},
	{"/sys/devices/system/cpu/possible", fileMode, madeCPUList, ""},
	{"/sys/devices/system/cpu/present", fileMode, madeCPUList, ""},
	{"/sys/devices/virtual", dirMode, madeDir, ""},
	{"/sys/devices/virtual/net", dirMode, madeDir, ""},
	{"/sys/devices/virtual/net/lo", dirMode, madeDir, ""},
	{"/sys/devices/virtual/net/lo/address", fileMode, 0, "00:00:00:00:00:00\n"},
	{"/sys/devices/virtual/net/lo/flags", fileMode, 0, "0x9\n"},
	{"/sys/devices/virtual/net/lo/ifindex", fileMode, 0, "1\n"},
	{"/sys/devices/virtual/net/lo/mtu", fileMode, 0, "65536\n"},
	{"/sys/devices/virtual/net/lo/operstate", fileMode, 0, "unknown\n"},
	{"/sys/devices/virtual/net/lo/type", fileMode, 0, "772\n"},
}

// taskRows are what a thread's directory has. Never written.
var taskRows = [...]struct {
	name string
	made uint16
}{{"/comm", madeName}, {"/stat", madeStat}, {"/status", madeStatus}}

// Those nodes whose entries or targets change; 0 until they are made. Under the kernel lock.
var fdDir, fdInfoDir, taskDir, cwdLink vfs.ID

// BeginProc makes /proc and /sys, which are there, what this file says. Early context.
func BeginProc() {
	const proc, sys = "/proc", "/sys"
	if id, e := vfs.Walk(vfs.Root, ascii.Bytes(proc), false); e == 0 && vfs.ShareOf(id) == 0 {
		vfs.Begin(id, vfs.Proc, madeRoot)
	}
	if id, e := vfs.Walk(vfs.Root, ascii.Bytes(sys), false); e == 0 && vfs.ShareOf(id) == 0 {
		vfs.Begin(id, vfs.Sys, madeRoot)
	}
}

// bringUp makes what a directory lacks that is made up, and removes what is not so any more.
func bringUp(dir vfs.ID) {
	vfs.BeginMaking()
	switch made, of := vfs.Made(dir); made {
	case madeRoot:
		makeRows(vfs.SystemOf(dir))
	case madeFDs, madeFDInfos:
		bringUpFDs(dir, made)
	case madeTasks:
		bringUpTasks(dir)
	case madeTask:
		n := procName("/proc/1/task/", uint64(of))
		for i := range taskRows {
			r := &taskRows[i]
			vfs.Make(procNameWith(n, r.name), fileMode, r.made, of, clock.Wall())
		}
	}
	vfs.EndMaking()
	vfs.Filled(dir, 0)
}

// makeRows makes the nodes of a file system, as far as there is memory and nothing else is there.
func makeRows(system uint8) {
	percpu.AssertLocked()
	now := clock.Wall()
	for i := range procRows {
		r := &procRows[i]
		if (r.path[1] == 'p') != (system == vfs.Proc) {
			continue
		}
		if r.made == 0 {
			vfs.AddText(ascii.Bytes(r.path), r.mode, ascii.Bytes(r.text), now)
			continue
		}
		id, e := vfs.Make(ascii.Bytes(r.path), r.mode, r.made, 0, now)
		if e != 0 {
			continue
		}
		switch r.made {
		case madeFDs:
			fdDir = id
		case madeFDInfos:
			fdInfoDir = id
		case madeTasks:
			taskDir = id
		case madeCwd:
			cwdLink = id
			vfs.Lead(id, cwd)
		}
	}
	const link = "/proc/1/exe"
	if executableLen > 0 && system == vfs.Proc {
		vfs.AddText(ascii.Bytes(link), linkMode, executable[:executableLen], now)
	}
}

// fdsChanged is for when there is a descriptor more or less.
func fdsChanged() {
	if fdDir != 0 {
		vfs.Stale(fdDir)
		vfs.Stale(fdInfoDir)
	}
}

// tasksChanged is for when there is a thread more or less.
func tasksChanged() {
	if taskDir != 0 {
		vfs.Stale(taskDir)
	}
}

// bringUpFDs has a directory have an entry for each descriptor.
func bringUpFDs(dir vfs.ID, made uint16) {
	percpu.AssertLocked()
	prefix, kind, mode := "/proc/1/fd/", madeFD, uint32(vfs.S_IFLNK)
	if made == madeFDInfos {
		prefix, kind, mode = "/proc/1/fdinfo/", madeFDInfo, fileMode
	}
	now := clock.Wall()
	for cookie := uint64(2); ; {
		name, id, _, next, ok := vfs.ReadDir(dir, cookie)
		if !ok {
			break
		}
		cookie = next
		_, fd := vfs.Made(id)
		if f := get(uintptr(fd)); f == nil || kind == madeFD && vfs.Mode(id) != mode|linkRights(f) {
			vfs.Unmake(dir, name, now)
		}
	}
	for fd := range fds {
		f := get(uintptr(fd))
		if f == nil {
			continue
		}
		path := procPath[:procName(prefix, uint64(fd))]
		id, e := vfs.Walk(vfs.Root, path, false)
		if e != 0 {
			m := mode
			if kind == madeFD {
				m |= linkRights(f)
			}
			if id, e = vfs.Make(path, m, kind, int32(fd), now); e != 0 {
				return
			}
		}
		if kind == madeFD {
			vfs.Lead(id, nodeOf(f))
		}
	}
}

// linkRights are the rights of the link that stands for an open file.
func linkRights(f *file) uint32 {
	switch {
	case f.flags&oAccess == oWronly:
		return 0o300
	case f.flags&oAccess == oRdwr:
		return 0o700
	}
	return 0o500
}

// nodeOf returns the node of the tree that an open file is; 0 if it is none.
func nodeOf(f *file) vfs.ID {
	const console = "/dev/console"
	if f.kind == terminal {
		id, e := vfs.Walk(vfs.Root, ascii.Bytes(console), true)
		if e != 0 {
			return 0
		}
		return id
	}
	if f.kind == node || f.kind == device || f.isNamedPipe() {
		return f.node
	}
	return 0
}

// bringUpTasks has a directory have one for each thread.
func bringUpTasks(dir vfs.ID) {
	percpu.AssertLocked()
	now := clock.Wall()
	for cookie := uint64(2); ; {
		name, id, _, next, ok := vfs.ReadDir(dir, cookie)
		if !ok {
			break
		}
		cookie = next
		if _, tid := vfs.Made(id); thread.Get(tid) == nil {
			vfs.Unmake(dir, name, now)
		}
	}
	for tid := int32(1); tid <= thread.MaxTID(); tid++ {
		if thread.Get(tid) == nil {
			continue
		}
		id, e := vfs.Make(procPath[:procName("/proc/1/task/", uint64(tid))], dirMode, madeTask, tid, now)
		if e == 0 {
			vfs.Stale(id)
		}
	}
}

// procPath is a buffer for names in the trees. Under the kernel lock.
var procPath [64]byte

// procName puts a name that ends in a number into procPath, and returns its length.
func procName(prefix string, number uint64) int {
	percpu.AssertLocked()
	n := len(procNameWith(0, prefix))
	var digits [maxDigits]byte
	for _, c := range digits[decimal(&digits, number):] {
		procPath[n] = c
		n++
	}
	return n
}

// procNameWith puts a name behind the first n bytes of procPath, and returns all.
func procNameWith(n int, name string) []byte {
	percpu.AssertLocked()
	for i := range len(name) {
		procPath[n] = name[i]
		n++
	}
	return procPath[:n]
}

// infoOfNode tells of a node to which a name leads. A link that leads to what has no node, such as
// a pipe, is what is behind it.
func infoOfNode(id vfs.ID, flags uintptr) vfs.Info {
	if made, fd := vfs.Made(id); made == madeFD && flags&atNoFollow == 0 {
		if f := get(uintptr(fd)); f != nil {
			return infoOf(f)
		}
	}
	return vfs.Stat(id)
}

// reopen opens what a descriptor without a node names, anew: a pipe can be opened so.
func (c *call) reopen(fd int32, flags uintptr) int64 {
	percpu.AssertLocked()
	f := get(uintptr(fd))
	if f == nil {
		return -eNOENT
	}
	if f.kind != pipeRead && f.kind != pipeWrite && f.kind != pipeFIFO {
		return -eNXIO
	}
	p := &pipes[f.obj]
	again := file{kind: pipeRead, flags: flags & keptFlags, obj: f.obj}
	switch flags & oAccess {
	case oRdwr:
		again.kind = pipeFIFO
		p.readers++
		p.writers++
	case oWronly:
		again.kind = pipeWrite
		p.writers++
	default:
		p.readers++
	}
	n := open(again, flags)
	if n < 0 {
		closePipe(&again)
		return n
	}
	p.changed(again.obj)
	return n
}

// readMade reads a file that is made up: its bytes are made when it is read from the beginning, and
// are kept for the rest of it.
func readMade(f *file, to, n uintptr, off int64) int64 {
	if off == 0 || f.obj == 0 {
		made, of := vfs.Made(f.node)
		id, e := makeText(made, of)
		if e != 0 {
			return -int64(e)
		}
		dropMade(f)
		f.obj = int32(id)
	}
	return readNode(vfs.ID(f.obj), to, n, off)
}

// dropMade gives back what readMade keeps.
func dropMade(f *file) {
	if f.kind == node && f.obj != 0 {
		vfs.Release(vfs.ID(f.obj))
		f.obj = 0
	}
}

// isMade reports whether an open file is one whose bytes are made up.
func (f *file) isMade() bool {
	if f.kind != node {
		return false
	}
	made, _ := vfs.Made(f.node)
	return made >= madeFDInfo
}

// Vector has the addresses of the program's arguments, then 0, those of its variables, then 0. Set
// once at boot.
var Vector [MaxVector + 2]uintptr

// MaxVector is the largest number of arguments and variables.
const MaxVector = 512

// executable is where the link /proc/self/exe leads, which os.Executable reads. Set once at boot.
var (
	executable    [vfs.PathMax]byte
	executableLen int
)

// SetExecutable says what the program is called: from the root, if it is no path from there. A
// program has no file of its own unless whoever booted it has packed one there. It returns the name
// of the program's first thread. Early context.
func SetExecutable(name []byte) (short [16]byte) {
	n := 0
	if len(name) == 0 || name[0] != '/' {
		executable[0] = '/'
		n++
	}
	if n+len(name) > len(executable) {
		return short
	}
	for _, c := range name {
		executable[n] = c
		n++
	}
	executableLen = n
	from := 0
	for i, c := range executable[:n] {
		if c == '/' {
			from = i + 1
		}
	}
	for i := range min(n-from, len(short)-1) {
		short[i] = executable[from+i]
	}
	return short
}

const maxDigits = 20

// decimal writes v right-aligned and returns the index of the first digit.
func decimal(b *[maxDigits]byte, v uint64) int {
	i := len(b)
	for {
		i--
		b[i] = '0' + byte(v%10)
		if v /= 10; v == 0 {
			return i
		}
	}
}
