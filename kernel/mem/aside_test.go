package mem

import (
	"math/rand/v2"
	"testing"

	"github.com/zeroframe/zeroframe/boot"
)

// TestSetAside: memory that is set aside is RAM that nothing else claims; tables stay below it or
// do not reach it; it is not handed out, and the memory next to it is handed out first.
func TestSetAside(t *testing.T) {
	defer forget()
	r := rand.New(rand.NewPCG(3, 4))
	const mib = 1 << 20
	found, above := 0, 0
	for range 20_000 {
		forget()
		imageLo := uintptr(1+r.IntN(8)) * mib
		imageEnd := imageLo + uintptr(1+r.IntN(2000))*page
		ram := uint64(imageEnd) + uint64(r.IntN(256*mib))
		regions := []boot.Region{{Lo: 0x1000, Hi: 0x9f000, Usable: true}, {Lo: 1 * mib, Hi: ram, Usable: true}}
		if r.IntN(3) == 0 {
			lo := uint64(imageEnd) + uint64(r.IntN(128*mib))
			regions = append(regions, boot.Region{Lo: lo, Hi: lo + uint64(1+r.IntN(mib))})
		}
		if r.IntN(4) == 0 {
			regions = append(regions, boot.Region{Lo: 4 << 30, Hi: 4<<30 + uint64(r.IntN(512*mib)), Usable: true})
		}
		for range r.IntN(boot.MaxModules + 1) {
			lo := imageEnd + uintptr(r.IntN(64*mib))
			Keep(lo, lo+1+uintptr(r.IntN(2*mib)))
		}
		mods := numKept
		segments[0], numSegments = Segment{Lo: imageLo, Hi: imageEnd}, 1
		keepRAM(regions)
		nextPage, endPage = tablesRoom(pageUp(imageEnd))
		if endPage <= nextPage {
			continue
		}
		size := uintptr(1+r.IntN(16*mib)) &^ 7
		at := SetAside(regions, size, 0)
		if at == 0 {
			continue
		}
		found++
		end := at + pageUp(size)
		if at%AsideAlign != 0 || at < nextPage && end > imageLo || at >= nextPage && endPage > at {
			t.Fatalf("%#x to %#x is set aside; the image is at %#x to %#x, tables to %#x", at, end, imageLo, nextPage, endPage)
		}
		usable := false
		for _, g := range regions {
			if g.Usable && uint64(at) >= g.Lo && uint64(end) <= g.Hi {
				usable = true
			} else if !g.Usable && uint64(at) < g.Hi && g.Lo < uint64(end) {
				t.Fatalf("%#x to %#x is set aside, of which %+v is not RAM", at, end, g)
			}
		}
		for _, k := range kept[:mods] {
			if at < k.hi && k.lo < end {
				t.Fatalf("%#x to %#x is set aside; %#x to %#x is kept", at, end, k.lo, k.hi)
			}
		}
		if !usable {
			t.Fatalf("%#x to %#x is set aside, which is no RAM of %+v", at, end, regions)
		}
		Release(imageLo)
		next := false
		for _, g := range ranges[:numRanges] {
			if g.lo < end && at < g.hi {
				t.Fatalf("%#x to %#x is set aside, and %#x to %#x is handed out", at, end, g.lo, g.hi)
			}
			next = next || g.lo == end
		}
		if next {
			above++
			if first := ranges[numRanges-1]; first.lo != end {
				t.Fatalf("%#x is handed out first; want what is above %#x", first.lo, end)
			}
		}
	}
	if found < 10_000 || above < 5_000 {
		t.Errorf("%d times there was room, %d times RAM above it: the machines are too small", found, above)
	}
}
