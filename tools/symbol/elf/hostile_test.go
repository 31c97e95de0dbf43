//go:build linux

package elf_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"compress/zlib"
	stddwarf "debug/dwarf"
	stdelf "debug/elf"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz/lzma"

	"github.com/zeroframe/zeroframe/tools/format/photo"
	"github.com/zeroframe/zeroframe/tools/machine/record"
	"github.com/zeroframe/zeroframe/tools/postmortem/memory"
	"github.com/zeroframe/zeroframe/tools/receive"
	"github.com/zeroframe/zeroframe/tools/symbol"
	"github.com/zeroframe/zeroframe/tools/symbol/dwarf"
	"github.com/zeroframe/zeroframe/tools/symbol/elf"
)

// What a hostile file may take of whoever opens it.
const (
	mostCPU    = 2 * time.Second
	mostMemory = 200 << 20
	hostileEnv = "ZF_TEST_HOSTILE"
)

// A hostile file claims more than it has. make writes it; want is in the error, "" if an error is
// not needed.
type hostile struct {
	name, want string
	make       func(f *os.File)
}

// TestMain opens the file that a test has made, as a process of its own, and tells the error.
func TestMain(m *testing.M) {
	if path := os.Getenv(hostileEnv); path != "" {
		// One that would never end is ended with SIGXCPU, which prints where it is.
		syscall.Setrlimit(syscall.RLIMIT_CPU, &syscall.Rlimit{Cur: 6, Max: 8})
		if err := open(path, filepath.Dir(path)); err != nil {
			fmt.Println(err)
		}
		// What wait4 tells is never less than what the parent had as it began.
		status, _ := os.ReadFile("/proc/self/status")
		_, peak, _ := strings.Cut(string(status), "VmHWM:")
		kib := 0
		fmt.Sscan(peak, &kib)
		fmt.Print("peak ", kib)
		return
	}
	os.Exit(m.Run())
}

// open opens a file as zf does, by its kind.
func open(path, dir string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	switch {
	case elf.IsPackage(path) || filepath.Ext(path) == ".rpm":
		return elf.Unpack(path, filepath.Join(dir, "out"))
	case filepath.Ext(path) == ".zfr":
		_, err = record.Open(path, dir)
	case photo.Is(path):
		photo.ReadFiles([]string{path}, new(photo.Set), func(s string) { err = fmt.Errorf("%s", s) })
	case strings.HasPrefix(filepath.Ext(path), ".pcap"):
		_, err = receive.Datagrams(f, receive.CaptureOptions{}, func(time.Time, netip.AddrPort, []byte) {})
	case filepath.Ext(path) == ".core":
		st, _ := f.Stat()
		d, derr := memory.OpenDump(f, st.Size())
		if err = derr; err == nil {
			err = d.Copy(func(uint64, []byte) error { return nil })
		}
	default:
		s, serr := symbol.Open(path)
		if serr != nil {
			return serr
		}
		defer s.Close()
		err = s.CanResolve()
		s.Lookup(0x401000, false)
		s.LookupAll([]uint64{0x401000, 0x401010}, true)
		s.Symbol("main")
		for range s.Functions() {
		}
		if terr := dwarf.CheckTypes(path); terr == nil {
			readTypes(path)
		} else if err == nil {
			err = terr
		}
	}
	return err
}

// readTypes reads the types that dwarf.CheckTypes lets through, as the standard library does.
func readTypes(path string) {
	f, err := stdelf.Open(path)
	if err != nil {
		return
	}
	defer f.Close()
	var of [3][]byte
	for i, name := range []string{".debug_abbrev", ".debug_info", ".debug_str"} {
		if s := f.Section(name); s != nil {
			of[i], _ = s.Data()
		}
	}
	d, err := stddwarf.New(of[0], nil, nil, of[1], nil, nil, nil, of[2])
	if err != nil {
		return
	}
	for r := d.Reader(); ; {
		e, err := r.Next()
		if e == nil || err != nil {
			return
		}
		if t, err := d.Type(e.Offset); err == nil {
			_, _ = t.Size(), t.String()
		}
	}
}

func TestHostileSizes(t *testing.T) {
	all := hostileFiles()
	if len(all) < 40 {
		t.Errorf("%d files", len(all))
	}
	for _, h := range all {
		t.Run(h.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), h.name)
			f, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			h.make(f)
			f.Close()
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), hostileEnv+"="+path)
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), h.want) {
				t.Errorf("%v; it says %.300q, want %q", err, out, h.want)
			}
			s := cmd.ProcessState
			cpu, rss := s.UserTime()+s.SystemTime(), 0
			fmt.Sscan(string(out[bytes.LastIndex(out, []byte("peak "))+len("peak "):]), &rss)
			if rss <<= 10; cpu > mostCPU || rss > mostMemory || rss == 0 {
				t.Errorf("it takes %v and %d MiB; it says %.200q", cpu, rss>>20, out)
			}
		})
	}
}

// A section of a hostile ELF file: its header claims size bytes, behind its contents is a hole.
type section struct {
	name     string
	typ      stdelf.SectionType
	flags    uint64
	contents []byte
	size     uint64
}

// program writes an ELF file with sections.
func program(f *os.File, sections ...section) {
	names, at := []byte{0}, uint64(64)
	heads := make([]stdelf.Section64, 1)
	add := func(s section) {
		s.size = max(s.size, uint64(len(s.contents)))
		f.WriteAt(s.contents, int64(at))
		heads = append(heads, stdelf.Section64{Name: uint32(len(names)), Type: uint32(s.typ), Flags: s.flags,
			Off: at, Size: s.size, Link: 1, Entsize: 24, Addr: 0x401000})
		names, at = append(append(names, s.name...), 0), (at+s.size+4095)&^4095
	}
	add(section{name: ".strtab", typ: stdelf.SHT_STRTAB, contents: make([]byte, 16)})
	for _, s := range sections {
		add(s)
	}
	names = append(names, ".shstrtab\x00"...)
	add(section{name: ".x", typ: stdelf.SHT_STRTAB, contents: append(bytes.Clone(names), ".x\x00"...)})
	var b bytes.Buffer
	binary.Write(&b, binary.LittleEndian, heads)
	f.WriteAt(b.Bytes(), int64(at))
	header(f, stdelf.Header64{Type: uint16(stdelf.ET_EXEC), Shoff: at, Shentsize: 64,
		Shnum: uint16(len(heads)), Shstrndx: uint16(len(heads) - 1)})
}

// header writes an ELF header.
func header(f *os.File, h stdelf.Header64) {
	copy(h.Ident[:], "\x7fELF\x02\x01\x01")
	h.Machine, h.Version, h.Ehsize = uint16(stdelf.EM_X86_64), 1, 64
	var b bytes.Buffer
	binary.Write(&b, binary.LittleEndian, h)
	f.WriteAt(b.Bytes(), 0)
}

// words returns numbers of 4 bytes, little-endian.
func words(n ...uint32) (b []byte) {
	for _, n := range n {
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	return b
}

// zeros writes an ELF file's first bytes and size zeros.
func zeros(w io.Writer, size int) {
	io.WriteString(w, "\x7fELF\x02\x01\x01")
	for piece := make([]byte, 1<<20); size > 0; size -= len(piece) {
		w.Write(piece)
	}
}

// packer compresses by the last part of a name.
func packer(name string, w io.Writer) io.WriteCloser {
	if strings.HasSuffix(name, "zst") {
		z, _ := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
		return z
	}
	return gzip.NewWriter(w)
}

// member begins a file of a tar file.
func member(w io.Writer, name string, size int64) *tar.Writer {
	t := tar.NewWriter(w)
	t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Format: tar.FormatGNU})
	return t
}

// xzFile returns an xz file of one block, whose window has the code dict: the pieces, each of 2 MiB
// of zeros in 300 bytes.
func xzFile(dict byte, pieces int) []byte {
	var piece bytes.Buffer
	w, _ := lzma.NewWriter2(&piece)
	w.Write(make([]byte, 2<<20))
	w.Close()
	one := piece.Bytes()[:piece.Len()-1] // without the end
	sum := func(b []byte) []byte { return append(b, words(crc32.ChecksumIEEE(b))...) }
	b := append([]byte("\xfd7zXZ\x00"), sum([]byte{0, 0})...)
	b = append(b, sum([]byte{2, 0, 0x21, 1, dict, 0, 0, 0})...)
	b = append(append(b, bytes.Repeat(one, pieces)...), 0)
	return append(b, 0, 0, 0, 0)
}

// debFile writes a package with one member.
func debFile(w io.Writer, name string, contents []byte) {
	fmt.Fprintf(w, "!<arch>\n%-48s%-10d`\n%-48s%-10d`\n%s", "debian-binary", 0, name, len(contents), contents)
}

// hostileDWARF are debug sections by the kind of trick.
func hostileDWARF(add func(name, want string, make func(f *os.File))) {
	debug := func(name string, sections map[string][]byte) {
		want := ""
		if strings.HasPrefix(name, "ring.") {
			want = "made to do harm"
		}
		add("dwarf."+name, want, func(f *os.File) {
			all := []section{{name: ".text", typ: stdelf.SHT_PROGBITS, flags: 6, size: 1 << 20}}
			for name, b := range sections {
				all = append(all, section{name: name, typ: stdelf.SHT_PROGBITS, contents: b})
			}
			program(f, all...)
		})
	}
	unit := func(abbrev uint32, entries ...byte) []byte { // of DWARF 4
		return append(append(words(uint32(len(entries)+7)), append([]byte{4, 0}, words(abbrev)...)...), append([]byte{8}, entries...)...)
	}
	root := "\x01\x11\x01\x00\x00" // a compile unit without attributes
	many := func(attrs string, n int) []byte {
		return []byte(root + "\x02\x2e\x00" + strings.Repeat(attrs, n) + "\x00\x00\x00")
	}
	twos := bytes.Repeat([]byte{2}, 1<<18)
	debug("attributes", map[string][]byte{".debug_abbrev": many("\x11\x19", 1<<20), ".debug_info": unit(0, append([]byte{1}, twos...)...)})
	debug("implicit", map[string][]byte{".debug_abbrev": many("\x03\x21\x7f", 1<<20), ".debug_info": unit(0, append([]byte{1}, twos...)...)})
	debug("indirect", map[string][]byte{".debug_abbrev": many("\x11\x16", 3),
		".debug_info": unit(0, append([]byte{1, 2}, bytes.Repeat([]byte{0x16}, 4<<20)...)...)})
	var codes, apart []byte
	for i := range uint64(1 << 18) { // half of them in order
		codes = append(binary.AppendUvarint(codes, 1+i*(1+i>>17)), "\x11\x01\x00\x00"...)
	}
	debug("codes", map[string][]byte{".debug_abbrev": codes, ".debug_info": unit(0, 1)})
	debug("units", map[string][]byte{".debug_abbrev": []byte(root + "\x00"), ".debug_info": bytes.Repeat(unit(0, 1), 1<<19)})
	// Each unit has shapes of its own, in one table that all of them share from some place on.
	for i := range uint32(1 << 17) {
		apart = append(apart, unit(5*i, 3)...)
	}
	debug("tables", map[string][]byte{".debug_abbrev": bytes.Repeat([]byte(root), 1<<18), ".debug_info": apart})
	for name, ring := range map[string]string{
		"const": "\x02\x26\x00\x49\x13\x00\x00\x00", "function": "\x02\x15\x00\x49\x13\x00\x00\x00", "origin": "\x02\x2e\x00\x31\x13\x00\x00\x00",
		"typedef": "\x02\x16\x00\x49\x13\x00\x00\x00", "array": "\x02\x01\x00\x49\x13\x00\x00\x00", "pointer": "\x02\x0f\x00\x49\x13\x00\x00\x00",
	} {
		debug("ring."+name, map[string][]byte{".debug_abbrev": []byte(root + ring), ".debug_info": unit(0, 1, 2, 17, 0, 0, 0, 2, 12, 0, 0, 0, 0)})
	}
	// The line table of a unit: a header of DWARF 4 or 5, and its program.
	lines := func(name string, header string, program []byte) {
		rest := append(words(uint32(len(header)-6)), append([]byte(header)[6:], program...)...)
		b := append(words(uint32(len(rest)+2)), append([]byte(header)[:2], rest...)...)
		if header[0] == 5 {
			b = append(words(uint32(len(rest)+4)), append([]byte{5, 0, 8, 0}, rest...)...)
		}
		debug("lines."+name, map[string][]byte{".debug_abbrev": []byte("\x01\x11\x00\x10\x17\x11\x01\x12\x07\x00\x00\x00"), ".debug_line": b,
			".debug_info": unit(0, append(append([]byte{1, 0, 0, 0, 0}, binary.LittleEndian.AppendUint64(nil, 0x401000)...), 0, 0, 0x10, 0, 0, 0, 0, 0)...)})
	}
	start := append([]byte{0, 9, 2}, binary.LittleEndian.AppendUint64(nil, 0x401000)...)
	end := []byte{0, 1, 1}
	four := "\x04\x00----\x01\x01\x01\xff\x02\x0a\x00\x01\x01\x01\x01\x00\x00\x00\x01"
	huge := "\xff\xff\xff\xff\xff\xff\xff\x7f"
	lines("special", four+"\x00\x00", bytes.Join([][]byte{start, bytes.Repeat([]byte{13}, 16<<20), end}, nil))
	lines("advance", four+"\x00\x00", bytes.Join([][]byte{start, bytes.Repeat([]byte{2, 1, 1}, 5<<20), end}, nil))
	lines("sequences", four+"\x00\x00", bytes.Repeat(bytes.Join([][]byte{start, {13, 13}, end}, nil), 1<<20))
	lines("folders", "\x05\x00----\x01\x01\x01\xff\x02\x01\x01\x01\x21"+huge+"\x01\x01\x21"+huge, nil)
	lines("files", four+strings.Repeat("a\x00", 4<<20)+"\x00"+strings.Repeat("a\x00\x00\x00\x00", 1<<21)+"\x00", end)
}

func hostileFiles() (all []hostile) {
	add := func(name, want string, make func(f *os.File)) { all = append(all, hostile{name, want, make}) }
	hostileDWARF(add)
	// xz: a window that is claimed, and zeros.
	for name, b := range map[string]struct {
		xz   []byte
		want string
	}{"window": {xzFile(40, 1), "window of"}, "bomb": {xzFile(22, 200), "unpacks to more than"}} {
		add(name+".tar.xz", "it", func(f *os.File) { f.Write(b.xz) })
		add(name+".ko.xz", b.want, func(f *os.File) { f.Write(b.xz) })
		add(name+".deb", "", func(f *os.File) { debFile(f, "data.tar.xz", b.xz) })
		add(name+".debugdata", "", func(f *os.File) {
			program(f, section{name: ".gnu_debugdata", typ: stdelf.SHT_PROGBITS, contents: b.xz})
		})
	}
	// Packages in packages.
	add("nested.tar.gz", "no ELF file", func(f *os.File) {
		z := gzip.NewWriter(f)
		var in []byte
		for range 100 {
			var b bytes.Buffer
			w := member(&b, "a.tar", int64(len(in)))
			w.Write(in)
			w.Close()
			in = b.Bytes()
		}
		z.Write(in)
		z.Close()
	})
	add("nested.deb", "", func(f *os.File) {
		var in []byte
		for range 100 {
			var b bytes.Buffer
			debFile(&b, "data.tar", in)
			in = b.Bytes()
		}
		f.Write(in)
	})
	// Sections of nothing but a hole.
	for _, s := range []struct {
		name, want string
		typ        stdelf.SectionType
	}{
		{".symtab", "hole", stdelf.SHT_SYMTAB}, {".dynsym", "hole", stdelf.SHT_DYNSYM}, {".debug_info", "", stdelf.SHT_PROGBITS},
		{".debug_abbrev", "", stdelf.SHT_PROGBITS}, {".debug_line", "", stdelf.SHT_PROGBITS}, {".debug_aranges", "", stdelf.SHT_PROGBITS},
		{".debug_str", "", stdelf.SHT_PROGBITS}, {".gopclntab", "", stdelf.SHT_PROGBITS}, {".gnu_debugdata", "", stdelf.SHT_PROGBITS},
		{".eh_frame", "", stdelf.SHT_PROGBITS}, {".note.gnu.build-id", "", stdelf.SHT_NOTE}, {".text", "", stdelf.SHT_PROGBITS},
	} {
		for _, gib := range []uint64{1, 9} {
			add(fmt.Sprintf("hole%s.%d", s.name, gib), s.want, func(f *os.File) {
				program(f, section{name: s.name, typ: s.typ, size: gib << 30})
			})
		}
	}
	add("headers", "hole", func(f *os.File) { // 100 million section headers
		f.WriteAt(binary.LittleEndian.AppendUint64(make([]byte, 32), 100e6), 64)
		f.Truncate(10 << 30)
		header(f, stdelf.Header64{Shoff: 64, Shentsize: 64})
	})
	add("wide", "hole", func(f *os.File) {
		f.Truncate(10 << 30)
		header(f, stdelf.Header64{Phoff: 64, Phentsize: 65535, Phnum: 65535})
	})
	// Compressed sections.
	for _, size := range []uint64{32 << 20, 1 << 40} {
		for kind, pack := range map[uint32]func(io.Writer) io.WriteCloser{
			1: func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) },
			2: func(w io.Writer) io.WriteCloser { return packer("zst", w) },
		} {
			add(fmt.Sprintf("compressed.%d.%d", kind, size), "", func(f *os.File) {
				b := bytes.NewBuffer(append(words(kind, 0), binary.LittleEndian.AppendUint64(nil, size)...))
				b.Write(make([]byte, 8))
				z := pack(b)
				zeros(z, 32<<20)
				z.Close()
				program(f, section{name: ".debug_info", typ: stdelf.SHT_PROGBITS, flags: uint64(stdelf.SHF_COMPRESSED), contents: b.Bytes()})
			})
		}
	}
	// What is really there is just below 128 times what it takes: noise, then zeros.
	for kind, pack := range map[uint32]func(io.Writer) io.WriteCloser{
		1: func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) },
		2: func(w io.Writer) io.WriteCloser { return packer("zst", w) },
	} {
		add(fmt.Sprintf("dense.%d", kind), "", func(f *os.File) {
			noise := make([]byte, 3<<20)
			rand.NewChaCha8([32]byte{}).Read(noise)
			var b bytes.Buffer
			z := pack(&b)
			z.Write(noise)
			zeros(z, 320<<20)
			z.Close()
			head := append(words(kind, 0), binary.LittleEndian.AppendUint64(nil, uint64(323<<20+7))...)
			program(f, section{name: ".debug_info", typ: stdelf.SHT_PROGBITS, flags: uint64(stdelf.SHF_COMPRESSED),
				contents: append(append(head, make([]byte, 8)...), b.Bytes()...)})
		})
	}
	// Entries that lead to themselves: specification, abstract_origin.
	for _, attr := range []byte{0x47, 0x31} {
		add(fmt.Sprintf("cycle.%x", attr), "", func(f *os.File) {
			abbrev := []byte{1, 0x11, 1, 0x11, 1, 0x12, 7, 0, 0, 2, 0x2e, 0, 0x11, 1, 0x12, 7, attr, 0x13, 0, 0, 0}
			place := append(binary.LittleEndian.AppendUint64(nil, 0x401000), 0xff, 0, 0, 0, 0, 0, 0, 0)
			info := append([]byte{4, 0, 0, 0, 0, 0, 8, 1}, place...)
			info = append(append(append(info, 2), place...), 28, 0, 0, 0, 0)
			program(f, section{name: ".debug_abbrev", typ: stdelf.SHT_PROGBITS, contents: abbrev},
				section{name: ".debug_info", typ: stdelf.SHT_PROGBITS, contents: append(words(uint32(len(info))), info...)})
		})
	}
	for _, ext := range []string{"gz", "zst"} {
		add("module.ko."+ext, "unpacks to more than", func(f *os.File) {
			z := packer(ext, f)
			zeros(z, 128<<20)
			z.Close()
		})
		add("bomb.tar."+ext, "unpacks to more than", func(f *os.File) {
			z := packer(ext, f)
			zeros(member(z, "a", 300<<20), 128<<20)
			z.Close()
		})
	}
	add("claim.tar", "EOF", func(f *os.File) { zeros(member(f, "a", 1<<40), 1<<20) })
	add("hole.tar", "hole", func(f *os.File) { zeros(member(f, "a", 1<<40), 1<<20); f.Truncate(1 << 40) })
	add("many.tar.gz", "no ELF file", func(f *os.File) {
		z := gzip.NewWriter(f)
		w := tar.NewWriter(z)
		for i := range 20000 {
			w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: fmt.Sprint("a/b/c/", i)})
		}
		w.Close()
		z.Close()
	})
	add("hole.deb", "hole", func(f *os.File) {
		fmt.Fprintf(f, "!<arch>\n%-48s%-10d`\n", "debian-binary", int64(9999999999))
		f.Truncate(1 << 40)
	})
	add("claim.rpm", "cut short", func(f *os.File) {
		b := append([]byte("\xed\xab\xee\xdb"), make([]byte, 92)...)
		f.Write(append(b, "\x8e\xad\xe8\x01\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff"...))
	})
	add("picture.png", "claims", func(f *os.File) {
		head := append([]byte("IHDR"), 0, 0, 0x3a, 0x98, 0, 0, 0x3a, 0x98, 16, 6, 0, 0, 0)
		b := append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0d"), head...)
		f.Write(binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(head)))
	})
	add("picture.jpg", "claims", func(f *os.File) {
		f.Write([]byte{0xff, 0xd8, 0xff, 0xc0, 0, 11, 8, 0xff, 0, 0xff, 0, 1, 1, 0x11, 0,
			0xff, 0xda, 0, 8, 1, 1, 0, 0, 63, 0})
	})
	add("long.pcap", "", func(f *os.File) {
		f.Write(words(0xa1b2c3d4, 0x00040002, 0, 0, 1<<32-1, 1, 0, 0, 1<<32-1, 1<<32-1))
	})
	add("long.pcapng", "damaged", func(f *os.File) {
		f.Write(words(0x0a0d0d0a, 1<<32-16, 0x1a2b3c4d, 1, 0, 0))
	})
	add("bomb.zfr", "unpack to", func(f *os.File) { // 320 MiB of zeros in blocks
		f.WriteString("\x89zfr1\r\n\n")
		z, _ := zstd.NewWriter(nil)
		block := func(kind byte, contents []byte) {
			packed, table := z.EncodeAll(contents, nil), crc32.MakeTable(crc32.Castagnoli)
			head := append([]byte{kind}, words(uint32(len(packed)))...)
			f.Write(append(append(head, words(crc32.Update(crc32.Checksum(head, table), table, packed))...), packed...))
		}
		block('M', []byte("{}"))
		for range 80 {
			block('F', append([]byte("image.elf\x00"), make([]byte, 4<<20)...))
		}
	})
	for i, p := range []stdelf.Prog64{{Type: 1, Filesz: 1 << 60, Memsz: 1 << 60, Off: 4096}, {Type: 4, Filesz: 1 << 40, Off: 4096}} {
		add(fmt.Sprintf("claim%d.core", i), "", func(f *os.File) {
			var b bytes.Buffer
			binary.Write(&b, binary.LittleEndian, p)
			f.WriteAt(b.Bytes(), 64)
			f.Truncate(8192)
			header(f, stdelf.Header64{Type: uint16(stdelf.ET_CORE), Phoff: 64, Phentsize: 56, Phnum: 1})
		})
	}
	return all
}
