package symstore

import (
	"fmt"
	"path/filepath"
	"strings"
)

// DebugID returns the name that a build has for Breakpad and symbol servers: its build ID as a
// GUID of Microsoft's, whose first three numbers are little-endian, and an age of 0; "" if it is
// no build ID. Source: Breakpad, src/common/linux/file_id.cc.
func DebugID(buildID string) string {
	id := strings.ToUpper(buildID)
	if len(id) < 8 || len(id)%2 != 0 || strings.Trim(id, "0123456789ABCDEF") != "" {
		return ""
	}
	id = (id + strings.Repeat("0", 32))[:32]
	b := func(i int) string { return id[2*i : 2*i+2] }
	return fmt.Sprint(b(3), b(2), b(1), b(0), b(5), b(4), b(7), b(6), id[16:], "0")
}

// Find opens the file of a build in a folder of the layout of symbol servers,
// NAME/DEBUGID/NAME.sym, or one beside its build ID as a name, ID.sym; nil if there is
// none that can be read, or if it is of another build.
func Find(root, buildID string) *Table {
	id := DebugID(buildID)
	if id == "" {
		return nil
	}
	// The folder's own name is none of a pattern.
	paths, _ := filepath.Glob(filepath.Join(escape(root), "*", id, "*.sym"))
	lower := strings.ToLower(buildID)
	for _, path := range append(paths, filepath.Join(root, lower+".sym")) {
		if t, err := Open(path); err == nil && (t.id == "" || t.id == lower) {
			return t
		}
	}
	return nil
}

// escape returns a path as a pattern that matches it alone.
func escape(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}
