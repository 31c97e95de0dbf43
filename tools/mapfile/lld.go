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
	"fmt"
	"strings"
)

func isLLDHeading(f []string) bool {
	h := strings.Join(f, " ")
	return h == "VMA LMA Size Align Out In Symbol" || h == "Address Size Align Out In Symbol"
}

func (m *Map) readLLD(text string, _ Options) (uint64, error) {
	m.reserve(text, 80)
	l := lines{text: text}
	numbers, out := 0, ""
	piece := Region{}
	for l.next() {
		if numbers == 0 {
			if f := strings.Fields(l.line); isLLDHeading(f) {
				numbers = len(f) - 3
				m.wide = numbers == 4 && strings.Index(l.line, "VMA") > 8
				if numbers == 3 {
					m.wide = strings.Index(l.line, "Size") > 10
				}
			}
			continue
		}
		if strings.TrimSpace(l.line) == "" {
			continue
		}
		var num [4]uint64
		rest := l.line
		for i := range numbers {
			var word string
			word, rest = token(rest)
			ok := false
			if num[i], ok = hex(word); !ok {
				return 0, fmt.Errorf("%d: %.40q in column %d is not a number", l.n, word, i+1)
			}
		}
		rest = strings.TrimPrefix(rest, " ")
		name := strings.TrimLeft(rest, " ")
		addr, size := num[0], num[numbers-2]
		if size != 0 && size-1 > ^addr {
			return 0, fmt.Errorf("%d: %#x bytes from %#x on leave the address space", l.n, size, addr)
		}
		switch indent := len(rest) - len(name); {
		case name == "":
			return 0, fmt.Errorf("%d: no name after the numbers: cut short", l.n)
		case indent < 8:
			out, piece = name, Region{}
		case isUnloaded(out) || strings.Contains(name, " = ") && indent < 16:
			// For tools only, or an assignment of the linker script.
		case indent < 16:
			// OBJECT:(SECTION), or OBJECT:(SECTION+OFFSET)
			piece = Region{Name: out, Object: name, Addr: addr, Size: size}
			if i := strings.LastIndex(name, ":("); i >= 0 {
				piece.Object, piece.Name = name[:i], strings.TrimSuffix(name[i+2:], ")")
			}
			piece.Code = !isData(piece.Name) && !isData(out)
			if size > 0 {
				m.regions = append(m.regions, piece)
			}
		default:
			s := Symbol{Name: name, Addr: addr, Size: size, Type: 'T'}
			if isData(piece.Name) || isData(out) {
				s.Type = 'D'
			}
			if n, _, ok := strings.Cut(name, " = "); ok {
				s.Name, s.mark = strings.TrimPrefix(strings.TrimPrefix(n, "PROVIDE("), "PROVIDE_HIDDEN("), true
				if s.Name == "." {
					continue
				}
			}
			m.wide = m.wide || addr>>32 != 0
			m.syms = append(m.syms, s)
		}
	}
	return 0, nil
}
