package qemu

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image/jpeg"
	"path/filepath"
	"reflect"
	"runtime"
	"sync"
	"testing"

	"github.com/zeroframe/zeroframe/qemu/worsen"
	"github.com/zeroframe/zeroframe/tools/format/photo"
	"github.com/zeroframe/zeroframe/tools/machine/image"
	"github.com/zeroframe/zeroframe/tools/machine/iso"
)

// wantPixels makes an image ask its loader for a framebuffer of that size (Multiboot 0.6.96,
// section 3.1.4: type, width, height and depth behind the header's address fields).
func wantPixels(width, height uint32) func([]byte) ([]byte, error) {
	return func(kernel []byte) ([]byte, error) {
		out, err := image.WantScreen(kernel)
		if err != nil {
			return nil, err
		}
		at := bytes.Index(out, []byte{0x02, 0xb0, 0xad, 0x1b})
		for i, v := range []uint32{0, width, height, 32} {
			binary.LittleEndian.PutUint32(out[at+32+4*i:], v)
		}
		return out, nil
	}
}

// screens takes pictures of the codes of a death on a text screen and on pixels of three sizes.
func screens(t *testing.T, path string) (all map[string][]picture) {
	t.Helper()
	all = map[string][]picture{}
	cfg := withVGA
	cfg.Kernel, cfg.Append = path, irqDeath
	vm, _ := start(t, cfg, "")
	all["text"] = shootCodes(t, vm, 0)
	vm.Kill()
	for _, size := range [][2]uint32{{640, 480}, {1024, 768}, {1920, 1080}} {
		disc := filepath.Join(t.TempDir(), "lab.iso")
		if _, err := iso.Make(t.Context(), iso.Options{Kernel: path, Cmdline: irqDeath, Output: disc, WantScreen: wantPixels(size[0], size[1])}); err != nil {
			t.Fatal(err)
		}
		cfg := withVGA
		cfg.CDROM, cfg.MemoryMiB = disc, 256
		vm, _ := start(t, cfg, "")
		name := fmt.Sprintf("%dx%d", size[0], size[1])
		all[name] = shootCodes(t, vm, 0)
		if p := all[name][0]; p.width != int(size[0]) || p.height != int(size[1]) {
			t.Errorf("the picture is %dx%d; want %s", p.width, p.height, name)
		}
		vm.Kill()
	}
	return all
}

// TestPhotos reads bad photos of good screens: of 100, 95 must be read, and what is read must be
// right. The seeds of those that are not read are listed.
func TestPhotos(t *testing.T) {
	t.Parallel()
	path, _ := lab(t, image.AllLoaders)
	all := screens(t, path)
	for _, n := range []int{3, 8} { // of each screen
		t.Run(fmt.Sprint(4*n), func(t *testing.T) {
			var mu sync.Mutex
			var wg sync.WaitGroup
			turns := make(chan struct{}, runtime.GOMAXPROCS(0))
			read, wrong := map[string]int{}, 0
			for name, pictures := range all {
				for seed := range uint64(n) {
					wg.Go(func() {
						turns <- struct{}{}
						defer func() { <-turns }()
						screen := pictures[int(seed)%len(pictures)].image()
						want, err := photo.ReadPart(screen)
						if err != nil {
							t.Errorf("%s itself: %v", name, err)
							return
						}
						img, err := jpeg.Decode(bytes.NewReader(worsen.Photo(screen, seed)))
						if err != nil {
							t.Error(err)
							return
						}
						got, err := photo.ReadPart(img)
						mu.Lock()
						defer mu.Unlock()
						switch {
						case err != nil:
							t.Logf("%s, seed %d: %v", name, seed, err)
						case !reflect.DeepEqual(got, want):
							wrong++
							t.Errorf("%s, seed %d: read as %+v; want %+v", name, seed, got, want)
						default:
							read[name]++
						}
					})
				}
			}
			wg.Wait()
			sum := 0
			for _, k := range read {
				sum += k
			}
			t.Logf("%d of %d photos are read, %d wrong: %v", sum, 4*n, wrong, read)
			if sum*100 < 95*4*n {
				t.Errorf("%d of %d photos are read; want 95 of 100", sum, 4*n)
			}
		})
	}
}
