package elf

import (
	"bytes"
	"compress/zlib"
	"debug/elf"
	"encoding/binary"
	"io"
	"testing"
)

// foldedFile returns a file whose first bytes are a compressed section, and that section.
func foldedFile(kind elf.CompressionType, size uint64, stream []byte) (*File, *Section) {
	b := make([]byte, 24)
	binary.LittleEndian.PutUint32(b, uint32(kind))
	binary.LittleEndian.PutUint64(b[8:], size)
	b = append(b, stream...)
	return &File{r: bytes.NewReader(b), Size: uint64(len(b)), Class: elf.ELFCLASS64, Order: binary.LittleEndian},
		&Section{Name: ".debug_info", Type: elf.SHT_PROGBITS, Flags: elf.SHF_COMPRESSED, Len: uint64(len(b))}
}

// FuzzUnfold: of a section that is compressed by zlib there are as many bytes as it says, those
// that compress/zlib gives, unless that finds it damaged up to there.
func FuzzUnfold(f *testing.F) {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	w.Write(bytes.Repeat([]byte("of the same words, the same, again the same"), 9))
	w.Close()
	for _, n := range []int{b.Len(), b.Len() - 1, b.Len() - 4, b.Len() / 2, 2} {
		f.Add(b.Bytes()[:n], uint16(9*43))
		f.Add(b.Bytes()[:n], uint16(100))
	}
	f.Add(append(bytes.Clone(b.Bytes()[:b.Len()-1]), 'x'), uint16(9*43)) // another checksum
	f.Fuzz(func(t *testing.T, in []byte, size uint16) {
		file, s := foldedFile(elf.COMPRESS_ZLIB, uint64(size), in)
		got, err := file.Data(s)
		var want []byte
		r, werr := zlib.NewReader(bytes.NewReader(in))
		if werr == nil {
			want, werr = io.ReadAll(io.LimitReader(r, int64(size)+1))
		}
		want = want[:min(len(want), int(size))]
		if (err == nil) != (werr == nil) || err == nil && !bytes.Equal(got, want) {
			t.Errorf("%d bytes, %v; compress/zlib %d, %v", len(got), err, len(want), werr)
		}
	})
}
