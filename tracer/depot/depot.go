package depot

import (
	"sync/atomic"
	"unsafe"

	"github.com/zeroframe/zeroframe/tracer"
)

// Depot is a depot in memory that its owner gives it. Its methods are for one CPU, and interrupts
// may call them.
type Depot struct {
	// TrustHash accepts a stack that was found lately if its hash of 64 bits is equal, without
	// comparing the frames, which is slightly faster.
	TrustHash bool

	layout
	pool  uintptr // address of the units
	slots uintptr // address of the index: IDs, 0 is free
	units uint32  // number of units that fit
	index uint32  // number of slots
	short bool    // slots have 2 bytes, not 4

	recent  uintptr // address of the stacks found last; see recent.go
	recents uint32  // number of places for them, a power of two or 0
	version atomic.Uint32

	top   atomic.Uint32 // first free unit
	known atomic.Uint32 // used slots

	size           uintptr
	stacks, frames uint64
	full           uint64
}

// layout says how to read the units.
type layout struct {
	width  uintptr // bytes of a unit
	textLo uintptr
	span   uint32 // bytes of text
}

// Units above 2*span.
const (
	unitCall = 512
	unitWild = 1280
	unitEnd  = 1281
	unitLink = 1313
)

// EndCut is the end of a stack that was cut at the trap frame of an interrupt, which is its last
// frame.
const EndCut tracer.End = unitLink - unitEnd - 1

// MinSize is the least number of bytes that a depot can work with.
const MinSize = 4096

// The index's share of the memory, in 64ths, with slots of two and of four bytes. A frame of a new
// stack takes about five bytes of units, including its share of the link.
const (
	shortShare = 20
	longShare  = 30
)

// indexFull is how many of 16 slots are used at most.
const indexFull = 14

// Init uses the size bytes of memory at base, which must be mapped and all zeros, for stacks of
// code in textLo <= pc < textHi. It returns false if the memory is too small or the text too large
// (1 GiB). Any context.
func (d *Depot) Init(base, size, textLo, textHi uintptr) bool {
	base, size = (base+7)&^7, (size-(base+7)&^7+base)&^7
	if size < MinSize || size > 1<<31 || textHi < textLo || textHi-textLo > 1<<30 {
		return false
	}
	d.textLo, d.span = textLo, uint32(textHi-textLo)
	d.size = size
	size = d.placeRecent(base)
	base += d.size - size
	d.divide(base, size, shortShare, 2)
	d.short = d.units < 1<<16
	if !d.short {
		d.divide(base, size, longShare, 4)
	}
	d.top.Store(1) // ID 0 is none
	d.known.Store(0)
	d.stacks, d.frames, d.full = 0, 0, 0
	return true
}

// divide splits the memory between the index, with slots of slot bytes, and the units.
func (d *Depot) divide(base, size, share, slot uintptr) {
	index := size / 64 * share &^ 7
	room := size - index - 32 // a comparison may read past the last unit
	d.width = 3
	if 2*uintptr(d.span)+unitLink+room/3 >= 1<<24 {
		d.width = 4
	}
	d.units, d.index = uint32(room/d.width), uint32(index/slot)
	d.slots, d.pool = base, base+index
}

// Ready reports whether the depot has memory. Any context.
func (d *Depot) Ready() bool { return d.units != 0 }

// Stats is what a depot holds.
type Stats struct {
	Stacks uint64 // stacks that have been added
	Frames uint64 // frames in them, ends not counted
	Full   uint64 // stacks that were refused for lack of room
	Used   uint64 // bytes used, units and index
	Size   uint64 // bytes of the depot
}

// Stats returns what the depot holds. Any context.
func (d *Depot) Stats() Stats {
	return Stats{
		Stacks: d.stacks, Frames: d.frames, Full: d.full, Size: uint64(d.size),
		Used: uint64(d.top.Load())*uint64(d.width) + d.slotSize()*uint64(d.known.Load()),
	}
}

// Begin prepares p for a stack that will go into this depot. Any context.
func (d *Depot) Begin(p *tracer.Packed) { p.Reset(d.width, d.textLo, d.textLo+uintptr(d.span)) }

// Add adds a frame that p.Walk did not find, such as the innermost: an exact pc (tracer.PC) or a
// return address (all other kinds). Any context.
func (d *Depot) Add(p *tracer.Packed, kind tracer.Kind, addr uintptr) {
	off := addr - d.textLo
	switch {
	case off >= uintptr(d.span):
		p.Add(2*d.span + unitWild)
	case kind == tracer.PC:
		p.Add(d.span + uint32(off))
	default:
		p.Add(uint32(off))
	}
}

// PC returns the unit of an exact pc, for p.Add: it is like Add, but does not check that pc is in
// the text. Any context.
func (d *Depot) PC(pc uintptr) uint32 { return d.span + uint32(pc-d.textLo) }

// Trap adds a trap frame. Any context.
func (d *Depot) Trap(p *tracer.Packed, vector uint32) { p.Add(2*d.span + min(vector, unitCall-1)) }

// Call adds the entry of a system call, with its number. Any context.
func (d *Depot) Call(p *tracer.Packed, number uint32) {
	p.Add(2*d.span + unitCall + min(number, unitWild-unitCall-1))
}

// Finish returns the ID of the stack that p holds, with end as its end, and adds the stack if it is
// new. ok is false, and the ID 0, if there is no room for it. p is left as it is. Any context.
func (d *Depot) Finish(p *tracer.Packed, end tracer.End) (id uint32, ok bool) {
	if id = d.Find(p, end); id != 0 {
		return id, true
	}
	if !d.Ready() {
		return 0, false
	}
	return d.insert(p, 2*d.span+unitEnd+uint32(end))
}

// Find is Finish without adding: it returns 0 if the depot does not have the stack. Any context.
func (d *Depot) Find(p *tracer.Packed, end tracer.End) (id uint32) {
	unit := 2*d.span + unitEnd + uint32(end)
	hash := p.Hash*tracer.HashFactor + uint64(unit)
	if d.recents == 0 {
		return d.find(p, hash, unit)
	}
	version := d.version.Load()
	if r := d.place(hash); r.hash == hash && version&1 == 0 {
		id := r.id
		if (d.TrustHash || r.is(p)) && d.version.Load() == version && id != 0 {
			return id
		}
	}
	return d.find(p, hash, unit)
}

// find searches the depot itself, without the stacks found last.
func (d *Depot) find(p *tracer.Packed, hash uint64, unit uint32) (id uint32) {
	if !d.Ready() {
		return 0
	}
	for s := d.slot(hash); ; {
		id := d.load(s)
		if id == 0 {
			return 0
		}
		if d.same(id, p, unit) {
			d.keep(hash, p, id)
			return id
		}
		if s++; s == d.index {
			s = 0
		}
	}
}

// Intern returns the ID of a stack that a Walker has found: frames is Frames[:N], end is End.
// Frames that do not fit a tracer.Packed are cut, with tracer.EndLimit. It takes some 1,100 bytes
// of stack. Any context.
func (d *Depot) Intern(frames []tracer.Frame, end tracer.End) (id uint32, ok bool) {
	var p tracer.Packed
	d.Begin(&p)
	if len(frames) >= tracer.MaxPacked {
		frames, end = frames[:tracer.MaxPacked-1], tracer.EndLimit
	}
	for i := range frames {
		switch f := &frames[i]; {
		case f.Kind != tracer.Trap:
			d.Add(&p, f.Kind, f.Addr)
		case f.Vector == tracer.VectorSyscall:
			d.Call(&p, f.Error)
		default:
			d.Trap(&p, f.Vector)
		}
	}
	return d.Finish(&p, end)
}

// slot returns the slot at which the search for a hash begins. The last step of a hash is
// a multiplication, so its upper bits depend on all frames.
func (d *Depot) slot(hash uint64) uint32 {
	return uint32(hash >> 32 * uint64(d.index) >> 32)
}

func at(p uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&p)) }

// load returns the ID in a slot.
func (d *Depot) load(slot uint32) uint32 {
	if d.short {
		return uint32(*(*uint16)(at(d.slots + 2*uintptr(slot))))
	}
	return *(*uint32)(at(d.slots + 4*uintptr(slot)))
}

func (d *Depot) slotSize() uint64 {
	if d.short {
		return 2
	}
	return 4
}

// unit returns the unit at index i.
func (d *Depot) unit(i uint32) uint32 {
	v := *(*uint32)(at(d.pool + uintptr(i)*d.width))
	if d.width == 3 {
		v &= 1<<24 - 1
	}
	return v
}

// same reports whether the stack with that ID is p followed by the unit end. It compares all of
// both, eight units at a time where there are no links, otherwise two.
func (d *Depot) same(id uint32, p *tracer.Packed, end uint32) bool {
	link := 2*d.span + unitLink
	buf, n := p.Buffer(), p.Bytes()
	if d.width == 3 {
		return same3(d.pool, d.pool+uintptr(id)*3, buf, buf+n, link, end)
	}
	return same4(d.pool, d.pool+uintptr(id)*4, buf, buf+n, link, end)
}

// same3 compares the units of 3 bytes at mine, in pool, with those at other, which end at stop.
func same3(pool, mine, other, stop uintptr, link, end uint32) bool {
	for {
		for other+24 <= stop {
			a, b := (*[3]uint64)(at(mine)), (*[3]uint64)(at(other))
			if (a[0]^b[0])|(a[1]^b[1])|(a[2]^b[2]) != 0 {
				break
			}
			mine += 24
			other += 24
		}
		// Of each eight bytes, two belong to a third unit and are ignored.
		for other+6 <= stop && (*(*uint64)(at(mine))^*(*uint64)(at(other)))<<16 == 0 {
			mine += 6
			other += 6
		}
		v := *(*uint32)(at(mine)) & (1<<24 - 1)
		if v < link && other != stop {
			if v != *(*uint32)(at(other))&(1<<24-1) {
				return false
			}
			mine += 3
			other += 3
			v = *(*uint32)(at(mine)) & (1<<24 - 1)
		}
		switch {
		case v >= link:
			mine = pool + uintptr(v-link)*3
		case other == stop:
			return v == end
		case v != *(*uint32)(at(other))&(1<<24-1):
			return false
		}
	}
}

// same4 is same3 for units of 4 bytes.
func same4(pool, mine, other, stop uintptr, link, end uint32) bool {
	for {
		for other+8 <= stop && *(*uint64)(at(mine)) == *(*uint64)(at(other)) {
			mine += 8
			other += 8
		}
		v := *(*uint32)(at(mine))
		switch {
		case v >= link:
			mine = pool + uintptr(v-link)*4
		case other == stop:
			return v == end
		case v != *(*uint32)(at(other)):
			return false
		default:
			mine += 4
			other += 4
		}
	}
}

// insert adds a stack that is not there.
func (d *Depot) insert(p *tracer.Packed, end uint32) (id uint32, ok bool) {
	// From the outermost frame inwards, as far as the depot knows the way.
	link := 2*d.span + unitLink
	tail := uint32(0) // the ID of the frames outside frame i
	hash, power := uint64(0), uint64(1)
	i := p.N()
	for ; i >= 0; i-- {
		unit := unitAt(p, i, end)
		h := hash + uint64(unit)*power
		next := d.child(h, unit, tail)
		if next == 0 {
			break
		}
		hash, tail = h, next
		power *= tracer.HashFactor
	}
	if i < 0 {
		return tail, true
	}
	need := uint32(i) + 1
	if tail != 0 {
		need++
	}
	if id, ok = d.take(need, uint32(i)+1); !ok {
		d.full++
		return 0, false
	}
	for k := 0; k <= i; k++ {
		d.store(id+uint32(k), unitAt(p, k, end))
	}
	if tail != 0 {
		d.store(id+need-1, link+tail)
	}
	// All frames are there, so now each may be found, the outer ones first.
	for ; i >= 0; i-- {
		hash += uint64(unitAt(p, i, end)) * power
		power *= tracer.HashFactor
		d.publish(hash, id+uint32(i))
	}
	d.stacks++
	d.frames += uint64(p.N())
	return id, true
}

// unitAt returns a unit of p, or the end that follows them.
func unitAt(p *tracer.Packed, i int, end uint32) uint32 {
	if i == p.N() {
		return end
	}
	return p.Unit(i)
}

// take reserves units and slots.
func (d *Depot) take(units, slots uint32) (first uint32, ok bool) {
	for {
		first = d.top.Load()
		if first+units > d.units {
			return 0, false
		}
		if d.top.CompareAndSwap(first, first+units) {
			break
		}
	}
	if d.known.Add(slots) > d.index/16*indexFull {
		d.known.Add(-slots)
		// The units may already lie in the middle; then they are lost.
		d.top.CompareAndSwap(first+units, first)
		return 0, false
	}
	return first, true
}

// child returns the ID of the frame with that hash, unit and outer frames, or 0.
func (d *Depot) child(hash uint64, unit, tail uint32) uint32 {
	link := 2*d.span + unitLink
	for s := d.slot(hash); ; {
		id := d.load(s)
		if id == 0 {
			return 0
		}
		if d.unit(id) == unit {
			if tail == 0 {
				return id // an end
			}
			out := id + 1
			if v := d.unit(out); v >= link {
				out = v - link
			}
			if out == tail {
				return id
			}
		}
		if s++; s == d.index {
			s = 0
		}
	}
}

// store writes a unit. It does not touch the bytes after it, which an interrupt may have filled
// already.
func (d *Depot) store(i, v uint32) {
	p := d.pool + uintptr(i)*d.width
	if d.width == 4 {
		*(*uint32)(at(p)) = v
		return
	}
	*(*uint16)(at(p)) = uint16(v)
	*(*uint8)(at(p + 2)) = uint8(v >> 16)
}

// publish puts an ID into the index. If an interrupt fills the same slot between the check and the
// store, its entry is not found again, and that stack may be added once more.
func (d *Depot) publish(hash uint64, id uint32) {
	s := d.slot(hash)
	for d.load(s) != 0 {
		if s++; s == d.index {
			s = 0
		}
	}
	if d.short {
		*(*uint16)(at(d.slots + 2*uintptr(s))) = uint16(id)
		return
	}
	*(*uint32)(at(d.slots + 4*uintptr(s))) = id
}
