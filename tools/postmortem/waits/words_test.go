package waits

import (
	"bytes"
	"strings"
	"testing"
)

// TestHolders: the word between a lock and a goroutine says whether that has the lock, or only
// wants it.
func TestHolders(t *testing.T) {
	for _, tt := range []struct {
		object Object
		want   string
		held   bool
	}{
		{Object{Kind: RLock, behind: true}, "wanted by", false},
		{Object{Kind: WLock, behind: true}, "wanted by", false},
		{Object{Kind: RLock}, "held by", true},
		{Object{Kind: WLock, readers: true}, "held for reading by", true},
		{Object{Kind: Mutex}, "held by", true},
		{Object{Kind: Once}, "run by", true},
	} {
		o := tt.object
		o.Addr, o.Holders, o.Certain = 0x1000, []int64{2}, true
		x := &Goroutine{ID: 1, Function: "main.one", Wait: &Wait{Kind: o.Kind, Objects: []*Object{&o}}}
		y := &Goroutine{ID: 2, Function: "main.two"}
		g := &Graph{Goroutines: []*Goroutine{x, y}, byID: map[int64]*Goroutine{1: x, 2: y}}
		var b bytes.Buffer
		g.WriteText(&b, true)
		if want := ", " + tt.want + " goroutine 2 (main.two)"; !strings.Contains(b.String(), want) {
			t.Errorf("%+v: %s; want %q", tt.object, b.String(), want)
		}
		j := x.JSON().Objects[0]
		if held := len(j.HeldBy) == 1; held != tt.held || held == (len(j.WantedBy) == 1) {
			t.Errorf("%+v: held by %v, wanted by %v in JSON", tt.object, j.HeldBy, j.WantedBy)
		}
	}
}
