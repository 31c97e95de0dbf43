package why

import (
	"fmt"
	"strings"
)

// follow follows the values of places in front of path[at].
func (w *Why) follow(s *Story, path []entry, at int, from []place) error {
	heals := w.verdicts(path, at, from)
	j, said, err := w.pick(s, path, at, from, heals)
	if err != nil {
		return err
	}
	var ways []fork
	for k, p := range from {
		if j < 0 || k == j {
			f := fork{path: path, at: at, p: p, heals: heals[k]}
			f.what = w.what(&f) + said
			ways = append(ways, f)
		}
	}
	if err = w.followWays(s, ways); err == nil && j >= 0 && s.Culprit != nil && !s.made {
		s.Open = cannotTell + "whether the one is too much, or the other too little"
		s.blame()
	}
	if err == nil && s.Open != "" {
		err = w.leftAlone(s, path, at, from[1-j], heals[1-j])
	} else if err == nil && s.Culprit != nil {
		err = w.notSetAnew(s)
	}
	return err
}

// followAs follows the value of one place, which is named so.
func (w *Why) followAs(s *Story, path []entry, at int, p place, what string) error {
	return w.followWays(s, []fork{{path: path, at: at, p: p, what: what}})
}

// followWays follows some ways, and those into which they fork.
func (w *Why) followWays(s *Story, ways []fork) (err error) {
	for most := len(s.Causes) + mostForks; len(ways) > 0; {
		f := ways[0]
		c := Cause{What: f.what}
		var forks []fork
		c.Hops, c.End, forks, err = w.way(s, f, nil)
		switch ways = ways[1:]; {
		case err != nil:
			c.End = unfinished
		case len(s.Causes)+len(ways)+len(forks) >= most && len(forks) > 0:
			c.End = cannotTell + "it is made of too many"
		case len(forks) > 0:
			c.Forked = true
			ways = append(forks, ways...)
		}
		c.Untold = err != nil || strings.HasPrefix(c.End, cannotTell)
		s.Causes = append(s.Causes, c)
		if err != nil {
			s.Culprit, s.OneOf, s.Unfinished = nil, nil, true // what is farther back may be to blame
			return err
		}
		s.blame()
	}
	return nil
}

// what says what a way is about.
func (w *Why) what(f *fork) string {
	if f.p.kind != inMemory {
		v, _ := w.valueAt(f.path, f.at, f.p)
		return fmt.Sprintf("%s holds %#x", f.p, v)
	}
	if n := w.Name(f.p.addr); n != "" {
		return fmt.Sprintf("the word at %s (%s)", f.p, n)
	}
	return fmt.Sprintf("the word at %s", f.p)
}
