package memory

// The notes of QEMU's dump. For each CPU there is one named QEMU, with all that a debugger has to
// know (target/i386/arch_dump.c, QEMUCPUState, version 1): the general registers, then segments of
// 24 bytes, each with its base behind 16 of them, then CR0 to CR4.

import "encoding/binary"

var (
	qemuGeneral = [...]string{"rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rsp", "rbp", "r8", "r9",
		"r10", "r11", "r12", "r13", "r14", "r15", "rip", "rflags"}
	// and LDT, TR, GDT, IDT
	qemuSegments = [...]string{"cs", "ds", "es", "fs", "gs", "ss", "", "", "", ""}
	qemuControl  = [...]string{"cr0", "", "cr2", "cr3", "cr4"}
)

// qemuCPU is what such a note holds, as far as it is read.
type qemuCPU struct {
	Version, Size uint32
	General       [len(qemuGeneral)]uint64
	Segments      [len(qemuSegments)]struct {
		Selector, Limit, Flags, Pad uint32
		Base                        uint64
	}
	Control [len(qemuControl)]uint64
}

// cpusOf returns the registers in notes.
func cpusOf(notes []byte) (cpus []CPU) {
	le := binary.LittleEndian
	for len(notes) >= 12 {
		nameSize, size := uint64(le.Uint32(notes)), uint64(le.Uint32(notes[4:]))
		name := notes[12:]
		nameRoom, room := (nameSize+3)&^3, (size+3)&^3
		if nameRoom+room > uint64(len(name)) {
			return cpus
		}
		desc := name[nameRoom : nameRoom+size]
		notes = name[nameRoom+room:]
		var q qemuCPU
		if _, err := binary.Decode(desc, le, &q); err != nil || q.Version != 1 ||
			string(name[:min(nameSize, 4)]) != "QEMU" {
			continue
		}
		c := CPU{}
		for i, n := range qemuGeneral {
			c[n] = q.General[i]
		}
		for i, n := range qemuSegments {
			if n != "" {
				c[n], c[n+"_base"] = uint64(q.Segments[i].Selector), q.Segments[i].Base
			}
		}
		for i, n := range qemuControl {
			if n != "" {
				c[n] = q.Control[i]
			}
		}
		cpus = append(cpus, c)
	}
	return cpus
}
