// Package host starts programs of this machine, and says how one that is missing is installed.
//
//	child.go        programs that ^C reaches by their starter alone
//	child_unix.go, child_other.go  process groups
//	install.go      package managers, the names of packages, the command
//
// tools/setup.sh has the same names of packages, for a shell that has no Go yet; a test holds the
// two together. It imports the standard library alone. Context: the host.
package host
