package kernel

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/ascii"
	"github.com/zeroframe/zeroframe/kernel/dev/entropy"
	"github.com/zeroframe/zeroframe/kernel/linux"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/option"
	"github.com/zeroframe/zeroframe/kernel/vfs"
	"github.com/zeroframe/zeroframe/tracer"
)

// The program's arguments, environment and auxiliary vector, as the runtime finds them on its first
// stack (System V ABI, figure 3.9):
//
//	argc        <- SP, a multiple of 16
//	argv[0] ... argv[argc-1], 0
//	envp[0] ... 0
//	auxiliary vector: pairs, the last 0 0
//	the strings
//
// os.Args[0] is the option arg0, the rest are the words after "--". Each option env.NAME=VALUE is
// an environment variable, in addition to those of a root login.

// defaultArg0 is os.Args[0] if no option gives it.
const defaultArg0 = "main"

// stackBuilder writes strings downwards from next.
type stackBuilder struct {
	next   uintptr
	failed bool
	n      int
}

// Types of the auxiliary vector (Linux: include/uapi/linux/auxvec.h).
const (
	atPageSize = 6
	atRandom   = 25
)

// fill builds the stack and returns its pointer.
func (b *stackBuilder) fill() (sp uintptr, ok bool) {
	name, given := option.Value("arg0")
	if !given {
		b.string(defaultArg0, nil)
	} else {
		b.string("", name)
	}
	argc := b.n
	argc += b.arguments() // not in one expression: the call changes b.n
	b.end()
	b.environment()
	b.end()

	b.next = (b.next - 16) &^ 15
	random := b.next
	b.word(random, entropy.Word())
	b.word(random+8, entropy.Word())
	aux := [6]uint64{atPageSize, arch.PageSize, atRandom, uint64(random), 0, 0}

	words := uintptr(1 + b.n + len(aux))
	sp = (b.next - words*8) &^ 15
	p := sp
	b.word(p, uint64(argc))
	for _, v := range linux.Vector[:b.n] {
		p += 8
		b.word(p, uint64(v))
	}
	for _, v := range aux {
		p += 8
		b.word(p, v)
	}
	return sp, !b.failed && b.n < linux.MaxVector && firstStackTop-sp < firstStackUsed/2
}

func (b *stackBuilder) word(a uintptr, v uint64) {
	if !arch.StoreUser64(a, v) {
		b.failed = true
	}
}

func (b *stackBuilder) add(v uintptr) {
	if b.n < len(linux.Vector) {
		linux.Vector[b.n] = v
		b.n++
	}
}

func (b *stackBuilder) end() { b.add(0) }

// string adds a string that is made of two parts.
func (b *stackBuilder) string(s string, rest []byte) {
	n := uintptr(len(s) + len(rest) + 1)
	b.next -= n
	if firstStackTop-b.next > firstStackUsed/2 {
		b.failed = true
		b.next += n
		return
	}
	p := b.next
	for i := 0; i < len(s); i++ {
		b.byte(p, s[i])
		p++
	}
	for _, c := range rest {
		b.byte(p, c)
		p++
	}
	b.byte(p, 0)
	b.add(b.next)
}

func (b *stackBuilder) byte(a uintptr, c byte) {
	if arch.CopyUser(a, uintptr(unsafe.Pointer(&c)), 1) != 0 {
		b.failed = true
	}
}

// arguments adds the words after "--". A word, or parts of it, may be in double quotes; inside
// quotes, a backslash escapes a quote or a backslash.
func (b *stackBuilder) arguments() (n int) {
	line := option.Behind(option.Line())
	for {
		for len(line) > 0 && line[0] == ' ' {
			line = line[1:]
		}
		if len(line) == 0 {
			return n
		}
		// Unquoted in place: the result is never longer.
		quoted, to, i := false, 0, 0
		for ; i < len(line) && (quoted || line[i] != ' '); i++ {
			c := line[i]
			switch {
			case c == '"':
				quoted = !quoted
				continue
			case c == '\\' && quoted && i+1 < len(line):
				i++
				c = line[i]
			}
			line[to] = c
			to++
		}
		b.string("", line[:to])
		n++
		line = line[i:]
	}
}

// variables are those of a login; the program gets them unless options give others. Never written.
var variables = [...]struct{ name, value string }{
	{"HOME=", "/root"},
	{"LOGNAME=", "root"},
	{"PATH=", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
	{"USER=", "root"},
}

// environment adds the variables from options, those of a login, the working directory, and for the
// garbage collector the size of the memory.
func (b *stackBuilder) environment() {
	for line := option.Line(); ; {
		word, rest, ok := option.NextWord(line)
		if !ok {
			break
		}
		line = rest
		if ascii.HasPrefix(word, variable) && len(word) > len(variable) {
			b.string("", unquote(word[len(variable):]))
		}
	}
	for i := range variables {
		if v := &variables[i]; !given(v.name) {
			b.string(v.name, ascii.Bytes(v.value))
		}
	}
	if f := mem.Frame(); f != 0 { // a buffer
		directory := unsafe.Slice((*byte)(arch.Pointer(f)), vfs.PathMax+1)
		if path, e := vfs.Path(linux.Cwd(), directory); e == 0 && !given("PWD=") {
			b.string("PWD=", path)
		}
		mem.FreeFrame(f)
	}
	if !given("GOMEMLIMIT=") {
		var digits [tracer.MaxDigits]byte
		b.string("GOMEMLIMIT=",
			digits[tracer.Digits(&digits, mem.FreeFrames()*arch.PageSize/100*memoryShare, 10):])
	}
}

// variable begins the options that give an environment variable.
const variable = "env."

// A path must fit a frame.
const _ = uint(arch.PageSize - vfs.PathMax - 1)

// given reports whether an option gives the variable whose name, with "=", is name.
func given(name string) bool {
	for line := option.Line(); ; {
		word, rest, ok := option.NextWord(line)
		if !ok {
			return false
		}
		line = rest
		if ascii.HasPrefix(word, variable) && ascii.HasPrefix(word[len(variable):], name) {
			return true
		}
	}
}

// memoryShare is the percentage of the RAM that the Go runtime should keep within.
const memoryShare = 85

// unquote removes the quotes from NAME="VALUE", in place.
func unquote(word []byte) []byte {
	to, quoted := 0, false
	for i := 0; i < len(word); i++ {
		c := word[i]
		if c == '"' {
			quoted = !quoted
			continue
		}
		if c == '\\' && quoted && i+1 < len(word) {
			i++
			c = word[i]
		}
		word[to] = c
		to++
	}
	return word[:to]
}
