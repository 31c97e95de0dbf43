// Package buildid finds ELF files by their GNU build ID: among files that were given,
// in folders of the layout .build-id/xx/yyyy that distributions and debuggers use, and
// at debuginfod servers, whose files are kept. What is found is opened and its build
// ID compared before anybody is given it: a name says what a file should be.
//
// The package may import tools/symbol. Host.
//
// In the order of reading:
//
//	folder.go       a folder of files
//	finder.go       where files are looked for
//	server.go       debuginfod servers, for a receiver of many machines' traces
//	cache.go        what they have sent
//	client.go       debuginfod servers, with the cache of all clients of a user
//	request.go      one request
//	clean.go        what nobody has used for long is removed from that cache
//	atime_linux.go  when a file was used
//	atime_other.go  the same elsewhere
package buildid
