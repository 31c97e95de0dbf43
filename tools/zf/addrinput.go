package main

// What an address may be given as: a number, a place in a section, a name with an offset, or a
// line of the source.

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/zeroframe/zeroframe/tools/lookup"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

// A namer finds addresses by name. A *symbol.File is one, and a *symbol.Map.
type namer interface {
	Named(name string) []lookup.Named
}

// places returns the addresses that s stands for, apart from a plain number, which scan reads;
// nil and no error if it is nothing of the kind.
func places(f addrSymbols, s string) ([]uint64, error) {
	s = strings.TrimSpace(s)
	if rest, ok := strings.CutPrefix(s, "("); ok { // (SECTION)+OFFSET, as eu-addr2line has it
		section, offset, ok := strings.Cut(rest, ")")
		if n, more := scanAddress(strings.TrimPrefix(offset, "+")); ok && more == "" {
			base, ok := f.SectionStart(section)
			if !ok {
				return nil, fmt.Errorf("%s has no section %s", f.Name(), section)
			}
			return []uint64{base + n}, nil
		}
		return nil, nil
	}
	if i := strings.LastIndexByte(s, ':'); i > 0 {
		if line, err := strconv.ParseUint(s[i+1:], 10, 31); err == nil && line > 0 {
			if file, ok := f.(*symbol.File); ok {
				return linePlaces(file, s[:i], int(line))
			}
			return nil, nil
		}
	}
	n, ok := f.(namer)
	if !ok || s == "" {
		return nil, nil
	}
	// A name may have a plus, as operator+ has: the last one counts, and only before a number.
	name, offset := s, uint64(0)
	if i := strings.LastIndexByte(s, '+'); i > 0 {
		if v, err := strconv.ParseUint(s[i+1:], 0, 64); err == nil {
			name, offset = s[:i], v
		}
	}
	var addrs []uint64
	for _, fn := range n.Named(name) {
		addrs = append(addrs, fn.Start+offset)
	}
	if file, ok := f.(*symbol.File); ok && addrs == nil {
		if start, _, ok := file.Symbol(name); ok {
			addrs = append(addrs, start+offset)
		}
	}
	return addrs, nil
}

// linePlaces returns where the code of a line begins.
func linePlaces(f *symbol.File, file string, line int) ([]uint64, error) {
	found, before, after := f.Places(file, line)
	switch {
	case len(found) > 0:
		return found, nil
	case before == 0 && after == 0:
		return nil, fmt.Errorf("%s has no code of a file %s", f.Name(), file)
	case after == 0:
		return nil, fmt.Errorf("%s has no code of %s:%d; the last line with code is %d", f.Name(), file, line, before)
	}
	return nil, fmt.Errorf("%s has no code of %s:%d; the next line with code is %d", f.Name(), file, line, after)
}
