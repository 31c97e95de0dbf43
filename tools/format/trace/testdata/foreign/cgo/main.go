// A program that dies in C, which Go has called.
package main

/*
#include <stdint.h>
#include <stddef.h>

__attribute__((noinline)) static void nothing(volatile int *p)
{
	__asm__ volatile("" : : "r"(p));
}

// fault calls another function so that it has a frame.
__attribute__((noinline)) static int fault(volatile int *p)
{
	nothing(p);
	return *p + 1;
}

__attribute__((always_inline)) static inline int around(volatile int *p)
{
	return fault(p) + 1;
}

__attribute__((noinline)) static int enter(volatile int *p)
{
	return around(p) * 3;
}

// What the runtime asks for the frames of C: a walk by frame pointers.
struct args { uintptr_t context, sig; uintptr_t *buf; uintptr_t max; };

static void walk(void *p)
{
	struct args *a = p;
	uintptr_t *fp = 0;
	if (a->sig == 0) {
		a->buf[0] = 0;
		return;
	}
	uintptr_t *regs = (uintptr_t *)(a->sig + 40); // gregs of a ucontext on amd64
	uintptr_t n = 0;
	a->buf[n++] = regs[16]; // RIP
	fp = (uintptr_t *)regs[10]; // RBP
	while (n + 1 < a->max && n < 3 && fp) {
		a->buf[n++] = fp[1];
		fp = (uintptr_t *)fp[0];
	}
	a->buf[n] = 0;
}

static void *walker(void) { return walk; }
*/
// #cgo CFLAGS: -O1 -g -fno-omit-frame-pointer
import "C"

import (
	"runtime"
	"unsafe"
)

//go:noinline
func call() int { return int(C.enter((*C.int)(unsafe.Pointer(uintptr(8))))) }

func main() {
	runtime.SetCgoTraceback(0, C.walker(), nil, nil)
	println(call())
}
