package foreign

// Reports that programs on Linux, Android and Windows make about themselves, or that the
// system makes about them. Which addresses are exact, report.go says.

import (
	"strings"

	"github.com/zeroframe/zeroframe/tools/lazyregexp"
)

// readSanitizer reads a frame of AddressSanitizer and its kin, or of Chromium, which has
// the same form without blanks before it:
//
//	#1 0x55c19f4dac98  (/tmp/a+0x10bc98) (BuildId: 6936...)
//	#0 main <null> (a+0x124d)
//
// before is what stands before the bracket: address, function, file and line.
// Source: LLVM, compiler-rt/lib/sanitizer_common/sanitizer_stacktrace_printer.cpp.
func (x *Reader) readSanitizer(n int, before, file string, off uint64, build string, indent int) bool {
	s := spot{file: file, build: build, at: off, base: fromZero}
	format := FormatSanitizer
	if addr, rest, ok := hexWordAt(before); ok {
		s.addr, s.hasAddr, before = addr, true, rest
		if indent < 2 && !strings.HasPrefix(rest, "in ") && x.rep.open != FormatSanitizer {
			format, s.ret = FormatChromium, true
		}
	}
	before = strings.TrimPrefix(before, "in ")
	if before != "" && before != "<null> <null>" {
		s.name = strings.TrimSuffix(before, " <null>")
		if i := strings.LastIndexByte(s.name, ' '); i > 0 {
			if _, _, ok := sourceLine(s.name[i+1:]); ok {
				s.name, s.source = s.name[:i], s.name[i+1:]
			}
		}
	}
	x.frame(format)
	x.first = n == 0
	x.spot(s)
	return true
}

// readCoredump reads a frame of systemd-coredump:
//
//	#0  0x000055d0c1136139 n/a (a.out + 0x1139)
//
// Source: systemd, src/shared/elf-util.c, frame_callback. The offset counts from where
// elfutils has the module begin.
func (x *Reader) readCoredump(n int, before, file string, off uint64, build string) bool {
	addr, name, ok := hexWordAt(before)
	if !ok {
		return false
	}
	s := spot{file: file, build: build, at: off, base: fromHead, addr: addr, hasAddr: true, ret: n > 0 && !x.rep.exact}
	if name != "n/a" {
		s.name = name
	}
	x.rep.exact = name == "__restore_rt" || name == "__kernel_rt_sigreturn"
	x.frame(FormatCoredump)
	x.first = n == 0
	x.spot(s)
	return true
}

// glibcFrame is a line of backtrace_symbols.
var glibcFrame = lazyregexp.New(`(?:(\S+)\((\S*?)(?:([+-])0x([0-9a-f]{1,16}))?\)|(\S*[^\s\])])|^) ?\[0x([0-9a-f]{1,16})\]$`)

// readGlibc reads a line of glibc's backtrace_symbols:
//
//	./a(deep+0x38)[0x55a2525e61b1]
//	./a(+0x11d6)[0x55a2525e61d6]
//	./a() [0x4011d6]
//	./a[0x4011d6]
//
// Source: glibc, debug/backtracesyms.c: an offset without a name counts from the
// address at which the file is loaded.
func (x *Reader) readGlibc(text string) bool {
	m := glibcFrame().FindStringSubmatch(text)
	if m == nil || m[3] == "-" {
		return false
	}
	addr, ok := hexNumber(m[6])
	inList := x.rep.open == FormatGlibc || x.rep.format == FormatGlibc && x.rep.last >= x.rep.lines-1
	if !ok || m[1] == "" && !inList && !strings.HasPrefix(m[5], "/") && !strings.HasPrefix(m[5], "./") {
		return false // a word with a number
	}
	s := spot{file: m[1] + m[5], addr: addr, hasAddr: true, ret: true, name: m[2]}
	if m[4] != "" {
		off, ok := hexNumber(m[4])
		if !ok {
			return false
		}
		if s.name == "" {
			s.at, s.base = off, fromZero
		} else {
			s.off, s.hasOff = off, true
		}
	} else if s.name == "" && s.file != "" {
		s.at, s.base = addr, fromZero // a program that is not moved
	}
	x.first = x.frame(FormatGlibc)
	x.spot(s)
	return true
}

var androidFrame = lazyregexp.New(`^([0-9a-f]{8,16})  ?(\S.*?)(?: \(offset 0x[0-9a-f]+\))?(?: \((.+?)(?:\+([0-9]+))?\))?$`)

// readAndroid reads a frame of Android's tombstones:
//
//	#01 pc 000000000001a2b4  /system/lib64/libfoo.so (crash+24) (BuildId: 6936...)
//
// Source: Android, system/unwinding/libunwindstack/Unwinder.cpp, FormatFrame.
func (x *Reader) readAndroid(n int, rest string) bool {
	body, build := cutBuild(rest)
	m := androidFrame().FindStringSubmatch(body)
	if m == nil {
		return false
	}
	s := spot{file: m[2], build: build, base: fromZero, name: m[3]}
	s.at, _ = hexNumber(m[1])
	s.off, s.hasOff = decimal(m[4])
	x.frame(FormatAndroid)
	x.first = n == 0
	x.spot(s)
	return true
}

// readRust reads a frame of a Rust backtrace, of which calls that are inlined are lines of
// their own with the same address:
//
//	17:     0x555cf7f49d64 - r::inner::h31b4d34a54a16dd8
//	18:     0x555cf7f49d32 - <unknown>
//
// Source: Rust, library/std/src/sys/backtrace.rs and backtrace-rs, src/print.rs.
func (x *Reader) readRust(number, rest string) bool {
	n, ok := decimal(number)
	if !ok {
		return false
	}
	addr, rest, ok := hexWordAt(rest)
	if !ok || !strings.HasPrefix(rest, "- ") {
		return false
	}
	x.frame(FormatRust)
	x.first = n == 0
	if r := &x.rep; n > 0 && r.addr == addr {
		return true
	}
	x.rep.addr = addr
	s := spot{addr: addr, hasAddr: true, ret: true}
	if name := rest[2:]; name != "<unknown>" {
		s.name = name
	}
	x.spot(s)
	return true
}

// faultLine is what Linux says of a program that it ends. File and offset are those of the
// mapping that the instruction is in; the offset in the file is there since Linux 6.7.
var (
	faultLine = lazyregexp.New(`\bip[ :]([0-9a-f]{4,16}) sp[ :][0-9a-f]{8,16} error[ :][0-9a-f]+(?: \S.*?)?(?:,)? ?in (\S.*?)\[(?:([0-9a-f]{1,16}),)?([0-9a-f]{4,16})\+([0-9a-f]{4,16})\]`)
	faultIn   = lazyregexp.New(`fault.*, in (\S.*?)\[(?:[0-9a-f]{1,16},)?([0-9a-f]{4,16})\+([0-9a-f]{4,16})\]`)
)

// readFault reads such a line:
//
//	a[31943]: segfault at 8 ip 00005579274de1c4 sp 00007ffe417ea7d0 error 4 in a[11c4,5579274de000+1000]
//	traps: a[1] general protection fault ip:5579274de1c4 sp:7ffe417ea7d0 error:0 in a[5579274de000+1000]
//
// Source: Linux, arch/x86/mm/fault.c, show_signal_msg; mm/memory.c, print_vma_addr.
func (x *Reader) readFault(text string) bool {
	m := faultLine().FindStringSubmatch(text)
	if m == nil {
		if m := faultIn().FindStringSubmatch(text); m != nil { // the registers follow
			start, ok1 := hexNumber(m[2])
			size, ok2 := hexNumber(m[3])
			if ok1 && ok2 {
				x.addMapping(mapping{start: start, size: size, base: fromText, file: m[1]})
			}
		}
		return false
	}
	ip, _ := hexNumber(m[1])
	start, _ := hexNumber(m[4])
	size, _ := hexNumber(m[5])
	if ip-start >= size {
		return false
	}
	x.frame(FormatFault)
	x.first = true
	s := spot{file: m[2], addr: ip, hasAddr: true}
	if m[3] != "" {
		s.at, _ = hexNumber(m[3])
		s.base = fromFile
	} else if p := x.moduleFile(m[2], ""); p != nil {
		if at, ok := p.linkedAt(ip-start, fromText, size); ok {
			s.at, s.base = at, fromZero
		}
	}
	x.spot(s)
	return true
}

// hotSpotFrame is a native frame of a JVM.
var hotSpotFrame = lazyregexp.New(`^[CVA]  \[([^\]]+?)\+0x([0-9a-f]{1,16})\](?:  ?(\S.*))?$`)

// readHotSpot reads a native frame of HotSpot's hs_err files:
//
//	C  [libboom.so+0x1139]  Java_Crash_boom+0x19
//
// Source: OpenJDK, src/hotspot/share/runtime/frame.cpp, print_C_frame: the offset counts
// from where the library begins.
func (x *Reader) readHotSpot(text string) bool {
	if len(text) < 8 || text[1] != ' ' || text[2] != ' ' {
		return false
	}
	m := hotSpotFrame().FindStringSubmatch(strings.TrimRight(text, " "))
	if m == nil {
		return false
	}
	s := spot{file: m[1], base: fromHead}
	s.at, _ = hexNumber(m[2])
	if m[3] != "" {
		s.name, s.off, _ = nameOffset(m[3])
	}
	// The first is in the file's head alone, and first in the list again.
	s.ret, x.rep.exact = !x.rep.exact, false
	x.frame(FormatHotSpot)
	x.spot(s)
	return true
}

var (
	breakpadOffset = lazyregexp.New(`^(\S.*?)(?:!(.+?))? \+ 0x([0-9a-f]{1,16})$`)
	breakpadSource = lazyregexp.New(`^(\S.*?)!(.+?) \[(.+) : ([0-9]+) \+ 0x([0-9a-f]{1,16})\]$`)
)

// readBreakpad reads a frame of minidump_stackwalk:
//
//	1  libfoo.so + 0x2d1e2
//	2  app!main [app.cc : 58 + 0x3]
//
// Source: Breakpad, src/processor/stackwalk_common.cc, PrintStack.
func (x *Reader) readBreakpad(n int, rest string) bool {
	s := spot{ret: n > 0}
	if m := breakpadOffset().FindStringSubmatch(rest); m != nil {
		s.file, s.name = m[1], m[2]
		off, _ := hexNumber(m[3])
		if s.name == "" {
			s.at, s.base = off, fromHead
		} else {
			s.off, s.hasOff = off, true
		}
	} else if m := breakpadSource().FindStringSubmatch(rest); m != nil {
		s.file, s.name, s.source = m[1], m[2], m[3]+":"+m[4]
	} else {
		return false
	}
	x.frame(FormatMinidump)
	x.first = n == 0
	x.spot(s)
	return true
}

// readPipes reads a frame of minidump_stackwalk -m: thread, frame, module, function, file,
// line, offset. Source: the same, PrintStackMachineReadable.
func (x *Reader) readPipes(text string) bool {
	f := strings.Split(text, "|")
	if len(f) != 7 {
		return false
	}
	n, ok1 := decimal(f[1])
	off, ok2 := hexNumber(f[6])
	if _, ok := decimal(f[0]); !ok || !ok1 || !ok2 || f[2] == "" || !strings.HasPrefix(f[6], "0x") {
		return false
	}
	s := spot{file: f[2], name: f[3], ret: n > 0}
	switch {
	case f[3] == "":
		s.at, s.base = off, fromHead
	case f[4] == "":
		s.off, s.hasOff = off, true
	default:
		s.source = f[4] + ":" + f[5]
	}
	x.frame(FormatMinidump)
	x.first = n == 0
	x.spot(s)
	return true
}
