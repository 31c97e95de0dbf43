// A write behind the end of a block, in a function that ends with it: the check's call is
// the last instruction, and another function follows.
#include <stdlib.h>

__attribute__((noinline, noreturn)) static void last(int *p) {
	p[4] = 1;
	for (;;)
		;
}

__attribute__((noinline)) int next(int x) { return x + 3; }

int main(int argc, char **argv) {
	if (argc > 1)
		*(volatile int *)0 = 1;
	last(malloc(16));
	return next(argc);
}
