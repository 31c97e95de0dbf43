package monitor

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/kernel/ascii"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/fault"
	"github.com/zeroframe/zeroframe/kernel/image"
	"github.com/zeroframe/zeroframe/tracer"
)

// The monitor's commands about addresses: memory and functions.

// Under the kernel lock.
var (
	nextAddr  uintptr // where `x` continues
	lastShown = Format{Count: 8, Size: 8, Kind: 'x'}
)

func runExamine(args []byte) {
	if len(args) > 0 && args[0] == '/' {
		word, rest := args[:0], args[1:]
		if len(rest) > 0 && rest[0] != ' ' {
			word, rest = Word(rest)
		}
		f, ok := lastShown.Parse(word)
		if !ok {
			console.String("want x/[N][x|d|u|c|s|a][b|h|w|g], such as x/8gx; `help x` says more\n")
			return
		}
		lastShown, args = f, rest
	}
	addr := nextAddr
	if sum := join(args); len(sum) > 0 {
		var ok bool
		if addr, ok = address(sum); !ok {
			return
		}
	}
	nextAddr = examine(addr, lastShown)
}

var joined [MaxLine]byte // under the kernel lock

// join returns a sum without its blanks.
func join(b []byte) []byte {
	n := 0
	for _, c := range b {
		if c != ' ' {
			joined[n] = c
			n++
		}
	}
	return joined[:n]
}

// isSum reports whether a word looks like an address: a number, a register, or a sum.
func isSum(word []byte) bool {
	if _, ok := Number(word); ok {
		return true
	}
	for _, c := range word {
		if c == '+' {
			return true
		}
	}
	_, ok := register(word)
	return ok
}

// address evaluates a sum of numbers, registers and functions; if it cannot, it prints the reason.
func address(sum []byte) (addr uintptr, ok bool) {
	for len(sum) > 0 {
		term, rest, minus, ok := Term(sum)
		if !ok {
			console.Bytes(sum)
			console.String(": want a number, a register or a function\n")
			return 0, false
		}
		v, ok := termValue(term)
		if !ok {
			console.Bytes(term)
			console.String(" is no number, register or function\n")
			return 0, false
		}
		if minus {
			v = -v
		}
		addr += v
		sum = rest
	}
	return addr, true
}

func termValue(term []byte) (v uintptr, ok bool) {
	if n, ok := Number(term); ok {
		return uintptr(n), true
	}
	if v, ok := register(term); ok {
		return v, true
	}
	t, ok := image.PCTable()
	if !ok {
		return 0, false
	}
	for i := 0; i < t.NumFuncs(); i++ {
		if f, ok := t.Func(i); ok && ascii.Equal(f.Name(), term) {
			return f.Entry(), true
		}
	}
	return 0, false
}

// register returns the value of a register by its name.
func register(name []byte) (v uintptr, ok bool) {
	if name[0] == '$' || name[0] == '%' {
		name = name[1:]
	}
	for i := range tracer.Native().Registers {
		if fault.Stop.Have>>uint(i)&1 != 0 && ascii.Same(name, tracer.Native().Registers[i]) {
			return fault.Stop.Regs[i], true
		}
	}
	return 0, false
}

// examine shows memory and returns the address after it.
func examine(addr uintptr, f Format) (next uintptr) {
	if f.Kind == 's' {
		return examineStrings(addr, f.Count)
	}
	for left := f.Count; left > 0; {
		hexAddr(addr)
		if f.Kind == 'c' {
			console.Byte(' ')
		}
		for n := min(f.PerLine(), left); n > 0; n-- {
			v, ok := loadSized(addr, f.Size)
			if !ok {
				console.Printf(" cannot be read: nothing is mapped at %x\n", uint64(addr))
				return addr
			}
			showItem(v, f)
			addr += uintptr(f.Size)
			left--
		}
		console.String("\n")
	}
	return addr
}

// examineStrings shows zero-terminated strings.
func examineStrings(addr uintptr, count int) (next uintptr) {
	const most = 200
	for ; count > 0; count-- {
		hexAddr(addr)
		console.String(" \"")
		for n := 0; ; n++ {
			c, ok := loadSized(addr, 1)
			if !ok {
				console.String("\" cannot be read further\n")
				return addr
			}
			if c == 0 || n == most {
				if c == 0 {
					addr++
				}
				break
			}
			addr++
			printable(byte(c))
		}
		console.String("\"\n")
	}
	return addr
}

func hexAddr(addr uintptr) {
	console.String("0x")
	hexDigits(uint64(addr), 16)
	console.String(":")
}

// showItem shows one item of `x`.
func showItem(v uint64, f Format) {
	digits := 2 * f.Size
	switch f.Kind {
	case 'x':
		console.String(" 0x")
		hexDigits(v, digits)
	case 'u':
		console.Byte(' ')
		console.DecPad(v, digits+2)
	case 'd':
		shift := uint(64 - 8*f.Size)
		s := int64(v<<shift) >> shift
		console.Byte(' ')
		if s < 0 {
			// The minus sign comes before the blanks, so that columns stay aligned.
			console.Byte('-')
			console.DecPad(uint64(-s), digits+1)
		} else {
			console.DecPad(uint64(s), digits+2)
		}
	case 'c':
		printable(byte(v))
	case 'a':
		console.String(" 0x")
		hexDigits(v, digits)
		if p := uintptr(v); p >= image.TextLo && p < image.TextHi {
			console.String(" ")
			printFunc(p)
		}
	}
}

func printable(c byte) {
	if c < ' ' || c >= 0x7f {
		c = '.'
	}
	console.Byte(c)
}

// loadSized loads an integer of 1, 2, 4 or 8 bytes from any address.
func loadSized(addr uintptr, size int) (v uint64, ok bool) {
	lo := addr &^ 7
	w, ok := tracer.ReadWord(lo)
	if !ok {
		return 0, false
	}
	shift := uint(addr-lo) * 8
	v = uint64(w) >> shift
	if int(addr-lo)+size > 8 {
		w, ok := tracer.ReadWord(lo + 8)
		if !ok {
			return 0, false
		}
		v |= uint64(w) << (64 - shift)
	}
	if size < 8 {
		v &= 1<<(8*uint(size)) - 1
	}
	return v, true
}

// maxFound bounds the functions that `sym` lists.
const maxFound = 20

func runSym(args []byte) {
	word, rest := Word(args)
	if len(word) == 0 || len(rest) > 0 {
		console.String("want an address, such as rip or main.main+0x10, or a part of a function's name\n")
		return
	}
	if isSum(word) {
		if addr, ok := address(word); ok {
			printPC(addr, false)
			console.String("\n")
		}
		return
	}
	t, ok := image.PCTable()
	if !ok {
		console.String("the image has no table of its functions\n")
		return
	}
	found := 0
	for i := 0; i < t.NumFuncs(); i++ {
		f, ok := t.Func(i)
		if !ok || !fault.Contains(f.Name(), unsafe.String(&word[0], len(word))) {
			continue
		}
		if found++; found > maxFound {
			continue
		}
		console.Printf("%x to %x ", uint64(f.Entry()), uint64(f.End()))
		console.Bytes(f.Name())
		console.String("\n")
	}
	switch {
	case found == 0:
		console.String("no function has that in its name\n")
	case found > maxFound:
		console.Printf("%d more have it in their name\n", uint64(found-maxFound))
	}
}

// printPC writes the function, file and line of an address; call says that it is a return address.
func printPC(pc uintptr, call bool) {
	at := pc
	if call {
		at--
	}
	t, ok := tracer.OwnTable()
	f, found := t.Find(at)
	if !ok || !found {
		console.Printf("%x, in no function", uint64(pc))
		return
	}
	if c, ok := f.Inlined(at); ok {
		console.Bytes(c.Name())
		printLine(&f, at)
		console.String(" in ")
		printEntry(&f, pc)
		return
	}
	printEntry(&f, pc)
	printLine(&f, at)
}

// printFunc writes the function of an address.
func printFunc(pc uintptr) {
	if t, ok := image.PCTable(); ok {
		if f, ok := t.Find(pc); ok {
			printEntry(&f, pc)
		}
	}
}

func printEntry(f *tracer.Func, pc uintptr) {
	console.Bytes(f.Name())
	console.Printf("+%x", uint64(pc-f.Entry()))
}

func printLine(f *tracer.Func, at uintptr) {
	if file, line, ok := f.FileLine(at); ok {
		console.String(" ")
		console.Bytes(lastElement(file))
		console.Printf(":%d", uint64(line))
	}
}

// lastElement returns the last element of a path.
func lastElement(path []byte) []byte {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == '/' {
			return path[i+1:]
		}
	}
	return path
}
