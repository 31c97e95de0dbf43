package lookup

import (
	"regexp"
	"sync"
)

// Regexp returns a regular expression that is compiled when it is first used. Most
// runs need few of them or none, and to compile all takes as long as to resolve an
// address.
func Regexp(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
