package image

// Package time has no time zones of its own: it looks for files of the system, of which there are
// none, and then for package time/tzdata, which is 450 KB. So that is added, as the kernel is, to
// a program that names the function by which a zone is loaded, and to no other.

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
)

// zonePackage has the time zones.
const zonePackage = "time/tzdata"

// loadsZones reports whether a package outside of the standard library names time.LoadLocation.
// A file that cannot be read names nothing: the compiler will say what is wrong with it.
func loadsZones(pkgs []listed) bool {
	return slices.ContainsFunc(pkgs, func(p listed) bool {
		return !p.Standard && slices.Contains(p.Imports, "time") &&
			slices.ContainsFunc(p.GoFiles, func(name string) bool {
				if !filepath.IsAbs(name) { // those that the go command makes are
					name = filepath.Join(p.Dir, name)
				}
				text, _ := os.ReadFile(name)
				return bytes.Contains(text, []byte("LoadLocation"))
			})
	})
}
