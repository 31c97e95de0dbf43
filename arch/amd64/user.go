package amd64

// Access to memory that a program names in a system call. The address may be anything, so a fault
// in these functions is an answer: the trap handler asks UserFixup and resumes there. The same goes
// for registers that the CPU may not have.

// CopyUser copies n bytes from one address to another and returns how many were not copied because
// an access faulted. The ranges must not overlap, unless to is below from. Kernel context.
func CopyUser(to, from, n uintptr) (left uintptr)

// FillUser fills n bytes with word, and an incomplete word at the end with its lowest byte, and
// returns how many bytes could not be written.
func FillUser(to, n uintptr, word uint64) (left uintptr)

// LoadUser32 reads four bytes; ok is false if that faults.
func LoadUser32(a uintptr) (v uint32, ok bool)

// LoadUser64 reads eight bytes; ok is false if that faults.
func LoadUser64(a uintptr) (v uint64, ok bool)

// StoreUser64 writes eight bytes and reports whether that was possible.
func StoreUser64(a uintptr, v uint64) (ok bool)

// StoreUser32 writes four bytes and reports whether that was possible.
func StoreUser32(a uintptr, v uint32) (ok bool)

// TryReadMSR reads a model-specific register; ok is false if the CPU does not have it, or a
// hypervisor does not provide it. Early and kernel context, when traps are handled.
func TryReadMSR(msr uint32) (v uint64, ok bool)

// TryWriteMSR writes one and reports whether that was possible.
func TryWriteMSR(msr uint32, v uint64) (ok bool)

func userFixups() (rangeLo, rangeFault, wordLo, wordFault uintptr)

// UserFixup returns where to resume after a fault at pc in one of these functions,
// or 0 if pc is not in them.
func UserFixup(pc uintptr) uintptr {
	rangeLo, rangeFault, wordLo, wordFault := userFixups()
	switch {
	case pc >= rangeLo && pc < rangeFault:
		return rangeFault
	case pc >= wordLo && pc < wordFault:
		return wordFault
	}
	return 0
}
