// Whether a call instruction ends at an address.

package elf

import "debug/elf"

// FollowsCall reports whether a call instruction ends right before addr, as it
// does before every return address. Where it does not know the machine's
// instructions, or has no bytes, it says yes. Context: host. Source: Intel SDM
// volume 2, CALL: E8 rel32, and FF /2 with an operand of 0 to 5 bytes more.
func (f *File) FollowsCall(addr uint64) bool {
	if f.Machine != elf.EM_X86_64 && f.Machine != elf.EM_386 {
		return true
	}
	const longest = 7
	b, ok := f.BytesAt(addr-longest, longest)
	if !ok {
		return true
	}
	if b[longest-5] == 0xe8 {
		return true
	}
	for n := 2; n <= longest; n++ {
		if op := b[longest-n:]; op[0] == 0xff && op[1]>>3&7 == 2 && n == callLen(op) {
			return true
		}
	}
	return false
}

// callLen returns the length of the FF /2 instruction that op begins with: opcode,
// ModRM, a SIB byte if the ModRM says so, and a displacement. Source: Intel SDM
// volume 2, tables 2-2 and 2-3.
func callLen(op []byte) int {
	mod, rm, n := op[1]>>6, op[1]&7, 2
	if mod != 3 && rm == 4 {
		if n++; len(op) < n {
			return 0
		}
		if mod == 0 && op[2]&7 == 5 {
			n += 4
		}
	}
	switch {
	case mod == 1:
		n++
	case mod == 2, mod == 0 && rm == 5:
		n += 4
	}
	return n
}
