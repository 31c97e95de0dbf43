package core

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/zeroframe/zeroframe/tools/postmortem/memory"
)

// ram is physical memory from 0 on.
type ram []byte

func (r ram) ReadPhysical(p []byte, addr uint64) error {
	if addr > uint64(len(r)) || uint64(len(p)) > uint64(len(r))-addr {
		return memory.ErrNotRAM
	}
	copy(p, r[addr:])
	return nil
}

func (r ram) Blocks() []memory.Block { return []memory.Block{{Start: 0, Size: uint64(len(r))}} }

// TestUntouched: what is left of areas where pages of them are mapped.
func TestUntouched(t *testing.T) {
	const page = memory.PageSize
	m := make(ram, 16*page)
	put := func(table, index, entry uint64) { binary.LittleEndian.PutUint64(m[table*page+index*8:], entry) }
	put(0, 0, 1*page|3)
	put(1, 0, 2*page|3)
	put(2, 0, 3*page|3)
	for virtual, physical := range map[uint64]uint64{16: 8, 17: 9, 20: 10, 31: 11, 40: 12} {
		put(3, virtual, physical*page|3)
	}
	pages := func(lo, hi uint64) area { return area{lo * page, hi * page} }
	for _, tt := range []struct {
		name  string
		areas []area
		want  []area
	}{
		{"none", nil, nil},
		{"all mapped", []area{pages(16, 18), pages(20, 21)}, nil},
		{"nothing mapped", []area{pages(1, 4), pages(50, 60)}, []area{pages(1, 4), pages(50, 60)}},
		{"before, between and behind", []area{pages(10, 32), pages(39, 42)}, []area{pages(10, 16), pages(18, 20), pages(21, 31), pages(39, 40), pages(41, 42)}},
		{"several in a gap", []area{pages(18, 19), pages(19, 20), pages(22, 23)}, []area{pages(18, 19), pages(19, 20), pages(22, 23)}},
		{"a large one", []area{{1 << 40, 1<<40 + zerosSize + page}}, []area{{1 << 40, 1<<40 + zerosSize}, {1<<40 + zerosSize, 1<<40 + zerosSize + page}}},
	} {
		gaps, most, err := untouched(&memory.Space{Memory: m}, slices.Clone(tt.areas))
		if err != nil {
			t.Fatal(err)
		}
		f := &fullFile{end: 5 * page}
		f.zeros(gaps, most)
		var got []area
		large := uint64(0)
		for _, g := range gaps {
			got = append(got, area{g.Virtual, g.Virtual + g.Size})
			large = max(large, g.Size)
		}
		if !slices.Equal(got, tt.want) || most != large || f.end != int64(5*page+large) || f.count != len(gaps) {
			t.Errorf("%s: %#x, the largest %#x; want %#x", tt.name, got, most, tt.want)
		}
	}
	var many []area
	for i := range uint64(5 * mostZeros) {
		many = append(many, pages(100+3*i, 101+3*i+i&1))
	}
	if gaps, _, _ := untouched(&memory.Space{Memory: m}, many); len(gaps) != mostZeros || gaps[0].Size != 2*page {
		t.Errorf("%d pieces are kept; want the %d largest", len(gaps), mostZeros)
	}
}
