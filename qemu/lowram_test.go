package qemu

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/machine/image"
)

// TestNoRAM: with QEMU's own loader, which puts an image where there is no RAM and says
// nothing. The boot says what is wrong and what to do, whenever its code is
// there; with as much RAM as it asks for it boots.
func TestNoRAM(t *testing.T) {
	t.Parallel()
	for _, machine := range []string{"pc", "q35", "microvm"} {
		for _, loaders := range []image.Loaders{image.Multiboot, image.PVH} {
			t.Run(fmt.Sprintf("%s/%v", machine, loaders), func(t *testing.T) {
				t.Parallel()
				path, symbols := lab(t, loaders)
				code := entryOf(t, path, module+"boot.entry")
				end := entryOf(t, path, "runtime.end")
				info, err := image.InspectFile(path)
				if err != nil {
					t.Fatal(err)
				}
				// Firmware writes over what is in the highest half MiB or so.
				for mib := int(code>>20) + 2; mib<<20 < int(info.MinRAM()); mib++ {
					res, serial, err := boot(t, Config{Kernel: path, Machine: machine, MemoryMiB: mib}, "crash=early.ud2")
					all := traces(t, symbols, serial)
					if err == nil && len(all) == 1 && all[0].Reason == "invalid opcode" && uint64(mib)<<20 >= end {
						continue // no firmware keeps RAM: there is enough
					}
					if err != nil || res.Outcome != Traced || len(all) != 1 || all[0].Kind != "panic" || !strings.Contains(serial, "(QEMU: -m") {
						t.Fatalf("%d MiB: %v, %v, %d traces, the serial port has %q", mib, res.Outcome, err, len(all), serial)
					}
					if uint64(mib)<<20 >= end {
						continue // the kernel itself has found it out
					}
					m := noRAM.FindStringSubmatch(serial)
					if m == nil || m[3] != m[4] || m[3] != fmt.Sprint(info.MinRAM()>>20) || m[1] != fmt.Sprintf("%x", code) {
						t.Fatalf("%d MiB: %q; want the code at %#x, and %d MiB", mib, serial, code, info.MinRAM()>>20)
					}
					if at, _ := strconv.ParseUint(m[2], 16, 64); at < end-8 || at >= end {
						t.Errorf("%d MiB: %q; want the end at %#x", mib, m[0], end)
					}
				}
				// It is the truth: TestLeastMemory boots with that much.
			})
		}
	}
}

var noRAM = regexp.MustCompile(`zf1 last panic 0x([0-9a-f]+) zeroframe: the image ends where there is no RAM, at 0x([0-9a-f]+): ` +
	`the machine needs (\d+) MiB at least \(QEMU: -m (\d+)\)\r\n`)
