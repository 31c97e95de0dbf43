package option

import (
	"github.com/zeroframe/zeroframe/kernel/ascii"
	"github.com/zeroframe/zeroframe/kernel/console"
)

// maxDistance is the largest number of wrong characters in a name for a suggestion.
const maxDistance = 3

// PrintUnknown prints a line for each option that does nothing: it has no row, or needs a part that
// the image is without. A word that does not look like an option of ours, such as a loader's
// BOOT_IMAGE=, is ignored. Early context.
func PrintUnknown() {
	line := Line()
	for {
		word, rest, ok := NextWord(line)
		if !ok {
			return
		}
		line = rest
		name := nameOf(word)
		if p := missing(word, name); p != nil {
			console.Bytes(word)
			console.String(" is ignored: this image is without the part ")
			console.String(p.name)
			console.String(" (zf help build)\n")
		}
		if len(name) == 0 || rowOf(name) != nil {
			continue
		}
		console.Bytes(name)
		console.String("= is no option of this kernel")
		if r := nearest(name); r != nil {
			console.String("; ")
			console.String(r.Name)
			console.String("= is")
		}
		console.String(" (zf help kernel)\n")
	}
}

// nameOf returns the part of a word before the "=", if it looks like an option's name.
func nameOf(word []byte) []byte {
	for i, c := range word {
		if c == '=' {
			return word[:i]
		}
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '.' && c != '_' {
			return nil
		}
	}
	return nil
}

// rowOf returns the row that has the name, or whose name is a prefix of it; nil: there is none.
func rowOf(name []byte) *Row {
	for i := range rows() {
		r := at(i)
		n := len(r.Name)
		if ascii.Same(name, r.Name) ||
			r.Name[n-1] == '.' && len(name) > n && ascii.Same(name[:n], r.Name) {
			return r
		}
	}
	return nil
}

// nearest returns the row with the most similar name, or nil if none is similar.
func nearest(name []byte) (near *Row) {
	best := min(maxDistance, len(name)/2) + 1
	for i := range rows() {
		if d := distance(name, at(i).Name); d < best {
			near, best = at(i), d
		}
	}
	return near
}

// maxName is the length of the longest name that distance compares.
const maxName = 32

// distance returns how many characters must be added, left out or replaced to turn a into b
// (Levenshtein), or a large number if a name is too long.
func distance(a []byte, b string) int {
	if len(a) > maxName || len(b) > maxName {
		return maxName
	}
	var ds [maxName + 1]int // the distance of a[:i] from b[:j], by j
	for j := range ds {
		ds[j] = j
	}
	for i := range a {
		before := ds[0] // of a[:i] from b[:j]
		ds[0] = i + 1
		for j := range len(b) {
			d := before
			if a[i] != b[j] {
				d = 1 + min(before, ds[j], ds[j+1])
			}
			before, ds[j+1] = ds[j+1], d
		}
	}
	return ds[len(b)]
}
