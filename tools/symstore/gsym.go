package symstore

import (
	"encoding/hex"
	"errors"
	"math"
	"strings"

	"github.com/zeroframe/zeroframe/tools/elf"
)

// Source: LLVM, include/llvm/DebugInfo/GSYM: Header.h, FunctionInfo.h, LineTable.h, InlineInfo.h.

const (
	gsymHeader = 48
	gsymUUID   = 20

	gsymEnd, gsymLines, gsymInlined = 0, 1, 2

	maxDepth = 512
)

var errGSYM = errors.New("cut short, or damaged")

// gsym is a GSYM file.
type gsym struct {
	b     []byte
	big   bool
	strs  []byte
	files []byte // pairs of folder and name
}

// readGSYM reads a GSYM file.
func readGSYM(b []byte) (*Table, error) {
	if len(b) < gsymHeader {
		return nil, errGSYM
	}
	g := &gsym{b: b, big: string(b[:4]) == "GSYM"}
	c := elf.Cursor{B: b, Big: g.big, At: 4}
	if v := c.Uint(2); v != 1 {
		return nil, errors.New("a GSYM file of a version that is not read; 1 is")
	}
	width, idSize := int(c.U8()), int(c.U8())
	base, n := c.Uint(8), c.Uint(4)
	strs, strsSize := c.Uint(4), c.Uint(4)
	if width != 1 && width != 2 && width != 4 && width != 8 || idSize > gsymUUID || strs > uint64(len(b)) || strsSize > uint64(len(b))-strs ||
		n > uint64(len(b)-gsymHeader)/uint64(width+4) {
		return nil, errGSYM
	}
	t := &Table{id: hex.EncodeToString(b[c.At : c.At+idSize]), wide: 8, detail: g.detail}
	g.strs = b[strs : strs+strsSize]
	align := func(to int) { c.At = (c.At + to - 1) / to * to }
	c.At = gsymHeader
	align(width)
	addrs := c
	c.At += int(n) * width
	align(4)
	infos := c
	c.At += int(n) * 4
	align(4)
	if c.At > len(b) {
		return nil, errGSYM
	}
	if files := c.Uint(4); c.Bad || files > uint64(len(b)-c.At)/8 {
		return nil, errGSYM
	} else {
		g.files = b[c.At : c.At+int(files)*8]
	}
	for range n {
		f := function{low: base + addrs.Uint(width), at: int(infos.Uint(4))}
		if f.at > len(b)-8 {
			return nil, errGSYM
		}
		head := elf.Cursor{B: b, Big: g.big, At: f.at}
		f.high = f.low + min(head.Uint(4), math.MaxUint64-f.low)
		f.name = g.string(head.Uint(4))
		f.at = head.At
		if f.high > f.low && f.name != "" {
			t.funcs = append(t.funcs, f)
		}
	}
	if len(t.funcs) == 0 {
		return nil, errors.New("there is no function in it")
	}
	return t, nil
}

func (g *gsym) string(off uint64) string { return string(elf.CString(g.strs, off)) }

// file returns the path of a file by its number.
func (g *gsym) file(n uint64) string {
	if n >= uint64(len(g.files)/8) {
		return ""
	}
	c := elf.Cursor{B: g.files, Big: g.big, At: int(n) * 8}
	dir, name := g.string(c.Uint(4)), g.string(c.Uint(4))
	if dir == "" || name == "" {
		return name
	}
	return strings.TrimSuffix(dir, "/") + "/" + name
}

// detail reads what is said of a function.
func (g *gsym) detail(f *function) (lines []line, inlined []call) {
	c := elf.Cursor{B: g.b, Big: g.big, At: f.at}
	for {
		kind, size := c.Uint(4), c.Uint(4)
		if c.Bad || kind == gsymEnd || size > uint64(len(c.B)-c.At) {
			return lines, inlined
		}
		part := elf.Cursor{B: c.B[:c.At+int(size)], Big: g.big, At: c.At}
		switch kind {
		case gsymLines:
			lines = g.lines(&part, f)
		case gsymInlined:
			g.inlined(&part, f.low, -1, &inlined)
		}
		c.At += int(size)
	}
}

// lines runs the line program.
func (g *gsym) lines(c *elf.Cursor, f *function) (lines []line) {
	const end, setFile, advancePC, advanceLine, special = 0, 1, 2, 3, 4
	least, most := c.SLEB(), c.SLEB()
	number, addr, file := int64(c.ULEB()), f.low, uint64(1)
	span := most - least + 1
	row := func() {
		if n := len(lines); n > 0 {
			lines[n-1].end = addr
		}
		lines = append(lines, line{addr: addr, end: f.high, file: g.file(file), line: int(uint32(number))})
	}
	for !c.Bad && span > 0 && c.At < len(c.B) {
		switch op := c.U8(); op {
		case end:
			return lines
		case setFile:
			file = c.ULEB()
		case advancePC:
			addr += c.ULEB()
			row()
		case advanceLine:
			number += c.SLEB()
		default:
			n := int64(op) - special
			number += least + n%span
			addr += uint64(n / span)
			row()
		}
	}
	return lines
}

// inlined reads a function or a call, and the calls inlined into it. It reports false at the end of
// a list of them.
func (g *gsym) inlined(c *elf.Cursor, base uint64, depth int, all *[]call) bool {
	n := c.ULEB()
	if n == 0 || c.Bad || depth > maxDepth || n > uint64(len(c.B)-c.At) {
		return false
	}
	first := len(*all)
	children := base
	for i := range n {
		low := base + c.ULEB()
		size := c.ULEB()
		if i == 0 {
			children = low
		}
		*all = append(*all, call{depth: depth, low: low, high: low + min(size, math.MaxUint64-low)})
	}
	more := c.U8() != 0
	name, file, number := g.string(c.Uint(4)), g.file(c.ULEB()), c.ULEB()
	if c.Bad {
		*all = (*all)[:first]
		return false
	}
	if depth < 0 { // the function itself
		*all = (*all)[:first]
	}
	for i := first; i < len(*all); i++ {
		(*all)[i].name, (*all)[i].file, (*all)[i].line = name, file, int(uint32(number))
	}
	for more && g.inlined(c, children, depth+1, all) {
	}
	return true
}
