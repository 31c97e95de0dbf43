package pci

import (
	"fmt"
	"testing"
)

// A function is what Scan reads of a PCI function: class, kind and, if it is a bridge, buses.
type function struct{ class, kind, buses uint32 }

const (
	bridge = 1 << 16
	multi  = 0x80 << 16
)

// scan returns the addresses that a Scan finds among functions, and how many it asked.
func scan(functions map[Address]function) (found []string, asked int) {
	return scanFrom(Scan{}, functions)
}

func scanFrom(s Scan, functions map[Address]function) (found []string, asked int) {
	for {
		a, ok := s.address()
		if !ok {
			return found, asked
		}
		asked++
		f, there := functions[a]
		id := uint32(0xffffffff)
		if there {
			id = 0x100e8086
		}
		if s.answer(id, f.class, f.kind, f.buses) {
			found = append(found, fmt.Sprintf("%02x:%02x.%x", a>>8, a>>3&31, a&7))
		}
	}
}

func at(bus, device, function uint16) Address { return Address(bus<<8 | device<<3 | function) }

func TestScan(t *testing.T) {
	found, asked := scan(map[Address]function{
		at(0, 0, 0):  {class: 0x0600 << 16},
		at(0, 1, 1):  {}, // without function 0: not there
		at(0, 2, 0):  {kind: multi},
		at(0, 2, 3):  {},
		at(0, 3, 0):  {},
		at(0, 3, 1):  {}, // the same as function 0 of a device that does not decode it
		at(0, 31, 0): {kind: bridge, buses: 0x00020100},
		at(1, 0, 0):  {kind: bridge | multi, buses: 0x00020201},
		at(2, 4, 0):  {},
		at(3, 0, 0):  {}, // no bridge leads there
	})
	want := "[00:00.0 00:02.0 00:02.3 00:03.0 00:1f.0 01:00.0 02:04.0]"
	if fmt.Sprint(found) != want {
		t.Errorf("found %v; want %s", found, want)
	}
	if asked > 3*(32+7) {
		t.Errorf("asked for %d functions on three buses", asked)
	}
}

// TestRootBuses: each function of the host bridge leads to one.
func TestRootBuses(t *testing.T) {
	found, _ := scan(map[Address]function{
		at(0, 0, 0): {class: 0x0600 << 16, kind: multi},
		at(0, 0, 5): {class: 0x0600 << 16},
		at(5, 1, 0): {},
		at(6, 1, 0): {},
	})
	if fmt.Sprint(found) != "[00:00.0 00:00.5 05:01.0]" {
		t.Errorf("found %v", found)
	}
}

// TestAllBuses: devices to which no bridge leads are found.
func TestAllBuses(t *testing.T) {
	found, asked := scanFrom(AllBuses(), map[Address]function{
		at(0, 0, 0):    {class: 0x0600 << 16},
		at(128, 3, 0):  {kind: multi},
		at(128, 3, 7):  {},
		at(255, 31, 0): {},
	})
	if fmt.Sprint(found) != "[00:00.0 80:03.0 80:03.7 ff:1f.0]" || asked > 256*32+7 {
		t.Errorf("found %v, asked for %d", found, asked)
	}
}

// TestBridgeLoops: bridges that lead to each other, and a machine where everything
// answers, are gone through once.
func TestBridgeLoops(t *testing.T) {
	found, _ := scan(map[Address]function{
		at(0, 1, 0): {kind: bridge, buses: 0x0100},
		at(1, 1, 0): {kind: bridge, buses: 0x0200},
		at(2, 1, 0): {kind: bridge, buses: 0x0100},
		at(2, 2, 0): {kind: bridge, buses: 0x0000},
	})
	if len(found) != 4 {
		t.Errorf("found %v; want four, once each", found)
	}
	all := map[Address]function{}
	for a := range 1 << 16 {
		all[Address(a)] = function{kind: bridge | multi, buses: uint32(a) << 8}
	}
	if found, asked := scan(all); len(found) != 1<<16 || asked != 1<<16 {
		t.Errorf("found %d functions, asked for %d; want %d", len(found), asked, 1<<16)
	}
}
