package main

// `zf run -watch`: which variables are watched. The kernel takes addresses; their names are the
// image's.

import (
	stdelf "debug/elf"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// maxWatches is how many places a CPU can watch.
const maxWatches = 4

// watches is what the command line says is to be watched.
type watches struct{ places []string }

// flags adds the flag.
func (w *watches) flags(fs *flag.FlagSet) {
	fs.Func("watch",
		"trace each write to the variable or address `PLACE`, with what was there\nbefore: main.count, main.st.m, main.row[2], main.table+16:4,\nmain.state:rw, 0x54e1c0:8:w. Behind\nthe first colon is the length, 1, 2, 4 or 8, or w or rw: reads, too. May\nbe given 4 times; with -append watch.panic=on the first one ends the\nmachine", func(s string) error {
			if s == "" {
				return errors.New("want a variable, such as main.count, or an address")
			}
			if len(w.places) == maxWatches {
				return fmt.Errorf("a CPU can watch %d places; more is not possible", maxWatches)
			}
			w.places = append(w.places, s)
			return nil
		})
}

// resolve makes the kernel's options of the flags, and addresses of the names in options that
// -append has.
func (w *watches) resolve(m *machine, elf string) error {
	symbols := sync.OnceValues(func() (map[string][]variable, error) { return variables(elf) })
	part := func(expr string, unknown error) (v variable, err error) {
		v.addr, v.size, err = staticPlace(elf, expr, unknown)
		return v, err
	}
	option := func(place string) (string, error) {
		all, err := symbols()
		if err != nil {
			return "", err
		}
		return watchOption(all, place, part)
	}
	for _, p := range w.places {
		o, err := option(p)
		if err != nil {
			return fmt.Errorf("-watch %s: %w", p, err)
		}
		m.options = append(m.options, o)
	}
	words, _ := kernelWords(m.append)
	for _, word := range words {
		v, ok := strings.CutPrefix(word, "watch=")
		if !ok || isNumber(v) {
			continue
		}
		o, err := option(strings.Trim(v, `"`))
		if err != nil {
			return fmt.Errorf("-append %s: %w", word, err)
		}
		m.append = strings.Replace(m.append, word, o, 1)
	}
	return nil
}

// isNumber reports whether a place begins with a number.
func isNumber(place string) bool { return place != "" && place[0] >= '0' && place[0] <= '9' }

// variable is a symbol of data.
type variable struct{ addr, size uint64 }

// variables returns an image's variables by their names.
func variables(path string) (map[string][]variable, error) {
	file, err := stdelf.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	symbols, err := file.Symbols()
	if err != nil {
		return nil, fmt.Errorf("%s has no symbol table, in which variables have their addresses", path)
	}
	all := map[string][]variable{}
	for _, s := range symbols {
		if stdelf.ST_TYPE(s.Info) == stdelf.STT_OBJECT {
			all[s.Name] = append(all[s.Name], variable{s.Value, s.Size})
		}
	}
	return all, nil
}

// A partFinder finds a part of a variable by its name, or returns the error that it is given.
type partFinder func(name string, err error) (variable, error)

// theVariable returns the one that was found by a name, or the part of one.
func theVariable(found []variable, name string, part partFinder) (variable, error) {
	switch len(found) {
	case 0:
		v, err := part(name, fmt.Errorf("the image has no variable %s; "+
			"`zf map` lists those it has, and a variable that nothing uses is not in it", name))
		if errors.Is(err, errFollows) {
			err = fmt.Errorf("%w, and where that leads is not known before the program runs; "+
				"in the monitor (^]), watch takes an address", errFollows)
		}
		return v, err
	case 1:
		return found[0], nil
	}
	return variable{}, fmt.Errorf("the image has %d variables %s; give the address", len(found), name)
}

// watchOption returns the kernel's option for NAME[+N][:LENGTH][:w|rw], or ADDRESS instead of NAME.
// What is no variable may be a part of one, which part finds.
func watchOption(all map[string][]variable, place string, part partFinder) (string, error) {
	name, length, mode := place, "", ""
	if before, last, ok := cutLast(name, ":"); ok && (last == "w" || last == "rw") {
		name, mode = before, ":"+last
	}
	if before, last, ok := cutLast(name, ":"); ok {
		if !slices.Contains([]string{"1", "2", "4", "8"}, last) {
			return "", fmt.Errorf("want w or rw, or a length of 1, 2, 4 or 8, behind the colon, not %s",
				last)
		}
		name, length = before, last
	}
	if isNumber(name) {
		addr, err := strconv.ParseUint(name, 0, 64)
		if err != nil {
			return "", fmt.Errorf("%s is no address", name)
		}
		return watchAt(addr, length, mode)
	}
	found, offset := all[name], uint64(0)
	if before, last, ok := cutLast(name, "+"); ok && len(found) == 0 {
		n, err := strconv.ParseUint(last, 0, 64)
		if err != nil {
			return "", fmt.Errorf("want a number of bytes behind the +, not %s", last)
		}
		name, found, offset = before, all[before], n
	}
	v, err := theVariable(found, name, part)
	if err != nil {
		return "", err
	}
	left := v.size - min(offset, v.size)
	if left == 0 {
		return "", fmt.Errorf("%s has %d bytes", name, v.size)
	}
	if length == "" {
		switch {
		case left == 1 || left == 2 || left == 4 || left == 8:
			length = strconv.FormatUint(left, 10)
		default:
			return "", fmt.Errorf(
				"%d bytes cannot be watched at once; say how many of them: %s:8 for the first 8, %s+8:8 for those behind", left, name, name)
		}
	}
	if n, _ := strconv.ParseUint(length, 10, 64); n > left {
		return "", fmt.Errorf("%s bytes are not %s's alone, which has %d", length, name, v.size)
	}
	return watchAt(v.addr+offset, length, mode)
}

// watchAt returns the option for an address.
func watchAt(addr uint64, length, mode string) (string, error) {
	n := uint64(8)
	if length != "" {
		n, _ = strconv.ParseUint(length, 10, 64)
		length = ":" + length
	}
	if addr%n != 0 {
		return "", fmt.Errorf(
			"%d bytes at %#x cannot be watched at once: the address is no multiple of %d; watch less, or in parts", n, addr, n)
	}
	return fmt.Sprintf("watch=%#x%s%s", addr, length, mode), nil
}

// cutLast is strings.Cut at the last separator.
func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
