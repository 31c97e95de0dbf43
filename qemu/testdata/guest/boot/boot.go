// Package boot has the guest's entry, which is all of the guest.
package boot

func entry()

// The variable keeps the entry alive, which no Go code calls.
var _ = keep

var keep = entry
