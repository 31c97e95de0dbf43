package linux

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/kernel/ascii"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/thread"
	"github.com/zeroframe/zeroframe/kernel/vfs"
)

// The trees of /proc and /sys, as far as Go programs read them. They are made when they are first
// looked up. The directories of descriptors and threads are updated when they are looked up after a
// change. proctext.go makes the contents of the files.

// The kinds of made-up nodes: vfs.Made returns them, with a number.
const (
	_         uint16 = iota
	madeRoot         // /proc or /sys
	madeDir          // a directory below
	madeFDs          // of links, one for each descriptor
	madeTasks        // of directories, one for each thread
	madeTask         // the number: the thread
	madeFD           // the number: the descriptor
	madeCwd          // the working directory
	madeFile         // plus the row's number, a file of procRows
)

const (
	dirMode  = vfs.S_IFDIR | 0o555
	fileMode = vfs.S_IFREG | 0o444
	setMode  = vfs.S_IFREG | 0o644 // a program's writes are kept, but have no effect
	linkMode = vfs.S_IFLNK | 0o777
)

// A procRow is a node of the trees: a file whose contents put makes, of a thread or of what the row
// says, or another made-up node, whose kind of is. The directories on the way to it are made with
// it.
type procRow struct {
	path string
	mode uint32
	of   uint16
	put  func(of int32)
}

const _ = -uint(thread.MaxThreads ^ 2000)
const _ = -uint(maxFDs ^ 24000)

// taskRows is the number of rows at the beginning that are also the files of a thread.
const taskRows = 3

// Never written.
var procRows = [...]procRow{
	{"/proc/1/comm", fileMode, 0, putComm},
	{"/proc/1/stat", fileMode, 0, putStat},
	{"/proc/1/status", fileMode, 0, putStatus},
	{"/proc/1/fd", vfs.S_IFDIR | 0o500, madeFDs, nil},
	{"/proc/1/task", dirMode, madeTasks, nil},
	{"/proc/1/cwd", linkMode, madeCwd, nil},
	{"/proc/1/cmdline", fileMode, 0, putStrings},
	{"/proc/1/environ", vfs.S_IFREG | 0o400, 1, putStrings},
	{"/proc/1/limits", fileMode, 0, putLimits},
	{"/proc/1/maps", fileMode, 0, putMaps},
	{"/proc/1/mountinfo", fileMode, 1, putMounts},
	{"/proc/1/mounts", fileMode, 0, putMounts},
	{"/proc/1/net/dev", fileMode, 0, putDev},
	{"/proc/1/net/if_inet6", fileMode, 0, putInet6Addresses},
	{"/proc/1/net/igmp", fileMode, 0, putGroups4},
	{"/proc/1/net/igmp6", fileMode, 0, putGroups6},
	{"/proc/1/net/route", fileMode, 0, putRoutes},
	{"/proc/1/net/tcp", fileMode, afInet<<8 | protoTCP, putSockets},
	{"/proc/1/net/tcp6", fileMode, afInet6<<8 | protoTCP, putSockets},
	{"/proc/1/net/udp", fileMode, afInet<<8 | protoUDP, putSockets},
	{"/proc/1/net/udp6", fileMode, afInet6<<8 | protoUDP, putSockets},
	{"/proc/1/statm", fileMode, 0, putSizes},
	{"/proc/cmdline", fileMode, 0, putCommandLine},
	{"/proc/cpuinfo", fileMode, 0, putCPUs},
	{"/proc/loadavg", fileMode, 0, putLoad},
	{"/proc/meminfo", fileMode, 0, putMemory},
	{"/proc/stat", fileMode, 0, putTimes},
	{"/proc/sys/fs/file-nr", fileMode, 0, putOpenFiles},
	{"/proc/sys/kernel/random/boot_id", fileMode, 0, putBootID},
	{"/proc/sys/kernel/random/uuid", fileMode, 0, putNewUUID},
	{"/proc/uptime", fileMode, 0, putUptime},
	{"/sys/devices/system/cpu/online", fileMode, 0, putCPUList},
	{"/sys/devices/system/cpu/possible", fileMode, 0, putCPUList},
	{"/sys/devices/system/cpu/present", fileMode, 0, putCPUList},
}

// procTexts lists the nodes that never change: a line with the kind and the path of each, followed
// by its text. A file (f) cannot be written; a writable one (w) keeps what is written, without
// effect; a link (l) leads to its text.
const procTexts = `= l /proc/self
1
= f /proc/1/net/netstat
IpExt: InOctets OutOctets
IpExt: 0 0
= f /proc/1/oom_score
0
= w /proc/1/oom_score_adj
0
= l /proc/1/root
/
= f /proc/filesystems
nodev	sysfs
nodev	tmpfs
nodev	proc
nodev	9p
= l /proc/mounts
self/mounts
= l /proc/net
self/net
= f /proc/swaps
Filename				Type		Size		Used		Priority
= w /proc/sys/fs/file-max
24000
= w /proc/sys/fs/inotify/max_queued_events
16384
= w /proc/sys/fs/inotify/max_user_instances
64
= w /proc/sys/fs/inotify/max_user_watches
1048576
= w /proc/sys/fs/nr_open
24000
= w /proc/sys/fs/pipe-max-size
65536
= f /proc/sys/kernel/cap_last_cap
40
= w /proc/sys/kernel/domainname
(none)
= w /proc/sys/kernel/hostname
` + HostName + `
= f /proc/sys/kernel/ngroups_max
65536
= f /proc/sys/kernel/osrelease
` + release + `
= f /proc/sys/kernel/ostype
Linux
= w /proc/sys/kernel/pid_max
2000
= f /proc/sys/kernel/random/entropy_avail
256
= f /proc/sys/kernel/random/poolsize
256
= w /proc/sys/kernel/threads-max
2000
= f /proc/sys/kernel/version
` + version + `
= w /proc/sys/net/core/rmem_default
212992
= w /proc/sys/net/core/rmem_max
212992
= w /proc/sys/net/core/somaxconn
4096
= w /proc/sys/net/core/wmem_default
212992
= w /proc/sys/net/core/wmem_max
212992
= w /proc/sys/net/ipv4/ip_forward
0
= w /proc/sys/net/ipv4/ip_local_port_range
32768	60999
= w /proc/sys/net/ipv6/bindv6only
0
= w /proc/sys/vm/max_map_count
4096
= w /proc/sys/vm/mmap_min_addr
65536
= w /proc/sys/vm/overcommit_memory
0
= w /proc/sys/vm/swappiness
0
= f /proc/version
Linux version ` + release + ` (zeroframe) ` + version + `
= l /sys/class/net/lo
../../devices/virtual/net/lo
= f /sys/devices/system/cpu/cpu0/topology/core_id
0
= f /sys/devices/system/cpu/cpu0/topology/core_siblings_list
0
= f /sys/devices/system/cpu/cpu0/topology/physical_package_id
0
= f /sys/devices/system/cpu/cpu0/topology/thread_siblings_list
0
= f /sys/devices/virtual/net/lo/address
00:00:00:00:00:00
= f /sys/devices/virtual/net/lo/flags
0x9
= f /sys/devices/virtual/net/lo/ifindex
1
= f /sys/devices/virtual/net/lo/mtu
65536
= f /sys/devices/virtual/net/lo/operstate
unknown
= f /sys/devices/virtual/net/lo/type
772
`

// The nodes whose entries or targets change; 0 until they are made. Under the kernel lock.
var fdDir, taskDir, cwdLink vfs.ID

// BeginProc marks the existing directories /proc and /sys as made up. Early context.
func BeginProc() {
	beginMade("/proc", vfs.Proc)
	beginMade("/sys", vfs.Sys)
}

func beginMade(path string, system uint8) {
	if id, e := vfs.Walk(vfs.Root, ascii.Bytes(path), false); e == 0 && vfs.ShareOf(id) == 0 {
		vfs.Begin(id, system, madeRoot)
	}
}

// bringUp makes what is missing in a made-up directory, and removes what is outdated.
func bringUp(dir vfs.ID) {
	vfs.BeginMaking()
	switch made, of := vfs.Made(dir); made {
	case madeRoot:
		makeRows(vfs.SystemOf(dir))
	case madeFDs:
		bringUpFDs(dir)
	case madeTasks:
		bringUpTasks(dir)
	case madeTask:
		n := procName("/proc/1/task/", uint64(of))
		for i := range uint16(taskRows) {
			file := procRows[i].path[len("/proc/1"):]
			vfs.Make(procNameWith(n, file), fileMode, madeFile+i, of, clock.Wall())
		}
	}
	vfs.EndMaking()
	vfs.Filled(dir, 0)
}

// isOf reports whether a path belongs to a file system.
func isOf(path string, system uint8) bool { return (path[1] == 'p') == (system == vfs.Proc) }

// makeWay makes the directories on the way to a path.
func makeWay(path string, now int64) {
	for i := 1; i < len(path); i++ {
		if path[i] == '/' {
			vfs.Make(ascii.Bytes(path[:i]), dirMode, madeDir, 0, now)
		}
	}
}

// makeRows makes the nodes of a file system, as far as there is memory and nothing else has their
// names.
func makeRows(system uint8) {
	percpu.AssertLocked()
	now := clock.Wall()
	makeTexts(system, now)
	for i := range procRows {
		r := &procRows[i]
		if !isOf(r.path, system) {
			continue
		}
		makeWay(r.path, now)
		made, of := r.of, int32(0)
		if r.put != nil {
			made, of = madeFile+uint16(i), int32(r.of)
		}
		id, e := vfs.Make(ascii.Bytes(r.path), r.mode, made, of, now)
		if e != 0 {
			continue
		}
		switch made {
		case madeFDs:
			fdDir = id
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

// makeTexts makes the nodes of procTexts.
func makeTexts(system uint8, now int64) {
	const head = len("= f ")
	for at := 0; at < len(procTexts); {
		kind, path := procTexts[at+2], at+head
		text := path
		for procTexts[text] != '\n' {
			text++
		}
		name := procTexts[path:text]
		text++
		for at = text; at < len(procTexts) && (procTexts[at-1] != '\n' || procTexts[at] != '='); {
			at++
		}
		if !isOf(name, system) {
			continue
		}
		mode, end := uint32(fileMode), at
		switch kind {
		case 'w':
			mode = setMode
		case 'l':
			mode, end = linkMode, at-1
		}
		makeWay(name, now)
		vfs.AddText(ascii.Bytes(name), mode, ascii.Bytes(procTexts[text:end]), now)
	}
}

// entriesChanged notes that a descriptor or a thread was added to fdDir or taskDir, or removed.
func entriesChanged(dir vfs.ID) {
	if dir != 0 {
		vfs.Stale(dir)
	}
}

// bringUpFDs gives a directory an entry for each descriptor.
func bringUpFDs(dir vfs.ID) {
	percpu.AssertLocked()
	now := clock.Wall()
	for cookie := uint64(2); ; {
		name, id, _, next, ok := vfs.ReadDir(dir, cookie)
		if !ok {
			break
		}
		cookie = next
		_, fd := vfs.Made(id)
		if f := get(uintptr(fd)); f == nil || vfs.Mode(id) != linkRights(f) {
			vfs.Unmake(dir, name, now)
		}
	}
	for fd := range highFD {
		f := get(fd)
		if f == nil {
			continue
		}
		path := procPath[:procName("/proc/1/fd/", uint64(fd))]
		id, e := vfs.Walk(vfs.Root, path, false)
		if e != 0 {
			if id, e = vfs.Make(path, linkRights(f), madeFD, int32(fd), now); e != 0 {
				return
			}
		}
		to := nodeOf(f)
		if f.isTerminal() && f.obj == standardError {
			to = 0 // which is more than the node says, so it is opened by reopen
		}
		vfs.Lead(id, to)
	}
}

// linkRights returns the mode of an open file's link.
func linkRights(f *file) uint32 {
	switch {
	case f.flags&oAccess == oWronly:
		return vfs.S_IFLNK | 0o300
	case f.flags&oAccess == oRdwr:
		return vfs.S_IFLNK | 0o700
	}
	return vfs.S_IFLNK | 0o500
}

// nodeOf returns the tree's node of an open file, or 0 if it has none.
func nodeOf(f *file) vfs.ID {
	const console = "/dev/console"
	if f.kind == terminal {
		id, e := vfs.Walk(vfs.Root, ascii.Bytes(console), true)
		if e != 0 {
			return 0
		}
		return id
	}
	if f.is(named) || f.isNamedPipe() {
		return f.node
	}
	return 0
}

// bringUpTasks gives a directory an entry for each thread.
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
	for t := thread.Next(0); t != nil; t = thread.Next(t.TID) {
		id, e := vfs.Make(procPath[:procName("/proc/1/task/", uint64(t.TID))], dirMode, madeTask, t.TID,
			now)
		if e == 0 {
			vfs.Stale(id)
		}
	}
}

// procPath is a buffer for names in the trees. Under the kernel lock.
var procPath [64]byte

// procName writes a name that ends in a number into procPath, and returns its length.
func procName(prefix string, number uint64) int {
	percpu.AssertLocked()
	n := len(procNameWith(0, prefix))
	var b [maxDigits]byte
	at := digits(&b, number, 10)
	return len(procNameWith(n, unsafe.String(&b[at], len(b)-at)))
}

// procNameWith puts a name after the first n bytes of procPath, and returns the whole.
func procNameWith(n int, name string) []byte {
	percpu.AssertLocked()
	for i := range len(name) {
		procPath[n] = name[i]
		n++
	}
	return procPath[:n]
}

// infoOfNode returns the attributes of the node that a name leads to. For a link to a file without
// a node, such as a pipe, these are the file's.
func infoOfNode(id vfs.ID, flags uintptr) vfs.Info {
	if made, fd := vfs.Made(id); made == madeFD && flags&atNoFollow == 0 {
		if f := get(uintptr(fd)); f != nil {
			return infoOf(f)
		}
	}
	return vfs.Stat(id)
}

// reopen opens the file of a descriptor without a node again, which is possible for a pipe.
func (c *call) reopen(fd int32, flags uintptr) int64 {
	percpu.AssertLocked()
	f := get(uintptr(fd))
	if f == nil {
		return -eNOENT
	}
	again := file{flags: flags & keptFlags, obj: f.obj}
	if f.isTerminal() {
		again.kind, again.node = ttyDevice, nodeOf(f)
		vfs.Retain(again.node)
		n := open(again, flags)
		if n < 0 {
			vfs.Release(again.node)
		}
		return n
	}
	if !f.isPipe() {
		return -eNXIO
	}
	return again.openEnd(&pipes[f.obj], flags)
}

// readMade reads a made-up file: its contents are made when it is read from the beginning, and are
// kept for the rest of the file.
func readMade(f *file, to, n uintptr, off int64) int64 {
	if off == 0 || f.obj == 0 {
		made, of := vfs.Made(f.node)
		id, e := makeText(procRows[made-madeFile].put, of)
		if e != 0 {
			return -int64(e)
		}
		dropMade(f)
		f.obj = int32(id)
	}
	return readNode(vfs.ID(f.obj), to, n, off)
}

// dropMade frees the contents that readMade keeps.
func dropMade(f *file) {
	if f.kind == node && f.obj != 0 {
		vfs.Release(vfs.ID(f.obj))
		f.obj = 0
	}
}

// isMade reports whether an open file's contents are made up.
func (f *file) isMade() bool {
	if f.kind != node {
		return false
	}
	made, _ := vfs.Made(f.node)
	return made >= madeFile
}

// Vector holds the addresses of the program's arguments, then 0, those of its environment
// variables, then 0. Set once at boot.
var Vector [MaxVector + 2]uintptr

// MaxVector is the largest number of arguments and environment variables.
const MaxVector = 512

// executable is the target of the link /proc/self/exe, which os.Executable reads. Set once at boot.
var (
	executable    [vfs.PathMax]byte
	executableLen int
)

// SetExecutable sets the program's name, which becomes a path from the root if it is none. A
// program has no file of its own unless whoever booted it packed one there. It returns the name of
// the program's first thread. Early context.
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

const maxDigits = 24

// digits writes v in a base, right-aligned, and returns the index of the first digit.
func digits(b *[maxDigits]byte, v, base uint64) int {
	i := len(b)
	for {
		i--
		b[i] = "0123456789abcdef"[v%base]
		if v /= base; v == 0 {
			return i
		}
	}
}
