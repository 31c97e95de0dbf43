package memory

// The registers of a machine behind a gdb stub. A stub that describes its target (gdb manual,
// "Target Descriptions") has them in the order of the description; QEMU's has the control registers
// among them. One that does not has those of gdb's own layout for x86-64.

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
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
	for n := range strings.FieldsSeq(
		"rax rbx rcx rdx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 rip") {
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

// description is a file of the target's: of the whole target, or of one of its features.
type description struct {
	Includes []struct {
		File string `xml:"href,attr"`
	} `xml:"include"`
	Features []feature `xml:"feature"`
	feature
}

type feature struct {
	Regs []struct {
		Name   string `xml:"name,attr"`
		Bits   string `xml:"bitsize,attr"`
		Number string `xml:"regnum,attr"`
	} `xml:"reg"`
}

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
		var d description
		x := xml.NewDecoder(strings.NewReader(text))
		x.Strict = false
		if err := x.Decode(&d); err != nil {
			return nil, fmt.Errorf("%w: its description of the registers: %v", ErrStub, err)
		}
		for _, f := range append(d.Features, d.feature) {
			for _, r := range f.Regs {
				if n, err := strconv.Atoi(r.Number); err == nil {
					next = n
				}
				bits, err := strconv.Atoi(r.Bits)
				if err != nil || next < 0 || next > mostRegisters || bits < 0 || bits > 1<<16 {
					return nil, fmt.Errorf("%w: its description of the registers is damaged", ErrStub)
				}
				numbered[next] = stubReg{r.Name, bits}
				next++
			}
		}
		for _, include := range d.Includes {
			files = append(files, include.File)
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
		c := registers(regs, a, false)
		if c == nil {
			return fmt.Errorf("%w: no registers of an x86-64 processor", ErrStub)
		}
		if v, ok := c["eflags"]; ok {
			delete(c, "eflags")
			c["rflags"] = v
		}
		s.cpus = append(s.cpus, c)
	}
	return nil
}

// registers returns those of up to eight bytes in the answer to g, and with low the lower eight
// bytes of the XMM registers; nil: it is no answer of an x86-64 processor.
func registers(regs []stubReg, answer string, low bool) CPU {
	all := make(CPU, len(regs))
	for _, r := range regs {
		n := (r.bits + 7) / 8 * 2
		if n > len(answer) {
			break
		}
		if n <= 16 || low && strings.HasPrefix(r.name, "xmm") {
			if b, err := hex.DecodeString(answer[:min(n, 16)]); err == nil { // x: it is not known
				all[r.name] = binary.LittleEndian.Uint64(append(b, make([]byte, 8)...))
			}
		}
		answer = answer[n:]
	}
	if _, ok := all["rip"]; !ok {
		return nil
	}
	return all
}

// Where an FXSAVE area has what (SDM Vol. 1, 10.5.1), in bytes.
const (
	fxMXCSR = 24
	fxST    = 32
	fxXMM   = 160
)

// Encode returns registers as the stub would answer g with them. One that is not known is 0. fpu is
// an FXSAVE area, or nil.
func (d *Debugger) Encode(c CPU, fpu []byte) string {
	var all []byte
	for _, r := range d.regs {
		b := make([]byte, (r.bits+7)/8)
		name := r.name
		if name == "eflags" {
			name = "rflags"
		}
		at := -1
		if n, ok := strings.CutPrefix(name, "xmm"); ok {
			at = fxAt(n, fxXMM)
		} else if n, ok := strings.CutPrefix(name, "st"); ok {
			at = fxAt(n, fxST)
		} else if name == "mxcsr" {
			at = fxMXCSR
		}
		if at >= 0 && at < len(fpu) {
			copy(b, fpu[at:])
		} else if v, ok := c[name]; ok {
			copy(b, binary.LittleEndian.AppendUint64(nil, v))
		}
		all = append(all, b...)
	}
	return hex.EncodeToString(all)
}

// fxAt is where the register with a number is, of those that begin at an offset.
func fxAt(number string, first int) int {
	n, err := strconv.Atoi(number)
	if err != nil {
		return -1
	}
	return first + 16*n
}

// Part returns the register with a number in an answer to g, as the stub would answer p; "": it is
// not in it.
func (d *Debugger) Part(answer string, number uint64) string {
	at := 0
	for i, r := range d.regs {
		n := (r.bits + 7) / 8 * 2
		if at+n > len(answer) {
			break
		}
		if uint64(i) == number {
			return answer[at : at+n]
		}
		at += n
	}
	return ""
}
