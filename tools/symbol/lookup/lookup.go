package lookup

// One address.

// A Call is one call that an address is in.
type Call struct {
	// Function is the function's name: for Go as the runtime prints it, for
	// other languages as the compiler wrote it (mangled). It may be empty if
	// only the line is known.
	Function string
	// Offset is the distance in bytes of the address that was looked up from
	// the entry of the physical function, for inlined calls too. For a return
	// address it is that of the return address itself.
	Offset uint64
	// File and Line are "" and 0 if not known. A symbol table alone may give a
	// file without a line, and without its directory.
	File string
	Line int
	// Inlined is set for each call but the physical function's, the last one.
	// That is there even if it is a wrapper the compiler made around a method,
	// which the runtime's own traces leave out.
	Inlined bool
	// Discriminator is DWARF's number of the block within the line, 0 if none.
	Discriminator int
}

// An Argument is a value that a function was called with.
type Argument struct {
	// Name and Type are those of the source. Type is empty if it is not known.
	Name, Type string
	// Value is it as text (tools/symbol/argument/value.go), if Known is set.
	Value string
	Known bool
	// Lacking is set if the value is in memory, in a known place, and the trace does not
	// carry it.
	Lacking bool
}

// A Named is a function found by its name.
type Named struct {
	// Start is its address, Size what the symbol table says of its length in
	// bytes, 0 if nothing.
	Start, Size uint64
	// Span is the distance in bytes to the next function symbol, or to the end of
	// the section: the size with the padding behind it, as Linux's kallsyms and
	// Go's pc table count it.
	Span uint64
	// Last is set if no other function symbol follows in its section.
	Last bool
}

// A GoFunc is what Go's pc table says of a function.
type GoFunc struct {
	// Name is the function's name, as the linker wrote it.
	Name string
	// Entry and End bound its code and the padding after it.
	Entry, End uint64
	// Top: a trace that reaches the function is complete. SPWrite: it loads SP
	// with a computed value. Asm: it was written in assembly.
	Top, SPWrite, Asm bool
	// SPDelta returns how many bytes above SP the slot with the return address lies
	// when the instruction at pc, which is in the function, is about to run. It is the
	// table's word, which in a function with SPWrite holds at the entry only. It
	// reports false in the padding after the code.
	SPDelta func(pc uint64) (delta uint64, ok bool)
}

// A Resolver says what is at an address of an image.
type Resolver interface {
	// BuildID returns the GNU build ID in lower-case hexadecimal, or "".
	BuildID() string
	// Lookup returns the functions at an address, innermost first: inlined
	// calls, then the function itself; nil if there is none. ret says that the
	// address is a return address: the call lies before it.
	Lookup(addr uint64, ret bool) []Call
	// SPDelta returns how many bytes above the stack pointer the return address
	// lies when the instruction at pc is about to run.
	SPDelta(pc uint64) (uint64, bool)
	// IsText reports whether the address lies in the text.
	IsText(addr uint64) bool
	// Nearest names the place of an address that is in no function.
	Nearest(addr uint64) string
}

// A Segment is a part of a file that is loaded into memory.
type Segment struct {
	Addr   uint64 // where it is linked to
	Offset uint64 // in the file
	Size   uint64 // in bytes, of what is in the file
	Exec   bool   // it is code
}

// A NameResolver is a Resolver that knows functions by their names too.
type NameResolver interface {
	Resolver
	Named(name string) []Named
}

// MaxInlined bounds the inlined calls at one address: it ends a cycle in a damaged file.
// Real ones are a few dozen at most.
const MaxInlined = 512
