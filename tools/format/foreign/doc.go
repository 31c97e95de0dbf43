// Package foreign reads the traces of other systems and tools, line by line, in text that
// passes through.
//
//	reader.go     a line -> its format
//	forms.go      the table of the forms of lines, but for the systems below
//	spot.go       a frame by all that its line says -> what it is in the images
//	hits.go       addresses and names -> what they are in the images
//	oops.go       Linux
//	scan.go       what is found in a line by hand, since it is in most of them
//	offset.go     where Linux runs
//	goroutine.go  Go programs and their kernels
//	markup.go     LLVM's symbolizer markup
//	board.go      lists of ESP-IDF, esp-rs and Zephyr
//	debugger.go   gdb's order of frames; WinDbg
//	ips.go        macOS's reports in JSON
//	marked.go     addresses that only a word marks, or that are guessed
//	layout.go     where modules lie, and which files they are
//	jsonline.go   text within objects of JSON
//	plain.go      a line as the system has printed it
//	prefix.go     what stands in front of these lines
//	names.go      names of C++ and Rust; demangle.go: in the form of their sources
//	images.go     the images that a stream may mean
//	ahead.go      many addresses looked up at once
//	group.go      lines -> a wire.Trace
//	lack.go       what is in no ELF file, and which file to give
//	left.go       what looks like a frame in no form that is known
//
// The tests of the formats are in tools/format/trace.
//
// No input makes it panic, and memory stays bounded. It imports tools/format/wire,
// tools/symbol/lookup and tools/format/terminal. Context: the host.
package foreign
