// Bench measures Zeroframe and prints one line a figure, tab-separated: name,
// value, goal, and "ok" or "short" ("-" where there is no goal). The same goes to
// bench.txt. It fails when something could not be measured, never because a
// figure is bad.
//
// Times are medians of several boots under TCG on this machine. Costs inside the
// guest are instructions, counted under -icount shift=0: the same in every run.
//
// Run it with make bench, from the top of the repository.
package main
