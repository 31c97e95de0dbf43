//go:build symbolgate

package symbol

const goStep = 1

var moreGoFlags = [][]string{{"-gcflags=all=-l"}, {"-gcflags=all=-N -l"}, {"-buildmode=pie", "-trimpath"}}
