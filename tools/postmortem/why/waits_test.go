package why

import (
	"fmt"
	"strings"
	"testing"
)

// wrote makes writes to a word, given from the first to the last as "goroutine:value", the latest
// first, as Writers has them. "clear" is the runtime's clearing of memory.
func wrote(by string, writes ...string) (all []Written) {
	for i, s := range writes {
		v := Written{Hop: Hop{Count: uint64(100 + i), Function: "main.f", Line: i + 1, Own: true, By: by}, Stack: []string{"main.f"}}
		if was, ok := strings.CutPrefix(s, "before:"); ok { // the recording begins
			v = Written{Hop: Hop{How: howBefore}}
			if _, err := fmt.Sscan(was, &v.Value); err != nil {
				panic(s)
			}
		} else if s == "clear" {
			v.By, v.Stack, v.Own, v.Function = "runtime.memclrNoHeapPointers", []string{"runtime.memclrNoHeapPointers"}, false, ""
		} else if _, err := fmt.Sscanf(s, "%d:%v", &v.Goroutine, &v.Value); err != nil {
			panic(s)
		}
		all = append([]Written{v}, all...)
	}
	return all
}

// told is the acts in short: what, line, goroutine, times.
func told(acts []Act) string {
	var all []string
	for _, a := range acts {
		all = append(all, fmt.Sprintf("%s %d/%d x%d", a.What, a.Line, a.Goroutine, a.Times))
	}
	return strings.Join(all, ", ")
}

// TestTaken: who has a mutex is who has set its bit last; those who have begun to wait since, and
// have changed the word, are not.
func TestTaken(t *testing.T) {
	for _, c := range []struct {
		writes []string
		want   string
	}{
		{nil, ""},
		{[]string{"1:1", "1:0", "2:1"}, "taken by 3/2 x1"},
		{[]string{"1:1", "1:0", "2:1", "3:9", "4:17"}, "taken by 3/2 x1"},
		{[]string{"1:1", "2:9", "1:8", "2:1"}, "taken by 4/2 x1"},
		{[]string{"1:1", "1:0"}, "given back by 2/1 x1"},
		{[]string{"1:1", "1:0", "clear"}, ""},
		{[]string{"7:1"}, "taken by 1/7 x1"},
		{[]string{"before:1"}, ""},
		{[]string{"before:0"}, ""},
		{[]string{"before:1", "3:9"}, ""},
		{[]string{"before:1", "2:0"}, "given back by 2/2 x1"},
		{[]string{"before:0", "2:1"}, "taken by 2/2 x1"},
		{[]string{"before:1", "2:0", "3:1"}, "taken by 3/3 x1"},
	} {
		if got := told(taken(wrote("", c.writes...))); got != c.want {
			t.Errorf("%v: %s; want %s", c.writes, got, c.want)
		}
	}
}

// TestTakenReading: a writer that waits is told with the readers for whom it waits; readers of whom
// nothing is certain are not told.
func TestTakenReading(t *testing.T) {
	const readers = 1 << 32 // the word is an int32
	for _, c := range []struct {
		writes []string
		want   string
	}{
		{nil, ""},
		{[]string{"1:1", "1:0", "2:1"}, "taken for reading by 3/2 x1"},
		{[]string{"1:1", "2:2", "1:1", "3:" + fmt.Sprint(readers+1-maxReaders)}, "taken for writing by 4/3 x1, taken for reading by 2/2 x1"},
		{[]string{"1:1", "1:2"}, "taken for reading by 2/1 x2"},
		// 3 has it for writing, or waits for 2, and 4 waits behind it; 2 has gone since.
		{[]string{"2:1", "3:" + fmt.Sprint(readers+1-maxReaders), "4:" + fmt.Sprint(readers+2-maxReaders)}, "taken for writing by 2/3 x1, taken for reading by 1/2 x1"},
		{[]string{"2:1", "3:" + fmt.Sprint(readers+1-maxReaders), "4:" + fmt.Sprint(readers+2-maxReaders), "2:" + fmt.Sprint(readers+1-maxReaders)}, "taken for writing by 2/3 x1"},
		{[]string{"1:1", "2:2", "3:1"}, ""}, // one has given back what another had taken
		{[]string{"1:" + fmt.Sprint(readers-maxReaders)}, "taken for writing by 1/1 x1"},
		{[]string{"1:" + fmt.Sprint(readers-maxReaders), "1:0"}, ""},
		{[]string{"before:1"}, ""},
		{[]string{"before:0"}, ""},
		{[]string{"before:1", "2:2"}, ""}, // who has it from before is not known
		{[]string{"before:0", "2:1"}, "taken for reading by 2/2 x1"},
		{[]string{"before:" + fmt.Sprint(readers-maxReaders)}, ""},
		{[]string{"before:0", "1:" + fmt.Sprint(readers-maxReaders)}, "taken for writing by 2/1 x1"},
	} {
		if got := told(takenReading(wrote("", c.writes...))); got != c.want {
			t.Errorf("%v: %s; want %s", c.writes, got, c.want)
		}
	}
}

// TestCounted: what was added to a group and taken from it is told by place, from where the group
// began.
func TestCounted(t *testing.T) {
	const one = 1 << 32
	n := func(v int) string { return fmt.Sprintf("1:%d", v*one) }
	for _, c := range []struct {
		writes []string
		want   string
	}{
		{nil, ""},
		{[]string{n(3), n(2), n(1)}, "done by 3/1 x1, done by 2/1 x1, added to by 1/1 x3"},
		{[]string{n(5), "clear", n(2)}, "added to by 3/1 x2"},
		{[]string{fmt.Sprintf("before:%d", 2*one), n(1)}, "done by 2/1 x1"},
		{[]string{n(2), fmt.Sprintf("1:%d", 2*one+1)}, "added to by 1/1 x2"}, // one more waits
	} {
		if got := told(counted(wrote("sync.(*WaitGroup).Add", c.writes...))); got != c.want {
			t.Errorf("%v: %s; want %s", c.writes, got, c.want)
		}
	}
	alike := wrote("sync.(*WaitGroup).Add", n(1), n(2), n(1), n(0))
	for i := range alike {
		alike[i].Line = 7
	}
	if got, want := told(counted(alike)), "done by 7/1 x2, added to by 7/1 x2"; got != want {
		t.Errorf("a place that adds twice: %s; want %s", got, want)
	}
}

// TestLatest: what another object has left in memory that was cleared is nobody's act.
func TestLatest(t *testing.T) {
	closed := func(v, _ uint64) bool { return v != 0 }
	for _, c := range []struct {
		writes []string
		want   string
	}{
		{nil, ""},
		{[]string{"clear", "4:1"}, "closed by 2/4 x1"},
		{[]string{"4:1", "clear"}, ""},
		{[]string{"before:1"}, ""},
		{[]string{"before:0", "4:1"}, "closed by 2/4 x1"},
		{[]string{"4:1", "clear", "5:0"}, ""},
	} {
		if got := told(latest("closed by", wrote("", c.writes...), closed)); got != c.want {
			t.Errorf("%v: %s; want %s", c.writes, got, c.want)
		}
	}
	foreign := wrote("", "4:1")
	foreign[0].Own = false
	if got := told(latest("closed by", foreign, closed)); got != "" {
		t.Errorf("by the runtime alone: %s", got)
	}
}
