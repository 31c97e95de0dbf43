package linux

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/ascii"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/dev/entropy"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/thread"
	"github.com/zeroframe/zeroframe/kernel/vfs"
)

// The contents of the files in /proc about the machine: its mounts, processors and memory, and how
// long it has run.

// bootID is the number in boot_id, once it has been read. Under the kernel lock.
var bootID [2]uint64

func putNewUUID(int32) { putUUID(entropy.Word(), entropy.Word()) }

func putBootID(int32) {
	if bootID[0] == 0 {
		bootID = [2]uint64{entropy.Word() | 1, entropy.Word()}
	}
	putUUID(bootID[0], bootID[1])
}

// putUUID writes a random UUID (RFC 9562, version 4).
func putUUID(a, b uint64) {
	a, b = a&^0xf000|0x4000, b&^(3<<62)|2<<62
	putf("%8x-%4x-%4x-%4x-%12x\n", a>>32, a>>16&0xffff, a&0xffff, b>>48, b&(1<<48-1))
}

// putMounts writes proc_pid_mounts(5), or with of = 1 proc_pid_mountinfo(5).
func putMounts(of int32) {
	info := of != 0
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

// deviceOf returns the minor device number of a file system, or of a share. The major number is 0.
func deviceOf(system uint8, share int) uint64 {
	if share != 0 {
		return uint64(15 + share)
	}
	return 1 + uint64(system)
}

func putMount(info bool, device uint64, path []byte, kind, rights string) {
	if info {
		putf("%d %d 0:%d / ", device, min(device-1, 1), device)
		putPath(path, true)
		put(" ", rights, ",relatime - ", kind, " ", kind, " ", rights, "\n")
		return
	}
	put(kind, " ")
	putPath(path, true)
	put(" ", kind, " ", rights, ",relatime 0 0\n")
}

// putCPUs writes proc_cpuinfo(5).
func putCPUs(int32) {
	var name [48]byte
	n := arch.CPUName(&name)
	mhz, all := clock.TSCHz()/1000, numCPUs()
	for cpu := range all {
		putf("processor\t: %d\nmodel name\t: ", cpu)
		putBytes(name[:n])
		putf("\ncpu MHz\t\t: %d.%d%d%d\nphysical id\t: 0\nsiblings\t: %d\ncore id\t\t: %d\ncpu cores\t: %d\n\n",
			mhz/1000, mhz/100%10, mhz/10%10, mhz%10, all, cpu, all)
	}
}

// putCPUList writes the list of all CPUs, as in cpuset(7).
func putCPUList(int32) {
	put("0")
	if n := numCPUs(); n > 1 {
		putf("-%d", n-1)
	}
	put("\n")
}

// putMemory writes proc_meminfo(5).
func putMemory(int32) {
	const kib = pageSize / 1024
	_, pages := vfs.Usage()
	free, tree := mem.FreeFrames()*kib, uint64(pages)*kib
	putf("MemTotal:%kMemFree:%kMemAvailable:%kBuffers:%kCached:%kSwapCached:%kSwapTotal:%kSwapFree:%kShmem:%kPageTables:%k",
		mem.AllFrames()*kib, free, free, 0, tree, 0, 0, 0, tree, mem.TableBytes()/1024)
}

// putTimes writes proc_stat(5).
func putTimes(int32) {
	// Of all CPUs together; the lines of the CPUs show an equal share each.
	busy, now := thread.CPUTime(), clock.Now()
	all := numCPUs()
	put("cpu  ")
	putBusy(busy, now*all)
	for cpu := range all {
		putf("cpu%d ", cpu)
		putBusy(busy/all, now)
	}
	putf("ctxt 0\nbtime %d\nprocesses %d\nprocs_running 1\nprocs_blocked 0\n",
		(uint64(clock.Wall())-now)/1e9, uint64(thread.MaxTID()))
}

func putBusy(busy, all uint64) {
	putf("%d 0 0 %d 0 0 0 0 0 0\n", ticks(busy), ticks(all-min(busy, all)))
}

// putUptime writes proc_uptime(5), in seconds with two decimals.
func putUptime(int32) {
	now := clock.Now()
	all := now * numCPUs()
	idle := all - min(thread.CPUTime(), all)
	putf("%d.%d%d %d.%d%d\n", now/1e9, now/1e8%10, now/1e7%10, idle/1e9, idle/1e8%10, idle/1e7%10)
}

// putLoad writes proc_loadavg(5); the load is not measured.
func putLoad(int32) {
	putf("0.00 0.00 0.00 1/%d %d\n", uint64(thread.Count()), uint64(thread.MaxTID()))
}

func putOpenFiles(int32) {
	n := uint64(0)
	for i := range highFile {
		if fileAt(i).kind != closed {
			n++
		}
	}
	putf("%d\t0\t24000\n", n)
}
