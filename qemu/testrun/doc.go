// Testrun runs the module's tests. It is what `make test`, `make test-all` and
// `make test-repeat` run:
//
//	go run ./qemu/testrun [flags] test|all|repeat
//
//	main.go    the command and its steps
//	ports.go   the commands, built and vetted for other hosts
//	long.go    long.txt, the list of the tests that `make test` leaves to `make test-all`
//	gotest.go  `go test` in JSON -> failures with their output, the slowest tests, counts
//	fuzz.go    fuzz targets: one binary a package, one run a target
//	repeat.go  whole runs of `make test`, some on a busy machine, and a table of failures
//
// The last line of the output is "N passed, N failed". The counts are of tests without
// subtests, subtests, fuzz targets, packages that failed outside a test, and checks. A
// test that skips itself counts as failed: what a test needs is installed by
// tools/setup.sh.
//
// Exit status: 0 all passed; 1 something failed; 2 wrong usage. Context: the host.
package main
