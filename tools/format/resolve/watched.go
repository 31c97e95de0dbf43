package resolve

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/zeroframe/zeroframe/tools/format/wire"
)

// Watched finds the name of the variable whose access a trace is of (option watch=), with the
// distance from its start, if there is one.
func (s *Session) Watched(t *wire.Trace) {
	rest, ok := strings.CutPrefix(t.Reason, "watch: ")
	if !ok {
		return
	}
	word, _, _ := strings.Cut(rest, " ")
	addr, err := strconv.ParseUint(word, 0, 64)
	v, has := s.sym.(interface {
		Variable(addr uint64) (name string, offset uint64, ok bool)
	})
	if err != nil || !has {
		return
	}
	name, offset, ok := v.Variable(addr)
	switch {
	case ok && offset == 0:
		t.Watched = name
	case ok:
		t.Watched = fmt.Sprintf("%s+%d", name, offset)
	}
}
