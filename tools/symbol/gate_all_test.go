//go:build symbolgate

package symbol

const goStep = 1

// agreeSeeds is how many random programs are asked in many ways.
const agreeSeeds = 200

var moreGoFlags = [][]string{{"-gcflags=all=-l"}, {"-gcflags=all=-N -l"}, {"-buildmode=pie", "-trimpath"}}
