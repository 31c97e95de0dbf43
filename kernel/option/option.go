package option

//go:generate go test -run TestGenerated -update

import (
	"unsafe" // for linkname too

	"github.com/zeroframe/zeroframe/kernel/ascii"
	"github.com/zeroframe/zeroframe/kernel/console"
)

// A Row is an option. Its value is one of Words, or a number up to Max, or is read by its user.
type Row struct {
	Name     string // with a dot at its end: all names that begin like that
	Argument string // what follows the "="; made of the words, if there are any
	Usual    string // the effect without the option; "" is nothing
	Help     string
	Words    []string
	Min, Max uint64 // of a number
	Want     string // printed for a wrong value; made of the words, if there are any
	needs    *part  // without it, the option does nothing
}

// program is the table of the program's own options. A program sets it in the source, like the
// early hook (see crashlab). Never written.
//
//go:linkname program
var program []Row

// rows is the number of rows of table and program.
func rows() int { return len(table) + len(program) }

// at returns row i of table and then of program.
func at(i int) *Row {
	if i < len(table) {
		return &table[i]
	}
	return &program[i-len(table)]
}

// lineLo and lineLen are the address and the length of the command line. Set once at boot.
var lineLo, lineLen uintptr

// SetLine sets the command line. It keeps line. Early context.
func SetLine(line []byte) {
	lineLo, lineLen = uintptr(unsafe.Pointer(unsafe.SliceData(line))), uintptr(len(line))
}

// Line returns the command line. Any context.
//
//go:noinline
func Line() []byte {
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&lineLo)), lineLen)
}

// Value returns the value of an option, as part of the command line. The last of several equal
// names counts. Any context.
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

// Word returns which of its row's words an option has. i is 0 and ok is false if the option is
// missing, or has another value, about which it complains. Early context.
func Word(name string) (i int, ok bool) {
	value, ok := Value(name)
	if !ok {
		return 0, false
	}
	r := find(name)
	for i, w := range r.Words {
		if ascii.Same(value, w) {
			return i, true
		}
	}
	r.complain(value)
	return 0, false
}

// Number returns the value of an option that is a number. n is 0 and ok is false if the option is
// missing, or is no number or larger than max, about which it complains. Early context.
func Number(name string) (n uint64, ok bool) {
	value, ok := Value(name)
	if !ok {
		return 0, false
	}
	r := find(name)
	if n, ok = ascii.Uint(value); !ok || n < r.Min || n > r.Max {
		r.complain(value)
		return 0, false
	}
	return n, true
}

// complain says that the row does not allow a value.
func (r *Row) complain(value []byte) {
	begin(r.Name, value)
	console.String(r.Want)
	for i, w := range r.Words {
		switch {
		case i == 0:
			console.String("want ")
		case i < len(r.Words)-1:
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
	console.Line(why)
}

func begin(name string, value []byte) {
	console.String(name)
	console.String("=")
	console.Bytes(value)
	console.String(" is ignored: ")
}

// find returns the row of a name. There is one, because a test looks up each name in the source.
func find(name string) *Row {
	i := 0
	for !ascii.Same(ascii.Bytes(name), at(i).Name) {
		i++
	}
	return at(i)
}
