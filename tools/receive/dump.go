package receive

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/zeroframe/zeroframe/tracer/dump"
)

// dataAt is where physical address 0 lies in the file. Before it there is room for all else, since
// who reads such a file may do so from its beginning to its end.
const dataAt = 2 << 20

// MaxMemory is the highest address that a dump may have, in bytes.
const MaxMemory = 1 << 40

// pieces of a page, as bits; a page that is whole has all.
const whole = 1<<((dump.PageSize+dump.PieceSize-1)/dump.PieceSize) - 1

// chunkPages is how many pages share an entry of the note of what has come. It is small, so that a
// packet that makes a new entry costs its sender more than it costs the receiver.
const chunkPages = 1 << 10

// maxTries is how many files there may be of one dump: the kernel tries no more often (core=ram).
const maxTries = 3

// Assembly is a dump that comes. It is not safe for concurrent use.
type Assembly struct {
	known
	path    string
	file    *os.File
	resumed bool // the file was there, and is more than what has come this time
}

// known is what is known of a dump, and all that has to be kept for it to go on.
type known struct {
	ID       uint64
	Announce dump.Announce
	Page     uint32 // of how many pages, in the order of sending, nothing is missing
	CPUs     map[uint32]dump.CPU
	RAM      [][2]uint64
	End      *dump.End
	Pages    uint32 // that are whole
	Classes  [dump.NumClasses]uint32
	Chunks   map[uint64][]byte // four bits a page: which pieces have come
}

// ErrTaken is returned by Open when there are as many files of a dump as may be.
var ErrTaken = errors.New("it is there already")

// Open begins the dump of that number, in the file path, or goes on with it where it is there. A
// file that is finished is never replaced: the next try gets a name of its own.
func Open(path string, id uint64, a *dump.Announce) (*Assembly, error) {
	if err := CheckAnnounce(a); err != nil {
		return nil, err
	}
	for n := range maxTries {
		d := &Assembly{path: try(path, n)}
		if d.resume(id, a) {
			return d, nil
		}
		if exists(d.path) {
			continue
		}
		f, err := os.OpenFile(d.part(), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		d.known = known{ID: id, Announce: *a, CPUs: map[uint32]dump.CPU{}, Chunks: map[uint64][]byte{}}
		d.file = f
		return d, err
	}
	return nil, ErrTaken
}

// try returns the name of the file of another try.
func try(path string, n int) string {
	if n == 0 {
		return path
	}
	return fmt.Sprintf("%s-%d%s", strings.TrimSuffix(path, suffix), n+1, suffix)
}

// Left returns of how many pages, in the order of sending, nothing is missing in what Open would go
// on with.
func Left(path string, id uint64, a *dump.Announce) uint32 {
	for n := range maxTries {
		d := &Assembly{path: try(path, n)}
		if k, ok := d.readState(); ok && k.ID == id && k.Announce == *a {
			return k.Page
		}
	}
	return 0
}

// CheckAnnounce says what is wrong with an announcement.
func CheckAnnounce(a *dump.Announce) error {
	switch {
	case a.Highest > MaxMemory:
		return fmt.Errorf("a dump of %d GiB is announced; 1024 is the most", a.Highest>>30)
	case a.Pages == 0 || uint64(a.Pages) > a.Highest/dump.PageSize:
		return fmt.Errorf("a dump of %d pages below %#x is announced", a.Pages, a.Highest)
	}
	return nil
}

func (d *Assembly) part() string { return d.path + ".part" }

// Path returns the name of the file when it is done.
func (d *Assembly) Path() string { return d.path }

// ErrNonsense is returned by Add for a packet that cannot be true.
var ErrNonsense = errors.New("a packet of a dump makes no sense")

// Add takes an item. An error other than ErrNonsense is of the disk.
func (d *Assembly) Add(h *dump.Header, body []byte) error {
	switch h.Kind {
	case dump.KindCPU:
		c, ok := dump.ParseCPU(body)
		if !ok {
			return ErrNonsense
		}
		d.CPUs[c.Number] = c
	case dump.KindMemory:
		if len(body)%16 != 0 || len(body) > 16*dump.MaxRanges {
			return ErrNonsense
		}
		d.RAM = nil
		for ; len(body) > 0; body = body[16:] {
			d.RAM = append(d.RAM, [2]uint64{dump.Uint64(body), dump.Uint64(body[8:])})
		}
	case dump.KindData:
		p, data, ok := dump.ParsePlace(body)
		if !ok {
			return ErrNonsense
		}
		return d.data(&p, data)
	case dump.KindZeros:
		p, rest, ok := dump.ParsePlace(body)
		if !ok || len(rest) != 4 {
			return ErrNonsense
		}
		return d.zeros(&p, dump.Uint32(rest))
	case dump.KindEnd:
		e, ok := dump.ParseEnd(body)
		if !ok {
			return ErrNonsense
		}
		d.End = &e
	default:
		return ErrNonsense
	}
	return nil
}

// inside reports whether there are n bytes of the machine's memory at an address.
func (d *Assembly) inside(addr, n uint64) bool {
	return addr < d.Announce.Highest && n <= d.Announce.Highest-addr
}

// data takes a piece of a page.
func (d *Assembly) data(p *dump.Place, data []byte) error {
	addr := uint64(p.Addr)
	offset := addr % dump.PageSize
	want := min(dump.PageSize-offset, dump.PieceSize)
	if offset%dump.PieceSize != 0 || uint64(len(data)) != want || !d.inside(addr, want) {
		return ErrNonsense
	}
	if _, err := d.file.WriteAt(data, int64(dataAt+addr)); err != nil {
		return err
	}
	d.note(addr/dump.PageSize, 1<<(offset/dump.PieceSize), p.Class)
	return nil
}

// zeros takes n pages of zeros.
func (d *Assembly) zeros(p *dump.Place, n uint32) error {
	addr, size := uint64(p.Addr), uint64(n)*dump.PageSize
	if addr%dump.PageSize != 0 || n == 0 || n > dump.MaxZeros || !d.inside(addr, size) {
		return ErrNonsense
	}
	for page := addr / dump.PageSize; page < (addr+size)/dump.PageSize; page++ {
		d.note(page, whole, p.Class) // the file has a hole there
	}
	return nil
}

// note notes that pieces of a page have come.
func (d *Assembly) note(page uint64, bits byte, class dump.Class) {
	c := d.Chunks[page/chunkPages]
	if c == nil {
		c = make([]byte, chunkPages/2)
		d.Chunks[page/chunkPages] = c
	}
	at, shift := page%chunkPages/2, page%2*4
	was := c[at] >> shift & 15
	c[at] |= bits << shift
	if was != whole && was|bits == whole {
		d.Pages++
		if class < dump.NumClasses {
			d.Classes[class]++
		}
	}
}

// Missing returns how many pages have not come whole.
func (d *Assembly) Missing() uint32 { return d.Announce.Pages - min(d.Pages, d.Announce.Pages) }

// Summary says what is there and what is not, in one line.
func (d *Assembly) Summary() string {
	s := fmt.Sprintf("%d of %d pages", d.Pages, d.Announce.Pages)
	if d.End != nil && d.End.Hidden > 0 {
		s += fmt.Sprintf(", with zeros for %d bytes that are secret", d.End.Hidden)
	}
	if d.Missing() == 0 {
		return s
	}
	why := "it was cut short"
	switch {
	case d.End == nil:
	case d.End.Kept && d.End.Unreadable+d.Lost() == d.Missing():
		return s + "; " + d.lostWords()
	case d.End.Why == dump.EndTime:
		why = "its time was over"
	case d.End.Why == dump.EndRoom:
		why = "there was no room for more"
	case d.End.Unreadable == d.Missing():
		return s + fmt.Sprintf("; the machine could not read the other %d", d.Missing())
	case d.End.Why == dump.EndWhole:
		why = "packets are missing"
	}
	return s + ": " + why
}

// Lost returns how many pages were overwritten over the reset, of a dump that was kept in RAM.
func (d *Assembly) Lost() (n uint32) {
	if d.End != nil {
		for _, lost := range d.End.Lost {
			n += lost // hostile counts may wrap
		}
	}
	return n
}

// lostWords says what became of the pages that a whole dump, kept in RAM, has not got.
func (d *Assembly) lostWords() string {
	var words, classes []string
	for c, n := range d.End.Lost {
		if n > 0 {
			classes = append(classes, fmt.Sprintf("%d of %s", n, dump.Class(c)))
		}
	}
	if n := d.Lost(); n > 0 {
		words = append(words, fmt.Sprintf("%d were overwritten over the reset (%s)", n,
			strings.Join(classes, ", ")))
	}
	if n := d.End.Unreadable; n > 0 {
		words = append(words, fmt.Sprintf("the machine could not read %d", n))
	}
	return strings.Join(words, ", ")
}

// Finish makes the file whole, of what has come, and gives it its name. With again, the dump may go
// on.
func (d *Assembly) Finish(again bool) error {
	err := cmp.Or(d.finish(), d.file.Close())
	if err == nil && exists(d.path) {
		err = fmt.Errorf("%s: %w", d.path, fs.ErrExist)
	}
	if err == nil {
		err = os.Rename(d.part(), d.path)
	}
	if err != nil {
		d.remove()
		return fmt.Errorf("the dump is lost: %w", err)
	}
	if again {
		return d.Save()
	}
	os.Remove(d.state())
	return nil
}

// Empty reports whether nothing has come yet.
func (d *Assembly) Empty() bool { return len(d.CPUs)+len(d.Chunks)+len(d.RAM) == 0 && d.End == nil }

// Drop removes what there is, but for what was there before.
func (d *Assembly) Drop() {
	d.file.Close()
	d.remove()
}

func (d *Assembly) remove() {
	if !d.resumed { // else it is what Abandoned makes a file of
		os.Remove(d.part())
		os.Remove(d.state())
	}
}

// BuildID returns the build ID of the image that has died, in hexadecimal.
func (d *Assembly) BuildID() string {
	return hex.EncodeToString(d.Announce.BuildID[:d.Announce.NBuildID])
}

// FileName returns a name for the dump of a machine, in a folder.
func FileName(folder, machine string, id uint64) string {
	clean := []byte(machine)
	for i, c := range clean {
		if c != '.' && c != '-' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') ||
			c == '.' && i == 0 {
			clean[i] = '_'
		}
	}
	return filepath.Join(folder, fmt.Sprintf("%s-%016x%s", clean, id, suffix))
}

// suffix is what the name of each file ends in.
const suffix = ".dump"
