// The map of lld has one line a section, a piece of an object file, or a symbol. The
// column its name begins in says which; sizes are given:
//
//	     VMA              LMA     Size Align Out     In      Symbol
//	  201210           201210       f4    16 .text
//	  201210           201210       6d    16         main.o:(.text.loop)
//	  201210           201210       6d     1                 loop
//
// Before version 8, and in lld-link's /lldmap, there is one column "Address" instead
// of VMA and LMA. lld-link's addresses count from the image base. Source: LLVM,
// lld/ELF/MapFile.cpp, lld/COFF/LLDMapFile.cpp.

package mapfile

import (
	"errors"
	"fmt"
	"strings"
)

func isLLDHeading(f []string) bool {
	h := strings.Join(f, " ")
	return h == "VMA LMA Size Align Out In Symbol" || h == "Address Size Align Out In Symbol"
}

func (m *Map) readLLD(Options) reader {
	r := lldReader{m: m}
	return reader{line: r.line}
}

// An lldReader goes through the lines.
type lldReader struct {
	m       *Map
	numbers int    // how many a line has; 0: the heading is still to come
	out     string // the output section
	piece   Region // the latest
}

func (r *lldReader) line(s string) error {
	m := r.m
	if r.numbers == 0 {
		if f := strings.Fields(s); isLLDHeading(f) {
			r.numbers = len(f) - 3
			m.wide = r.numbers == 4 && strings.Index(s, "VMA") > 8 ||
				r.numbers == 3 && strings.Index(s, "Size") > 10
		}
		return nil
	}
	if strings.TrimSpace(s) == "" {
		return nil
	}
	var num [4]uint64
	for i := range r.numbers {
		word, rest := token(s)
		ok := false
		if num[i], ok = hex(word); !ok {
			return fmt.Errorf("%.40q in column %d is not a number", word, i+1)
		}
		s = rest
	}
	s = strings.TrimPrefix(s, " ")
	name := strings.TrimLeft(s, " ")
	addr, size := num[0], num[r.numbers-2]
	if size != 0 && size-1 > ^addr {
		return fmt.Errorf("%#x bytes from %#x on leave the address space", size, addr)
	}
	switch indent := len(s) - len(name); {
	case name == "":
		return errors.New("no name after the numbers: cut short")
	case indent < 8:
		r.out, r.piece = name, Region{}
	case isUnloaded(r.out) || strings.Contains(name, " = ") && indent < 16:
		// For tools only, or an assignment of the linker script.
	case indent < 16:
		// OBJECT:(SECTION), or OBJECT:(SECTION+OFFSET)
		r.piece = Region{Name: r.out, Object: name, Addr: addr, Size: size}
		if i := strings.LastIndex(name, ":("); i >= 0 {
			r.piece.Object, r.piece.Name = name[:i], strings.TrimSuffix(name[i+2:], ")")
		}
		if r.piece.Code = typeIn(r.piece.Name, r.out) == 'T'; size > 0 {
			m.regions = append(m.regions, r.piece)
		}
	default:
		sym := Symbol{Name: name, Addr: addr, Size: size, Type: typeIn(r.piece.Name, r.out)}
		if n, _, ok := strings.Cut(name, " = "); ok {
			sym.Name, sym.mark = strings.TrimPrefix(strings.TrimPrefix(n, "PROVIDE("),
				"PROVIDE_HIDDEN("), true
			if sym.Name == "." {
				return nil
			}
		}
		m.wide = m.wide || addr>>32 != 0
		m.syms = append(m.syms, sym)
	}
	return nil
}

// typeIn is the type of a symbol in a piece of an output section.
func typeIn(piece, out string) byte {
	if isData(piece) || isData(out) {
		return 'D'
	}
	return 'T'
}
