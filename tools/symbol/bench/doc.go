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
// The words behind the command are the parts to measure, without any all of them: equal, equal-go,
// kernel, index, oops, oopslog, go, live, big, folded, cxx. The last three compare zf with
// llvm-addr2line, eu-addr2line and gimli's addr2line in the same run, in time, in the processor's
// time and in memory, each with the best of them in that. gimli's is built with rustc from the
// crates of Debian's librust-addr2line-dev; a C++ program of 2 GiB, of 20,000 units and one with
// 200 MB of debug information, is made once and kept too. On a busy machine the ratios of the
// processor's time tell more than those of the time.
//
// A peer that takes twenty times the processor's time of zf, and 10 s, is left out and named.
//
// A figure that is short of its goal is no failure; one that could not be measured
// is.
//
// In the order of reading:
//
//	main.go     the command
//	parts.go    the figures
//	measure.go  time and memory of a command, and its answers
//	setup.go    what is measured, and its peers
//	gimli.rs    gimli's addr2line as a command
//	cxx.go      a big C++ program
package main
