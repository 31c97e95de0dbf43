package why

import (
	"strings"
	"testing"
)

// TestSeries: a word was not set anew if more was added to it than ever between two writes of the
// same instruction. In a history "+" is an addition, and a letter another instruction's write.
func TestSeries(t *testing.T) {
	for _, tt := range []struct {
		history              string
		ok, regular          bool
		least, most, rounds  int
		reset, first, before uint64
	}{
		{"a+a+a+++", true, true, 1, 1, 2, 5, 6, 7},
		{"a++a++a+++", true, true, 2, 2, 2, 7, 8, 8},
		{"a+a++++", true, false, 1, 1, 1, 3, 4, 6},
		{"a+a++a+++", true, false, 1, 2, 2, 6, 7, 7},
		{"aaa+", true, true, 0, 0, 2, 3, 4, 4},
		{"+++a+ba+a+a++", true, true, 1, 1, 2, 11, 12, 12}, // before b it may have been another word
		{history: "++++"}, {history: "a++++"}, {history: "a+a+a+"}, {history: "a++a+a++"}, {history: "a+b++"}, {history: "a+a"}, {history: ""},
	} {
		var hits []hit
		for i, c := range tt.history {
			hits = append(hits, hit{count: uint64(i + 1), value: uint64(i + 1), at: entry{pc: uint64(c)}})
		}
		r, ok := seriesOf(hits, map[uint64]bool{'+': true})
		if ok != tt.ok || ok && r.regular() != tt.regular {
			t.Errorf("%s: %v, %+v", tt.history, ok, r)
		}
		if ok && (r.least != tt.least || r.most != tt.most || r.rounds != tt.rounds || r.reset.count != tt.reset || r.first.count != tt.first || r.usual != tt.before || r.since != len(tt.history)-strings.LastIndexAny(tt.history, "ab")-1) {
			t.Errorf("%s: %+v", tt.history, r)
		}
	}
}
