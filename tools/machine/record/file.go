package record

// The file begins with eight bytes that name the format and its version. Blocks follow: a byte that
// says what it is, the length of what is in it (4 bytes, little-endian, as the next), a CRC-32C of
// kind, length and contents, and the contents, compressed by zstd. Each block stands for itself, so
// that a file that was cut, or is damaged further down, can be read up to there.
//
//	'M'  what machine it is, as JSON; the first block, once
//	'F'  a piece of a file: its name, a NUL, bytes
//	'B'  where the recording begins, as JSON, if that is a snapshot of the machine, which is a file
//	     in it
//	'G'  the files are whole, and the machine starts: no contents
//	'L'  a piece of QEMU's log
//	'S'  a piece of what the serial port has sent
//	'E'  how the machine has ended, as JSON; the last block

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"time"
)

// magic names the format, version 1. The line ends show that a transfer has changed none.
const magic = "\x89zfr1\r\n\n"

const (
	blockMeta   = 'M'
	blockFile   = 'F'
	blockBase   = 'B'
	blockGo     = 'G'
	blockLog    = 'L'
	blockSerial = 'S'
	blockEnd    = 'E'
)

const (
	headSize = 9 // of a block: kind, length, checksum
	// mostBlock is the longest block that is read.
	mostBlock = 16 << 20
	// A recording unpacks to mostRatio times its length, and unpackLeast bytes, at each place of it.
	unpackLeast, mostRatio = 256 << 20, 64
	// piece is how much of a file is in a block.
	piece = 1 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// head returns the head of a block with these contents.
func head(kind byte, contents []byte) []byte {
	h := binary.LittleEndian.AppendUint32([]byte{kind}, uint32(len(contents)))
	return binary.LittleEndian.AppendUint32(h, checksum(h, contents))
}

// checksum is that of a block; of h the kind and the length count.
func checksum(h, contents []byte) uint32 {
	return crc32.Update(crc32.Checksum(h[:5], castagnoli), castagnoli, contents)
}

// The names of the files in a recording.
const (
	Image  = "image.elf"
	Initrd = "initrd"
	Disc   = "disc.iso"
	// Snapshot is the machine's state where the recording begins: a qcow2 image with a snapshot in it.
	Snapshot = "snapshot.qcow2"
)

// Meta says what machine it is.
type Meta struct {
	Command string    // what has made it: "zf run"
	Name    string    // of the image, as the user knows it: "hello.elf"
	BuildID string    // of the image
	Date    time.Time // when the recording began
	// the machine's clock began so, and went by the machine's time; zero: by the host's
	Clock time.Time `json:",omitzero"`
	QEMU  string    // QEMU's version, on which the log depends

	Append      string   // the kernel's command line
	Machine     string   // QEMU machine type
	CPU         string   // QEMU processor model
	MemoryMiB   int      // RAM
	VirtualTime bool     // sleeping takes no time
	Seed        uint64   `json:",omitempty"` // of the random numbers then; 0: 1
	UEFI        bool     // booted by UEFI firmware
	Net         string   // network card
	Extra       []string // further arguments for QEMU
	Cooked      bool     // the program's line ends are a terminal's
	Quiet       bool     // the kernel's first line is not to be shown
}

// A Base is where a recording begins that has not the whole run. The zero value is the machine's
// start.
type Base struct {
	At     uint64 // instructions that the machine had run
	Output int64  // bytes that it had sent

	// What QEMU's log says up to there, see logReader.
	Instructions uint64 // at its last event
	Slept        int64  // ns
	Asleep       int64  // ns; -1: not
	Woken        int64  // ns; -1: not
	Clock        int64  // the clock by which the machine sleeps, ns
	Before       Kind

	Log int64 // offset in QEMU's own log, with its header
}

// Time returns the machine's time there. It means nothing with Meta.VirtualTime.
func (b *Base) Time() time.Duration { return time.Duration(int64(b.At) + b.Slept) }

// start is the base of a recording of a whole run.
func start() Base { return Base{Asleep: -1, Woken: -1, Log: logHeader} }

// check says what is wrong with a base that was read, if anything is.
func (b *Base) check() error {
	if b.Output < 0 || b.Log < logHeader || b.Slept < 0 || b.Asleep < -1 || b.Woken < -1 ||
		b.At < b.Instructions || b.At > math.MaxInt64 {
		return fmt.Errorf("%w: it begins nowhere: %+v", ErrDamaged, *b)
	}
	return nil
}

// End says how a machine has ended.
type End struct {
	Status  int    // QEMU's exit status, -1 for a signal
	Outcome string // "exited", "traced" or "failed"
	Program int    // the program's status, if it exited
	Error   string // what has ended it, if it has failed
	Serial  int64  // bytes of its serial port
	Log     int64  // bytes of QEMU's log
}

var (
	// ErrNone is returned for a file that is no recording, or one without a machine in it.
	ErrNone = errors.New("no recording")
	// ErrDamaged is returned for a file with a damaged block.
	ErrDamaged = errors.New("the recording is damaged")
	// ErrCut is returned for a file that ends in the midst of a block.
	ErrCut = errors.New("the recording is cut short")
)
