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
		const general = 8
		const segments = general + 8*len(qemuGeneral)
		const control = segments + 24*len(qemuSegments)
		if string(name[:min(nameSize, 4)]) != "QEMU" || len(desc) < control+8*len(qemuControl) ||
			le.Uint32(desc) != 1 {
			continue
		}
		c := CPU{}
		for i, n := range qemuGeneral {
			c[n] = le.Uint64(desc[general+8*i:])
		}
		for i, n := range qemuSegments {
			if n != "" {
				c[n], c[n+"_base"] = uint64(le.Uint32(desc[segments+24*i:])), le.Uint64(desc[segments+24*i+16:])
			}
		}
		for i, n := range qemuControl {
			if n != "" {
				c[n] = le.Uint64(desc[control+8*i:])
			}
		}
		cpus = append(cpus, c)
	}
	return cpus
}
