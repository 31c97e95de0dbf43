// Package lazyregexp has regular expressions that are compiled when they are first used.
// It imports nothing of ours. Context: the host.
package lazyregexp

import (
	"regexp"
	"sync"
)

// pattern returns a regular expression that is compiled when it is first used. Most
// runs need few of them or none, and to compile all takes as long as to resolve an
// address.
func New(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
