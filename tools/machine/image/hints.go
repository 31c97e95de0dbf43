package image

// Some packages compile and cannot do what they are for on the kernel. Many programs import
// one by way of another package and never call it, so that it is no error but a note, as
// the program is built: which import it is, and by whom.

import (
	"fmt"
	"slices"
	"strings"
)

// useless are such packages of the standard library. Never written.
var useless = []struct{ path, why string }{
	{"os/exec", "there are no processes, and starting one fails with \"function not implemented\""},
	{"plugin", "an image loads no other code, and plugin.Open fails"},
}

// hints returns a line for each of these that is imported outside of the standard library.
func hints(pkgs []listed) (lines []string) {
	for _, u := range useless {
		for i := range pkgs {
			if p := &pkgs[i]; !p.Standard && slices.Contains(p.Imports, u.path) {
				lines = append(lines, fmt.Sprintf("%s imports %s%s: %s", p.plain(), u.path,
					importedBy(pkgs, p), u.why))
				break
			}
		}
	}
	return lines
}

// plain returns the import path without the name of the test binary that a variant of the
// package is for.
func (p *listed) plain() string {
	name, _, _ := strings.Cut(p.ImportPath, " ")
	return name
}

// importedBy says by which packages the program comes to import p, the nearest first, in
// brackets and with a space before; "" if p is what is built.
func importedBy(pkgs []listed, p *listed) string {
	// Breadth first from p to a package that was asked for.
	from := map[*listed]*listed{p: nil}
	for queue := []*listed{p}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		if !at.DepOnly {
			var names []string
			for ; at != nil && at != p; at = from[at] {
				if name := at.plain(); !strings.HasSuffix(name, ".test") {
					names = append(names, name)
				}
			}
			slices.Reverse(names)
			names = slices.DeleteFunc(slices.Compact(names),
				func(name string) bool { return name == p.plain() })
			if len(names) == 0 {
				return ""
			}
			return " (imported by " + strings.Join(names, ", by ") + ")"
		}
		for i := range pkgs {
			if q := &pkgs[i]; slices.Contains(q.Imports, at.ImportPath) {
				if _, seen := from[q]; !seen {
					from[q] = at
					queue = append(queue, q)
				}
			}
		}
	}
	return ""
}
