package main

import (
	"fmt"
	"os"
	"strings"
)

// module is a line of the list.
type module struct {
	path, version string
	patterns      []string // its packages, such as ./...
	flags         []string // that its tests get on both sides besides -short
}

func (m module) String() string { return m.path + " " + m.version }

// list is the file qemu/modules.txt, which says at its beginning what stands in it.
type list struct {
	modules []module
	reasons map[string]string // by package: why it is worse
	left    map[string]string // by package: why it is not tried
	events  map[string]string // by package: why its events differ
}

// readList reads the list.
func readList(file string) (*list, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	l := &list{reasons: make(map[string]string), left: make(map[string]string), events: make(map[string]string)}
	for n, line := range strings.Split(string(text), "\n") {
		f := strings.Fields(line)
		if len(f) == 0 || f[0][0] == '#' {
			continue
		}
		wrong := fmt.Errorf("%s:%d: %q; want module PATH VERSION [PATTERN...] [-FLAG=VALUE...], reason PACKAGE TEXT, events PACKAGE TEXT or leave PACKAGE TEXT", file, n+1, line)
		if len(f) < 3 {
			return nil, wrong
		}
		notes := l.reasons
		switch f[0] {
		case "module":
			m := module{path: f[1], version: f[2]}
			for _, word := range f[3:] {
				if strings.HasPrefix(word, "-") {
					m.flags = append(m.flags, word)
				} else {
					m.patterns = append(m.patterns, word)
				}
			}
			if m.patterns == nil {
				m.patterns = []string{"./..."}
			}
			l.modules = append(l.modules, m)
			continue
		case "leave":
			notes = l.left
		case "events":
			notes = l.events
		case "reason":
		default:
			return nil, wrong
		}
		if len(l.modules) == 0 || !within(f[1], l.modules[len(l.modules)-1].path) || notes[f[1]] != "" {
			return nil, fmt.Errorf("%s:%d: %s is no package of the module above, or said twice", file, n+1, f[1])
		}
		notes[f[1]] = strings.Join(f[2:], " ")
	}
	return l, nil
}

// within reports whether a package can be one of a module.
func within(pkg, module string) bool {
	return pkg == module || strings.HasPrefix(pkg, module+"/")
}
