// The map of GNU ld (-Map) lists output sections, in them the pieces of the object
// files, in those the global symbols, and between all that what the linker script
// did. A name that is longer than its column has the rest of its line on the next:
//
//	.text           0x0000000000401000      0x104
//	 *(.text .stub .text.* .gnu.linkonce.t.*)
//	 .text          0x0000000000401000       0x22 crt1.o
//	                0x0000000000401000                _start
//	 *fill*         0x0000000000401022        0xe
//	 .text.startup.main
//	                0x0000000000401030       0x15 main.o
//	                0x0000000000401030                main
//	                0x0000000000401045                _etext = .
//	                0x0000000000401048        0x4 LONG 0x1badb002
//
// Static functions are not in it. Source: binutils, ld/ldlang.c, print_statement.

package mapfile

import (
	"fmt"
	"strings"
)

// goldHeading is the same in the maps of gold, which have the same lines behind it.
const (
	gnuHeading  = "Linker script and memory map"
	goldHeading = "Memory map"
)

// isGNUHeading reports whether the line is one of those that divide ld's maps.
func isGNUHeading(s string) bool {
	return s == gnuHeading || s == goldHeading || s == "Memory Configuration" ||
		s == "Discarded input sections" ||
		strings.HasPrefix(s, "Archive member included ") ||
		strings.HasPrefix(s, "As-needed library included ")
}

func (m *Map) readGNU(Options) reader {
	r := gnuReader{m: m}
	begun, more := false, false
	return reader{func(s string) error {
		if !begun {
			begun = s == gnuHeading || s == goldHeading
			return nil
		}
		if more = true; strings.HasPrefix(s, "Cross Reference Table") || strings.HasPrefix(s, "OUTPUT(") {
			return errEnd
		}
		return r.line(s)
	}, func() (uint64, error) {
		if !more {
			return 0, fmt.Errorf("the map ends before its heading %q: cut short", gnuHeading)
		}
		return r.base, nil
	}}
}

// A gnuReader goes through the lines of the main part.
type gnuReader struct {
	m        *Map
	out      string // the output section
	name     string // of a section, whose line goes on
	piece    string // the section of the latest piece
	unloaded bool   // the output section is not in memory
	base     uint64 // __image_base__ of a PE file
}

func (r *gnuReader) line(s string) error {
	word, rest := token(s)
	if word == "" || !strings.HasPrefix(word, "0x") && strings.Contains(word, "(") || word == "LOAD" ||
		word == "START" || word == "END" {
		r.name = ""
		return nil
	}
	if !strings.HasPrefix(word, "0x") || len(s) < 2 || s[0] != ' ' {
		// A section's name, or words of the script, which have no address.
		if s[0] != ' ' {
			r.out, r.unloaded, r.piece = word, isUnloaded(word), word
		}
		indent := len(s) - len(strings.TrimLeft(s, " "))
		if r.name = ""; indent > 1 {
			return nil
		}
		if strings.TrimSpace(rest) == "" {
			r.name = s
			return nil
		}
		addr, after := token(rest)
		if !strings.HasPrefix(addr, "0x") {
			return nil
		}
		return r.section(s[:indent+len(word)], addr, after)
	}
	if r.name != "" {
		name := r.name
		r.name = ""
		return r.section(name, word, rest)
	}
	return r.symbol(word, rest)
}

// section takes "ADDR SIZE [OBJECT]" after a section's name, which is as in the file:
// that of a piece is set in by a blank.
func (r *gnuReader) section(name, addr, rest string) error {
	a, ok := hex0x(addr)
	if !ok {
		return fmt.Errorf("%.40q is not an address", addr)
	}
	size, object := token(rest)
	n, ok := hex0x(size)
	if !ok {
		if strings.HasPrefix(size, "0x") {
			return fmt.Errorf("%.40q is not a size", size)
		}
		return nil // an assignment after a long name
	}
	r.wide(addr)
	if name[0] != ' ' || r.unloaded || n == 0 {
		return nil
	}
	if name = strings.TrimSpace(name); name == "*fill*" {
		return nil
	}
	if n-1 > ^a {
		return fmt.Errorf("section %.40s: %#x bytes from %#x on leave the address space", name, n, a)
	}
	r.piece = name
	r.m.regions = append(r.m.regions, Region{Name: name, Object: strings.TrimSpace(object), Addr: a,
		Size: n, Code: typeIn(name, r.out) == 'T'})
	return nil
}

// symbol takes what follows the address of a symbol, of an assignment in the linker
// script, or of data that the script puts there.
func (r *gnuReader) symbol(addr, rest string) error {
	a, ok := hex0x(addr)
	if !ok {
		return fmt.Errorf("%.40q is not an address", addr)
	}
	rest = strings.TrimSpace(rest)
	if rest == "" || strings.HasPrefix(rest, "0x") ||
		strings.HasPrefix(rest, "(size before relaxing)") {
		return nil
	}
	s := Symbol{Addr: a, Type: typeIn(r.piece, r.out)}
	if name, value, ok := strings.Cut(rest, " = "); ok {
		s.mark = true
		name = strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(name, "PROVIDE "),
			"PROVIDE_HIDDEN "), "HIDDEN ")
		rest = strings.TrimPrefix(name, "(")
		if rest == "__image_base__" || rest == "__ImageBase" {
			r.base = a
		}
		if !strings.HasPrefix(value, ".") && !strings.HasPrefix(value, "ADDR") &&
			!strings.HasPrefix(value, "ALIGN") || r.out == "" {
			s.Type = 'A' // a number: it may be an address or not
		}
	}
	if rest == "." || r.unloaded || strings.HasPrefix(rest, "ASSERT ") ||
		strings.HasPrefix(rest, "FILL ") {
		return nil
	}
	s.Name = rest
	r.wide(addr)
	r.m.syms = append(r.m.syms, s)
	return nil
}

func (r *gnuReader) wide(addr string) { r.m.wide = r.m.wide || len(addr) > len("0x")+8 }
