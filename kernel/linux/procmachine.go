package linux

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/ascii"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/thread"
	"github.com/zeroframe/zeroframe/kernel/vfs"
)

// The bytes of the files in /proc that tell of the machine: its mounts, processors and memory, and how long it ran.

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
