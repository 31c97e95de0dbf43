package symbol

import (
	"bytes"
	"encoding/binary"
	"os"
	"runtime"
	"testing"

	"github.com/zeroframe/zeroframe/tools/elf"
	"github.com/zeroframe/zeroframe/tools/lookup"
)

// seal gives an index the checksums that it should have, as far as its numbers make
// sense, so that a fuzzer gets beyond them.
func seal(b []byte) {
	le := binary.LittleEndian
	if len(b) < indexHeaderSize {
		return
	}
	size := uint64(len(b))
	copy(b, indexMagic)
	le.PutUint32(b[8:], indexVersion)
	le.PutUint64(b[32:], size)
	off, n := le.Uint64(b[16:]), le.Uint64(b[24:])
	if off <= size && n <= size-off {
		root := b[off : off+n]
		if r, err := decodeRoot(root, size); err == nil {
			at := indexIDSize + 1 + 16
			for i, t := range []*indexTable{&r.runs, &r.blocks, &r.strings} {
				entry := uint64(blockEntry)
				if i == 0 {
					entry = runEntry
				}
				table := b[t.off:][:t.count*entry]
				for e := uint64(0); entry == blockEntry && e < t.count; e++ {
					row := table[e*entry:]
					if off, n := le.Uint64(row), uint64(le.Uint32(row[8:])); off <= size && n <= size-off {
						le.PutUint32(row[12:], indexSum(b[off:off+n]))
					}
				}
				at += 16
				for p := range t.pages() {
					page := table[p*tablePage*entry:]
					page = page[:min(uint64(len(page)), tablePage*entry)]
					le.PutUint32(root[at:], indexSum(page))
					at += 4
				}
			}
		}
		le.PutUint32(b[12:], indexSum(root))
	}
	le.PutUint32(b[indexHeaderSize-4:], indexSum(b[:indexHeaderSize-4]))
}

// FuzzIndex: an index from anywhere, with checksums that are right, gives answers or
// counts for nothing, in bounded memory and time.
func FuzzIndex(f *testing.F) {
	for _, path := range []string{buildC(f, "-g"), buildC(f, "-g0"), buildObject(f)} {
		b, err := os.ReadFile(buildIndex(f, path, f.TempDir()))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, uint64(0x401010))
		f.Add(b, uint64(0))
	}
	f.Fuzz(func(t *testing.T, b []byte, addr uint64) {
		b = bytes.Clone(b)
		seal(b)
		askFuzzed(t, b, addr)
	})
}

// askFuzzed looks addresses up in an index.
func askFuzzed(t *testing.T, b []byte, addr uint64) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var id [indexIDSize]byte
	if len(b) >= indexHeaderSize {
		if off := binary.LittleEndian.Uint64(b[16:]); off < uint64(len(b)) {
			copy(id[:], b[off:])
		}
	}
	x, err := readIndex(bytes.NewReader(b), uint64(len(b)), id)
	if err != nil {
		return
	}
	const n = 300
	many := batch{f: &File{index: x}}
	for i := range uint64(n) {
		pc := addr + i
		many.asked = append(many.asked, asked{addr: pc, pc: pc})
		if frames, _, _, ok := x.lookup(pc); ok && len(frames) > lookup.MaxInlined+1 {
			t.Fatalf("%d frames", len(frames))
		}
	}
	indexSource{many.f}.all(&many)
	runtime.ReadMemStats(&after)
	if used, limit := after.TotalAlloc-before.TotalAlloc, uint64(8<<20+4*n*lookup.MaxInlined*64+64*len(b)); used > limit {
		t.Fatalf("%d bytes for an index of %d", used, len(b))
	}
}

// FuzzIndexBlock: a block of pieces may have anything in it.
func FuzzIndexBlock(f *testing.F) {
	index := buildIndex(f, buildC(f, "-g"), f.TempDir())
	b, err := os.ReadFile(index)
	if err != nil {
		f.Fatal(err)
	}
	off, n, _, err := decodeHeader(b[:indexHeaderSize], uint64(len(b)))
	if err != nil {
		f.Fatal(err)
	}
	root, err := decodeRoot(b[off:off+n], uint64(len(b)))
	if err != nil {
		f.Fatal(err)
	}
	le := binary.LittleEndian
	for i := range root.blocks.count {
		row := b[root.blocks.off+i*blockEntry:]
		f.Add(b[le.Uint64(row):][:le.Uint32(row[8:])])
	}
	f.Fuzz(func(t *testing.T, block []byte) {
		text := []byte("\x00\x04main\x06main.c\xff")
		b := append(append(make([]byte, indexHeaderSize), block...), text...)
		root := indexRoot{stringsOff: uint64(indexHeaderSize + len(block)), stringsLen: uint64(len(text)), firsts: []uint64{0}}
		add := func(t *indexTable, entry []byte) {
			*t = indexTable{off: uint64(len(b)), count: 1, sums: []uint32{indexSum(entry)}}
			b = append(b, entry...)
		}
		add(&root.runs, make([]byte, runEntry))
		add(&root.blocks, appendBlockEntry(nil, indexHeaderSize, block))
		add(&root.strings, appendBlockEntry(nil, root.stringsOff, text))
		off, tail := uint64(len(b)), root.encode()
		b = append(b, tail...)
		copy(b, encodeHeader(uint64(len(b)), off, tail))
		base := uint64(0)
		if len(block) >= 8 {
			base = le.Uint64(block)
		}
		askFuzzed(t, b, base)
	})
}

// FuzzIndexBuild: an index of a file from anywhere is built in bounded memory, or is
// refused, and can be read.
func FuzzIndexBuild(f *testing.F) {
	for _, path := range []string{buildC(f, "-gdwarf-5"), buildC(f, "-gdwarf-3"), buildC(f, "-g0"), buildObject(f)} {
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	folder := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := NewFile(bytes.NewReader(b), int64(len(b)), "fuzz")
		if err != nil || file.goTable() != nil {
			return
		}
		out, err := os.CreateTemp(folder, "")
		if err != nil {
			t.Fatal(err)
		}
		defer os.Remove(out.Name())
		defer out.Close()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var id [indexIDSize]byte
		err = file.buildIndex(out, id, nil, nil)
		runtime.ReadMemStats(&after)
		if used, limit := after.TotalAlloc-before.TotalAlloc, uint64(64<<20+4096*len(b)); used > limit {
			t.Fatalf("%d bytes for a file of %d", used, len(b))
		}
		if err != nil {
			return
		}
		st, err := out.Stat()
		if err != nil {
			t.Fatal(err)
		}
		x, err := readIndex(out, uint64(st.Size()), id)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range append(file.TextSpans(), elf.Span{Low: 0, High: 100}) {
			for pc := s.Low; pc < s.High && pc < s.Low+200; pc++ {
				if x.lookup(pc); x.damaged.Load() {
					t.Fatalf("no answer to %#x", pc)
				}
			}
		}
	})
}
