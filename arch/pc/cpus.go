package pc

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch/amd64"
)

// Finding the CPUs: from ACPI's table of interrupt controllers (ACPI Specification 6.5, 5.2.12), or
// if there is none, from Intel's table of multiprocessors (MultiProcessor Specification 1.4,
// chapter 4). Only what a checksum covers is believed, and no length may lead outside what the
// first page tables map.

// cpuList is the result: the IDs of CPUs' local APICs.
type cpuList struct {
	ids  *[amd64.MaxCPUs]uint32
	wide bool // IDs of 32 bits are possible: the CPU has x2APIC mode
	n    int  // number in ids
	more int  // number of further ones
	far  int  // number that only x2APIC mode could reach, which the CPU does not have
}

// add adds a CPU to the list, once.
func (l *cpuList) add(id uint32) {
	if id == broadcastX2 {
		return
	}
	for _, have := range l.ids[:l.n] {
		if have == id {
			return
		}
	}
	switch {
	case id >= broadcastID && !l.wide:
		l.far++
	case l.n == len(l.ids):
		l.more++
	default:
		l.ids[l.n] = id
		l.n++
	}
}

// addOld adds a CPU whose entry has one byte for the ID: there, 0xff is no CPU's in either mode.
func (l *cpuList) addOld(id byte) {
	if id != broadcastID {
		l.add(uint32(id))
	}
}

// needsX2APIC reports whether a CPU of the list can be reached only in x2APIC mode.
func (l *cpuList) needsX2APIC() bool {
	for _, id := range l.ids[:l.n] {
		if id >= broadcastID {
			return true
		}
	}
	return false
}

// The IDs that mean all CPUs: the first that is no CPU's in xAPIC mode, and the one that is no
// CPU's in x2APIC mode.
const (
	broadcastID = 0xff
	broadcastX2 = 0xffff_ffff
)

// FindCPUs lists the IDs of all CPUs' local APICs, in the firmware's order. more is the number of
// CPUs for which ids has no room, far the number whose ID this CPU's interrupt controller cannot
// address; acpi says that ACPI listed them. hint is where the loader says that ACPI's root is, or
// 0. Early context, before StartInterrupts, while the first page tables (4 GiB) are in use.
func FindCPUs(hint uintptr, ids *[amd64.MaxCPUs]uint32) (n, more, far int, acpi bool) {
	l := cpuList{ids: ids, wide: hasX2APIC()}
	if l.byACPI(findRoot(hint)); l.n != 0 {
		wantX2APIC = l.needsX2APIC()
		return l.n, l.more, l.far, true
	}
	l = cpuList{ids: ids}
	for _, area := range biosAreas() {
		for a := area.lo; a < area.hi; a += 16 {
			if l.readPointerMP(bytesAt(a, 16)); l.n != 0 {
				return l.n, l.more, 0, false
			}
		}
	}
	return 0, 0, 0, false
}

// An area of memory below 1 MiB: lo <= address < hi.
type area struct{ lo, hi uintptr }

// biosAreas returns where a BIOS may have left a table's address: the first KiB of its extended
// data, the last one of low RAM, and its own code.
func biosAreas() [3]area {
	const segmentOfData = 0x40e // IBM PC BIOS data area
	ebda := uintptr(amd64.Load16(amd64.Virtual(segmentOfData))) << 4
	if ebda < 0x400 || ebda > 0x9fc00 {
		ebda = 0x9fc00
	}
	return [...]area{{ebda, ebda + 1024}, {0x9fc00, 0xa0000}, {0xe0000, 0x100000}}
}

// bytesAt returns the n bytes at a, or none if they are not all below 4 GiB, or are in page 0.
func bytesAt(a, n uintptr) []byte {
	const lowest, highest = amd64.PageSize, 4 << 30
	if a < lowest || a >= highest || n > highest-a {
		return nil
	}
	return unsafe.Slice((*byte)(amd64.Pointer(amd64.Virtual(a))), n)
}

// findRoot returns the address of ACPI's root pointer, or 0.
func findRoot(hint uintptr) uintptr {
	if isRoot(bytesAt(hint, rootSize)) {
		return hint
	}
	for _, area := range biosAreas() {
		for a := area.lo; a < area.hi; a += 16 {
			if isRoot(bytesAt(a, rootSize)) {
				return a
			}
		}
	}
	return 0
}

// rootSize is the length in bytes of the root pointer of ACPI 1.0, which all versions have
// (5.2.5.3).
const rootSize = 20

func isRoot(b []byte) bool {
	return len(b) >= rootSize && hasName(b, "RSD PTR ") && sum(b[:rootSize]) == 0
}

// byACPI reads the tables that the root pointer leads to.
func (l *cpuList) byACPI(root uintptr) {
	const revision, rsdt, xsdt, longSize = 15, 16, 24, 36
	b := bytesAt(root, rootSize)
	if b == nil {
		return
	}
	table, size := uintptr(le32(b[rsdt:])), uintptr(4)
	if long := bytesAt(root, longSize); b[revision] >= 2 && long != nil && sum(long) == 0 &&
		le64(long[xsdt:]) != 0 {
		table, size = uintptr(le64(long[xsdt:])), 8
	}
	list, seen := tableAt(table, "RSDT", "XSDT"), false
	if list != nil {
		hpet = 0 // until a table names it
	}
	for uintptr(len(list)) >= tableHead+size {
		a := uintptr(le32(list[tableHead:]))
		if size == 8 {
			a = uintptr(le64(list[tableHead:]))
		}
		if b := tableAt(a, "APIC", ""); b != nil && !seen {
			seen = true // of two, the first one counts
			l.readMADT(b)
		} else if b := tableAt(a, "FACP", ""); b != nil {
			readFADT(b)
		} else if b := tableAt(a, "HPET", ""); b != nil {
			readHPET(b)
		}
		list = list[size:]
	}
}

// tableHead is the length in bytes of the head of each of ACPI's tables (5.2.6).
const tableHead = 36

// tableAt returns the table at a if it has one of the two names and its checksum is right.
func tableAt(a uintptr, name, other string) []byte {
	const length, most = 4, 1 << 20
	head := bytesAt(a, tableHead)
	if head == nil || !hasName(head, name) && (other == "" || !hasName(head, other)) {
		return nil
	}
	n := uintptr(le32(head[length:]))
	if n < tableHead || n > most {
		return nil
	}
	if b := bytesAt(a, n); b != nil && sum(b) == 0 {
		return b
	}
	return nil
}

// readMADT reads the table of interrupt controllers.
func (l *cpuList) readMADT(b []byte) {
	const (
		head               = tableHead + 8
		localAPIC, x2APIC  = 0, 9
		localSize, x2Size  = 8, 16
		localID, localFlag = 3, 4
		x2ID, x2Flag       = 4, 8
		enabled            = 1
	)
	if len(b) < head {
		return
	}
	for b = b[head:]; len(b) >= 2 && int(b[1]) >= 2 && int(b[1]) <= len(b); b = b[b[1]:] {
		switch {
		case b[0] == localAPIC && b[1] >= localSize && le32(b[localFlag:])&enabled != 0:
			l.addOld(b[localID])
		case b[0] == x2APIC && b[1] >= x2Size && le32(b[x2Flag:])&enabled != 0:
			l.add(le32(b[x2ID:]))
		}
	}
}

// readPointerMP reads the table that b, 16 bytes, points to, if b is such a pointer.
func (l *cpuList) readPointerMP(b []byte) {
	const table, length, head = 4, 4, 44
	if len(b) < 16 || !hasName(b, "_MP_") || sum(b) != 0 {
		return
	}
	a := uintptr(le32(b[table:]))
	if h := bytesAt(a, head); h != nil && hasName(h, "PCMP") {
		if t := bytesAt(a, max(head, uintptr(h[length])|uintptr(h[length+1])<<8)); t != nil &&
			sum(t) == 0 {
			l.readMP(t[head:])
		}
	}
}

// readMP reads the entries of the table of multiprocessors: those of CPUs come first, 20 bytes
// each.
func (l *cpuList) readMP(b []byte) {
	const processor, size, id, flags, enabled = 0, 20, 1, 3, 1
	for ; len(b) >= size && b[0] == processor; b = b[size:] {
		if b[flags]&enabled != 0 {
			l.addOld(b[id])
		}
	}
}

func hasName(b []byte, name string) bool {
	for i := range len(name) {
		if b[i] != name[i] {
			return false
		}
	}
	return true
}

func sum(b []byte) (s byte) {
	for _, v := range b {
		s += v
	}
	return s
}

func le32(b []byte) uint32 {
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
}

func le64(b []byte) uint64 { return uint64(le32(b)) | uint64(le32(b[4:]))<<32 }
