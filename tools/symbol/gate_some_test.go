//go:build !symbolgate

package symbol

// goStep is the distance of the addresses at which ways of building Go programs are
// tried, all but the usual one.
const goStep = 61

// moreGoFlags are ways for which the standard library has to be built anew.
var moreGoFlags [][]string

// agreeSeeds is how many random programs are asked in many ways.
const agreeSeeds = 8
