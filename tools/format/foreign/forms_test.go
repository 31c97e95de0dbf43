package foreign

import (
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// TestRows: each group of the table's expressions is read, and the lines of a row without an
// expression are looked at.
func TestRows(t *testing.T) {
	for _, r := range rows {
		if r.expr == "" {
			if r.starts == "" || strings.IndexByte(r.starts, r.has[0]) < 0 {
				t.Errorf("%s: a line that begins with %q is not looked at", r.format, r.has)
			}
			continue
		}
		expr, err := regexp.Compile(groups().Replace(r.expr))
		if err != nil {
			t.Errorf("%s: %v", r.format, err)
			continue
		}
		for _, group := range expr.SubexpNames()[1:] {
			s := spot{n: -1}
			if s.set(group, "12"); group == "args" {
				s.set(group, "a=1) from b")
			}
			if reflect.DeepEqual(s, spot{n: -1}) {
				t.Errorf("%s: the group %q of %q is not read", r.format, group, r.expr)
			}
		}
	}
}
