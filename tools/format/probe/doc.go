// Package probe is the host's side of `zf run -probe`: it chooses the functions whose
// calls the target counts and times (package kernel/observe/probe has how), finds the places in
// their code, and reads what was counted.
//
//	Choose       from patterns to a Plan: functions, places, refusals with reasons
//	Plan.Table   the plan for the target, a file in its boot archive
//	Read         the target's record, as a Report
//	Report.Text  the table for people
//
// Context: host.
//
// In the order of reading:
//
//	choose.go  patterns -> functions
//	places.go  where breakpoints go in a function's code
//	entries.go where calls begin, for a debugger from outside
//	report.go  the target's counts, read
//	text.go    the counts, as text
package probe
