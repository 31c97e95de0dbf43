// Package demangle gives the names of C++ and Rust as their sources have them. It is
// github.com/ianlancetaylor/demangle with one mistake put right, and imports nothing of ours.
//
//	demangle.go  all of it
//
// Context: the host.
package demangle

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// An Option is one of the library's.
type Option = demangle.Option

// The options that are used here.
const (
	NoParams  = demangle.NoParams
	LLVMStyle = demangle.LLVMStyle
)

// Filter returns the name in the source's form, or as it is if it is none that linkers know in
// another form.
func Filter(name string, options ...Option) string {
	return demangle.Filter(renumbered(name), options...)
}

// Bounds of what is renumbered: real names are far below, and each place costs to read what is
// before it.
const (
	maxName   = 1 << 14
	maxPlaces = 1 << 10
)

// renumbered returns the name with substitutions as the library counts them: in an unresolved
// name (sr <source-name> <template-args> ... E) it counts the template, which neither the ABI nor
// c++filt nor LLVM does (Itanium C++ ABI, 5.1.5 and 5.1.10).
func renumbered(name string) string {
	if !strings.HasPrefix(name, "_Z") || !strings.Contains(name, "sr") || len(name) > maxName {
		return name
	}
	places := 0
	for i := 2; i < len(name); i++ {
		if !strings.HasPrefix(name[i:], "sr") || i+2 == len(name) || name[i+2] < '0' || name[i+2] > '9' {
			continue
		}
		args := templateAfter(name, i+2)
		if places++; args == 0 || places > maxPlaces {
			continue
		}
		if n, ok := counted(name, args+1); ok {
			name = name[:args+1] + shift(name, args+1, n-1, &places)
		}
	}
	return name
}

// templateAfter returns where the template arguments of the source name at i begin, 0 if it has
// none.
func templateAfter(name string, i int) int {
	from := i
	for i < len(name) && name[i] >= '0' && name[i] <= '9' {
		i++
	}
	n, err := strconv.Atoi(name[from:i])
	if at := i + n; err == nil && n > 0 && n < len(name) && at < len(name) && name[at] == 'I' {
		return at
	}
	return 0
}

// counted returns how many substitutions the library has counted where it has read the name up to
// at, if it would read one there.
func counted(name string, at int) (n int, ok bool) {
	_, err := demangle.ToAST(name[:at] + "SZZZZ_")
	if err == nil {
		return 0, false
	}
	var id, place int
	_, scan := fmt.Sscanf(err.Error(), "substitution index out of range (%d >= %d) at %d", &id, &n, &place)
	return n, scan == nil && n > 0 && place >= at && place <= at+len("SZZZZ_")
}

// shift returns the name from a place on, with each substitution from the extra one on counted one
// higher.
func shift(name string, from, extra int, places *int) string {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	for i := from; i < len(name) && *places < maxPlaces; i++ {
		if name[i] != 'S' {
			continue
		}
		end := i + 1
		for end < len(name) && strings.IndexByte(digits, name[end]) >= 0 {
			end++
		}
		if end == len(name) || name[end] != '_' || end-i > 5 {
			continue
		}
		*places++
		if _, ok := counted(name, i); !ok {
			continue
		}
		id := uint64(0)
		if end > i+1 {
			v, _ := strconv.ParseUint(name[i+1:end], 36, 64)
			id = v + 1
		}
		if id < uint64(extra) {
			continue
		}
		as := "S" + strings.ToUpper(strconv.FormatUint(id, 36)) + "_"
		name = name[:i] + as + name[end+1:]
		i += len(as) - 1
	}
	return name[from:]
}
