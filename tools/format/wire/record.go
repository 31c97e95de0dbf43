package wire

// A Record is one statement of a trace, whatever form it came in. Reading the
// text and markup forms is lenient in what the CRC guards anyway (blanks,
// fields that are not known) and strict in what would give a false address:
// a number that does not parse makes the whole line malformed.

import (
	"slices"
	"strconv"
	"strings"

	"github.com/zeroframe/zeroframe/tracer"
)

// Op says what a record is about.
type Op uint8

// The records of a trace. The comment is the word that follows the tag.
const (
	OpOther   Op = iota // none of those below
	OpBegin             // begin
	OpReason            // reason
	OpCause             // cause
	OpMem               // mem
	OpFrame             // #N, or a {{{bt:...}}} element
	OpStop              // stop
	OpReg               // reg
	OpStack             // stack
	OpDone              // done
	OpLast              // last
	OpElement           // another element of the markup form
	OpCompact           // a line of the compact form, not yet decoded
	OpRepeat            // a line that stands for a trace like the one before
	OpBefore            // previous
	OpFold              // repeat
	OpLeftOut           // ...
	OpEvent             // event
	OpBranch            // branch
)

// Record is one statement of a trace. Which fields count depends on Op.
type Record struct {
	Op Op
	// Bad is set when the line is malformed; its fields say nothing then.
	Bad bool
	// Kind, Context, Seq, Thread, Goroutine and BuildID: OpBegin; Kind also
	// OpLast, Seq also OpBefore.
	Kind, Context          string
	Seq, Thread, Goroutine uint64
	BuildID                string
	// CPU and Of: OpBegin. HasCPU is set when there was a cpu field.
	CPU, Of uint64
	HasCPU  bool
	// HasBuild is set when there was a build field, be it "-".
	HasBuild bool
	// PartBuild is set when BuildID is only the beginning of it.
	PartBuild bool
	// Text is the reason: OpReason, OpLast.
	Text string
	// Cause: OpCause.
	Cause Cause
	// Address and Words: OpMem.
	Address uint64
	Words   []uint64
	// Index is the frame's number and Frame the frame: OpFrame; Frame also
	// OpLast.
	Index uint64
	Frame Frame
	// End and Value: OpStop. HasValue is set when a value was given.
	End      string
	Value    uint64
	HasValue bool
	// Count: OpFold, with Value for the last one's frame pointer; OpLeftOut.
	Count uint64
	// Regs: OpReg.
	Regs []Register
	// Stack: OpStack.
	Stack Stack
	// Event: OpEvent.
	Event Event
	// Branch: OpBranch.
	Branch Branch
	// Lines and CRC: OpDone.
	Lines uint64
	CRC   uint32
}

// Register is a register's name and value.
type Register struct {
	Name  string
	Value uint64
}

// kinds of frames by their words on the wire.
var frameKinds = map[string]tracer.Kind{
	tracer.PC.String():       tracer.PC,
	tracer.RA.String():       tracer.RA,
	tracer.Inferred.String(): tracer.Inferred,
	tracer.Scan.String():     tracer.Scan,
	tracer.Trap.String():     tracer.Trap,
}

// registerNames are the names that a reg line may set; others are ignored, so
// that a sender cannot make the map grow.
var registerNames = func() map[string]bool {
	m := make(map[string]bool)
	for _, n := range tracer.AMD64.Registers {
		m[n] = true
	}
	return m
}()

// fieldLines are the lines that are made of fields, by their first word.
var fieldLines = map[string]struct {
	op   Op
	read func(*Record, []string) bool
}{
	"begin": {OpBegin, (*Record).begin}, "cause": {OpCause, (*Record).cause},
	"mem":  {OpMem, (*Record).mem},
	"stop": {OpStop, (*Record).stop}, "reg": {OpReg, (*Record).reg},
	"stack": {OpStack, (*Record).stack},
	"done":  {OpDone, (*Record).done}, "repeat": {OpFold, (*Record).fold},
	"event": {OpEvent, (*Record).event}, "branch": {OpBranch, (*Record).branch},
}

// ParseLine reads a line of the text or markup form, without its tag and its
// line ending. It never fails: an unknown line is OpOther, a malformed one is
// Bad.
func ParseLine(s string) Record {
	word, rest, _ := strings.Cut(s, " ")
	var r Record
	if l, ok := fieldLines[word]; ok {
		r.Op = l.op
		r.Bad = !l.read(&r, strings.Fields(rest))
		return r
	}
	switch {
	case word == "reason":
		r.Op, r.Text = OpReason, rest
	case word == "previous":
		var ok bool
		r.Op = OpBefore
		r.Seq, ok = number(rest)
		r.Bad = !ok || r.Seq == 0
	case word == "last":
		r.Op = OpLast
		r.Bad = !r.last(rest)
	case word == "...":
		r.Op = OpLeftOut
		r.Bad = !r.leftOut(rest)
	case strings.HasPrefix(word, "#"):
		r.Op = OpFrame
		var room [8]string // most lines of a trace are frames
		r.Bad = !r.frame(word[1:], slices.AppendSeq(room[:0], strings.FieldsSeq(rest)))
	case strings.HasPrefix(word, "{{{bt:"):
		r.Op = OpFrame
		r.Bad = !r.backtrace(word, strings.Fields(rest))
	}
	return r
}

// PartMark behind a build ID says that there is more of it. No target sends it: it is what a
// [Typed] makes of its lines.
const PartMark = "..."

// build is what is known of a build's ID.
type build struct {
	id    string
	part  bool // it is only the beginning
	known bool // there was one; it may say that the image has none
}

// number reads a number of the wire: decimal, or hexadecimal behind 0x.
func number(s string) (uint64, bool) {
	base := 10
	if h, ok := strings.CutPrefix(s, "0x"); ok {
		s, base = h, 16
	}
	// ParseUint takes a sign for an error and, with a base given, underscores.
	n, err := strconv.ParseUint(s, base, 64)
	return n, err == nil
}

// name reports whether a word may be kept as a name.
func name(s string) bool { return s != "" && len(s) <= MaxName }

func (r *Record) begin(f []string) bool {
	if len(f) < 3 {
		return false
	}
	var ok bool
	if r.Seq, ok = number(f[0]); !ok || !name(f[1]) || !name(f[2]) {
		return false
	}
	r.Kind, r.Context = f[1], f[2]
	numbers := map[string]*uint64{"thread": &r.Thread, "goroutine": &r.Goroutine, "cpu": &r.CPU,
		"of": &r.Of}
	for _, w := range f[3:] {
		k, v, _ := strings.Cut(w, "=")
		r.HasCPU, r.HasBuild = r.HasCPU || k == "cpu", r.HasBuild || k == "build"
		if to := numbers[k]; to != nil {
			*to, ok = number(v)
		} else if k == "build" {
			if ok = name(v); v != "-" {
				v, r.PartBuild = strings.CutSuffix(v, PartMark)
				r.BuildID = strings.ToLower(v)
			}
		}
		if !ok {
			return false
		}
	}
	return true
}

func (r *Record) cause(f []string) bool {
	seen := false
	for _, w := range f {
		k, v, _ := strings.Cut(w, "=")
		n, ok := number(v)
		switch k {
		case "vector":
			r.Cause.Vector, seen = n, true
		case "error":
			r.Cause.ErrorCode = n
		case "pc":
			r.Cause.PC = n
		case "addr":
			r.Cause.Address, r.Cause.HasAddress = n, true
		default:
			ok = true
		}
		if !ok {
			return false
		}
	}
	return seen
}

func (r *Record) mem(f []string) bool {
	if len(f) == 0 {
		return false
	}
	// An address is hexadecimal here as everywhere; "0x" goes without saying.
	a, ok := strings.CutSuffix(f[0], ":")
	if !ok {
		return false
	}
	var err error
	if r.Address, err = strconv.ParseUint(strings.TrimPrefix(a, "0x"), 16, 64); err != nil {
		return false
	}
	for _, w := range f[1:] {
		n, err := strconv.ParseUint(w, 16, 64)
		if err != nil || len(r.Words) >= MaxWords {
			return false
		}
		r.Words = append(r.Words, n)
	}
	return true
}

func (r *Record) frame(index string, f []string) bool {
	return len(f) >= 2 && r.frameHead(index, f[0], f[1]) && r.frameFields(f[2:])
}

// frameHead reads a frame's number, kind and address.
func (r *Record) frameHead(index, kind, address string) bool {
	var ok [3]bool
	r.Index, ok[0] = number(index)
	r.Frame.Kind, ok[1] = frameKinds[kind]
	r.Frame.Address, ok[2] = number(address)
	return ok[0] && ok[1] && ok[2]
}

// backtrace reads an element {{{bt:N:0xADDR:pc}}} and the fields after it.
func (r *Record) backtrace(element string, f []string) bool {
	e, ok := strings.CutSuffix(element, "}}}")
	if !ok {
		return false
	}
	p := strings.Split(e, ":")
	return len(p) == 4 && r.frameHead(p[1], p[3], p[2]) && r.frameFields(f)
}

// frameFields reads what follows a frame's address: "sp 0xSP", "fp 0xFP",
// key=value fields, and the name of the stack.
func (r *Record) frameFields(f []string) bool {
	r.Frame.Bare = r.Frame.Kind == tracer.PC || r.Frame.Kind == tracer.RA
	for i := 0; i < len(f); i++ {
		k, v, isField := strings.Cut(f[i], "=")
		var to *uint64
		switch {
		case isField && k == "vector":
			to = &r.Frame.Vector
		case isField && k == "error":
			to = &r.Frame.ErrorCode
		case isField:
			continue
		case k == "sp" && i+1 < len(f):
			to = &r.Frame.SP
			i++
			v = f[i]
		case k == "fp" && i+1 < len(f):
			to = &r.Frame.FP
			i++
			v = f[i]
		case k == "-":
			continue
		case !name(k):
			return false
		default:
			r.Frame.Stack = k
			continue
		}
		n, ok := number(v)
		if !ok {
			return false
		}
		*to = n
		r.Frame.Bare = false
	}
	return true
}

func (r *Record) stop(f []string) bool {
	if len(f) == 0 || !name(f[0]) {
		return false
	}
	r.End = f[0]
	if len(f) > 1 && strings.HasPrefix(f[1], "0x") {
		r.Value, r.HasValue = number(f[1])
		return r.HasValue
	}
	return true
}

func (r *Record) reg(f []string) bool {
	for _, w := range f {
		k, v, _ := strings.Cut(w, "=")
		if !registerNames[k] {
			continue
		}
		n, ok := number(v)
		if !ok {
			return false
		}
		if len(r.Regs) < tracer.NumRegisters {
			r.Regs = append(r.Regs, Register{k, n})
		}
	}
	return true
}

func (r *Record) stack(f []string) bool {
	if len(f) < 2 || !name(f[0]) {
		return false
	}
	s := &r.Stack
	s.Name = f[0]
	var ok bool
	if s.Lo, ok = number(f[1]); !ok {
		return false
	}
	for _, w := range f[2:] {
		k, v, isField := strings.Cut(w, "=")
		n, ok := number(v)
		switch {
		case !isField && name(w):
			s.Level, ok = w, true
		case k == "size":
			s.Size = n
		case k == "used>":
			s.Used = n
		case k == "limit":
			s.Limit = n
		default:
			ok = true
		}
		if !ok {
			return false
		}
	}
	s.Hi = s.Lo + s.Size
	return true
}

func (r *Record) done(f []string) bool {
	if len(f) < 2 {
		return false
	}
	var ok bool
	if r.Lines, ok = number(f[0]); !ok {
		return false
	}
	v, ok := strings.CutPrefix(f[1], "crc=")
	if !ok {
		return false
	}
	n, ok := number(v)
	r.CRC = uint32(n)
	return ok && n>>32 == 0
}

func (r *Record) last(rest string) bool {
	kind, rest, _ := strings.Cut(rest, " ")
	pc, reason, _ := strings.Cut(rest, " ")
	n, ok := number(pc)
	if !ok || !name(kind) {
		return false
	}
	r.Kind, r.Text = kind, reason
	r.Frame = Frame{Kind: tracer.PC, Address: n}
	return true
}
