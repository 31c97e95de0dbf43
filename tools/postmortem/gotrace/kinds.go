package gotrace

import "encoding/binary"

// Header begins a file.
const Header = "go 1.26 trace\x00\x00\x00"

// The kinds of events that are written or looked for, by their numbers.
const (
	Batch         = 1
	Stacks        = 2
	Stack         = 3
	Strings       = 4
	String        = 5
	Frequency     = 8
	ProcStart     = 10
	ProcStop      = 11
	ProcStatus    = 13
	GoStart       = 16
	GoStop        = 19
	GoBlock       = 20
	GoUnblock     = 21
	RegionBegin   = 42
	RegionEnd     = 43
	Log           = 44
	StatusStack   = 48
	Sync          = 50
	ClockSnapshot = 51
	EndGeneration = 52
)

// States of processors and goroutines.
const (
	ProcIdle   = 2
	GoRunnable = 1
	GoWaiting  = 4
)

// NoThread stands for the system thread of what no thread has done.
const NoThread = 1<<64 - 1

// MaxBatch is how long a batch of ours gets. Go takes 64 KiB.
const MaxBatch = 32 << 10

// firstTimed is the first of the events that are in a thread's batches; arguments is how many
// numbers each has.
const (
	firstTimed = 9
	arguments  = "3314342311334311431232223221222534453345"
)

// AppendEvent appends an event, or a part of one.
func AppendEvent(b []byte, kind byte, args ...uint64) []byte {
	b = append(b, kind)
	for _, a := range args {
		b = binary.AppendUvarint(b, a)
	}
	return b
}

// AppendBatch appends a batch of a thread, whose first event is at the time.
func AppendBatch(b []byte, generation, thread, at uint64, data []byte) []byte {
	return append(AppendEvent(b, Batch, generation, thread, at, uint64(len(data))), data...)
}

// Whole returns the part of a batch's data that is whole events: a thread may have died while it
// wrote one.
func Whole(data []byte) []byte {
	if len(data) == 0 {
		return nil
	}
	strings := data[0] == Strings
	n := 0
	if strings {
		n = 1
	}
	for n < len(data) {
		left, args, text := data[n+1:], 0, false
		switch k := int(data[n]) - firstTimed; {
		case strings && data[n] == String:
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
