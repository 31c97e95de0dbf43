package handle

import (
	"github.com/zeroframe/zeroframe/kernel/ascii"
	"github.com/zeroframe/zeroframe/kernel/parts"
	"github.com/zeroframe/zeroframe/kernel/percpu"
)

// Kind says what a key names.
type Kind uint8

// The kinds of the kernel.
const (
	// Pages are page frames. The key is the frame's address.
	Pages Kind = iota + 1
	// Maps are mappings of the program's address space. The key is the address.
	Maps
	// FDs are file descriptors. The key is the number; the size of an Open says what is open, as
	// one of the File constants.
	FDs
	// Threads are threads of the program. The key is the thread's number.
	Threads
	// Timers are timers that are set, and sleeps. The key is one of the interval timers' numbers,
	// TimerPOSIX + a timer's or TimerSleep + a thread's; the size is the time in ns from the Open
	// until the timer expires.
	Timers
	// Futexes are waits for a futex. The key is the word's address. Several threads may
	// wait for one.
	Futexes

	// own is the first of the program's own kinds, from NewKind.
	own
)

const (
	// MaxKinds is the number of kinds, including the program's own.
	MaxKinds = 32
	// MaxName is the largest number of bytes in the name of a kind.
	MaxName = 24
)

// What a descriptor is open on: the sizes of FDs.
const (
	FileTerminal = iota + 1
	FileNode     // a file or folder
	FileDevice
	FilePipeRead
	FilePipeWrite
	FileFIFO
	FileCounter
	FileEpoll
	FileSocket
	FileWatcher
	FileTimer
	FileProcess
)

// Offsets that are added to a number for a key of Timers.
const (
	TimerPOSIX = 1 << 16 // to that of a timer of timer_create
	TimerSleep = 1 << 24 // to that of a thread that sleeps
)

// Event says what happened to a key.
type Event uint8

// The events.
const (
	// Open: it is in use from now on, with that size. If it already was, its size and opener are
	// replaced.
	Open Event = iota + 1
	// Close: it is no longer in use.
	Close
	// Note: something else that deserves a place in the ring.
	Note

	// Double and Stray are what the log turns a Close into: of something that was closed before,
	// and of something that it does not know.
	Double
	Stray
)

// kernelKinds are the words of the option record= and the names of the kernel's kinds.
// Never written.
var kernelKinds = [own]struct{ word, name string }{
	Pages:   {"pages", "page"},
	Maps:    {"maps", "map"},
	FDs:     {"fds", "fd"},
	Threads: {"threads", "thread"},
	Timers:  {"timers", "timer"},
	Futexes: {"futexes", "futex"},
}

// on has bit k set when kind k is logged. Under the kernel lock.
var on uint32

// wanted is the value of on once the log has memory. Bit 0 stands for the program's own kinds. Set
// once at boot.
var wanted uint32

// Logs reports whether events of a kind are logged. Any context.
func Logs(k Kind) bool { return parts.Observe && on&(1<<(k&(MaxKinds-1))) != 0 }

// On reports whether any kind is logged. Any context.
func On() bool { return parts.Observe && on != 0 }

// names are the names of the program's kinds. Under the kernel lock.
var (
	names    [MaxKinds][MaxName]byte
	nameLens [MaxKinds]uint8
	numKinds = own
)

// Name returns the name of a kind, empty if there is no such kind. Any context.
//
//go:noinline
func Name(k Kind) []byte {
	percpu.AssertLocked()
	switch {
	case k > 0 && k < own:
		return ascii.Bytes(kernelKinds[k].name)
	case k >= own && k < numKinds:
		return names[k][:nameLens[k]]
	}
	return nil
}

// Select reads the value of the option record=: words separated by commas. It returns the first
// word that is invalid. Early context.
func Select(words []byte) (wrong []byte) {
	for len(words) > 0 {
		n := 0
		for n < len(words) && words[n] != ',' {
			n++
		}
		switch word := words[:n]; {
		case ascii.Same(word, "all"):
			wanted = 1<<own - 1
		case ascii.Same(word, "user"):
			wanted |= 1
		default:
			found := false
			for k := Pages; k < own; k++ {
				if ascii.Same(word, kernelKinds[k].word) {
					wanted |= 1 << k
					found = true
				}
			}
			if !found {
				return word
			}
		}
		words = words[min(n+1, len(words)):]
	}
	return nil
}

// Wanted reports whether Select has chosen a kind. Early context.
func Wanted(k Kind) bool { return wanted&(1<<k) != 0 }

// newKind gives a kind of the program's a name, or finds the existing one; 0 if there is none left
// or those kinds are not logged.
func newKind(name []byte) Kind {
	percpu.AssertLocked()
	name = name[:min(len(name), MaxName)]
	for k := own; k < numKinds; k++ {
		if ascii.Equal(names[k][:nameLens[k]], name) {
			return k
		}
	}
	if wanted&1 == 0 || on == 0 || numKinds == MaxKinds || len(name) == 0 {
		return 0
	}
	k := numKinds
	//lint:ignore S1001 copy is a call into the runtime
	for i, b := range name {
		names[k][i] = b
	}
	nameLens[k] = uint8(len(name))
	numKinds++
	on |= 1 << k
	return k
}
