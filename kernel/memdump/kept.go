package memdump

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/boot"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/image"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/option"
	"github.com/zeroframe/zeroframe/kernel/parts"
	"github.com/zeroframe/zeroframe/tracer/dump"
)

// What the previous boot has kept in RAM (keep.go). This boot sends it before it gives memory to
// the program.

// maxTries is how many boots begin to send the same memory, since the memory itself may be what
// ends them.
const maxTries = 3

// What Find found. Set once at boot.
var (
	found   uintptr // address of the area; 0: none
	left    uintptr // address of an area that the next boot must send; 0: none
	refused bool    // there was an area that is damaged
)

// leftSize is the size of what is at left. Set once at boot.
var leftSize uintptr

// Whether the memory that is sent was kept, and what of it is lost. Panic path only, and while a
// boot sends it.
var (
	sendingKept bool
	lost        [dump.NumClasses]uint32
	absent      uint32 // pages that could not be read when the machine died
)

// Find looks for what the previous boot has kept, if this one has core=ram, so that tables and
// devices do not overwrite it. Early context, after mem.Init and before anything else takes memory.
func Find(regions []boot.Region) {
	if how, _ := option.Word("core"); !parts.Dump || way(how) != byRAM {
		return
	}
	for i := 0; ; i++ {
		lo, hi, ok := mem.RAM(i)
		if !ok {
			return
		}
		for at := (lo + mem.AsideAlign - 1) &^ (mem.AsideAlign - 1); at < hi &&
			hi-at >= dump.KeptDescription; at += mem.AsideAlign {
			k := keptAt(at)
			if !k.Is() || !mem.Unclaimed(at, at+dump.KeptDescription, regions) {
				continue
			}
			wrong := k.Check(uint64(at))
			switch {
			case wrong != "":
			case k.Size > uint64(hi-at) || !mem.Unclaimed(at, at+uintptr(k.Size), regions):
				wrong = "this boot needs the memory where it is"
			case k.Tries >= maxTries:
				wrong = "boots have ended while they sent it"
			}
			if wrong != "" {
				refuse(k, wrong)
				continue
			}
			found = at
			mem.SpareFrom(at)
			return
		}
	}
}

// refuse says why the kept memory is not sent, and forgets it.
func refuse(k *dump.Kept, wrong string) {
	refused = true
	console.FreshLine()
	console.String("core: the memory that the boot before has kept is not sent: ")
	console.Line(wrong)
	k.Clear()
}

// AtBoot sends what the previous boot has kept, and sets memory aside for what this one may keep.
// died says that the previous boot has left a crash log. Early context, before mem.Release.
func AtBoot(regions []boot.Region, died bool) {
	if !parts.Dump || chosen != byRAM {
		return
	}
	switch {
	case found != 0:
		sendKept()
	case died && !refused:
		console.FreshLine()
		console.String("core: the boot before has left no memory to be sent\n")
	}
	beginRAM(regions)
}

// sendKept sends what Find found.
func sendKept() {
	k := keptAt(found)
	k.Tries++
	k.Finish()
	numCPUs, dead = k.CPUs, k.Dead
	for c := range numCPUs {
		space().cpus[c%dump.MaxCPUs] = k.CPU[c%dump.MaxCPUs]
	}
	hiddenBytes = k.Hidden
	numHidden = 0
	sayBuild(k)
	findLost(k)
	own := number
	number, sendingKept = k.Dump, true
	if sendAll() {
		k.Clear()
	} else if k.Tries < maxTries {
		left, leftSize = found, uintptr(k.Size)
		console.String("core: the next boot tries again, with what is left then\n")
	}
	number, sendingKept = own, false
}

// sayBuild prints a line if the kept memory is of another build.
func sayBuild(k *dump.Kept) {
	id := image.BuildID()
	same := len(id) == int(k.ID)
	for i := 0; same && i < len(id); i++ {
		same = id[i] == k.BuildID[i]
	}
	if same {
		return
	}
	console.String("core: the boot before was of another build: ")
	for _, v := range k.BuildID[:k.ID] {
		console.Byte("0123456789abcdef"[v>>4])
		console.Byte("0123456789abcdef"[v&15])
	}
	console.String("\n")
}

// findLost finds the pages that have changed, notes that in their marks, and prints it.
func findLost(k *dump.Kept) {
	absent, lost = 0, [dump.NumClasses]uint32{}
	all, gone := uint32(0), uint32(0)
	index := uint32(0)
	for i := range min(k.NumRAM, dump.MaxRanges) {
		for a := k.RAM[i].Lo; a < k.RAM[i].Hi; a += arch.PageSize {
			m := markAt(k, index)
			index++
			c, ok := m.Class()
			if !ok {
				absent++
				*m = 0
				continue
			}
			all++
			if !m.Lost() && !unchanged(k, uintptr(a), *m) {
				*m = m.Lose()
			}
			if m.Lost() {
				lost[c]++
				gone++
			}
		}
	}
	console.Printf(
		"core: the boot before has kept %d pages of its memory, of which %d are overwritten",
		uint64(all), uint64(gone))
	between := ": "
	for c, n := range lost {
		if n > 0 {
			console.String(between)
			console.Printf("%d of ", uint64(n))
			console.String(dump.Class(c).String())
			between = ", "
		}
	}
	console.String("\n")
}

// unchanged reports whether a page still has its old contents.
func unchanged(k *dump.Kept, f uintptr, m dump.Mark) bool {
	at, copied := k.Where(f)
	if !copied && (!inRAM(f) || isOwn(f)) {
		return false
	}
	return arch.CopyUser(uintptr(unsafe.Pointer(&space().buffer)), arch.Virtual(at),
		arch.PageSize) == 0 &&
		m.Same((*[arch.PageSize / 8]uint64)(unsafe.Pointer(&space().buffer)))
}

// isOwn reports whether this kernel, or a device that it has started, writes to a page.
func isOwn(f uintptr) bool {
	for i := 0; ; i++ {
		seg, ok := mem.ImageSegment(i)
		if !ok {
			return false
		}
		if seg.Write {
			return f >= seg.Lo&^(arch.PageSize-1) && f < mem.BootEnd()
		}
	}
}

// nextKept is next for kept memory.
func (s *source) nextKept() (frame uintptr, ok bool) {
	k := keptAt(found)
	for ; s.class < dump.NumClasses; s.class++ {
		for s.i < int(min(k.NumRAM, dump.MaxRanges)) {
			r := &k.RAM[s.i]
			if s.at == 0 {
				s.at = uintptr(r.Lo)
			}
			if s.at >= uintptr(r.Hi) {
				s.i, s.at = s.i+1, 0
				continue
			}
			f := s.at
			s.at += arch.PageSize
			m := *markAt(k, s.mark)
			s.mark++
			if c, ok := m.Class(); !ok || c != s.class {
				continue
			}
			s.count++
			if m.Lost() {
				s.lost++
				continue
			}
			return f, true
		}
		s.i, s.at, s.mark = 0, 0, 0
	}
	return 0, false
}
