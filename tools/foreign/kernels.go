package foreign

// Kernels other than Linux, debuggers of kernels, and what runs before one: the BSDs,
// Haiku, crash, macOS, EDK II, coreboot. Which addresses are exact, report.go says.

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/zeroframe/zeroframe/tools/lazyregexp"
)

// ddbFrame is a frame of a BSD's ddb, behind which a tool may have put file and line. NetBSD says
// which file has the function: "netbsd", or a module.
var (
	ddbFrame   = lazyregexp.New(`^([A-Za-z_.$?][A-Za-z0-9_.$]*)\([^)]*\) at (?:(?:([A-Za-z0-9_.-]+):)?([A-Za-z_.$][A-Za-z0-9_.$]*)(?:\+0x([0-9a-f]{1,16}))?|(?:0x)?([0-9a-f]{8,16}))(?:/frame 0x[0-9a-f]+)?(?: \S+:-?[0-9]+)?$`)
	ddbStopped = lazyregexp.New(`^(?:Stopped (?:in .* )?at\s+|(idle_loop))(?:[A-Za-z0-9_.-]+:)?([A-Za-z_.$][A-Za-z0-9_.$]*)?(?:\+0x([0-9a-f]{1,16}))?:(?:\s|$)`)
)

// readDDB reads a frame of the kernel debugger of FreeBSD, NetBSD and OpenBSD:
//
//	vpanic() at vpanic+0x182/frame 0xfffffe0000000000
//	vpanic() at netbsd:vpanic+0x13
//	panic(ffffffff8332a419) at panic+0x1d0
//
// Source: FreeBSD, sys/amd64/amd64/db_trace.c, db_print_stack_entry; NetBSD and OpenBSD,
// sys/arch/amd64/amd64/db_trace.c, db_stack_trace_print.
func (x *Reader) readDDB(text string) bool {
	m := ddbFrame().FindStringSubmatch(text)
	if m == nil || m[3] != "" && m[4] == "" && m[3] != m[1] { // a sentence
		return false
	}
	s := spot{name: m[1], list: true}
	if m[3] != "" {
		s.name, s.hasOff = m[3], true
		s.off, _ = hexNumber(m[4])
		if m[2] != "" && m[2] != "netbsd" {
			s.file = m[2]
		}
	} else {
		s.addr, _ = hexNumber(m[5])
		s.hasAddr = true
	}
	s.ret, x.rep.exact = !x.rep.exact, false
	x.frame(FormatFreeBSD)
	x.spot(s)
	return true
}

// readStopped reads where ddb has stopped the kernel, with which OpenBSD's and NetBSD's lists begin:
//
//	Stopped at      igmp_leavegroup+0xaf:   movl    0x4(%rax),%r12d
func (x *Reader) readStopped(text string) bool {
	m := ddbStopped().FindStringSubmatch(text)
	if m == nil || m[2] == "" {
		return false
	}
	s := spot{name: m[2], hasOff: true}
	s.off, _ = hexNumber(m[3])
	x.frame(FormatFreeBSD)
	x.first = true
	x.spot(s)
	return true
}

// readTrap reads a line between a BSD's frames: what was interrupted comes next.
//
//	--- trap 0xc, rip = 0xffffffff80b6a0b2, rsp = 0xfffffe0, rbp = 0xfffffe0 ---
//	--- exception, esr 0x96000004
func (x *Reader) readTrap(text string) bool {
	if !strings.HasPrefix(text, "--- trap ") && !strings.HasPrefix(text, "--- interrupt") && !strings.HasPrefix(text, "--- exception") ||
		strings.Contains(text, "/0x") { // PowerPC's Linux
		return false
	}
	x.frame(FormatFreeBSD)
	x.rep.exact = true
	return true
}

var (
	haikuFrame  = lazyregexp.New(`^([0-9a-f]{8,16}) \(\+ *-?[0-9]+\) ([0-9a-f]{8,16})(?: +<([^>]+)>:? *(.*))?$`)
	haikuIframe = lazyregexp.New(`^(?:[a-z]+ )?iframe at 0x[0-9a-f]+`)
)

// readHaiku reads a frame of Haiku's kernel debugger: frame, its size, where it goes on.
//
//	3 ffffffff81d0fc10 (+  80) ffffffff800ad728   <kernel_x86_64> kernel_debugger_loop + 0x88
//
// Below an iframe it is the instruction that was interrupted. Source: Haiku,
// src/system/kernel/arch/x86/arch_debug.cpp, print_stack_frame.
func (x *Reader) readHaiku(n int, rest string) bool {
	m := haikuFrame().FindStringSubmatch(strings.TrimRight(rest, " "))
	if m == nil {
		return false
	}
	s := spot{hasAddr: true, list: true}
	s.addr, _ = hexNumber(m[2])
	name := strings.TrimSuffix(m[4], " (nearest)")
	if i := strings.LastIndex(name, " + 0x"); i > 0 {
		s.name, s.off, s.hasOff = nameOffset(name)
	}
	if m[3] != "" && !strings.HasPrefix(m[3], "kernel_") {
		s.file = m[3]
	}
	x.frame(FormatHaiku)
	s.ret, x.rep.exact = !x.rep.exact, false
	x.first = n == 0
	x.spot(s)
	return true
}

var (
	crashFrame     = lazyregexp.New(`^\[[0-9a-f]{8,16}\] (\S+) at ([0-9a-f]{8,16})(?: \[([A-Za-z0-9_-]+)\])?$`)
	crashException = lazyregexp.New(`^\[exception (?:RIP|PC): (\S+?)\+([0-9]+)(?: \[([A-Za-z0-9_-]+)\])?\]$`)
)

// readCrash reads a frame of crash's bt:
//
//	#1 [ffff88003f8a7d18] __crash_kexec at ffffffff8110fb02
//
// Source: crash, x86_64.c, x86_64_print_stack_entry.
func (x *Reader) readCrash(n int, rest string) bool {
	m := crashFrame().FindStringSubmatch(rest)
	if m == nil {
		return false
	}
	s := spot{name: m[1], hasAddr: true, ret: true}
	s.addr, _ = hexNumber(m[2])
	if m[3] != "" {
		s.file = "[" + m[3] + "]"
	}
	x.frame(FormatCrash)
	x.first = x.first || n == 0
	x.spot(s)
	return true
}

// readException reads crash's place of an exception.
func (x *Reader) readException(text string) bool {
	m := crashException().FindStringSubmatch(text)
	if m == nil {
		return false
	}
	s := spot{name: m[1], hasOff: true}
	s.off, _ = decimal(m[2])
	if m[3] != "" {
		s.file = "[" + m[3] + "]"
	}
	x.frame(FormatCrash)
	x.spot(s)
	return true
}

var (
	appleFrame = lazyregexp.New(`^(\S.*?)[ \t]+0x([0-9a-f]{8,16}) (?:0x([0-9a-f]{8,16}) \+ ([0-9]+)|(.+?)(?: \+ ([0-9]+))?(?: \((\S+:[0-9]+)\))?)$`)
	panicFrame = lazyregexp.New(`^0x[0-9a-f]{8,16} : 0x([0-9a-f]{8,16})(?: \S+ : (\S+)(?: \+ 0x([0-9a-f]+))?)?\s*$`)
	slideLine  = lazyregexp.New(`^Kernel slide:\s+0x([0-9a-f]{1,16})$`)
)

// readApple reads a frame of macOS's crash reports:
//
//	0   a.out                         	       0x100003f60 0x100000000 + 16224
//	1   a.out                         	       0x100003f8c main + 28 (a.c:5)
func (x *Reader) readApple(n int, rest string) bool {
	m := appleFrame().FindStringSubmatch(strings.TrimRight(rest, " "))
	if m == nil {
		return false
	}
	s := spot{file: m[1], hasAddr: true, ret: n > 0}
	s.addr, _ = hexNumber(m[2])
	if m[3] != "" {
		start, _ := hexNumber(m[3])
		off, ok := decimal(m[4])
		if !ok || start+off != s.addr {
			return false
		}
		s.at, s.base = off, fromHead
	} else {
		s.name, s.source = m[5], m[7]
		s.off, s.hasOff = decimal(m[6])
	}
	x.frame(FormatMacOS)
	x.first = n == 0
	if s.base == noBase && x.appleMapped(&s) {
		return true
	}
	x.spot(s)
	return true
}

// appleMapped keeps a frame by the list of images, if that came before.
func (x *Reader) appleMapped(s *spot) bool {
	if !x.mapped(Hit{Addr: s.addr, ret: s.ret}) {
		return false
	}
	x.hits[len(x.hits)-1].compare(s.source)
	return true
}

// readPanicFrame reads a frame of a panic of macOS's kernel:
//
//	0xffffffa0b1c3b3d0 : 0xffffff8012345678 mach_kernel : _panic_trap_to_debugger + 0x277
//
// The second number is a return address. Source: XNU, osfmk/kdp/kdp_machdep and
// osfmk/i386/AT386/model_dep.c, panic_i386_backtrace.
func (x *Reader) readPanicFrame(text string) bool {
	m := panicFrame().FindStringSubmatch(text)
	if m == nil {
		return false
	}
	s := spot{hasAddr: true, ret: true, name: m[2]}
	s.addr, _ = hexNumber(m[1])
	if m[3] != "" {
		s.off, _ = hexNumber(m[3])
		s.hasOff = true
	}
	x.frame(FormatMacOS)
	x.spot(s)
	return true
}

// readSlide reads how far the kernel was moved, which stands behind the frames.
func (x *Reader) readSlide(text string) bool {
	m := slideLine().FindStringSubmatch(text)
	if m == nil {
		return false
	}
	slide, _ := hexNumber(m[1])
	x.which = FormatMacOS
	for _, p := range x.kernel() {
		x.moveTo(p, slide)
	}
	return true
}

// An ipsImage is an image of a crash report in JSON, an ipsFrame a frame of it.
type ipsImage struct{ path, name string }

type ipsFrame struct {
	Offset   uint64 `json:"imageOffset"`
	Image    int    `json:"imageIndex"`
	Symbol   string `json:"symbol"`
	Location uint64 `json:"symbolLocation"`
	File     string `json:"sourceFile"`
	Line     int    `json:"sourceLine"`
	number   int
}

// maxIPS bounds what is kept of a report in JSON.
const maxIPS = 4096

// readIPS reads a line of macOS's reports in JSON (.ips). Their frames tell an image by its
// number in a list that comes behind; the frames are resolved below that.
func (x *Reader) readIPS(text string) bool {
	r := &x.rep
	text = strings.TrimRight(text, " ,")
	key, value, _ := strings.Cut(text, ":")
	key, value = strings.Trim(key, `"{ `), strings.TrimSpace(value)
	if i := strings.Index(text, `"frames":[{`); i >= 0 {
		key, value = "frames", text[i+len(`"frames":`):]
	}
	switch {
	case key == "frames" && strings.HasPrefix(value, "[{"):
		var all []ipsFrame
		d := json.NewDecoder(strings.NewReader(value))
		if d.Decode(&all) != nil {
			return false
		}
		for i, f := range all {
			if len(r.frames) < maxIPS {
				f.number = i
				r.frames = append(r.frames, f)
			}
		}
		x.which = FormatMacOS
		return true
	case key == "usedImages" && strings.HasPrefix(value, "["):
		r.listed, r.images, r.image = true, nil, ipsImage{}
		return true
	case !r.listed:
		return false
	case key == "path" || key == "name":
		var s string
		if json.Unmarshal([]byte(value), &s) != nil {
			return false
		}
		if key == "path" {
			r.image.path = s
		} else {
			r.image.name = s
		}
		return true
	case text[0] == '}':
		if len(r.images) < maxIPS {
			r.images = append(r.images, r.image)
		}
		r.image = ipsImage{}
		return true
	case text[0] == ']':
		x.ipsFrames()
		return true
	}
	return false
}

// ipsFrames resolves the frames, when the images are there.
func (x *Reader) ipsFrames() {
	r := &x.rep
	x.frame(FormatMacOS)
	for _, f := range r.frames {
		if f.Image < 0 || f.Image >= len(r.images) {
			continue
		}
		im := r.images[f.Image]
		s := spot{file: im.path, at: f.Offset, base: fromHead, ret: f.number > 0, name: f.Symbol, off: f.Location}
		if s.file == "" {
			s.file = im.name
		}
		n := len(x.hits)
		x.spot(s)
		for i := n; i < len(x.hits); i++ {
			x.hits[i].begins = f.number == 0
			x.hits[i].Label = strings.TrimSpace(fileBase(s.file) + " + " + strconv.FormatUint(f.Offset, 10))
		}
	}
	r.frames, r.images, r.listed = nil, nil, false
}

var (
	edkImage = lazyregexp.New(`^!!!! Find image based on IP\(0x([0-9A-Fa-f]{1,16})\) (\S.*?) +\(ImageBase=(?:0x)?([0-9A-Fa-f]{8,16}), EntryPoint=`)
	edkFrame = lazyregexp.New(`^PC 0x([0-9A-Fa-f]{8,16}) \(0x([0-9A-Fa-f]{8,16})\+0x([0-9A-Fa-f]{1,16})\) \[ *([0-9]+)\] (\S.*)$`)
)

// readEDK reads where EDK II's exception handler has found the instruction:
//
//	!!!! Find image based on IP(0x7E2A1136) /build/HelloWorld.dll (ImageBase=000000007E2A0000, EntryPoint=000000007E2A1000) !!!!
//
// GenFw keeps the addresses of the ELF file that an image is made of. Source: EDK II,
// UefiCpuPkg/Library/CpuExceptionHandlerLib/CpuExceptionCommon.c, DumpModuleImageInfo.
func (x *Reader) readEDK(text string) bool {
	m := edkImage().FindStringSubmatch(text)
	if m == nil {
		return false
	}
	ip, _ := hexNumber(m[1])
	start, _ := hexNumber(m[3])
	x.frame(FormatEDK)
	x.first = true
	x.spot(spot{file: m[2], at: ip - start, base: fromZero, addr: ip, hasAddr: true})
	return true
}

// readEDKFrame reads a frame of EDK II on ARM:
//
//	PC 0x00BF7E1234 (0x00BF7E0000+0x00001234) [ 0] HelloWorld.dll
//
// Source: EDK II, ArmPkg/Library/DefaultExceptionHandlerLib/AArch64/DefaultExceptionHandler.c.
func (x *Reader) readEDKFrame(text string) bool {
	m := edkFrame().FindStringSubmatch(strings.TrimRight(text, " "))
	if m == nil {
		return false
	}
	s := spot{file: m[5], base: fromZero, hasAddr: true, ret: m[4] != "0"}
	s.addr, _ = hexNumber(m[1])
	s.at, _ = hexNumber(m[3])
	x.frame(FormatEDK)
	x.first = !s.ret
	x.spot(s)
	return true
}

// corebootAt is the line of coreboot's exception handler with the instruction.
var corebootAt = lazyregexp.New(`^(?:Unexpected Exception:? )?[0-9]+ @ [0-9a-f]{2,4}:([0-9a-f]{8,16}) - Halting$`)

// readCoreboot reads that line:
//
//	Unexpected Exception: 6 @ 10:00101136 - Halting
//
// Source: coreboot, src/arch/x86/exception.c, x86_exception.
func (x *Reader) readCoreboot(text string) bool {
	m := corebootAt().FindStringSubmatch(text)
	if m == nil {
		return false
	}
	s := spot{hasAddr: true}
	s.addr, _ = hexNumber(m[1])
	x.frame(FormatCoreboot)
	x.first = true
	x.spot(s)
	return true
}
