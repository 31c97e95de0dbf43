package replay

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zeroframe/zeroframe/tools/postmortem/memory"
)

// elsewhere are the flags that QEMU keeps elsewhere than in its register: the arithmetic ones and
// the direction. Some versions of its stub neither show them nor take them, so that they are read
// and set by instructions.
const elsewhere = 0xcd5

// untrap undoes a breakpoint exception that the program has raised itself, such as by
// runtime.Breakpoint: a machine takes its handler for the next instruction, where a process stops
// behind the one that has raised it. The handler has not begun, so that all registers but those
// that the CPU has put on the stack are the program's.
func (t *travel) untrap() error {
	if t.trap == 0 {
		return nil
	}
	regs, err := t.m.Registers()
	if err != nil || regs["rip"] != t.trap {
		return err
	}
	var b [5 * 8]byte
	if err := t.m.Read(b[:], regs["rsp"]); err != nil {
		return err
	}
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
	if word(1) != regs["cs"] {
		return nil
	}
	if err := errors.Join(t.m.set(7, word(3), 8), t.m.set(16, word(0), 8),
		t.m.set(17, word(2)&^elsewhere, 4)); err != nil {
		return err
	}
	return t.m.popFlags(word(2))
}

// eflagsAt is where the flags are in the packet of all registers: behind 16 of eight bytes, and
// rip.
const eflagsAt = 17 * 8

// setRegisters answers a packet that changes registers, as Delve does to call a function: first the
// stack pointer, and at the end all are put back.
func (s *Server) setRegisters(p string) (string, error) {
	if strings.HasPrefix(p, "P7=") && !s.called && !s.restored {
		var err error
		if s.flags, err = s.m.pushFlags(); err != nil {
			return "", err
		}
		s.called = true
	}
	if p[0] != 'G' || !s.called {
		return s.m.Ask(p)
	}
	b, err := hex.DecodeString(p[1:])
	if err != nil || len(b) < eflagsAt+4 {
		return refused, nil
	}
	flags := binary.LittleEndian.Uint32(b[eflagsAt:])
	binary.LittleEndian.PutUint32(b[eflagsAt:], flags&^elsewhere)
	answer, err := s.m.Ask("G" + hex.EncodeToString(b))
	if err == nil {
		s.called, s.restored = false, true
		err = s.m.popFlags(s.flags)
	}
	return answer, err
}

// pushFlags returns the flags, and popFlags sets them, by an instruction in front of which the
// machine stands for a moment.
func (m *Machine) pushFlags() (flags uint64, err error) {
	err = m.instruction(0x9c, func(regs map[string]uint64) (uint64, []byte) {
		return regs["rsp"] - 8, nil
	}, func(word []byte) { flags = binary.LittleEndian.Uint64(word) })
	return flags, err
}

func (m *Machine) popFlags(flags uint64) error {
	return m.instruction(0x9d, func(regs map[string]uint64) (uint64, []byte) {
		return regs["rsp"], binary.LittleEndian.AppendUint64(nil, flags)
	}, nil)
}

// instruction runs one of one byte, which uses a word of the stack: before says where, and what is
// there, after gets what is there then. All but flags is as it was.
func (m *Machine) instruction(code byte, before func(map[string]uint64) (uint64, []byte),
	after func([]byte)) error {
	regs, err := m.Registers()
	if err != nil {
		return err
	}
	at, word := before(regs)
	var old, now [8]byte
	var text [1]byte
	if err := errors.Join(m.Read(old[:], at), m.Read(text[:], regs["rip"])); err != nil {
		return err
	}
	if word == nil {
		word = old[:]
	}
	err = errors.Join(m.write(at, word), m.write(regs["rip"], []byte{code}))
	if err == nil {
		err = m.Step(m.ctx)
	}
	if err == nil && after != nil {
		if err = m.Read(now[:], at); err == nil {
			after(now[:])
		}
	}
	return errors.Join(err, m.write(regs["rip"], text[:]), m.write(at, old[:]),
		m.set(7, regs["rsp"], 8), m.set(16, regs["rip"], 8))
}

// write changes memory.
func (m *Machine) write(addr uint64, b []byte) error {
	return m.order(fmt.Sprintf("M%x,%x:%x", addr, len(b), b))
}

// set changes a register, by its number.
func (m *Machine) set(number int, value uint64, size int) error {
	var v [8]byte
	binary.LittleEndian.PutUint64(v[:], value)
	return m.order(fmt.Sprintf("P%x=%x", number, v[:size]))
}

// order sends a packet that the stub has to answer with OK.
func (m *Machine) order(p string) error {
	if a, err := m.Ask(p); err != nil || a != "OK" {
		return fmt.Errorf("%w: %s: %q, %v", memory.ErrStub, p, a, err)
	}
	return nil
}

// memory answers a packet that asks for memory. Pages that the program has never touched are zeros.
func (s *Server) memory(p string) (string, error) {
	answer, err := s.m.Ask(p)
	if err != nil || !strings.HasPrefix(answer, "E") || s.o.Zeros == nil {
		return answer, err
	}
	a, n, _ := strings.Cut(p[1:], ",")
	addr, err1 := strconv.ParseUint(a, 16, 64)
	size, err2 := strconv.ParseUint(n, 16, 16)
	if err1 != nil || err2 != nil || addr+size < addr {
		return answer, nil
	}
	var all []byte
	for size > 0 {
		b := make([]byte, min(size, memory.PageSize-addr%memory.PageSize))
		if s.m.Read(b, addr) != nil {
			if !s.o.Zeros(s.m.Read, addr) {
				return answer, nil
			}
			clear(b)
		}
		all = slices.Concat(all, b)
		addr, size = addr+uint64(len(b)), size-uint64(len(b))
	}
	return hex.EncodeToString(all), nil
}
