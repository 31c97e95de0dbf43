package memdump

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/fault"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/net/netconsole"
	"github.com/zeroframe/zeroframe/kernel/option"
	"github.com/zeroframe/zeroframe/kernel/parts"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/tracer/dump"
)

// A way is how the memory is sent: the words of the option core=, in their order
// (kernel/option/table.go).
type way uint8

const (
	off way = iota
	byNet
	byCom2
	byRAM
)

// Values without the options core.rate=, core.wait= and core.time=.
const (
	usualRate = 10_000_000 // bytes a second
	usualWait = 10         // seconds
	usualTime = 600        // seconds
)

// The options, times in nanoseconds. Set once at boot.
var (
	chosen  way
	by      way    // how it is sent: chosen, unless that is byRAM
	rate    uint64 // bytes a second
	patient uint64 // how long to wait for an answer
	limit   uint64 // how long everything may take
	number  uint64 // of the dump, if there is one
)

// Configure reads the options. random becomes the number of the dump. With core=ram [AtBoot] does
// the rest. Early context, before mem.Release and after the search for a network card.
func Configure(random uint64) {
	if !parts.Dump {
		return
	}
	how, _ := option.Word("core")
	chosen, number = way(how), random
	by = chosen
	if chosen == byRAM {
		how, _ = option.Word("core.by")
		by = byNet + way(how)
	}
	rate, patient, limit = usualRate, usualWait*1e9, usualTime*1e9
	if n, ok := option.Number("core.rate"); ok && n > 0 {
		rate = n
	}
	if n, ok := option.Number("core.wait"); ok {
		patient = n * 1e9
	}
	if n, ok := option.Number("core.time"); ok {
		limit = n * 1e9
	}
	if chosen == off {
		return
	}
	value, _ := option.Value("core")
	if wrong := readKey(); wrong != "" {
		option.Ignored("core", value, wrong)
		chosen = off
		return
	}
	if by == byNet && !netconsole.Ready() {
		option.Ignored("core", value,
			"the memory goes where netconsole= sends, which is not given or does not work")
		chosen = off
		return
	}
	if by == byCom2 {
		if wrong := prepareCom2(); wrong != "" {
			option.Ignored("core", value, wrong)
			chosen = off
			return
		}
	}
	if roomAt = mem.Contiguous(unsafe.Sizeof(room{})); roomAt == 0 || !pages.prepare() {
		option.Ignored("core", value,
			"not enough RAM behind the kernel's image for a note of what has been sent")
		chosen = off
		return
	}
	if chosen != byRAM {
		fault.OnDump(run)
	}
}

// Keep stores second copies of the options, and of the start of the path to each page (arch.Keep).
// Early context.
func Keep() {
	if !parts.Dump {
		return
	}
	arch.KeepVar(&chosen)
	arch.KeepVar(&rate)
	arch.KeepVar(&patient)
	arch.KeepVar(&limit)
	arch.KeepVar(&by)
	arch.KeepVar(&number)
	arch.KeepVar(&notes)
	arch.KeepVar(&roomAt)
	keepKey()
	keepArea()
	mem.KeepDumped()
}

// A room is the memory for a dump, which only a machine with the option core= sets aside. Panic
// path only, and while a boot sends what the previous one has kept.
type room struct {
	cpus   [dump.MaxCPUs]dump.CPU
	hidden [maxHidden]piece
	link   netLink
	saves  [dump.MaxSaved]dump.Saved // what core=ram copies
	net    netconsole.DumpRoom
	buffer [arch.PageSize]byte  // of a page
	packet [dump.MaxPacket]byte // of com2
}

// roomAt is its address. Set once at boot.
var roomAt uintptr

func space() *room { return (*room)(arch.Pointer(roomAt)) }

// numCPUs is the number of entries in use of room.cpus; dead is the CPU that died first. Panic path
// only.
var (
	numCPUs uint32
	dead    uint32
)

// run sends the memory, or keeps it. Panic path.
func run() {
	dead = percpu.This().Number
	numCPUs = min(percpu.Count(), dump.MaxCPUs)
	for n := range numCPUs {
		c := &space().cpus[n]
		c.Number = n
		fault.DescribeCPU(c)
	}
	findHidden()
	if chosen == byRAM {
		keepInRAM()
		return
	}
	sendAll()
}

// sendAll sends the memory, and reports whether everything that is wanted was sent.
func sendAll() bool {
	if !beginSession() {
		console.FreshLine()
		console.String("core: not sent: core.key= is no public key\n")
		return false
	}
	if by == byNet {
		return sendByNet()
	}
	return sendByCom2()
}

// result prints the result on the console.
func result(began uint64, how string) {
	console.FreshLine()
	console.Printf("core: %d pages sent in %d ms", uint64(sentPages()), (clock.Now()-began)/1e6)
	console.Line(how)
}
