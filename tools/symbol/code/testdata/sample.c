// What a compiler makes of switches, sibling calls, cold paths, function
// pointers and recursion, with a C library behind it.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct op {
	const char *name;
	long (*run)(long, long);
};

static long add(long a, long b) { return a + b; }
static long sub(long a, long b) { return a - b; }
static long mul(long a, long b) { return a * b; }
static long quo(long a, long b)
{
	if (__builtin_expect(b == 0, 0)) {
		fprintf(stderr, "division by zero\n");
		abort();
	}
	return a / b;
}

static const struct op ops[] = {{"+", add}, {"-", sub}, {"*", mul}, {"/", quo}};

static __attribute__((noinline)) void fail(const char *why, const char *what)
{
	fprintf(stderr, "%s: %s\n", why, what);
	exit(2);
}

__attribute__((noinline)) long fact(long n) { return n < 2 ? 1 : n * fact(n - 1); }

__attribute__((noinline)) int odd(long n);
__attribute__((noinline)) int even(long n) { return n == 0 ? puts("even") : odd(n - 1); }
__attribute__((noinline)) int odd(long n) { return n == 0 ? puts("odd") : even(n - 1); }

__attribute__((noinline)) long choose(int c, long v)
{
	switch (c) {
	case 'a': return fact(v);
	case 'b': return v * 3 + 1;
	case 'c': return strtol("77", 0, 8) + v;
	case 'd': return even(v);
	case 'e': return v ^ 0x55;
	case 'f': return v << 3;
	case 'g': return rand() % (v + 1);
	case 'h': return -v;
	case 'i': puts("i"); return v;
	case 'j': return v / 7;
	}
	fail("choose", "what?");
	return 0;
}

__attribute__((noinline)) long apply(const char *name, long a, long b)
{
	for (unsigned i = 0; i < sizeof ops / sizeof ops[0]; i++)
		if (strcmp(ops[i].name, name) == 0)
			return ops[i].run(a, b);
	fail("apply", name);
	return 0;
}

static int by_value(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

int main(int argc, char **argv)
{
	int v[64];
	for (int i = 0; i < 64; i++)
		v[i] = rand();
	qsort(v, 64, sizeof v[0], by_value);
	for (int i = 1; i + 2 < argc; i += 3)
		printf("%ld %ld\n", apply(argv[i], atol(argv[i + 1]), atol(argv[i + 2])), choose(argv[i][0], v[i & 63]));
	return 0;
}
