// Package debuginfod asks debuginfod servers for files by build ID, as elfutils' client does:
// the same environment variables, the same requests, and one cache folder with it, so that
// what gdb, perf or eu-addr2line has downloaded is there for zf, and the other way round.
//
//	client.go       what is in the cache, and what is asked for
//	request.go      one request
//	clean.go        what nobody has used for long is removed from the cache
//	atime_linux.go  when a file was used
//	atime_other.go  the same elsewhere
//
// A file is downloaded under another name and compared with the build ID before it gets its
// place, so that neither a cut download nor a wrong file is ever found there.
//
// Sources: debuginfod(8), "WEBAPI"; debuginfod_find_debuginfo(3), "ENVIRONMENT VARIABLES" and
// "CACHE". Context: the host.
package debuginfod
