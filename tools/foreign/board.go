package foreign

// What small systems print: ESP-IDF, Zephyr, TinyGo.
//
// ESP-IDF on Xtensa takes 3 bytes off every pc of a backtrace before it prints it,
// that of the first frame too, and so does abort(): each lies in an instruction
// that was running or calling, and is taken as it is. TinyGo takes the length of
// the call off. Zephyr prints what the machine has: on Arm and RISC-V frame 0 of a
// call trace is the interrupted instruction, the others are return addresses; on
// x86 and arm64 all of them are.

import (
	"strings"

	"github.com/zeroframe/zeroframe/tools/lazyregexp"
)

type boardState struct {
	calls bool   // in Zephyr's call trace
	pairs bool   // the line before was of ESP-IDF's backtrace
	rust  bool   // in esp-rs's, which has an address a line
	list  bool   // a list of frames has begun
	pc    uint64 // the latest exact pc that a register dump gave
}

var (
	espPair     = lazyregexp.New(`(0x[0-9a-f]{8}):0x[0-9a-f]{8}`) // a blank may be lost behind the stack pointer
	espPairs    = lazyregexp.New(`^\s*(?:0x[0-9a-f]{8}:0x[0-9a-f]{8}\s*)+(?:\|<-.*)?$`)
	espRust     = lazyregexp.New(`^\s*(?:[0-9]+: *)?(0x[0-9a-f]{8})(?: - .*)?$`)
	espAbort    = lazyregexp.New(`\bwas called at PC (0x[0-9a-f]{8})\b`)
	listHead    = lazyregexp.New(`(?i)(?:back ?trace|call ?trace|stack ?trace|call ?stack)\s*:?$`)
	tinygoPanic = lazyregexp.New(`^panic: runtime error at (0x[0-9a-f]{1,16}): `)
	zephyrFrame = lazyregexp.New(`(?:^|[:>] )\s*#?([0-9]{1,3}):? +(?:(fp|sp|rbp|ebp): (?:0x)?[0-9a-f]{8,16} +)?(?:(ra|lr|rip|eip): )?(?:0x)?([0-9a-f]{8,16})(?: [\[(].*[\])])?\s*$`)
)

// espList reads the list of ESP-IDF's backtrace, also where a monitor has broken its line, and
// that of esp-rs. Both have gone back from the return address.
func (x *Reader) espList(line string) bool {
	b := &x.board
	_, list, head := strings.Cut(line, "Backtrace:")
	if !head && b.pairs && espPairs().MatchString(line) {
		list, head = line, true
	}
	if b.pairs = head; !head {
		m := espRust().FindStringSubmatch(line)
		if b.rust = b.rust && (m != nil || strings.HasPrefix(strings.TrimSpace(line), "at ")); m == nil || !b.rust {
			return false
		}
		list = m[1] + ":" + m[1]
	}
	pairs := espPair().FindAllStringSubmatch(list, maxHits)
	for _, p := range pairs {
		h := Hit{}
		h.Addr, _ = hexNumber(p[1])
		if len(pairs) > 1 {
			h.Label = p[0]
		}
		if !x.hit(h) {
			x.quote(h)
		}
	}
	b.rust = b.rust || strings.TrimSpace(list) == ""
	return len(pairs) > 0
}

// readBoard reads a line of these systems.
func (x *Reader) readBoard(line string) bool {
	x.which = FormatESP
	if listHead().MatchString(line) {
		x.board.list = true
	}
	if x.espList(line) {
		return true
	}
	var one []string
	if strings.Contains(line, "was called at PC") {
		one = espAbort().FindStringSubmatch(line)
	} else if strings.HasPrefix(line, "panic: ") {
		x.which = FormatTinyGo
		one = tinygoPanic().FindStringSubmatch(line)
	}
	if one != nil {
		addr, ok := hexNumber(one[1])
		// ESP-IDF's backtrace has the caller of abort too.
		h := Hit{Addr: addr, aside: x.which == FormatESP}
		if ok && !x.hit(h) {
			x.quote(h)
		}
		return ok
	}
	x.which = FormatZephyr
	if strings.HasSuffix(strings.TrimRight(line, " "), "call trace:") {
		x.board.calls = true
		return true
	}
	if !x.board.calls {
		return false
	}
	m := zephyrFrame().FindStringSubmatch(line)
	if m == nil {
		x.board.calls = false
		return false
	}
	addr, ok := hexNumber(m[4])
	if !ok {
		return false
	}
	exact := false
	if m[1] == "0" {
		switch m[3] {
		case "lr": // with a frame pointer it is arm64
			exact = m[2] == ""
		case "ra": // without a fault the walk begins with a return address
			exact = x.board.pc != 0 && addr == x.board.pc
		}
	}
	if h := (Hit{Addr: addr, ret: !exact}); !x.hit(h) {
		x.quote(h)
	}
	return true
}
