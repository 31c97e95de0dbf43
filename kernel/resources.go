package kernel

import (
	"github.com/zeroframe/zeroframe/arch/amd64"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/mm"
	"github.com/zeroframe/zeroframe/kernel/resource"
	"github.com/zeroframe/zeroframe/kernel/sched"
	"github.com/zeroframe/zeroframe/kernel/stackid"
)

// What package resource needs of the kernel: its options, memory, and the stacks.

// The log's memory in bytes, unless options say otherwise.
const (
	defaultRing = 64 << 10
	defaultOpen = 4096 // things that may be open
	minOpen     = 64
	maxLog      = 1 << 30 // of each
)

// setRecording starts the log, if the option record= wants one. Early context, after
// mm.Init and before mm.Release.
func setRecording() {
	if v, ok := Option("memprofile"); ok && !Same(v, "off") {
		if !Same(v, "on") {
			complain("memprofile", v, "want on or off")
		} else {
			resource.SetBuildID(buildID())
			resource.SendHeaps()
		}
	}
	value, ok := Option("record")
	if !ok || Same(value, "off") {
		return
	}
	if wrong := resource.Select(value); wrong != nil || len(value) == 0 {
		complain("record", wrong, "want pages, maps, fds, threads, timers, futexes, user or all, with commas between")
		return
	}
	if !stackid.On() {
		complain("record", value, noDepot)
		return
	}
	open := uint64(defaultOpen)
	if resource.Wanted(resource.Pages) {
		open += min(mm.Total()/amd64.PageSize, 1<<18)
	}
	var m resource.Memory
	m.RingBytes = logSize("record.ring", defaultRing, uint64(resource.MinRing))
	m.TableBytes = logSize("record.open", open, minOpen) * resource.EntryBytes
	m.Ring, m.Table = mm.Contiguous(m.RingBytes), mm.Contiguous(m.TableBytes)
	if m.Ring == 0 || m.Table == 0 {
		complain("record", value, "there is not enough RAM; make record.ring=, record.open= or depot= smaller")
		return
	}
	resource.SetBuildID(buildID())
	resource.Start(&m, sched.CurrentAt())
}

// logSize reads an option that is a number from least up.
func logSize(option string, size, least uint64) uintptr {
	if v, ok := Option(option); ok {
		if n, ok := parseUint(v); ok && n >= least && n <= maxLog {
			return uintptr(n)
		}
		console.String(option)
		console.String(" is ignored: want a number from ")
		console.Dec(least)
		console.String("\n")
	}
	return uintptr(size)
}

// sendResources sends a snapshot of what the log has, and the heap profile, when the machine
// ends, once. Should it fault, that is one more death, which sends none.
func sendResources(reason string) {
	if resourcesSent {
		return
	}
	resourcesSent = true
	resource.Send(reason)
}

var resourcesSent bool
