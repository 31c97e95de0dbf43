package linux

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// answered reports whether a call is in one of the tables.
func answered(n int) bool {
	return n < numCalls && (calls[n] != nil || fileCalls[n] != nil || callTraits[n]&ofSocket != 0)
}

// TestCallList: each call that is not answered has a line, which gives the error and the reason.
func TestCallList(t *testing.T) {
	line := regexp.MustCompile(`^(\d+) (\w+)(?: (E[A-Z]+))?(: .+)?$`)
	errnos := map[string]int64{"EPERM": -ePERM, "EACCES": -eACCES, "EOPNOTSUPP": -eOPNOTSUPP}
	last, listed := -1, map[int]bool{}
	for l := range strings.Lines(callList[1:]) {
		m := line.FindStringSubmatch(strings.TrimSuffix(l, "\n"))
		if m == nil {
			t.Errorf("line %q", l)
			continue
		}
		n, _ := strconv.Atoi(m[1])
		if n <= last {
			t.Errorf("%d follows %d", n, last)
		}
		last, listed[n] = n, true
		if got := CallName(n); got != m[2] {
			t.Errorf("call %d is called %q, want %q", n, got, m[2])
		}
		switch errno, ok := errnos[m[3]]; {
		case ok && calls[n](new(call)) != errno, !ok && answered(n) != (m[3] == ""), !ok && m[3] != "" && m[3] != "ENOSYS":
			t.Errorf("line %q: the call answers otherwise", l)
		case m[3] != "" && m[4] == "":
			t.Errorf("line %q does not say why", l)
		}
	}
	named := 0
	for n := range 1000 {
		if name := CallName(n); name != "?" {
			named++
			if !answered(n) && !listed[n] {
				t.Errorf("call %d, %s, is not answered and has no line", n, name)
			}
		} else if answered(n) {
			t.Errorf("call %d is answered and has no name", n)
		}
	}
	if named != 363 {
		t.Errorf("%d calls have names, want 363", named)
	}
	if CallName(335) != "?" || CallName(-1) != "?" || CallName(1<<30) != "?" {
		t.Error("numbers that are none have names")
	}
}
