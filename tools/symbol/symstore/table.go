package symstore

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sort"

	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// ErrUnknown is wrapped by the error of [Open] for a file of another kind.
var ErrUnknown = errors.New("no Breakpad .sym file")

// maxSize bounds a file in bytes: the .sym of Chromium has 2 GB.
const maxSize = 8 << 30

// A Table is a file that has been read. Its methods may be called from several goroutines.
type Table struct {
	name, id string
	wide     int // bytes of an address
	funcs    []function
	detail   func(f *function) (lines []line, inlined []call) // of a function
}

// A function is one that is looked up, or a symbol that begins one.
type function struct {
	low, high uint64
	name      string
	at        int // of what is said of it: the reader's own
}

// A line is what the code from addr to end is of.
type line struct {
	addr, end uint64
	file      string
	line      int
}

// A call is inlined into the function, or into a call of a smaller depth that has the address, too.
type call struct {
	depth     int
	low, high uint64
	name      string
	file      string // where it is called
	line      int
}

// Open reads the file at path. Its errors name it. Context: host.
func Open(path string) (*Table, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, 7)
	n, _ := io.ReadFull(f, head)
	head = head[:n]
	if !bytes.HasPrefix(head, []byte("MODULE ")) {
		return nil, fmt.Errorf("%s: %w", path, ErrUnknown)
	}
	if st, err := f.Stat(); err != nil || st.Size() > maxSize {
		return nil, fmt.Errorf("%s: larger than %d bytes", path, int64(maxSize))
	}
	rest, err := io.ReadAll(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	t, err := readBreakpad(append(head, rest...))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	t.name = path
	// The order of the file decides between functions at one address.
	slices.SortStableFunc(t.funcs, func(a, b function) int { return cmp.Compare(a.low, b.low) })
	return t, nil
}

// Name returns the path of the file.
func (t *Table) Name() string { return t.name }

// BuildID returns the build ID in lower-case hexadecimal, or "" if the file does not say it.
func (t *Table) BuildID() string { return t.id }

// AddressSize returns the size of an address in bytes.
func (t *Table) AddressSize() int { return t.wide }

// Close does nothing: a file is read whole.
func (t *Table) Close() error { return nil }

// at returns the function that has the byte at pc, or nil.
func (t *Table) at(pc uint64) *function {
	i := sort.Search(len(t.funcs), func(i int) bool { return t.funcs[i].low > pc }) - 1
	if i < 0 || pc >= t.funcs[i].high {
		return nil
	}
	for i > 0 && t.funcs[i-1].low == t.funcs[i].low && pc < t.funcs[i-1].high {
		i--
	}
	return &t.funcs[i]
}

// Lookup returns the calls that the instruction at addr is in, innermost first, or nil. With ret
// it is a return address, and the call lies before it.
func (t *Table) Lookup(addr uint64, ret bool) []lookup.Call {
	pc := addr
	if f := t.at(addr); ret && addr > 0 && (f == nil || f.low != addr || t.at(addr-1) != nil) {
		pc--
	}
	f := t.at(pc)
	if f == nil {
		return nil
	}
	lines, inlined := t.detail(f)
	here := lookup.Call{Function: f.name}
	for _, l := range lines {
		if l.addr <= pc && pc < l.end {
			here.File, here.Line = l.file, l.line
			break
		}
	}
	var around []call
	for _, c := range inlined {
		if c.low <= pc && pc < c.high && len(around) < lookup.MaxInlined {
			around = append(around, c)
		}
	}
	slices.SortStableFunc(around, func(a, b call) int { return cmp.Compare(b.depth, a.depth) })
	var frames []lookup.Call
	for _, c := range around {
		here.Function, here.Inlined = c.name, true
		frames = append(frames, here)
		here = lookup.Call{Function: f.name, File: c.file, Line: c.line}
	}
	frames = append(frames, here)
	for i := range frames {
		frames[i].Offset = addr - f.low
	}
	return frames
}

// Named returns the functions of a name.
func (t *Table) Named(name string) (found []lookup.Named) {
	for i := range t.funcs {
		if f := &t.funcs[i]; f.name == name {
			found = append(found, lookup.Named{Start: f.low, Size: f.high - f.low, Span: f.high - f.low})
		}
	}
	return found
}

// IsText reports whether an address is in a function.
func (t *Table) IsText(addr uint64) bool { return t.at(addr) != nil }

// Preceding returns the function before an address that is in none.
func (t *Table) Preceding(addr uint64) (lookup.Call, bool) {
	i := sort.Search(len(t.funcs), func(i int) bool { return t.funcs[i].low > addr }) - 1
	if i < 0 {
		return lookup.Call{}, false
	}
	return lookup.Call{Function: t.funcs[i].name, Offset: addr - t.funcs[i].low}, true
}

// Nearest names the place of an address that is in no function.
func (t *Table) Nearest(addr uint64) string {
	c, ok := t.Preceding(addr)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%s+%#x", c.Function, c.Offset)
}

// SPDelta reports false: stacks are not read.
func (t *Table) SPDelta(uint64) (uint64, bool) { return 0, false }

// SectionStart reports false: there are no sections.
func (t *Table) SectionStart(string) (uint64, bool) { return 0, false }
