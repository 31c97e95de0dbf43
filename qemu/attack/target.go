package main

import (
	"debug/elf"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zeroframe/zeroframe/qemu/batch"
)

// What can be overwritten, by the symbols of the image, and what is in one case.

// kind is what kind of memory a case overwrites.
type kind int

const (
	kernelText  kind = iota // code of the kernel, by force: its pages are read-only
	kernelData              // variables of the kernel
	runtimeData             // variables of the Go runtime
	kernelWord              // a word of the kernel, with each of the values in its turn
	kinds
)

func (k kind) String() string {
	return [...]string{"kernel text", "kernel data", "runtime data", "kernel word"}[k]
}

// maxWord is the size in bytes of the largest variable that is a word.
const maxWord = 8

// object is a symbol of the image.
type object struct {
	name       string
	addr, size uint64
}

// targets are what the cases choose from, by their kind.
type targets [kinds][]object

// ours are the beginnings of the names of the kernel's symbols.
var ours = []string{"arch/", "boot.", "kernel.", "kernel/", "tracer."}

// readTargets reads the symbols of an image.
func readTargets(image string) (all targets, err error) {
	f, err := elf.Open(image)
	if err != nil {
		return all, err
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		return all, err
	}
	for _, s := range symbols {
		if s.Size == 0 || int(s.Section) >= len(f.Sections) {
			continue
		}
		name, own := strings.CutPrefix(s.Name, batch.Module)
		own = own && slices.ContainsFunc(ours, func(p string) bool { return strings.HasPrefix(name, p) })
		o := object{name, s.Value, s.Size}
		flags := f.Sections[s.Section].Flags
		switch {
		case own && flags&elf.SHF_EXECINSTR != 0:
			all[kernelText] = append(all[kernelText], o)
		case flags&elf.SHF_WRITE == 0:
		case own:
			all[kernelData] = append(all[kernelData], o)
			if s.Size <= maxWord && s.Size&(s.Size-1) == 0 {
				all[kernelWord] = append(all[kernelWord], o)
			}
		case strings.HasPrefix(s.Name, "runtime."):
			all[runtimeData] = append(all[runtimeData], o)
		}
	}
	for k, list := range all {
		if len(list) == 0 {
			return all, fmt.Errorf("%s has no symbols of %v", filepath.Base(image), kind(k))
		}
		slices.SortFunc(all[k], func(a, b object) int { return strings.Compare(a.name, b.name) })
	}
	return all, nil
}

// A hit is one case: what is overwritten with what.
type hit struct {
	number int
	kind   kind
	name   string // of the symbol
	offset uint64 // in it
	addr   uint64
	size   uint64 // 1, 2, 4 or 8 bytes
	value  uint64
}

func (h hit) String() string {
	return fmt.Sprintf("%v %s+%#x = %#x, %d bytes", h.kind, h.name, h.offset, h.value, h.size)
}

// aim returns case number n, which depends on the seed, the number and the image alone. Code is
// hit anywhere; of variables each is hit as often, whatever its size.
func (all *targets) aim(seed uint64, n int) hit {
	rng := rand.New(rand.NewPCG(seed, uint64(n)))
	h := hit{number: n, kind: kind(n) % kinds, size: maxWord}
	list := all[h.kind]
	var o object
	switch h.kind {
	case kernelText:
		total := uint64(0)
		for i := range list {
			total += list[i].size
		}
		at := rng.Uint64N(total)
		for i := range list {
			if o = list[i]; at < o.size {
				break
			}
			at -= o.size
		}
		h.offset = at
	case kernelWord:
		turn := n / int(kinds)
		o = list[turn%len(list)]
		h.size = o.size
		h.value = [...]uint64{0, ^uint64(0), wild(rng, o.addr)}[turn/len(list)%3]
	default:
		o = list[rng.IntN(len(list))]
		h.offset = rng.Uint64N((o.size+maxWord-1)/maxWord) * maxWord
	}
	if h.kind != kernelWord {
		h.value = [...]uint64{0, ^uint64(0), wild(rng, o.addr), rng.Uint64()}[rng.IntN(4)]
	}
	h.name, h.addr = o.name, o.addr+h.offset
	return h
}

// wild returns a value that somebody may write by mistake: an address near to addr, a small
// number, or any.
func wild(rng *rand.Rand, addr uint64) uint64 {
	switch rng.IntN(3) {
	case 0:
		return addr + rng.Uint64N(1<<16)&^7
	case 1:
		return 1 + rng.Uint64N(1<<12)
	}
	return rng.Uint64()
}
