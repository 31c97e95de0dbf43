package elf

import (
	"bytes"
	"compress/gzip"
	"debug/elf"
	"encoding/binary"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// pack compresses bytes. The blocks of xz are short, so that there are several.
func pack(t testing.TB, kind string, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	var w io.WriteCloser
	var err error
	switch kind {
	case "xz":
		w, err = xz.WriterConfig{BlockSize: 10_000, DictCap: 1 << 20}.NewWriter(&out)
	case "bare": // without a check
		w, err = xz.WriterConfig{NoCheckSum: true}.NewWriter(&out)
	case "zst":
		w, err = zstd.NewWriter(&out)
	case "gz":
		w = gzip.NewWriter(&out)
	}
	if err == nil {
		_, err = w.Write(b)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// openBytes is elfOpen for a file that has these bytes.
func openBytes(t testing.TB, b []byte) (*File, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.ko")
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return Open(path)
}

// TestPacked: a compressed file answers has what the file itself has.
func TestPacked(t *testing.T) {
	path := filepath.Join("..", "testdata", "objects", "riscv64.o")
	want, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer want.Close()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	check := func(name string, f *File, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		defer f.Close()
		for i := range want.Sections {
			s := &want.Sections[i]
			if s.Type == elf.SHT_NOBITS {
				continue
			}
			a, err := want.Data(s)
			b, err2 := f.Data(&f.Sections[i])
			if err != nil || err2 != nil || !bytes.Equal(a, b) {
				t.Fatalf("%s: section %s: %v, %v, or other contents", name, s.Name, err, err2)
			}
		}
	}
	for _, kind := range []string{"xz", "bare", "zst", "gz"} {
		f, err := openBytes(t, pack(t, kind, b))
		check(kind, f, err)
	}
	// What xz itself makes of it: as the kernel's makefiles call it, in blocks, and as
	// small as it can.
	//
	//	xz --check=crc32 --lzma2=dict=1MiB, -T2 --block-size=8192 --check=sha256, -9e
	for _, name := range []string{"module.xz", "blocks.xz", "most.xz"} {
		f, err := Open(filepath.Join("testdata", "packed", name))
		check(name, f, err)
	}
}

// TestPackedErrors: what is no file that can be used is said with the cause.
func TestPackedErrors(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "testdata", "objects", "riscv64.o"))
	if err != nil {
		t.Fatal(err)
	}
	packed := pack(t, "xz", b)
	window := inBlock(t, packed, 12, 2, 40) // the first block's filter wants 4 GiB
	filter := inBlock(t, packed, 12, 0, 4)  // x86's
	second := bytes.LastIndex(packed, packed[12:24])
	if second == 12 {
		t.Fatal("there is one block only")
	}
	// The second block does, and the index has one block, as long as all are.
	hidden := oneBlock(inBlock(t, packed, second, 2, 40))
	many := manyBlocks(t, 100_000)
	sum := bytes.Clone(packed) // of the first block, right before the second
	sum[bytes.Index(packed[24:], packed[12:24])+23]++
	kind := bytes.Clone(packed)
	kind[7] = 2 // no check that there is
	binary.LittleEndian.PutUint32(kind[8:], crc32.ChecksumIEEE(kind[6:8]))
	for _, tt := range []struct {
		name string
		b    []byte
		want string
	}{
		{"cut short", packed[:len(packed)/2], "xz: damaged, or cut short"},
		{"a window of 4 GiB", window, "a window of 4096 MiB"},
		{"a window of 4 GiB that the index hides", hidden, "a window of 4096 MiB"},
		{"a hundred thousand windows", many, "the windows of its blocks take too much memory"},
		{"a wrong checksum", sum, "xz: damaged, or cut short"},
		{"another check", kind, "a check that is not supported"},
		{"another filter", filter, "a filter that is not supported"},
		{"a text", pack(t, "gz", []byte("hello")), "not an ELF file (starts with \"hell\"), within a file compressed by gzip"},
		{"nothing but zeros", pack(t, "gz", make([]byte, 8<<20)), "compressed by gzip: that unpacks to more than"},
		{"zeros in zstd", pack(t, "zst", make([]byte, 8<<20)), "compressed by zstd: that unpacks to more than"},
		{"zeros in xz", pack(t, "xz", make([]byte, 2<<20)), "not an ELF file"},
	} {
		f, err := openBytes(t, tt.b)
		if err == nil {
			f.Close()
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v; want %q", tt.name, err, tt.want)
		}
	}
}

// inBlock returns an xz file with another byte in the filter of the block at that
// offset, whose header is whole all the same.
func inBlock(t testing.TB, b []byte, at, n int, to byte) []byte {
	t.Helper()
	b = bytes.Clone(b)
	head := b[at : at+(int(b[at])+1)*4]
	i := bytes.Index(head, []byte{0x21, 1})
	if i < 0 {
		t.Fatalf("%x is no header of a block", head)
	}
	head[i+n] = to
	binary.LittleEndian.PutUint32(head[len(head)-4:], crc32.ChecksumIEEE(head[:len(head)-4]))
	return b
}

// oneBlock returns an xz file with the blocks of b and an index that has one.
func oneBlock(b []byte) []byte {
	end := len(b) - 12 - 4*(int(binary.LittleEndian.Uint32(b[len(b)-8:]))+1)
	return withIndex(b[:end], binary.AppendUvarint([]byte{0, 1}, uint64(end-12)))
}

// withIndex appends an index, which knows nothing of the size when unpacked, and what
// ends an xz file.
func withIndex(b, index []byte) []byte {
	index = append(index, 1)
	for len(index)%4 != 0 {
		index = append(index, 0)
	}
	index = binary.LittleEndian.AppendUint32(index, crc32.ChecksumIEEE(index))
	tail := binary.LittleEndian.AppendUint32(nil, uint32(len(index)/4-1))
	tail = append(tail, b[6:8]...)
	b = append(bytes.Clone(b), index...)
	b = binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(tail))
	return append(append(b, tail...), "YZ"...)
}

// manyBlocks returns an xz file of blocks with a byte each, and a window of 64 MiB.
func manyBlocks(t testing.TB, n int) []byte {
	t.Helper()
	one := inBlock(t, pack(t, "xz", []byte("x")), 12, 2, 28)
	end := len(one) - 12 - 4*(int(binary.LittleEndian.Uint32(one[len(one)-8:]))+1)
	b := append(bytes.Clone(one[:12]), bytes.Repeat(one[12:end], n)...)
	return withIndex(b, binary.AppendUvarint([]byte{0, 1}, uint64(len(b)-12)))
}

// TestPackedHostile: no damage of a compressed file leads to a panic or to much memory.
func TestPackedHostile(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	b, err := os.ReadFile(filepath.Join("..", "testdata", "objects", "riscv64.o"))
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"xz", "zst", "gz"} {
		packed := pack(t, kind, b)
		for range 500 {
			bad := bytes.Clone(packed)
			for range 1 + random.IntN(3) {
				bad[random.IntN(len(bad))] = byte(random.Uint32())
			}
			if random.IntN(4) == 0 {
				bad = bad[:random.IntN(len(bad))]
			}
			checkPacked(t, bad)
		}
	}
}

// checkPacked unpacks bytes, and fails if that takes more memory than it may.
func checkPacked(t testing.TB, b []byte) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	unpacked(bytes.NewReader(b), int64(len(b)))
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > maxWindows+2*maxWindow+8*unpackRatio*uint64(len(b)) {
		t.Errorf("%d bytes to unpack %d: %x", used, len(b), b[:min(len(b), 64)])
	}
}

// FuzzPacked: likewise, whatever the bytes.
func FuzzPacked(f *testing.F) {
	for _, kind := range []string{"xz", "zst", "gz"} {
		f.Add(pack(f, kind, []byte("\x7fELF")))
		f.Add(pack(f, kind, make([]byte, 30_000)))
	}
	f.Fuzz(func(t *testing.T, b []byte) { checkPacked(t, b) })
}
