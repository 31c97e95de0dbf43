package option

//go:generate go test -run TestGenerated -update

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/kernel/ascii"
	"github.com/zeroframe/zeroframe/kernel/console"
)

// A row is an option. Its value is one of words, or a number up to max, or is read by who
// wants it.
type row struct {
	name     string // with a dot at its end: all names that begin so
	argument string // what stands behind the "="; of words it is made
	usual    string // what holds without the option; "" is nothing
	help     string
	words    []string
	max      uint64
	want     string // what is said of a wrong value; of words it is made
}

// lineLo and lineLen are where the command line is. Set once at boot.
var lineLo, lineLen uintptr

// SetLine says what the command line is. Its bytes are kept. Early context.
func SetLine(line []byte) {
	lineLo, lineLen = uintptr(unsafe.Pointer(unsafe.SliceData(line))), uintptr(len(line))
}

// Line returns the command line. Any context.
//
//go:noinline
func Line() []byte {
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&lineLo)), lineLen)
}

// Value returns the value of an option. The bytes are the command line's own. The last of
// several equal names counts. Any context.
func Value(name string) (value []byte, ok bool) {
	line := Line()
	for {
		v, rest, found := Next(line, name)
		if !found {
			return value, ok
		}
		value, ok, line = v, true, rest
	}
}

// Word returns which of its row's words an option has. i is 0 and ok is false if it is not
// there, or has another value, of which it complains. Early context.
func Word(name string) (i int, ok bool) {
	value, ok := Value(name)
	if !ok {
		return 0, false
	}
	r := find(name)
	for i, w := range r.words {
		if ascii.Same(value, w) {
			return i, true
		}
	}
	r.complain(value)
	return 0, false
}

// Number returns the value of an option that is a number. n is 0 and ok is false if it is
// not there, or is no number or larger than max, of which it complains. Early context.
func Number(name string) (n uint64, ok bool) {
	value, ok := Value(name)
	if !ok {
		return 0, false
	}
	r := find(name)
	if n, ok = ascii.Uint(value); !ok || n > r.max {
		r.complain(value)
		return 0, false
	}
	return n, true
}

// complain says that a value is none that the row allows.
func (r *row) complain(value []byte) {
	begin(r.name, value)
	console.String(r.want)
	for i, w := range r.words {
		switch {
		case i == 0:
			console.String("want ")
		case i < len(r.words)-1:
			console.String(", ")
		default:
			console.String(" or ")
		}
		console.String(w)
	}
	console.String("\n")
}

// Ignored says why the value of an option is ignored. Early context.
func Ignored(name string, value []byte, why string) {
	begin(name, value)
	console.String(why)
	console.String("\n")
}

func begin(name string, value []byte) {
	console.String(name)
	console.String("=")
	console.Bytes(value)
	console.String(" is ignored: ")
}

// find returns the row of a name. There is one: a test looks up each name in the source.
func find(name string) *row {
	i := 0
	for !ascii.Same(ascii.Bytes(name), table[i].name) {
		i++
	}
	return &table[i]
}
