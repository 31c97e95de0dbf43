package inspect

// A dead program is a core file and the ELF file that ran. Delve trusts both, and panics at some
// that are corrupt; each call to it goes through guard, which makes an error of that.

import (
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/go-delve/delve/pkg/logflags"
	"github.com/go-delve/delve/pkg/proc"
	delvecore "github.com/go-delve/delve/pkg/proc/core"

	"github.com/zeroframe/zeroframe/tools/symbol/dwarf"
)

// Program is a dead program. Its methods may be called by one goroutine at a time. Host.
type Program struct {
	target  *proc.Target
	file    *os.File
	reasons []string // runtime.waitReasonStrings
	known   bool     // the core has the file's build ID

	packageNames []string // of package variables, when they have been asked for
}

// Open opens a core file and the ELF file that was running. A core of another build, one cut
// short and one that is corrupt are errors of one sentence; force opens one whose build ID
// differs. A file that is no core gives [ErrNotCore]. Host.
func Open(path, image string, force bool) (p *Program, err error) {
	defer guard(&err)
	seg, file, err := openSegments(path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			file.Close()
		}
	}()
	p = &Program{file: file}
	moves, err := movable(image)
	if err != nil {
		return nil, err
	}
	if !moves && !force {
		if p.known, err = seg.sameBuild(image, 0); err != nil {
			return nil, err
		}
	}
	if err := dwarf.CheckTypes(image); err != nil {
		return nil, err
	}
	if err := logflags.Setup(false, "", ""); err != nil {
		return nil, err
	}
	group, err := delvecore.OpenCore(path, image, nil)
	switch {
	case errors.Is(err, delvecore.ErrNoThreads):
		return nil, fmt.Errorf("%s: the core is corrupt: it has no thread", path)
	case err != nil:
		return nil, fmt.Errorf("%s with %s: %w", path, image, err)
	}
	p.target = group.Selected
	if p.target == nil {
		return nil, fmt.Errorf("%s: no program in it", path)
	}
	if im := p.target.BinInfo().Images[0]; im.LoadError() != nil {
		return nil, fmt.Errorf("%s: %w; build without -ldflags=-w and -s", image, im.LoadError())
	} else if moves && !force {
		if p.known, err = seg.sameBuild(image, im.StaticBase); err != nil {
			return nil, err
		}
	}
	p.waitReasons()
	// Delve reads the table of modules with the first interface that it meets. One in registers
	// would make it look for the table there; so it meets this one first.
	p.global("runtime.divideError", 0)
	return p, nil
}

// Close closes the core file. Host.
func (p *Program) Close() error {
	return errors.Join(p.target.BinInfo().Close(), p.file.Close())
}

// BuildKnown reports whether the core has the build ID of the ELF file in its memory, so that
// the two are known to belong together. Host.
func (p *Program) BuildKnown() bool { return p.known }

// Target returns Delve's view of the program. Host.
func (p *Program) Target() *proc.Target { return p.target }

// movable reports whether an ELF file may lie elsewhere in memory than it says. One without
// DWARF is an error: goroutines and variables are known by it.
func movable(path string) (bool, error) {
	f, err := elf.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return false, err
	case err != nil:
		return false, fmt.Errorf("%s is no ELF file (%w); give the one that was running", path, err)
	}
	defer f.Close()
	named := func(name string) bool { return f.Section(name) != nil }
	if !slices.ContainsFunc([]string{".debug_info", ".zdebug_info", ".gnu_debuglink",
		".gnu_debugaltlink"}, named) {
		return false, fmt.Errorf("%s has no DWARF, by which goroutines and variables are known; "+
			"give the same program built without -ldflags=-w and -s: its build ID is the same", path)
	}
	return f.Type == elf.ET_DYN, nil
}

// guard makes an error of a panic, which is how Delve meets some corrupt cores.
func guard(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("the core is corrupt, or not as its Go version has it: %v", r)
	}
}

// global returns the value of an expression of package variables, with at most n elements.
func (p *Program) global(expr string, n int) (*proc.Variable, error) {
	scope, err := proc.ThreadScope(p.target, p.target.CurrentThread())
	if err != nil {
		// A thread that stands nowhere known has no frame; package variables need none.
		scope = &proc.EvalScope{Mem: p.target.Memory(), BinInfo: p.target.BinInfo()}
	}
	return scope.EvalExpression(expr, proc.LoadConfig{FollowPointers: true, MaxVariableRecurse: 1,
		MaxStringLen: 256, MaxArrayValues: n, MaxStructFields: -1})
}

// waitReasons reads the words for why a goroutine waits, which differ between Go versions, from
// the dead runtime itself.
func (p *Program) waitReasons() {
	v, err := p.global("runtime.waitReasonStrings", 256)
	if err != nil {
		return
	}
	for i := range v.Children {
		s, _ := stringValue(&v.Children[i])
		p.reasons = append(p.reasons, s)
	}
}
