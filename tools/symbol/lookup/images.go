package lookup

// Several images in one stream: a kernel and its modules, a loader and what it
// loads. A trace is resolved with the one that it comes from, which its build ID
// tells; traces of others say which module a frame is in, or only a name or an
// address, which one of the images has.
//
// The images may come late, since opening them takes time and text need not wait
// for it. They are waited for when the first trace is there.

// Images are what the traces of a stream are resolved with.
type Images struct {
	// Given are the images, in the order in which they are tried.
	Given []Resolver
	// Find returns an image that is not among them: of a build ID in lower-case
	// hexadecimal (or of its beginning, with PartMark behind it), or of a Linux module by the name
	// that Linux gives it; nil if there is none. The other argument is empty. A nil Find finds
	// nothing.
	Find func(build, module string) Resolver
	// File returns an image that is not among them by the path that its file has on the
	// system that ran it, of which the last part counts most; nil if there is none. A
	// nil File finds nothing.
	File func(path string) Resolver
	// Bias is how far above its addresses the first image runs in foreign traces;
	// nil: as the stream tells.
	Bias *uint64
}

// Empty reports whether there is nothing to resolve with.
func (im *Images) Empty() bool { return len(im.Given) == 0 && im.Find == nil && im.File == nil }

// Other returns the image of a build or a module that is not among the given ones.
func (im *Images) Other(build, module string) Resolver {
	if im.Find == nil {
		return nil
	}
	return im.Find(build, module)
}

// Build returns the image that has the build ID, or nil.
func (im *Images) Build(id string) Resolver {
	if id == "" {
		return nil
	}
	for _, sym := range im.Given {
		if sym.BuildID() == id {
			return sym
		}
	}
	return im.Other(id, "")
}

// FileName returns the name of an image's file.
func FileName(sym Resolver) string {
	if m, ok := sym.(interface{ Name() string }); ok {
		return m.Name()
	}
	return "an image"
}

// MaxCalls bounds the calls that are shown for one address, whatever a
// hostile ELF says.
const MaxCalls = 64

// Injected reports whether the function is called by a signal handler as if the
// interrupted instruction had called it: the return address that it finds is the
// interrupted pc itself. A target that knows these functions says pc by itself.
func Injected(function string) bool {
	return function == "runtime.sigpanic" || function == "runtime.asyncPreempt"
}
