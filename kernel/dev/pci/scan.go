package pci

// Finding the functions. Buses are found through the bridges that lead to them, because probing all
// 256 takes a virtual machine, where each port access leaves the guest, tens of milliseconds.

// Scan iterates over all functions. Its zero value is at the beginning.
type Scan struct {
	known [256 / 8]uint8 // buses, by number
	next  uint32         // the next address to probe, above 65535 at the end
}

// AllBuses returns a scan that probes all buses, also those that nothing leads to.
func AllBuses() (s Scan) {
	for i := range s.known {
		s.known[i] = 255
	}
	return s
}

// Next finds the next function, and returns its address and the first four bytes of its
// configuration space: vendor, and above it the device. Early context.
func (s *Scan) Next() (a Address, id uint32, ok bool) {
	for {
		a, ok := s.address()
		if !ok {
			return 0, 0, false
		}
		id := a.Read32(regID)
		if s.answer(id, a.Read32(regClass), a.Read32(regKind), a.Read32(regBuses)) {
			return a, id, true
		}
	}
}

// address returns the next address to probe.
func (s *Scan) address() (a Address, ok bool) {
	s.learn(0)
	for s.next < 1<<16 {
		a = Address(s.next)
		if bus := a.Bus(); s.known[bus/8]&(1<<(bus%8)) != 0 {
			return a, true
		}
		s.next = (s.next | 255) + 1
	}
	return 0, false
}

// answer takes four registers of the function at that address, and reports whether there is one.
func (s *Scan) answer(id, class, kind, buses uint32) bool {
	a := Address(s.next)
	first := a&7 == 0
	s.next++
	if id&0xffff == 0xffff || id == 0 {
		if first {
			s.next += 7 // without function 0 there is no device
		}
		return false
	}
	switch kind >>= 16; {
	case kind&0x7f == kindBridge:
		s.learn(uint8(buses >> 8))
	case a < 8 && class>>16 == classHost:
		s.learn(uint8(a)) // each function of the host bridge leads to a root bus
	}
	if first && kind&kindMulti == 0 {
		s.next += 7
	}
	return true
}

// learn records a bus. A bus with a number not above that of the bus on which it was found has been
// passed already: no firmware numbers them like that, and so a loop of bridges does no harm.
func (s *Scan) learn(bus uint8) { s.known[bus/8] |= 1 << (bus % 8) }
