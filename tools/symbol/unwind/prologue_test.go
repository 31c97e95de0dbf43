package unwind

import (
	"path/filepath"
	"testing"

	"github.com/zeroframe/zeroframe/tools/symbol/code"
)

// TestNoTables: without call frame information the instructions themselves tell.
func TestNoTables(t *testing.T) {
	path := buildC(t, "testdata/nofp.c", "-static")
	bare := filepath.Join(t.TempDir(), "bare.elf")
	tool(t, "objcopy", "--rename-section", ".eh_frame=.gone", path, bare)
	tables, _ := open(t, path)
	without, file := open(t, bare)
	asked, answered, same := 0, 0, 0
	for i := range tables.eh.FDEs {
		e := &tables.eh.FDEs[i]
		if row, ok := tables.Row(e.Low); !ok || row.Signal {
			continue
		}
		if start, ok := file.FuncStart(e.Low); !ok || start != e.Low {
			continue // a part of a function that lies elsewhere
		}
		b, _ := file.BytesAt(e.Low, e.High-e.Low)
		behind, step := false, 0
		for pc := e.Low; pc < e.High && len(b) > 0; step++ {
			inst := code.Decode(b)
			at := pc
			pc, b = pc+uint64(inst.Len), b[inst.Len:]
			if behind = inst.Op.Ends() || behind && inst.Op == code.Nop; behind && inst.Op == code.Nop {
				continue // filling, which never runs
			}
			if step%61 != 0 {
				continue
			}
			pc := at
			want, ok := tables.Row(pc)
			if !ok || want.CFA.Kind != InReg {
				continue
			}
			asked++
			got, ok := without.Row(pc)
			if !ok {
				continue
			}
			if got.Source != Prologue {
				t.Fatalf("%#x: source %v", pc, got.Source)
			}
			answered++
			// The one may use RBP where the other uses RSP.
			if got.CFA.Reg != want.CFA.Reg || got.CFA.Off == want.CFA.Off {
				same++
			}
		}
	}
	t.Logf("%d addresses, %.2f %% answered, %.2f %% of them as the tables", asked,
		100*float64(answered)/float64(asked), 100*float64(same)/float64(answered))
	if answered*100 < asked*97 || same*100 < answered*97 {
		t.Errorf("too few")
	}
}
