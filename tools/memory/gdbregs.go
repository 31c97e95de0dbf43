package memory

// The registers of a machine behind a gdb stub. A stub that describes its target (gdb manual, "Target
// Descriptions") has them in the order of the description; QEMU's has the control registers among them. One that
// does not has those of gdb's own layout for x86-64.

import (
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// stubReg is a register in the answer to g.
type stubReg struct {
	name string
	bits int
}

// plainRegs is gdb's own layout (gdb/features/i386/64bit-core.xml).
var plainRegs = func() (all []stubReg) {
	for n := range strings.FieldsSeq("rax rbx rcx rdx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 rip") {
		all = append(all, stubReg{n, 64})
	}
	for n := range strings.FieldsSeq("eflags cs ss ds es fs gs") {
		all = append(all, stubReg{n, 32})
	}
	return all
}()

// The most of a description that is read.
const (
	mostFeatures  = 64
	mostRegisters = 4096
)

// describedRegs reads the target's description, and those that it includes.
func (s *Stub) describedRegs() (all []stubReg, err error) {
	files := []string{"target.xml"}
	numbered := map[int]stubReg{}
	next := 0
	for i := 0; i < len(files) && i < mostFeatures; i++ {
		text, err := s.transfer(files[i])
		if err != nil {
			return nil, err
		}
		d := xml.NewDecoder(strings.NewReader(text))
		d.Strict = false
		for {
			t, err := d.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				return nil, fmt.Errorf("%w: its description of the registers: %v", ErrStub, err)
			}
			e, ok := t.(xml.StartElement)
			if !ok {
				continue
			}
			attr := map[string]string{}
			for _, a := range e.Attr {
				attr[a.Name.Local] = a.Value
			}
			switch e.Name.Local {
			case "include":
				files = append(files, attr["href"])
			case "reg":
				if n, err := strconv.Atoi(attr["regnum"]); err == nil {
					next = n
				}
				bits, err := strconv.Atoi(attr["bitsize"])
				if err != nil || next < 0 || next > mostRegisters || bits < 0 || bits > 1<<16 {
					return nil, fmt.Errorf("%w: its description of the registers is damaged", ErrStub)
				}
				numbered[next] = stubReg{attr["name"], bits}
				next++
			}
		}
	}
	for n := 0; ; n++ {
		r, ok := numbered[n]
		if !ok {
			break
		}
		all = append(all, r)
	}
	if len(all) == 0 {
		return plainRegs, nil
	}
	return all, nil
}

// transfer reads a file of the description.
func (s *Stub) transfer(name string) (string, error) {
	var b strings.Builder
	for b.Len() < mostPacket {
		a, err := s.ask(fmt.Sprintf("qXfer:features:read:%s:%x,%x", name, b.Len(), s.most))
		switch {
		case err != nil:
			return "", err
		case strings.HasPrefix(a, "l"):
			return b.String() + a[1:], nil
		case strings.HasPrefix(a, "m") && len(a) > 1:
			b.WriteString(a[1:])
		default:
			return "", fmt.Errorf("%w: it has no %s, which it says that it has", ErrStub, name)
		}
	}
	return "", fmt.Errorf("%w: %s has no end", ErrStub, name)
}

// mostCPUs is how many threads of a stub are taken; each of QEMU's is a CPU.
const mostCPUs = 256

// readCPUs reads the registers of each.
func (s *Stub) readCPUs(regs []stubReg) error {
	var threads []string
	for q := "qfThreadInfo"; ; q = "qsThreadInfo" {
		a, err := s.ask(q)
		if err != nil {
			return err
		}
		list, ok := strings.CutPrefix(a, "m")
		if !ok || len(threads) > mostCPUs {
			break
		}
		threads = append(threads, strings.Split(list, ",")...)
	}
	if len(threads) == 0 {
		threads = []string{"0"}
	}
	for _, id := range threads {
		if a, err := s.ask("Hg" + id); err != nil || a != "OK" {
			return errors.Join(err, fmt.Errorf("%w: no thread %.20s, which it has named", ErrStub, id))
		}
		a, err := s.ask("g")
		if err != nil {
			return err
		}
		c := CPU{}
		for _, r := range regs {
			n := (r.bits + 7) / 8 * 2
			if n > len(a) {
				break
			}
			if b, err := hex.DecodeString(a[:n]); err == nil && len(b) <= 8 { // x: it is not known
				v := uint64(0)
				for i := len(b) - 1; i >= 0; i-- {
					v = v<<8 | uint64(b[i])
				}
				if r.name == "eflags" {
					r.name = "rflags"
				}
				c[r.name] = v
			}
			a = a[n:]
		}
		if _, ok := c["rip"]; !ok {
			return fmt.Errorf("%w: no registers of an x86-64 processor", ErrStub)
		}
		s.cpus = append(s.cpus, c)
	}
	return nil
}
