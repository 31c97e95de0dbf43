// Package mm is the kernel's memory: which physical memory there is, and the
// 4-level page tables that map it. It imports arch and boot, and package resource,
// which logs frames. Early and kernel context: no allocation but of page frames,
// globals free of pointers.
package mm
