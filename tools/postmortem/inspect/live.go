package inspect

// A program that runs, in a debugger's stub: its variables as they are at an instruction. Delve has
// no process then, only the debug information, registers and memory. The canonical frame address,
// from which arguments on the stack and most variables are reached, comes from Go's own tables.

import (
	"encoding/binary"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/types"
	"slices"
	"strings"

	"github.com/go-delve/delve/pkg/dwarf/op"
	"github.com/go-delve/delve/pkg/dwarf/regnum"
	"github.com/go-delve/delve/pkg/logflags"
	"github.com/go-delve/delve/pkg/proc"

	"github.com/zeroframe/zeroframe/tools/symbol/dwarf"
)

// Image is the debug information of a program that runs. Not for several goroutines at once. Host.
type Image struct {
	bi   *proc.BinaryInfo
	goid uint64 // the offset of a goroutine's number in its runtime.g
}

// A CPU is the state of a processor between two instructions. Host.
type CPU struct {
	// Registers are by QEMU's names: rax, rip, fs_base; of xmm0 to xmm15 the lower eight bytes.
	Registers map[string]uint64
	// Depth is by how many bytes RSP is below the function's return address; see
	// lookup.GoFunc.SPDelta.
	Depth uint64
	// Read reads virtual memory, all of p or none.
	Read func(p []byte, addr uint64) error
}

// OpenImage reads the debug information of an amd64 ELF file, which may not be one that moves.
// Host.
func OpenImage(path string) (i *Image, err error) {
	defer guardImage(&err)
	if err := dwarf.CheckTypes(path); err != nil {
		return nil, err
	}
	if err := logflags.Setup(false, "", ""); err != nil {
		return nil, err
	}
	i = &Image{bi: proc.NewBinaryInfo("linux", "amd64", false)}
	if err := i.bi.LoadBinaryInfo(path, 0, nil); err != nil {
		return nil, err
	}
	if len(i.bi.Images) == 0 || i.bi.Images[0].LoadError() != nil {
		i.bi.Close()
		return nil, fmt.Errorf("%s has no debug information; build without -ldflags=-w and -s", path)
	}
	t, err := i.bi.FindType("runtime.g")
	if err == nil {
		i.goid, _, err = Field(t, "goid")
	}
	if err != nil {
		i.bi.Close()
		return nil, err
	}
	return i, nil
}

// Close closes the file. Host.
func (i *Image) Close() error { return i.bi.Close() }

// guardImage makes an error of a panic of Delve's.
func guardImage(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("what Delve has of its debug information is of no use: %v", r)
	}
}

// Goroutine returns the number of the goroutine that a CPU runs, 0 if it is none, as in the kernel.
// Host.
func (i *Image) Goroutine(c *CPU) int64 {
	g, ok := word(cpuMemory{c}, c.Registers["fs_base"]-8)
	if !ok || g == 0 {
		return 0
	}
	id, _ := word(cpuMemory{c}, g+i.goid)
	if id > 1<<40 {
		return 0
	}
	return int64(id)
}

func (i *Image) location(pc uint64) proc.Location {
	l := proc.Location{PC: pc}
	l.File, l.Line, l.Fn = i.bi.PCToLine(pc)
	return l
}

// Eval returns the value of an expression, as [Program.Eval] does, in the function that a CPU is
// in. Host.
func (i *Image) Eval(c *CPU, expr string, l Limits) (v Value, err error) {
	defer guardImage(&err)
	found, err := i.scope(c).EvalExpression(expr, l.config())
	switch {
	case err == nil:
		v = value(found)
		v.Name = expr
		return v, nil
	case away(err):
		return Value{Name: expr, Why: OptimizedAway}, nil
	}
	return v, fmt.Errorf("%s: %w", expr, err)
}

// Unknown returns the names in an expression that mean nothing at an instruction: that are of no
// variable, function or type. What has a name may have no value there. Host.
func (i *Image) Unknown(pc uint64, expr string) (names []string) {
	e, err := parser.ParseExpr(expr)
	if err != nil {
		return nil
	}
	c := &CPU{Registers: map[string]uint64{"rip": pc},
		Read: func([]byte, uint64) error { return errNoMemory }}
	look := func(name string) {
		if _, err := i.bi.FindType(name); err == nil || slices.Contains(names, name) {
			return
		}
		_, err := i.Eval(c, name, Limits{})
		if err == nil {
			return
		}
		x, field, _ := strings.Cut(name, ".")
		for _, end := range []string{
			"could not find symbol value for " + name, "could not find symbol " + name, "package " + x +
				" has no function " + field,
		} {
			if strings.HasSuffix(err.Error(), end) {
				names = append(names, name)
				return
			}
		}
	}
	fields := map[*ast.Ident]bool{}
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr: // of a package or of a variable
			if x, ok := n.X.(*ast.Ident); ok {
				look(x.Name + "." + n.Sel.Name)
				return false
			}
			fields[n.Sel] = true
		case *ast.KeyValueExpr, *ast.FuncLit, *ast.CompositeLit, *ast.InterfaceType, *ast.StructType,
			*ast.FuncType:
			return false // Delve says what it makes of that
		case *ast.Ident:
			if !fields[n] && types.Universe.Lookup(n.Name) == nil {
				look(n.Name)
			}
		}
		return true
	})
	return names
}

// Variables returns the names of the arguments and variables of a function, also of one that is
// inlined wherever it is called. Host.
func (i *Image) Variables(function string) (names []string) {
	var err error
	defer guardImage(&err)
	const anyLine = 2 // Delve's localsNoDeclLineCheck
	for _, fn := range i.bi.LookupFunc()[function] {
		scope := &proc.EvalScope{Location: proc.Location{PC: fn.Entry, Fn: fn}, BinInfo: i.bi,
			Mem: cpuMemory{&CPU{Read: func([]byte, uint64) error { return errNoMemory }}}}
		all, _ := scope.Locals(anyLine, "")
		for _, v := range all {
			names = append(names, v.Name)
		}
	}
	return names
}

var errNoMemory = errors.New("there is no memory")

// Arguments returns the arguments of the function that a CPU is in, without its results. Host.
func (i *Image) Arguments(c *CPU, l Limits) (all []Value, err error) {
	defer guardImage(&err)
	args, err := i.scope(c).FunctionArguments(l.config())
	if err != nil {
		return nil, err
	}
	for _, v := range args {
		if v.Flags&proc.VariableReturnArgument != 0 {
			continue
		}
		one := value(v)
		one.Arg = true
		all = append(all, one)
	}
	return all, nil
}

// Line is the value in one line, or why there is none. Host.
func (v *Value) Line() string {
	if v.Value != nil {
		return strings.Join(strings.Fields(clean(*v.Value)), " ")
	}
	return v.String()
}

// cpuRegisters are the numbers that DWARF gives QEMU's registers.
var cpuRegisters = map[string]uint64{
	"rax": regnum.AMD64_Rax, "rbx": regnum.AMD64_Rbx, "rcx": regnum.AMD64_Rcx, "rdx": regnum.AMD64_Rdx,
	"rsi": regnum.AMD64_Rsi, "rdi": regnum.AMD64_Rdi, "rbp": regnum.AMD64_Rbp, "rsp": regnum.AMD64_Rsp,
	"r8": regnum.AMD64_R8, "r9": regnum.AMD64_R9, "r10": regnum.AMD64_R10, "r11": regnum.AMD64_R11,
	"r12": regnum.AMD64_R12, "r13": regnum.AMD64_R13, "r14": regnum.AMD64_R14, "r15": regnum.AMD64_R15,
	"rip": regnum.AMD64_Rip,
}

// scope is Delve's, without a process.
func (i *Image) scope(c *CPU) *proc.EvalScope {
	regs := make([]*op.DwarfRegister, regnum.AMD64_XMM0+16)
	for name, n := range cpuRegisters {
		if v, ok := c.Registers[name]; ok {
			regs[n] = op.DwarfRegisterFromUint64(v)
		}
	}
	for n := range uint64(16) {
		if v, ok := c.Registers[fmt.Sprintf("xmm%d", n)]; ok {
			regs[regnum.AMD64_XMM0+n] = op.DwarfRegisterFromUint64(v)
		}
	}
	arch := i.bi.Arch
	r := op.NewDwarfRegisters(0, regs, binary.LittleEndian, arch.PCRegNum, arch.SPRegNum,
		arch.BPRegNum, arch.LRRegNum)
	r.CFA = int64(c.Registers["rsp"] + c.Depth + 8)
	r.FrameBase = r.CFA
	return &proc.EvalScope{Location: i.location(c.Registers["rip"]), Regs: *r, Mem: cpuMemory{c},
		BinInfo: i.bi}
}

// cpuMemory is the memory that a CPU sees, for Delve.
type cpuMemory struct{ c *CPU }

func (m cpuMemory) ReadMemory(p []byte, addr uint64) (int, error) {
	if err := m.c.Read(p, addr); err != nil {
		return 0, err
	}
	return len(p), nil
}

// WriteMemory writes nothing: it would change what is observed.
func (m cpuMemory) WriteMemory(uint64, []byte) (int, error) {
	return 0, errors.New("the memory of a replay is not written")
}
