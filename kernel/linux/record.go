package linux

import "github.com/zeroframe/zeroframe/kernel/observe/eventstream"

// /dev/record, through which a program sends a record: it writes the kind and a line feed, then the
// record's bytes, and closes the file.

// DevRecord is the device's number, next to that of the network card.
const DevRecord = 240<<8 | 1

// writeRecord accepts one piece at a time, because a serial port takes 50 ms for one.
func writeRecord(_ *call, f *file, from, n uintptr) int64 {
	n = min(n, eventstream.PieceSize)
	if !copyIn(blockAddr(), from, n) {
		return -eFAULT
	}
	if !eventstream.Write(int(f.obj), block[:n]) {
		return -eINVAL
	}
	return int64(n)
}

// openRecord makes a file a new record. It returns false if there are too many.
func openRecord(f *file) bool {
	n, ok := eventstream.Open()
	f.obj = int32(n)
	return ok
}

func closeRecord(f *file) { eventstream.Close(int(f.obj)) }
