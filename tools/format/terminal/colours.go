package terminal

// Colours and links of a terminal (ECMA-48, SGR; OSC 8), and text without them.

import (
	"bytes"
	"regexp"
	"strings"
	"sync"
)

// Terminal colours.
const (
	Bold   = "\x1b[1m"
	Dim    = "\x1b[2m"
	Red    = "\x1b[31m"
	Yellow = "\x1b[33m"
	Plain  = "\x1b[0m"
)

// The beginning and the end of a link.
const (
	LinkStart = "\x1b]8;;"
	LinkEnd   = "\x1b\\"
)

// anyColour matches what does not change where text stands: colours, the erasing of
// what was behind it, links.
var anyColour = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("\x1b(?:\\[[0-9;]*[mK]|\\]8;[^\x1b\a]*(?:\x1b\\\\|\a))")
})

// StripColours returns the text without them.
func StripColours(s string) string {
	if strings.IndexByte(s, 0x1b) < 0 {
		return s
	}
	return anyColour().ReplaceAllString(s, "")
}

// colours matches what is put around words.
var colours = sync.OnceValue(
	func() *regexp.Regexp { return regexp.MustCompile("\x1b\\[[0-9]*m|\x1b\\]8;;[^\x1b]*\x1b\\\\") })

// WithoutColours returns text of ours without its colours and links.
func WithoutColours(b []byte) []byte {
	if bytes.IndexByte(b, '\x1b') < 0 {
		return b
	}
	return colours().ReplaceAll(b, nil)
}
