package replay

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// threads are those that a debugger sees. 01 is what the CPU does, whosever thread that is, and the
// others wait for it: they have registers, but cannot be stepped or changed until they have the
// CPU.
type threads struct {
	others map[string]string // their registers, as in answers to g, by their names in packets
	now    string            // those of 01; "": they are not read yet
	told   string            // why 01 has stopped
}

// firstOther is added to the numbers of the kernel's threads.
const firstOther = 1000

// What only a thread on the CPU can do is refused with these. Delve has changed its copy of the
// registers before it asks to change them, and takes the copy for true until the program runs
// again.
const (
	waits     = "E.this thread waits for the CPU: set a breakpoint where it goes on, and continue"
	unchanged = waits + "; next and step would go wrong before that"
)

// listThreads answers which there are.
func (s *Server) listThreads() (string, error) {
	if err := s.findOthers(); err != nil {
		return "", err
	}
	all := "m01"
	for _, id := range slices.Sorted(maps.Keys(s.others)) {
		all += "," + id
	}
	return all, nil
}

// findOthers finds the other threads, once in each stop.
func (s *Server) findOthers() error {
	if s.others != nil || s.o.Threads == nil {
		return nil
	}
	regs, err := s.m.Registers()
	if err != nil {
		return err
	}
	s.others = map[string]string{}
	for _, th := range s.o.Threads(s.m.Read, regs) {
		s.others[fmt.Sprintf("%x", firstOther+th.ID)] = s.m.Encode(th.Registers, th.FPU)
	}
	return nil
}

// other returns the registers of another thread than 01, "" if it is 01, or none is named.
func (s *Server) other(id string) string {
	id = strings.TrimSuffix(id, ";")
	if id == "" || id == "01" || id == "-1" || s.o.Threads == nil || s.findOthers() != nil {
		return ""
	}
	if all, ok := s.others[id]; ok {
		return all
	}
	return refused // it has ended, or has the CPU
}

// registers answers g and p for a thread. All of p are of one g: Delve asks for each after each
// stop.
func (s *Server) registers(p, id string) (string, error) {
	all := s.other(id)
	other := all != ""
	if all == "" {
		if s.now == "" {
			a, err := s.m.Ask("g")
			if err != nil {
				return "", err
			}
			s.now = a
		}
		all = s.now
	}
	if p == "g" || all == refused {
		return all, nil
	}
	number, err := strconv.ParseUint(p[1:], 16, 32)
	if part := s.m.Part(all, number); err == nil && part != "" {
		return part, nil
	}
	if other {
		return refused, nil
	}
	return s.m.Ask(p)
}

// stopOf answers why a thread has stopped; the others have for no reason of their own.
func (s *Server) stopOf(id string) string {
	if s.other(id) != "" {
		return "T00thread:" + id + ";"
	}
	if s.told == "" {
		return "T05thread:01;"
	}
	return s.told
}
