package main

// files are the folders of the Go distribution that a package's tests read besides
// those that `zf test` gives them: their package's own and testdata folders.
var files = map[string][]string{
	"crypto/internal/fips140test": {"src/crypto/internal"},
	"go/internal/srcimporter":     {"src"},
	"go/parser":                   {"src/go"},
	"go/types":                    {"src", "test"},
	"internal/trace":              {"src/internal/trace/internal"},
	"io/ioutil":                   {"src/io"},
	"math/big/internal/asmgen":    {"src/math/big"},
	"path/filepath":               {"src/unicode"},
}
