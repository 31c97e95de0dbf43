package symstore

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Source: Breakpad, docs/symbol_files.md.

// breakpad is what a .sym file says beside its functions.
type breakpad struct {
	files   map[string]string // by number
	origins map[string]string // names of inlined functions, by number
	lines   [][]string        // of each function: its lines, and those of calls inlined into it
}

// readBreakpad reads a .sym file.
func readBreakpad(b []byte) (*Table, error) {
	t := &Table{wide: 8}
	x := &breakpad{files: map[string]string{}, origins: map[string]string{}}
	var public []function
	n := 0
	for text := range strings.Lines(string(b)) {
		n++
		text = strings.TrimRight(text, "\r\n")
		word, rest, _ := strings.Cut(text, " ")
		ok := true
		switch word {
		case "MODULE":
			f := strings.SplitN(rest, " ", 4)
			if ok = len(f) == 4; ok && (f[1] == "x86" || f[1] == "arm" || f[1] == "mips") {
				t.wide = 4
			}
		case "INFO":
			if id, found := strings.CutPrefix(rest, "CODE_ID "); found {
				t.id, _, _ = strings.Cut(strings.ToLower(id), " ")
			}
		case "FILE":
			number, name, _ := strings.Cut(rest, " ")
			x.files[number] = name
		case "INLINE_ORIGIN":
			number, name, _ := strings.Cut(rest, " ")
			x.origins[number] = name
		case "FUNC":
			var f function
			if f, ok = breakpadFunc(strings.TrimPrefix(rest, "m "), true); ok {
				f.at = len(x.lines)
				t.funcs, x.lines = append(t.funcs, f), append(x.lines, nil)
			}
		case "PUBLIC":
			var f function
			if f, ok = breakpadFunc(strings.TrimPrefix(rest, "m "), false); ok {
				f.at = -1
				public = append(public, f)
			}
		case "STACK", "":
		default: // a line of the function, or INLINE
			if len(x.lines) > 0 {
				x.lines[len(x.lines)-1] = append(x.lines[len(x.lines)-1], text)
			}
		}
		if !ok {
			return nil, fmt.Errorf("line %d is no %s record: %.80q", n, word, text)
		}
	}
	if len(t.funcs)+len(public) == 0 {
		return nil, errors.New("there is no function in it")
	}
	t.addPublic(public)
	t.detail = x.detail
	return t, nil
}

// breakpadFunc reads "address size parameters name", or the same without a size.
func breakpadFunc(s string, sized bool) (f function, ok bool) {
	var err error
	low, s, _ := strings.Cut(s, " ")
	if f.low, err = strconv.ParseUint(low, 16, 64); err != nil {
		return f, false
	}
	if sized {
		var size string
		size, s, _ = strings.Cut(s, " ")
		n, err := strconv.ParseUint(size, 16, 64)
		if err != nil || n > math.MaxUint64-f.low {
			return f, false
		}
		f.high = f.low + n
	}
	_, f.name, ok = strings.Cut(s, " ") // behind the size of the parameters
	return f, ok
}

// addPublic adds symbols without a size: each reaches to the next one, or to the next function.
func (t *Table) addPublic(public []function) {
	if len(public) == 0 {
		return
	}
	byLow := func(a, b function) int {
		if a.low < b.low {
			return -1
		} else if a.low > b.low {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(public, byLow)
	slices.SortStableFunc(t.funcs, byLow)
	known := t.funcs
	n := 0
	for i, f := range public {
		for n < len(known) && known[n].low <= f.low {
			n++
		}
		if n > 0 && f.low < known[n-1].high {
			continue // it is a function's own name
		}
		f.high = f.low + min(1<<20, math.MaxUint64-f.low) // of the last one nobody knows
		if i+1 < len(public) {
			f.high = min(f.high, public[i+1].low)
		}
		if n < len(known) {
			f.high = min(f.high, known[n].low)
		}
		if f.high > f.low {
			t.funcs = append(t.funcs, f)
		}
	}
}

// detail reads the lines of a function.
func (x *breakpad) detail(f *function) (lines []line, inlined []call) {
	if f.at < 0 {
		return nil, nil
	}
	for _, text := range x.lines[f.at] {
		w := strings.Fields(text)
		if len(w) > 0 && w[0] == "INLINE" {
			inlined = x.inline(w[1:], inlined)
			continue
		}
		if len(w) != 4 {
			continue
		}
		low, err1 := strconv.ParseUint(w[0], 16, 64)
		size, err2 := strconv.ParseUint(w[1], 16, 64)
		number, err3 := strconv.ParseUint(w[2], 10, 31)
		if err1 == nil && err2 == nil && err3 == nil && size <= math.MaxUint64-low {
			lines = append(lines, line{low, low + size, x.files[w[3]], int(number)})
		}
	}
	return lines, inlined
}

// inline reads "depth line file origin [address size]...".
func (x *breakpad) inline(w []string, inlined []call) []call {
	if len(w) < 6 {
		return inlined
	}
	depth, err1 := strconv.ParseUint(w[0], 10, 16)
	number, err2 := strconv.ParseUint(w[1], 10, 31)
	if err1 != nil || err2 != nil {
		return inlined
	}
	for i := 4; i+1 < len(w); i += 2 {
		low, err1 := strconv.ParseUint(w[i], 16, 64)
		size, err2 := strconv.ParseUint(w[i+1], 16, 64)
		if err1 == nil && err2 == nil && size <= math.MaxUint64-low {
			inlined = append(inlined, call{int(depth), low, low + size, x.origins[w[3]], x.files[w[2]],
				int(number)})
		}
	}
	return inlined
}
