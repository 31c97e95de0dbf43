package foreign

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// An Option is one of the library's.
type Option = demangle.Option

// The options that are used here.
const (
	NoParams  = demangle.NoParams
	LLVMStyle = demangle.LLVMStyle
)

// maxText is the binary logarithm of the longest name that is given, in bytes: a short name can
// double its length with each substitution. The longest of libLLVM and libclang has 8358.
const maxText = 17

// Demangle returns the name in the source's form, or as it is if it is none that linkers know in
// another form, or is far too long there.
func Demangle(name string, options ...Option) string {
	options = append(options[:len(options):len(options)], demangle.MaxLength(maxText))
	if s := filter(renumbered(name), options); len(s) < 1<<maxText {
		return s
	}
	return name
}

func filter(name string, options []Option) string {
	if strings.HasPrefix(name, "_Z") && (strings.Contains(name, "adL_Z") ||
		strings.Contains(name, "Dp")) {
		tree, err := demangle.ToAST(name, options...)
		if err == nil && mended(tree, slices.Contains(options, LLVMStyle)) {
			return demangle.ASTToString(tree, options...)
		}
	}
	return demangle.Filter(name, options...)
}

// A whole is a function's name that is printed with its parameters.
type whole struct{ *demangle.Typed }

// mended changes what the library would print otherwise than c++filt does, and reports whether
// there was any of it:
//
//   - Of the address of a function among template arguments it leaves out the parameters. c++filt
//     does so only where the name has a scope and no template arguments (libiberty,
//     d_print_comp_inner), LLVM never.
//   - It prints a comma before a pack that is expanded to nothing within another one.
func mended(tree demangle.AST, llvm bool) (found bool) {
	seen := map[demangle.AST]bool{} // parts may be shared
	tree.Traverse(func(a demangle.AST) bool {
		if seen[a] {
			return false
		}
		seen[a] = true
		switch a := a.(type) {
		case *demangle.ArgumentPack:
			if len(a.Args) > 1 && slices.ContainsFunc(a.Args, empty) {
				a.Args, found = slices.DeleteFunc(a.Args, empty), true
			}
		case *demangle.Unary:
			op, _ := a.Op.(*demangle.Operator)
			if f, ok := a.Expr.(*demangle.Typed); ok && op != nil && op.Name == "&" && !llvm {
				if _, scoped := f.Name.(*demangle.Qualified); !scoped {
					a.Expr, found = &whole{f}, true
				}
			}
		}
		return true
	})
	return found
}

// empty reports whether nothing is printed of an argument.
func empty(a demangle.AST) bool {
	switch a := a.(type) {
	case *demangle.ArgumentPack:
		return !slices.ContainsFunc(a.Args, func(a demangle.AST) bool { return !empty(a) })
	case *demangle.ExprList:
		return len(a.Exprs) == 0
	}
	return false
}

// Bounds of what is renumbered: real names are far below, and each place costs to read what is
// before it.
const (
	maxName   = 1 << 14
	maxPlaces = 1 << 10
)

// renumbered returns the name with substitutions as the library counts them: in an unresolved
// name (sr <source-name> <template-args> ... E) it counts each template, which neither the ABI nor
// c++filt nor LLVM does (Itanium C++ ABI, 5.1.5 and 5.1.10).
func renumbered(name string) string {
	if !strings.HasPrefix(name, "_Z") || !strings.Contains(name, "sr") || len(name) > maxName {
		return name
	}
	places := 0
	for i := strings.Index(name, "sr") + 2; i < len(name) && places < maxPlaces; i++ {
		if !isDigit(name[i]) || isDigit(name[i-1]) {
			continue
		}
		args := templateAfter(name, i)
		if args == 0 {
			continue
		}
		if places++; !unresolved(name, i) {
			continue
		}
		if n, ok := counted(name, args+1); ok {
			name = name[:args+1] + shift(name, args+1, n-1, &places)
		}
	}
	return name
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// unresolved reports whether the source name at i is part of the scope of an unresolved name:
// nowhere else is a name wanted after a source name and E.
func unresolved(name string, i int) bool {
	_, err := demangle.ToAST(name[:i] + "1aE")
	return err != nil && err.Error() == fmt.Sprintf("missing operator code at %d", i+3)
}

// templateAfter returns where the template arguments of the source name at i begin, 0 if it has
// none.
func templateAfter(name string, i int) int {
	from := i
	for i < len(name) && isDigit(name[i]) {
		i++
	}
	n, err := strconv.Atoi(name[from:i])
	if at := i + n; err == nil && n > 0 && n < len(name) && at < len(name) && name[at] == 'I' {
		return at
	}
	return 0
}

// counted returns how many substitutions the library has counted where it has read the name up to
// at, if it would read one there.
func counted(name string, at int) (n int, ok bool) {
	_, err := demangle.ToAST(name[:at] + "SZZZZ_")
	if err == nil {
		return 0, false
	}
	var id, place int
	_, scan := fmt.Sscanf(err.Error(), "substitution index out of range (%d >= %d) at %d",
		&id, &n, &place)
	return n, scan == nil && n > 0 && place >= at && place <= at+len("SZZZZ_")
}

// shift returns the name from a place on, with each substitution from the extra one on counted one
// higher.
func shift(name string, from, extra int, places *int) string {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	for i := from; i < len(name) && *places < maxPlaces; i++ {
		if name[i] != 'S' {
			continue
		}
		end := i + 1
		for end < len(name) && strings.IndexByte(digits, name[end]) >= 0 {
			end++
		}
		if end == len(name) || name[end] != '_' || end-i > 5 {
			continue
		}
		*places++
		if _, ok := counted(name, i); !ok {
			continue
		}
		id := uint64(0)
		if end > i+1 {
			v, _ := strconv.ParseUint(name[i+1:end], 36, 64)
			id = v + 1
		}
		if id < uint64(extra) {
			continue
		}
		as := "S" + strings.ToUpper(strconv.FormatUint(id, 36)) + "_"
		name = name[:i] + as + name[end+1:]
		i += len(as) - 1
	}
	return name[from:]
}
