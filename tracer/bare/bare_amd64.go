package bare

// Chase stores the return addresses of the frame records from fp up at out until a
// frame pointer is 0, and returns their number. The last record is the entry stub's
// pair of zeros, and counts. Any context.
//
//go:noescape
func Chase(fp uintptr, out *uintptr) (n int)
