// Command bench measures `zf addr` and the symbolizers it competes with, side by
// side on the same files, and prints a line for each figure: name, value, goal, and
// whether the goal is met, separated by tabs. A ratio is zf's median to the peer's
// median of the same run. The lines go to bench-symbol.txt too.
//
// It needs Debian or a system like it: what is missing it installs or downloads,
// and says so first. The kernel's debug file (858 MB to load, 633 MB to keep), its
// decode_stacktrace.sh (140 MB to load, 8 KB to keep) and a Go program of 100 MB, which
// takes minutes to build, stay in the user's cache folder. ZF_VMLINUX names another
// vmlinux to measure with.
//
// The words after the command are the parts to measure, without any all of them: figures.txt has
// them, with each figure and its goal. gimli's addr2line is built with rustc from the crates of
// Debian's librust-addr2line-dev; a C++ program of 2 GiB is linked once and kept too. On a busy
// machine the ratios of the processor's time tell more than those of the time.
//
// A peer that takes twenty times the processor's time of zf, and 10 s, is left out and named.
//
// A figure that is short of its goal is no failure; one that could not be measured
// is.
//
// In the order of reading:
//
//	main.go      the command, and the ways to measure
//	figures.txt  the figures
//	measure.go   time and memory of a command, its inputs and its answers
//	setup.sh     what is measured, and its peers
//	testdata     what they are made of
package main
