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
	notes   map[string]map[string]string // by word, of words, and by package
}

// words of the list say why a package is worse, why its events differ, and why it is not tried.
var words = []string{"reason", "events", "leave"}

// readList reads the list.
func readList(file string) (*list, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	l := &list{notes: map[string]map[string]string{}}
	for _, word := range words {
		l.notes[word] = map[string]string{}
	}
	for n, line := range strings.Split(string(text), "\n") {
		f := strings.Fields(line)
		if len(f) == 0 || f[0][0] == '#' {
			continue
		}
		if len(f) < 3 || f[0] != "module" && l.notes[f[0]] == nil {
			return nil, fmt.Errorf(
				"%s:%d: %q; want module PATH VERSION [PATTERN...] [-FLAG=VALUE...], reason PACKAGE TEXT, "+
					"events PACKAGE TEXT or leave PACKAGE TEXT", file, n+1, line)
		}
		if notes := l.notes[f[0]]; notes != nil {
			last := module{}
			if len(l.modules) > 0 {
				last = l.modules[len(l.modules)-1]
			}
			if !strings.HasPrefix(f[1]+"/", last.path+"/") || notes[f[1]] != "" {
				return nil, fmt.Errorf("%s:%d: %s is no package of the module above, or said twice", file,
					n+1, f[1])
			}
			notes[f[1]] = strings.Join(f[2:], " ")
			continue
		}
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
	}
	return l, nil
}
