package symbol

import (
	"bufio"
	"bytes"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestSPDeltaEqualsCode holds SPDelta against what the instructions do: at a
// function's entry and at each RET the return address is at SP, a PUSHQ moves it
// 8 bytes up from SP, and so on.
func TestSPDeltaEqualsCode(t *testing.T) {
	path := buildGo(t, "testdata/gosample", "")
	f := openTest(t, path)
	out, err := exec.Command("go", "tool", "objdump", path).Output()
	if err != nil {
		t.Fatalf("go tool objdump: %v", err)
	}
	instruction := regexp.MustCompile(`^  \S+\t+0x([0-9a-f]+)\t+[0-9a-f]+\t+(.*?)\s*$`)
	entries, returns, moves, bad := 0, 0, 0, 0
	fail := func(format string, args ...any) {
		if bad++; bad <= 20 {
			t.Errorf(format, args...)
		}
	}
	fn, prev, lost := "", "", false
	var prevDelta uint64
	var prevOK bool
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		if name, ok := strings.CutPrefix(lines.Text(), "TEXT "); ok {
			fn, prev = name, ""
			lost = false
			continue
		}
		m := instruction.FindStringSubmatch(lines.Text())
		if m == nil || lost {
			continue
		}
		if strings.HasPrefix(m[2], "?") {
			lost = true // AVX-512: the disassembler is out of step from here on
			continue
		}
		pc, text := parseHex(t, m[1]), m[2]
		delta, ok := f.SPDelta(pc)
		if prev == "" && ok {
			if entries++; delta != 0 {
				fail("%s: SPDelta(%#x) at the entry = %d; want 0", fn, pc, delta)
			}
		}
		if text == "RET" && ok {
			if returns++; delta != 0 {
				fail("%s: SPDelta(%#x) at RET = %d; want 0", fn, pc, delta)
			}
		}
		if change, known := spChange(prev); known && ok && prevOK {
			if moves++; int64(delta-prevDelta) != change {
				fail("%s: SPDelta(%#x) = %d after %q at %d; want %d", fn, pc, delta, prev, prevDelta, int64(prevDelta)+change)
			}
		}
		prev, prevDelta, prevOK = text, delta, ok
	}
	t.Logf("%d entries, %d returns, %d steps, %d wrong", entries, returns, moves, bad)
	if entries < 1000 || returns < 1000 || moves < 50000 {
		t.Error("the disassembly was not understood")
	}
	for _, pc := range []uint64{0, 0x1000, 1 << 40} {
		if d, ok := f.SPDelta(pc); ok {
			t.Errorf("SPDelta(%#x) = %d; want none", pc, d)
		}
	}
}

var spImmediate = regexp.MustCompile(`^(SUBQ|ADDQ) \$(-?0x[0-9a-f]+|-?\d+), SP$`)

// spChange returns by how much an instruction moves SP away from the return
// address. It is not known for those after which the next one in memory is not
// the next to run.
func spChange(text string) (change int64, known bool) {
	op, _, _ := strings.Cut(text, " ")
	switch {
	case text == "":
		return 0, false
	case strings.HasPrefix(op, "PUSHFQ"), strings.HasPrefix(op, "PUSHQ"):
		return 8, true
	case strings.HasPrefix(op, "POPFQ"), strings.HasPrefix(op, "POPQ"):
		return -8, true
	case op == "RET", op == "JMP", op == "UD2", op == "INT", op == "IRETQ", op == "CALL", strings.HasPrefix(op, "NOP"):
		// After the call of a function that does not return, and the NOP that
		// the compiler puts there, comes anything.
		return 0, false
	}
	if m := spImmediate.FindStringSubmatch(text); m != nil {
		n, err := strconv.ParseInt(m[2], 0, 64)
		if err != nil {
			return 0, false
		}
		if m[1] == "ADDQ" {
			n = -n
		}
		return n, true
	}
	return 0, !strings.HasSuffix(text, ", SP")
}
