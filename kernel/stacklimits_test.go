package kernel

import (
	"slices"
	"testing"

	proof "github.com/zeroframe/zeroframe/tools/stacks"
)

// TestStackTable: the bounds' rows are those of the table of stacks.
func TestStackTable(t *testing.T) {
	var names []string
	for i := range stacks[:numStacks] {
		names = append(names, stacks[i].Name)
	}
	if known, _ := proof.KernelStacks(); !slices.Equal(known, names) {
		t.Errorf("the stacks are %q; tools/stacks/kernel.txt has %q", names, known)
	}
}
