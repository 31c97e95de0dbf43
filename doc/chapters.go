// Package doc holds the chapters on Zeroframe, and the tests that run their examples.
package doc

import "embed"

// Chapters has the chapters, *.md, for zf help.
//
//go:embed *.md
var Chapters embed.FS
