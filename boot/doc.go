// Package boot takes the machine from the loader to compiled Go: the 32-bit entry for PVH and
// multiboot 1, the switch to long mode, the boot stack, and the loader's information (memory map,
// command line, its name).
//
// It imports only arch. The entry code runs before there is any context; everything else runs in
// early context: boot stack, static data, no runtime.
//
// The order is: entry (entry_amd64.s, 32-bit) -> long (64-bit) -> start (start_amd64.s) -> the
// kernel's first Go function. For another CPU, when the kernel starts it: apCode (ap_amd64.s,
// 16-bit, 32-bit) -> apLong (64-bit) -> apStart -> FillAP's main.
//
//	info.go          memory map, command line, modules, of either protocol
//	grub.go          GRUB's command line, as in its configuration
//	framebuffer.go   the screen that a loader set up
//	stack.go         the boot stack
//	ap.go            the page in which another CPU starts
package boot
