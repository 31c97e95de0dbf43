package qemu

import (
	"fmt"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/machine/image"
)

// A deep stack has both ends in its trace: 64 innermost and 32 outermost frames, in each
// form, with the number of those between them.

// physical returns the frames of the target, without inlined calls and what the host has
// found, and how many they stand for.
func (t *labTrace) physical() (frames []labFrame, depth int) {
	elided := 0
	for _, f := range t.Frames {
		elided += f.Elided
		if f.Inlined || f.Kind == "inferred" || f.Repaired || f.Source != "" {
			continue
		}
		f.Elided, elided = elided, 0
		depth += 1 + f.Repeat + f.Elided
		frames = append(frames, f)
	}
	return frames, depth
}

func TestDeepStacks(t *testing.T) {
	const early = " kernel.early boot.start boot.long"
	for _, tt := range []struct {
		kind, options string
		began         string // the outermost functions
		depth         int    // 0: as many as there was room for
	}{
		{"early.many", "crash.depth=96", "main.manyC*90 main.manyB main.manyA main.lab" + early, 96},
		{"early.many", "crash.depth=97", "main.manyC*26 main.manyB main.manyA main.lab" + early, 97},
		{"early.many", "crash.depth=500", "main.manyC*26 main.manyB main.manyA main.lab" + early, 500},
		{"early.mutual", "", " main.mutualD main.mutualC main.mutualB main.mutualA main.lab" + early, 0},
		{"go.mutual", "", " golab.mutualD golab.mutualC golab.mutualB golab.mutualA" + inGoroutine, 0},
	} {
		for _, form := range []string{"text", "markup", "compact"} {
			t.Run(tt.kind+"/"+strings.TrimPrefix(tt.options, "crash.")+"/"+form, func(t *testing.T) {
				t.Parallel()
				path, symbols := lab(t, image.AllLoaders)
				_, serial, err := boot(t, Config{Kernel: path}, fmt.Sprintf("crash=%s %s trace=%s", tt.kind, tt.options, form))
				if err != nil {
					t.Error(err)
				}
				all := traces(t, symbols, serial)
				if len(all) == 0 {
					t.Fatal("no trace")
				}
				tr := all[0]
				frames, depth := tr.physical()
				if tr.Damaged || !tr.Complete {
					t.Errorf("damaged, complete = %v, %v; want the whole walk", tr.Damaged, tr.Complete)
				}
				if chain := strings.ReplaceAll(tr.chain(), "kernel/crashlab/", ""); !strings.HasSuffix(chain, tt.began) {
					t.Errorf("%s\nends with another than %s", chain, tt.began)
				}
				if tt.depth != 0 && depth != tt.depth || tt.depth == 0 && depth < 500 {
					t.Errorf("%d frames in all; want %d", depth, tt.depth)
				}
				if depth <= 96 {
					if len(frames) != depth {
						t.Errorf("%d frames of %d", len(frames), depth)
					}
					return
				}
				if len(frames) != 96 || frames[64].Elided != depth-96 {
					t.Errorf("%d frames, %d left out in the middle; want 96, and %d", len(frames), frames[min(64, len(frames)-1)].Elided, depth-96)
				}
				if form == "text" && !strings.Contains(serial, " frames left out\r\nzf1 #") {
					t.Errorf("no line says how many frames are left out:\n%s", serial)
				}
			})
		}
	}
}

// TestRecursion: who began a recursion that has run away is in the trace, and all frames
// are accounted for: as many as the stack has room for.
func TestRecursion(t *testing.T) {
	for _, form := range []string{"text", "markup", "compact"} {
		for _, tt := range []struct {
			kind string
			min  int
		}{{"early.overflow", 1900}, {"go.overflow", 10000}} {
			t.Run(tt.kind+"/"+form, func(t *testing.T) {
				t.Parallel()
				path, symbols := lab(t, image.AllLoaders)
				_, serial, err := boot(t, Config{Kernel: path}, fmt.Sprintf("crash=%s trace=%s", tt.kind, form))
				if err != nil {
					t.Error(err)
				}
				all := traces(t, symbols, serial)
				if len(all) == 0 {
					t.Fatal("no trace")
				}
				frames, depth := all[0].physical()
				folded := 0
				for i, f := range frames {
					if f.Repeat > folded {
						folded = f.Repeat
						if !strings.HasSuffix(f.Function, ".overflowC") || i+1 == len(frames) ||
							!strings.HasSuffix(frames[i+1].Function, ".overflowB") && !strings.HasSuffix(frames[i+1].Function, ".overflowC") {
							t.Errorf("frame %d, %s, stands for %d", i, f.Function, f.Repeat+1)
						}
					}
					if f.Elided != 0 {
						t.Errorf("%d frames left out before frame %d", f.Elided, i)
					}
				}
				if !all[0].Complete || folded < tt.min || depth < folded || len(frames) > 40 {
					t.Errorf("complete = %v, %d frames that stand for %d, of one %d; want %d or more", all[0].Complete, len(frames), depth, folded, tt.min)
				}
			})
		}
	}
}
