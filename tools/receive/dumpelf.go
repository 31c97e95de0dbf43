package receive

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/zeroframe/zeroframe/tracer/dump"
)

// The file as QEMU's dump-guest-memory writes it without paging (QEMU 7.2, dump/dump.c and
// target/i386/arch_dump.c): a program header for each piece of physical memory, and two notes a
// CPU, NT_PRSTATUS and QEMU's own, which has CR3. A third kind of note is ours, and says in words
// what is there.

// le is the order of bytes of the machines.
var le = binary.LittleEndian

// Registers by their numbers in a trace (tracer.AMD64).
const (
	rip = iota
	rsp
	rbp
	rflags
	rax
	rbx
	rcx
	rdx
	rsi
	rdi
	r8
	r15 = r8 + 7
	cr2 = r15 + 1
	cr3 = cr2 + 1
)

// Selectors of the kernel, which are not sent (arch/amd64/gdt).
const (
	kernelCode = 0x08
	kernelData = 0x10
)

// notesRoom is room for the notes of all CPUs and ours, maxHeaders how many program headers fit
// before them.
const (
	headerSize, progSize = 64, 56
	notesRoom            = 128 << 10
	maxHeaders           = (dataAt - notesRoom - headerSize) / progSize
)

// NoteName is the name of our own note, NoteText its type: lines of the form NAME=VALUE.
const (
	NoteName = "Zeroframe"
	NoteText = 1
)

// finish writes all but the memory itself.
func (d *Assembly) finish() error {
	loads := d.loads()
	notes := d.notes()
	table := headerSize + progSize*uint64(1+len(loads))
	if len(notes) > notesRoom {
		return fmt.Errorf("%d bytes of notes", len(notes))
	}
	var b bytes.Buffer
	binary.Write(&b, le, elf.Header64{
		Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB),
			byte(elf.EV_CURRENT)},
		Type:    uint16(elf.ET_CORE),
		Machine: uint16(elf.EM_X86_64),
		Version: uint32(elf.EV_CURRENT),
		Phoff:   headerSize, Ehsize: headerSize, Phentsize: progSize, Phnum: uint16(1 + len(loads)),
	})
	binary.Write(&b, le, elf.Prog64{Type: uint32(elf.PT_NOTE), Off: table,
		Filesz: uint64(len(notes)), Align: 4})
	binary.Write(&b, le, loads)
	b.Write(notes)
	// zeros at the end are a hole
	if err := d.file.Truncate(int64(dataAt + d.Announce.Highest)); err != nil {
		return err
	}
	_, err := d.file.WriteAt(b.Bytes(), 0)
	return err
}

// loads returns the program headers of the pages that are whole. What there is no room for is
// missing.
func (d *Assembly) loads() (all []elf.Prog64) {
	first := uint64(0)
	open := false
	flush := func(end uint64) {
		if open && len(all) == maxHeaders-1 {
			d.Pages -= uint32(end - first)
		} else if open {
			lo, size := first*dump.PageSize, (end-first)*dump.PageSize
			all = append(all, elf.Prog64{Type: uint32(elf.PT_LOAD), Off: dataAt + lo, Paddr: lo,
				Filesz: size, Memsz: size})
		}
		open = false
	}
	next := uint64(0) // the page behind the last one
	for _, n := range slices.Sorted(maps.Keys(d.Chunks)) {
		if n*chunkPages != next {
			flush(next)
		}
		for i, two := range d.Chunks[n] {
			for half := range uint64(2) {
				page := n*chunkPages + 2*uint64(i) + half
				has := two>>(4*half)&15 == whole
				if has && !open {
					first, open = page, true
				} else if !has {
					flush(page)
				}
			}
		}
		next = (n + 1) * chunkPages
	}
	flush(next)
	return all
}

// notes returns the notes.
func (d *Assembly) notes() []byte {
	var b bytes.Buffer
	cpus := slices.SortedFunc(maps.Values(d.CPUs), func(a, b dump.CPU) int {
		return cmp.Compare(a.Number, b.Number)
	})
	for i := range cpus {
		putNote(&b, "CORE", uint32(elf.NT_PRSTATUS), prstatus(&cpus[i]))
	}
	for i := range cpus {
		putNote(&b, "QEMU", 0, d.qemuState(&cpus[i]))
	}
	text := fmt.Sprintf("build=%s\npages=%d\nmissing=%d\ndead=%d\nroot=%#x\nsummary=%s\n",
		d.BuildID(), d.Pages, d.Missing(), d.Announce.Dead, d.Announce.Root, d.Summary())
	if d.End != nil {
		text += fmt.Sprintf("hidden=%d\n", d.End.Hidden)
	}
	if d.Announce.Kept {
		text += fmt.Sprintf("kept=1\noverwritten=%d\n", d.Lost())
	}
	for _, r := range d.RAM {
		text += fmt.Sprintf("ram=%#x-%#x\n", r[0], r[1])
	}
	for i := range cpus {
		text += fmt.Sprintf("cpu%d=%s\n", cpus[i].Number,
			cmp.Or(cpuStates[cpus[i].State], "did not answer"))
	}
	putNote(&b, NoteName, NoteText, []byte(text))
	return b.Bytes()
}

// cpuStates say what became of a CPU that has answered.
var cpuStates = map[uint32]string{dump.CPUDied: "died", dump.CPUDiedToo: "died, too",
	dump.CPUStopped: "stopped"}

func putNote(b *bytes.Buffer, name string, kind uint32, desc []byte) {
	binary.Write(b, le, [3]uint32{uint32(len(name) + 1), uint32(len(desc)), kind})
	for _, p := range [][]byte{append([]byte(name), 0), desc} {
		b.Write(p)
		b.Write(make([]byte, -len(p)&3))
	}
}

// prstatus is Linux's struct elf_prstatus for x86-64.
func prstatus(c *dump.CPU) []byte {
	const pid, registers, size = 32, 112, 336
	b := make([]byte, size)
	le.PutUint32(b[pid:], c.Number+1)
	r := &c.Registers
	for i, v := range [27]uintptr{
		r[r15], r[r15-1], r[r15-2], r[r15-3], r[rbp], r[rbx], r[r8+3], r[r8+2], r[r8+1], r[r8],
		r[rax], r[rcx], r[rdx], r[rsi], r[rdi], ^uintptr(0), r[rip], kernelCode, r[rflags],
		r[rsp], kernelData,
		uintptr(c.TLS), 0, 0, 0, 0, 0,
	} {
		le.PutUint64(b[registers+8*i:], uint64(v))
	}
	return b
}

// qemuState is QEMU's struct QEMUCPUState.
func (d *Assembly) qemuState(c *dump.CPU) []byte {
	type segment struct {
		Selector, Limit, Flags, _ uint32
		Base                      uint64
	}
	r := &c.Registers
	s := struct {
		Version, Size          uint32
		AX, BX, CX, DX, SI, DI uint64
		SP, BP                 uint64
		R8to15                 [8]uint64
		IP, Flags              uint64
		CS, DS, ES, FS, GS, SS segment
		LDT, TR, GDT, IDT      segment
		CR                     [5]uint64
		KernelGSBase           uint64
	}{
		Version: 1,
		AX:      uint64(r[rax]), BX: uint64(r[rbx]), CX: uint64(r[rcx]), DX: uint64(r[rdx]),
		SI: uint64(r[rsi]), DI: uint64(r[rdi]),
		SP: uint64(r[rsp]), BP: uint64(r[rbp]), IP: uint64(r[rip]), Flags: uint64(r[rflags]),
		CS: segment{Selector: kernelCode, Limit: ^uint32(0)},
		SS: segment{Selector: kernelData, Limit: ^uint32(0)},
		FS: segment{Base: c.TLS},
		CR: [5]uint64{0x80010033, 0, uint64(r[cr2]), d.Announce.Root, 0x20},
	}
	for i := range s.R8to15 {
		s.R8to15[i] = uint64(r[r8+i])
	}
	s.Size = uint32(binary.Size(s))
	var b bytes.Buffer
	binary.Write(&b, le, &s)
	return b.Bytes()
}
