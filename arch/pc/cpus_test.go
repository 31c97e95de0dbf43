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

// TestMADT: the CPUs that are enabled, each once; those that xAPIC cannot name are counted.
func TestMADT(t *testing.T) {
	var ids [amd64.MaxCPUs]uint32
	l := cpuList{ids: &ids}
	l.readMADT(madt(local(0, 1), local(4, 1), local(5, 0), []byte{1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		local(4, 1), x2(2, 1), x2(7, 0), x2(255, 1), x2(1000, 1), local(9, 2)))
	if want := []uint32{0, 4, 2}; !slices.Equal(ids[:l.n], want) || l.more != 2 {
		t.Errorf("%v and %d more, want %v and 2", ids[:l.n], l.more, want)
	}
	l = cpuList{ids: &ids}
	var all [][]byte
	for id := range byte(70) {
		all = append(all, local(id, 1))
	}
	if l.readMADT(madt(all...)); l.n != amd64.MaxCPUs || l.more != 70-amd64.MaxCPUs {
		t.Errorf("of 70 CPUs %d and %d more", l.n, l.more)
	}
}

// TestMP: the processors come first, and what is behind them is none.
func TestMP(t *testing.T) {
	var ids [amd64.MaxCPUs]uint32
	l := cpuList{ids: &ids}
	cpu := func(id, flags byte) []byte { return append([]byte{0, id, 0x14, flags}, make([]byte, 16)...) }
	l.readMP(bytes.Join([][]byte{cpu(0, 3), cpu(1, 1), cpu(2, 0), {1, 0, 0, 0, 0, 0, 0, 0}, cpu(3, 1)}, nil))
	if want := []uint32{0, 1}; !slices.Equal(ids[:l.n], want) {
		t.Errorf("%v, want %v", ids[:l.n], want)
	}
}

// FuzzCPUs: whatever stands in the tables, reading them comes to an end, inside of them.
func FuzzCPUs(f *testing.F) {
	f.Add(madt(local(0, 1), x2(1, 1)), true)
	f.Add(bytes.Repeat([]byte{0, 1, 2, 1, 4}, 20), false)
	f.Fuzz(func(t *testing.T, b []byte, acpi bool) {
		var ids [amd64.MaxCPUs]uint32
		l := cpuList{ids: &ids}
		b = slices.Clip(b)
		if acpi {
			l.readMADT(b)
		} else {
			l.readMP(b)
		}
		if l.n < 0 || l.n > len(ids) || l.more < 0 {
			t.Fatal(l.n, l.more)
		}
	})
}
