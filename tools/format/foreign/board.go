package foreign

// Lists that small systems print: ESP-IDF, esp-rs, Zephyr.
//
// ESP-IDF on Xtensa takes 3 bytes off every pc of a backtrace before it prints it,
// that of the first frame too, and esp-rs does as well: each lies in an instruction
// that was running or calling, and is taken as it is. Zephyr prints what the machine has: on Arm
// and RISC-V frame 0 of a call trace is the interrupted instruction, the others are return
// addresses; on x86 and arm64 all of them are.

import (
	"strings"

	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

type boardState struct {
	calls bool   // in Zephyr's call trace
	pairs bool   // the line before was of ESP-IDF's backtrace
	rust  bool   // in esp-rs's, which has an address a line
	list  bool   // a list of frames has begun
	pc    uint64 // the latest exact pc that a register dump gave
}

var (
	// a blank may be lost behind the stack pointer
	espPair     = lookup.Regexp(`(0x[0-9a-f]{8}):0x[0-9a-f]{8}`)
	espPairs    = lookup.Regexp(`^\s*(?:0x[0-9a-f]{8}:0x[0-9a-f]{8}\s*)+(?:\|<-.*)?$`)
	espRust     = lookup.Regexp(`^\s*(?:[0-9]+: *)?(0x[0-9a-f]{8})(?: - .*)?$`)
	listHead    = lookup.Regexp(`(?i)(?:back ?trace|call ?trace|stack ?trace|call ?stack)\s*:?$`)
	zephyrFrame = lookup.Regexp(
		`(?:^|[:>] )\s*#?([0-9]{1,3}):? +(?:(fp|sp|rbp|ebp): (?:0x)?[0-9a-f]{8,16} +)?(?:(ra|lr|rip|eip): )?(?:0x)?([0-9a-f]{8,16})(?: [\[(].*[\])])?\s*$`)
)

// readBoard reads a line of these lists.
func (x *Reader) readBoard(line string) string {
	b := &x.board
	b.list = b.list || listHead().MatchString(line)
	if pairs := x.espList(line); len(pairs) > 0 {
		for _, pair := range pairs {
			s := spot{hasAddr: true}
			if s.Addr, _ = hexNumber(pair[1]); len(pairs) > 1 {
				s.Label = pair[0]
			}
			x.spot(s)
		}
		x.begins = strings.Contains(line, "Backtrace:")
		return FormatESP
	}
	if strings.HasSuffix(strings.TrimRight(line, " "), "call trace:") {
		b.calls, x.begins = true, true
		return FormatZephyr
	}
	if !b.calls {
		return ""
	}
	m := zephyrFrame().FindStringSubmatch(line)
	if b.calls = m != nil; !b.calls {
		return ""
	}
	s := spot{hasAddr: true}
	s.Addr, _ = hexNumber(m[4])
	// With a frame pointer lr is arm64's; ra without a fault is where the walk begins.
	s.ret = m[1] != "0" || !(m[3] == "lr" && m[2] == "" || m[3] == "ra" && s.Addr != 0 &&
		s.Addr == b.pc)
	x.spot(s)
	return FormatZephyr
}

// espList returns the addresses of a line of ESP-IDF's backtrace, also where a monitor has broken
// its line, and of esp-rs's.
func (x *Reader) espList(line string) [][]string {
	b := &x.board
	_, list, head := strings.Cut(line, "Backtrace:")
	if !head && b.pairs && espPairs().MatchString(line) {
		list, head = line, true
	}
	if b.pairs = head; head {
		b.rust = b.rust || strings.TrimSpace(list) == ""
		return espPair().FindAllStringSubmatch(list, maxHits)
	}
	if !b.rust {
		return nil
	}
	m := espRust().FindStringSubmatch(line)
	if b.rust = m != nil || strings.HasPrefix(strings.TrimSpace(line), "at "); m == nil {
		return nil
	}
	return [][]string{{m[1], m[1]}}
}
