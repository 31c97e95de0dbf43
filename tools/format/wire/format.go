package wire

// The way back: a record as the line that the text form would have. So a trace
// that came in the compact form is shown in the words that the user knows.

import (
	"fmt"

	"github.com/zeroframe/zeroframe/tracer"
)

// String returns the record as a line of the text form, without tag and line
// ending. It serves to show what arrived in the compact form.
func (r *Record) String() string {
	switch r.Op {
	case OpBegin:
		s := fmt.Sprintf("begin %d %s %s thread=%d", r.Seq, r.Kind, r.Context, r.Thread)
		if r.Goroutine != 0 {
			s += fmt.Sprintf(" goroutine=%d", r.Goroutine)
		}
		if r.HasCPU {
			s += fmt.Sprintf(" cpu=%d", r.CPU)
		}
		if r.Of != 0 {
			s += fmt.Sprintf(" of=%d", r.Of)
		}
		return s + " build=" + OrDash(r.BuildID)
	case OpReason:
		return "reason " + r.Text
	case OpCause:
		s := fmt.Sprintf("cause vector=%d name=%s error=%#x",
			r.Cause.Vector, VectorName(r.Cause.Vector), r.Cause.ErrorCode)
		if r.Cause.PC != 0 {
			s += fmt.Sprintf(" pc=%#x", r.Cause.PC)
		}
		if r.Cause.HasAddress {
			s += fmt.Sprintf(" addr=%#x", r.Cause.Address)
		}
		return s
	case OpMem:
		s := fmt.Sprintf("mem %#x:", r.Address)
		for _, w := range r.Words {
			s += fmt.Sprintf(" %x", w)
		}
		return s
	case OpFrame:
		f := &r.Frame
		s := fmt.Sprintf("#%d %s %#x", r.Index, f.Kind, f.Address)
		switch f.Kind {
		case tracer.Trap:
			s += fmt.Sprintf(" vector=%d name=%s error=%#x",
				f.Vector, VectorName(f.Vector), f.ErrorCode)
		case tracer.PC:
			s += fmt.Sprintf(" sp %#x fp %#x", f.SP, f.FP)
		default:
			s += fmt.Sprintf(" fp %#x", f.FP)
		}
		return s + " " + OrDash(f.Stack)
	case OpFold, OpLeftOut:
		return r.foldString()
	case OpStop:
		s := "stop " + r.End
		if r.HasValue {
			s += fmt.Sprintf(" %#x", r.Value)
		}
		if CompleteEnd(r.End) {
			return s + " (complete)"
		}
		return s + " (truncated)"
	case OpReg:
		s := "reg"
		for _, reg := range r.Regs {
			s += fmt.Sprintf(" %s=%#x", reg.Name, reg.Value)
		}
		return s
	case OpStack:
		k := &r.Stack
		return fmt.Sprintf("stack %s %#x size=%d used>=%d free<=%d limit=%d %s",
			k.Name, k.Lo, k.Size, k.Used, k.Size-min(k.Used, k.Size), k.Limit, k.Level)
	case OpEvent:
		return r.eventString()
	case OpBranch:
		return r.branchString()
	case OpDone:
		return fmt.Sprintf("done %d crc=0x%08x", r.Lines, r.CRC)
	}
	return ""
}

// OrDash returns s, or a dash for an empty one.
func OrDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// VectorName is tracer.VectorName for a number of any size.
func VectorName(v uint64) string {
	if v > tracer.VectorSignal {
		return "?"
	}
	return tracer.VectorName(uint32(v))
}

// String says which exception it was: "#PF, vector 14, error code 0x2, address 0x8".
func (c *Cause) String() string {
	s := trapWords(c.Vector, c.ErrorCode)
	if c.HasAddress {
		s += fmt.Sprintf(", address %#x", c.Address)
	}
	return s
}

// Trap says the same of a frame of kind tracer.Trap.
func (f *Frame) Trap() string { return trapWords(f.Vector, f.ErrorCode) }

func trapWords(vector, code uint64) string {
	return fmt.Sprintf("%s, vector %d, error code %#x", VectorName(vector), vector, code)
}
