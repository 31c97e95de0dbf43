package pc

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/zeroframe/zeroframe/arch/amd64"
)

// madt returns a table of interrupt controllers with these entries.
func madt(entries ...[]byte) []byte {
	b := append([]byte("APIC"), make([]byte, tableHead+8-4)...)
	for _, e := range entries {
		b = append(b, e...)
	}
	binary.LittleEndian.PutUint32(b[4:], uint32(len(b)))
	return b
}

func local(id, flags byte) []byte { return []byte{0, 8, 7, id, flags, 0, 0, 0} }

func x2(id uint32, flags byte) []byte {
	b := []byte{9, 16, 0, 0, 0, 0, 0, 0, flags, 0, 0, 0, 0, 0, 0, 0}
	binary.LittleEndian.PutUint32(b[4:], id)
	return b
}

// TestMADT: each enabled CPU is listed once; CPUs that xAPIC cannot address are counted, or make
// x2APIC mode necessary.
func TestMADT(t *testing.T) {
	var ids [amd64.MaxCPUs]uint32
	some := madt(local(0, 1), local(4, 1), local(5, 0), []byte{1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, local(255, 1),
		local(4, 1), x2(2, 1), x2(4, 1), x2(7, 0), x2(255, 1), x2(1000, 1), x2(1<<32-1, 1), []byte{9, 12, 0, 0, 100, 0, 0, 0, 1, 0, 0, 0}, x2(254, 1), local(9, 2))
	for _, tt := range []struct {
		wide, needs bool
		far         int
		want        []uint32
	}{{false, false, 2, []uint32{0, 4, 2, 254}}, {true, true, 0, []uint32{0, 4, 2, 255, 1000, 254}}} {
		l := cpuList{ids: &ids, wide: tt.wide}
		if l.readMADT(some); !slices.Equal(ids[:l.n], tt.want) || l.more != 0 || l.far != tt.far || l.needsX2APIC() != tt.needs {
			t.Errorf("x2APIC %v: %v, %d more, %d far, needed %v; want %v, 0, %d, %v", tt.wide, ids[:l.n], l.more, l.far, l.needsX2APIC(), tt.want, tt.far, tt.needs)
		}
	}
	l := cpuList{ids: &ids}
	var all [][]byte
	for id := range byte(70) {
		all = append(all, local(id, 1))
	}
	if l.readMADT(madt(all...)); l.n != amd64.MaxCPUs || l.more != 70-amd64.MaxCPUs {
		t.Errorf("of 70 CPUs %d and %d more", l.n, l.more)
	}
	// A CPU for which the list has no room does not make x2APIC mode necessary.
	l = cpuList{ids: &ids, wide: true}
	if l.readMADT(madt(append(all, x2(300, 1))...)); l.more != 7 || l.needsX2APIC() {
		t.Errorf("of 71 CPUs %d more, x2APIC needed %v", l.more, l.needsX2APIC())
	}
}

// TestMP: the processors come first; entries after them are not read as processors.
func TestMP(t *testing.T) {
	var ids [amd64.MaxCPUs]uint32
	l := cpuList{ids: &ids}
	cpu := func(id, flags byte) []byte { return append([]byte{0, id, 0x14, flags}, make([]byte, 16)...) }
	l.readMP(bytes.Join([][]byte{cpu(0, 3), cpu(1, 1), cpu(2, 0), {1, 0, 0, 0, 0, 0, 0, 0}, cpu(3, 1)}, nil))
	if want := []uint32{0, 1}; !slices.Equal(ids[:l.n], want) {
		t.Errorf("%v, want %v", ids[:l.n], want)
	}
}

// FuzzCPUs: whatever the tables contain, reading them ends and stays inside them.
func FuzzCPUs(f *testing.F) {
	f.Add(madt(local(0, 1), x2(1, 1)), true, false)
	f.Add(madt(local(0, 1), local(255, 1), x2(255, 1), x2(1<<20, 1), x2(1<<32-1, 1), x2(3, 1)[:9]), true, true)
	f.Add(bytes.Repeat([]byte{0, 1, 2, 1, 4}, 20), false, false)
	f.Fuzz(func(t *testing.T, b []byte, acpi, wide bool) {
		var ids [amd64.MaxCPUs]uint32
		l := cpuList{ids: &ids, wide: wide}
		b = slices.Clip(b)
		if acpi {
			l.readMADT(b)
		} else {
			l.readMP(b)
		}
		if l.n < 0 || l.n > len(ids) || l.more < 0 || l.far < 0 || !wide && l.needsX2APIC() || slices.Contains(ids[:l.n], broadcastX2) {
			t.Fatal(l.n, l.more, l.far, ids[:l.n])
		}
	})
}
