// Package install says how a program is installed on this machine: the command of the
// package manager that is there.
//
//	install.go  managers, the names of packages, the command
//
// tools/setup.sh has the same names, for a shell that has no Go yet; a test holds the two
// together. It imports the standard library alone. Context: the host.
package install
