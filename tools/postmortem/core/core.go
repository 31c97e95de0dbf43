package core

// A core file is what Linux writes when a process dies, and what every debugger
// reads. A trace has the same parts, only fewer of each:
//
//	registers            NT_PRSTATUS of thread 1
//	an interrupted pc    NT_PRSTATUS of a further thread
//	another CPU          the same of its trace, behind these
//	reason, cause        NT_PRPSINFO, NT_SIGINFO
//	words of memory      PT_LOAD, from the first word to the last of each run
//	code, constants      in the ELF file: NT_FILE names it
//	the ELF's headers    PT_LOAD: a debugger finds the build ID there, and
//	                     warns if it is given another ELF file
//
// Variables are in neither. Without NT_FILE a debugger would take their first
// values, which the ELF file has too, for those at the death.

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tools/symbol/code"
)

// Symbols is what Write has to know of the image. A *symbol.File is one.
type Symbols interface {
	// Code returns the machine code, or nil.
	Code() *code.Image
	// SPDelta returns how many bytes above the stack pointer the return address
	// lies when the instruction at pc is about to run.
	SPDelta(pc uint64) (uint64, bool)
	// IsText reports whether the address lies in the text.
	IsText(addr uint64) bool
}

// Info says what a core file holds.
type Info struct {
	// Threads is the number of places with registers, Words that of 8-byte words
	// of memory.
	Threads, Words int
	// Call is set when the trace was asked for by a call, as a panic does: thread
	// 1 then stands at the call instruction at Address, not behind it.
	Call    bool
	Address uint64
	// CPUs says which threads are of which CPU, of a trace that is of one of several.
	CPUs []CPU
}

// CPU says that the threads from First to Last, which count from 1, are of the CPU with the number.
type CPU struct {
	Number      uint64
	First, Last int
}

// ErrEmpty is returned for a trace that has neither a frame nor registers.
var ErrEmpty = errors.New("the trace has no frame and no registers")

// Write writes the trace t, and those of other CPUs that belong to it, as a core file of the image
// in the ELF file at path, whose symbols are sym. The traces are some that a [trace.Filter] with
// the same symbols has ended. Errors are ErrEmpty, that of reading the ELF file or that of w. Host.
func Write(w io.Writer, t *wire.Trace, others []*wire.Trace, path string,
	sym Symbols) (Info, error) {
	threads := threadsOf(t, sym)
	if len(threads) == 0 {
		return Info{}, ErrEmpty
	}
	var cpus []CPU
	if t.HasCPU {
		cpus = append(cpus, CPU{t.CPU, 1, len(threads)})
	}
	for _, o := range others {
		of := threadsOf(o, sym)
		if threads = append(threads, of...); len(of) > 0 {
			cpus = append(cpus, CPU{o.CPU, len(threads) - len(of) + 1, len(threads)})
		}
	}
	info := Info{Threads: len(threads), Call: threads[0].call,
		Address: threads[0].regs["rip"], CPUs: cpus}

	runs := runsOf(Memory(append([]*wire.Trace{t}, others...), sym))
	for _, r := range runs {
		info.Words += len(r.words)
	}
	return info, writeRuns(w, path, threads, t, runs)
}

// writeRuns writes a core file of the image at path with some threads and runs of words, that has
// died as a trace says.
func writeRuns(w io.Writer, path string, threads []thread, death *wire.Trace, runs []run) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	files, headers, err := imageOf(path)
	if err != nil {
		return err
	}
	if len(headers.words) > 0 {
		runs = append(runs, headers)
	}
	var places []place
	for i, th := range threads {
		places = append(places, place{th, i + 1})
	}
	return writeFile(w, notesOf(places, path, death, files, nil), runs)
}

const headerSize, progSize = 64, 56

// header is that of a core file, with the number of program headers and where they are.
func header(at uint64, progs int) elf.Header64 {
	h := elf.Header64{
		Type: uint16(elf.ET_CORE), Machine: uint16(elf.EM_X86_64), Version: uint32(elf.EV_CURRENT),
		Phoff: at, Ehsize: headerSize, Phentsize: progSize, Phnum: uint16(min(progs, 0xffff)),
	}
	copy(h.Ident[:], elf.ELFMAG)
	h.Ident[elf.EI_CLASS] = byte(elf.ELFCLASS64)
	h.Ident[elf.EI_DATA] = byte(elf.ELFDATA2LSB)
	h.Ident[elf.EI_VERSION] = byte(elf.EV_CURRENT)
	return h
}

// writeFile writes header, program headers, notes and memory.
func writeFile(w io.Writer, notes []byte, runs []run) error {
	var b bytes.Buffer
	put(&b, header(headerSize, 1+len(runs)))
	at := uint64(headerSize + progSize*(1+len(runs)))
	put(&b, elf.Prog64{Type: uint32(elf.PT_NOTE), Off: at, Filesz: uint64(len(notes)), Align: 4})
	at += uint64(len(notes)) // a multiple of 4
	pad := -at % 8
	at += pad
	for _, r := range runs {
		size := uint64(len(r.words)) * 8
		put(&b, elf.Prog64{Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_W),
			Off: at, Vaddr: r.addr, Filesz: size, Memsz: size, Align: 8})
		at += size
	}
	b.Write(notes)
	b.Write(make([]byte, pad))
	for _, r := range runs {
		put(&b, r.words)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// put appends v, a structure or a slice of fixed size.
func put(b *bytes.Buffer, v any) {
	if err := binary.Write(b, binary.LittleEndian, v); err != nil {
		panic(err) // the types are ours, and a buffer takes all
	}
}
