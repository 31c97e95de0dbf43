package stack

import (
	"slices"
	"testing"

	proof "github.com/zeroframe/zeroframe/tools/symbol/stacks"
)

// TestStackTable: the bounds have the same rows as the table of stacks.
func TestStackTable(t *testing.T) {
	var names []string
	for i := range Table[:Count] {
		names = append(names, Table[i].Name)
	}
	if known, _ := proof.KernelStacks(); !slices.Equal(known, names) {
		t.Errorf("the stacks are %q; tools/symbol/stacks/kernel.txt has %q", names, known)
	}
}

// TestStackSizes: the area holds all stacks, each with a guard page.
func TestStackSizes(t *testing.T) {
	total := uintptr(4095)
	for i, n := range sizes {
		if n == 0 || n%4096 != 0 {
			t.Errorf("stack %d has %d bytes; want whole pages", i, n)
		}
		if i != Boot {
			total += n + guardSize
		}
	}
	if total > areaSize {
		t.Errorf("the stacks take %d bytes; the area has %d", total, areaSize)
	}
	if len(Table) != maxRows {
		t.Errorf("the table has %d rows; want %d", len(Table), maxRows)
	}
}
