package inspect

// Go's execution trace, version 1.26, which `go tool trace` reads.
// GOROOT/src/internal/trace/tracev2 says what there is in a trace. It is made of batches, each of
// one system thread, of a generation: the events of about a second, with tables of what they name
// by numbers.

import "encoding/binary"

// traceHeader begins a file.
const traceHeader = "go 1.26 trace\x00\x00\x00"

// The kinds of events that are written or looked for, by their numbers.
const (
	evBatch         = 1
	evStacks        = 2
	evStack         = 3
	evStrings       = 4
	evString        = 5
	evEndGeneration = 52
)

// noThread stands for the system thread of what no thread has done.
const noThread = 1<<64 - 1

// maxBatch is how long a batch of ours gets. Go takes 64 KiB.
const maxBatch = 32 << 10

// firstTimed is the first of the events that are in a thread's batches; arguments is how many
// numbers each has.
const (
	firstTimed = 9
	arguments  = "3314342311334311431232223221222534453345"
)

// appendEvent appends an event, or a part of one.
func appendEvent(b []byte, kind byte, args ...uint64) []byte {
	b = append(b, kind)
	for _, a := range args {
		b = binary.AppendUvarint(b, a)
	}
	return b
}

// appendBatch appends a batch of a thread, whose first event is at the time.
func appendBatch(b []byte, generation, thread, at uint64, data []byte) []byte {
	return append(appendEvent(b, evBatch, generation, thread, at, uint64(len(data))), data...)
}

// wholeEvents returns the part of a batch's data that is whole events: a thread may have died while
// it wrote one.
func wholeEvents(data []byte) []byte {
	if len(data) == 0 {
		return nil
	}
	strings := data[0] == evStrings
	n := 0
	if strings {
		n = 1
	}
	for n < len(data) {
		left, args, text := data[n+1:], 0, false
		switch k := int(data[n]) - firstTimed; {
		case strings && data[n] == evString:
			args, text = 2, true
		case !strings && k >= 0 && k < len(arguments):
			args = int(arguments[k] - '0')
		default:
			return data[:n]
		}
		length := uint64(0)
		for range args {
			v, size := binary.Uvarint(left)
			if size <= 0 {
				return data[:n]
			}
			length, left = v, left[size:]
		}
		if text {
			if length > uint64(len(left)) {
				return data[:n]
			}
			left = left[length:]
		}
		n = len(data) - len(left)
	}
	return data
}
