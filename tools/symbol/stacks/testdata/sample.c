// Functions of every kind that a bound has to do with. Compiled with gcc -O2
// -fno-inline -fstack-usage.

#include <alloca.h>

volatile int sink;
int (*hook)(int);

#define NOINLINE __attribute__((noinline, noclone))

NOINLINE int leaf(int x) { sink = x; return x + 1; }

// redzone uses memory below its stack pointer, and calls nothing.
NOINLINE int redzone(const int *p) {
	volatile int a[20];
	for (int i = 0; i < 20; i++)
		a[i] = p[i];
	return a[3] + a[sink & 7];
}

NOINLINE int small(int x) {
	volatile char b[100];
	b[x & 63] = 1;
	return leaf(x) + b[3];
}

NOINLINE int large(int x) {
	volatile char b[5000];
	b[x & 63] = 1;
	return small(x) + b[3];
}

// shallow calls large from less deep than it gets by itself.
NOINLINE int saves(int a, int b, int c, int d, int e, int f, int g, int h) {
	int r = large(a) * b + large(c) * d + large(e) * f;
	return r + small(g) * h;
}

NOINLINE int tail(int x) { sink = x; return large(x + 1); }

NOINLINE int factorial(int n) { volatile int k = n; return n < 2 ? 1 : factorial(n - 1) * k; }

NOINLINE int even(int n);
NOINLINE int odd(int n) { volatile int k = n; return n == 0 ? 0 : even(k - 1) + 1; }
int even(int n) { volatile int k = n; return n == 0 ? 1 : odd(k - 1) + 1; }

NOINLINE int indirect(int x) { return hook(x) + 1; }
NOINLINE int indirect_tail(int x) { sink = x; return hook(x); }

NOINLINE int variable(int n) {
	volatile char *p = alloca(n);
	p[n / 2] = 3;
	return leaf(n) + p[n / 2];
}

NOINLINE int choose(int x) {
	switch (x) {
	case 0: return small(x) + 1;
	case 1: return large(x) + 2;
	case 2: return leaf(x) + 3;
	case 3: return tail(x) + 5;
	case 4: return saves(x, x, x, x, x, x, x, x);
	case 5: return sink;
	}
	return 0;
}

int main(int argc, char **argv) {
	int a[20] = {argc};
	hook = argc > 5 ? factorial : even;
	return choose(argc) + redzone(a) + indirect(argc) + variable(argc) + odd(argc) + indirect_tail(argc) + factorial(argc);
}
