// Package buildid finds ELF files by their GNU build ID: among files that were given,
// in folders of the layout .build-id/xx/yyyy that distributions and debuggers use, and
// at debuginfod servers, whose files are kept. What is found is opened and its build
// ID compared before anybody is given it: a name says what a file should be.
//
// The package may import tools/symbol and tools/symbol/debuginfod. Host.
//
// In the order of reading:
//
//	folder.go  a folder of files
//	finder.go  where files are looked for
//	server.go  debuginfod servers
//	cache.go   what it has sent
package buildid
