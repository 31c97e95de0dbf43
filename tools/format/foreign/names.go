package foreign

// The names of C++ and of Rust, which linkers know in another form than their authors.

import (
	"slices"
	"strings"

	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// inSource gives the calls the names that the source has.
func inSource(calls []lookup.Call) []lookup.Call {
	if !slices.ContainsFunc(calls, func(c lookup.Call) bool { return isMangled(c.Function) }) {
		return calls
	}
	calls = slices.Clone(calls) // which the image may keep
	for i := range calls {
		calls[i].Function = Demangle(calls[i].Function)
	}
	return calls
}

// isMangled reports whether the name may be one that demangle changes.
func isMangled(name string) bool {
	return strings.HasPrefix(name, "_Z") || strings.HasPrefix(name, "_R") ||
		strings.HasPrefix(name, "__Z")
}

// isNamed reports whether a debugger calls the function so: without its parameters.
func isNamed(function, said string) bool {
	return function == said || isMangled(function) &&
		Demangle(function, NoParams) == said
}
