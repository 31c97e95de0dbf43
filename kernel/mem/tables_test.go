package mem

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/boot"
)

const page = arch.PageSize

// forget resets the state that a boot has set.
func forget() {
	numKept, numRanges, numRAM, numSegments, released = 0, 0, 0, 0, false
	total, highest, aside = 0, 0, frameRange{}
	freeList, freeFrames, allFrames, lowFrames = 0, 0, 0, 0
	nextPage, endPage = 0, 0
}

// TestTablesRoom: page tables lie after the image in RAM that nothing else claims, in whatever
// order the loader names what it has loaded.
func TestTablesRoom(t *testing.T) {
	defer forget()
	r := rand.New(rand.NewPCG(1, 2))
	const mib = 1 << 20
	for range 20_000 {
		forget()
		imageEnd := uintptr(4*mib + r.IntN(1000)*page)
		ram := uint64(imageEnd) + uint64(r.IntN(64*mib))
		regions := []boot.Region{{Lo: 1 * mib, Hi: ram, Usable: true}}
		if r.IntN(3) == 0 {
			lo := uint64(imageEnd) + uint64(r.IntN(32*mib))
			regions = append(regions, boot.Region{Lo: lo, Hi: lo + uint64(r.IntN(mib))})
		}
		at := imageEnd
		var mods []frameRange
		for range r.IntN(boot.MaxModules + 1) {
			at += uintptr(r.IntN(3)) * uintptr(r.IntN(2*mib))
			mods = append(mods, frameRange{at, at + 1 + uintptr(r.IntN(2*mib))})
			at = mods[len(mods)-1].hi
		}
		r.Shuffle(len(mods), func(i, j int) { mods[i], mods[j] = mods[j], mods[i] })
		for _, m := range mods {
			if !Keep(m.lo, m.hi) {
				t.Fatalf("Keep refuses one of %d ranges", len(mods))
			}
		}
		keepRAM(regions)
		lo, hi := tablesRoom(imageEnd)
		what := fmt.Sprintf("image to %#x, RAM %+v, kept %#x: tables from %#x to %#x", imageEnd, regions, mods, lo, hi)
		if lo < imageEnd {
			t.Fatal(what)
		}
		if hi <= lo {
			continue // Init says so
		}
		if uint64(hi) > ram || len(regions) > 1 && uint64(lo) < regions[1].Hi && uint64(hi) > regions[1].Lo && regions[1].Hi > regions[1].Lo {
			t.Fatalf("%s: that is not usable", what)
		}
		for _, m := range mods {
			if lo < m.hi && hi > m.lo {
				t.Fatalf("%s: that is where %#x is", what, m)
			}
		}
	}
}

// TestRelease: with as many modules as there can be, no frame belongs to a module or to the image,
// and all other frames are there.
func TestRelease(t *testing.T) {
	defer forget()
	const lo, imageLo, imageEnd = lowMemory, 2 << 20, 5 << 20
	for modules := range boot.MaxModules + 1 {
		forget()
		regions := []boot.Region{{Lo: 0, Hi: 0x9f000, Usable: true}, {Lo: lo, Hi: 16 << 20, Usable: true}}
		claimed := []frameRange{{imageLo, imageEnd}}
		for i := range modules {
			m := frameRange{imageEnd + uintptr(2*i+1)*0x3000, imageEnd + uintptr(2*i+1)*0x3000 + 0x1234}
			if !Keep(m.lo, m.hi) {
				t.Fatalf("module %d of %d is not kept", i+1, modules)
			}
			claimed = append(claimed, m)
		}
		if modules == boot.MaxModules && Keep(8<<20, 9<<20) {
			t.Error("Keep takes one more than there is room for")
		}
		keepRAM(regions)
		nextPage = imageEnd
		Release(imageLo)
		want := uint64(16<<20-lo)/page - (imageEnd-imageLo)/page - 2*uint64(modules)
		if allFrames != want {
			t.Errorf("with %d modules there are %d frames; want %d", modules, allFrames, want)
		}
		for _, r := range ranges[:numRanges] {
			for _, c := range claimed {
				if r.lo < c.hi && r.hi > c.lo {
					t.Errorf("with %d modules, frames from %#x to %#x are free; %#x is there", modules, r.lo, r.hi, c)
				}
			}
		}
	}
}

// TestMaps: in random maps whose regions overlap, touch, and in every second map end within pages,
// each page that is handed out is usable, has no reserved part, and is handed out once. If no
// region ends within a page, every usable page is handed out.
func TestMaps(t *testing.T) {
	defer forget()
	const pages, imageLo, imageEnd = 4096, 512 * page, 700 * page
	for seed := range uint64(3000) {
		forget()
		r := rand.New(rand.NewPCG(seed, 30))
		fine := uint64(page)
		if seed%2 == 0 {
			fine = 64
		}
		regions := []boot.Region{{Lo: imageLo, Hi: imageEnd + page, Usable: true}}
		for range r.IntN(boot.MaxRegions) {
			lo := uint64(r.IntN(pages*page)) / fine * fine
			hi := min(lo+fine+uint64(r.IntN(200*page))/fine*fine, pages*page)
			regions = append(regions, boot.Region{Lo: lo, Hi: hi, Usable: r.IntN(3) > 0})
		}
		r.Shuffle(len(regions), func(i, j int) { regions[i], regions[j] = regions[j], regions[i] })
		var whole, reserved, given [pages]bool
		for _, m := range regions {
			for p := m.Lo / page; p < (m.Hi+page-1)/page; p++ {
				whole[p] = whole[p] || m.Usable && p*page >= m.Lo && (p+1)*page <= m.Hi
				reserved[p] = reserved[p] || !m.Usable
			}
		}
		keepRAM(regions)
		nextPage = imageEnd
		Release(imageLo)
		for _, f := range ranges[:numRanges] {
			for p := f.lo / page; p < f.hi/page; p++ {
				if given[p] || !whole[p] || reserved[p] || p*page >= imageLo && p*page < imageEnd {
					t.Fatalf("seed %d: page %#x is handed out: before, %v; usable %v, reserved %v", seed, p, given[p], whole[p], reserved[p])
				}
				given[p] = true
			}
		}
		for p := uintptr(lowMemory / page); fine == page && p < pages; p++ {
			if whole[p] && !reserved[p] && !given[p] && (p*page < imageLo || p*page >= imageEnd) {
				t.Fatalf("seed %d: page %#x is usable and is not handed out", seed, p)
			}
		}
	}
}
