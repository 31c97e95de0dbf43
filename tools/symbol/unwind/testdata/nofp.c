// Call chains of a program that keeps no frame pointers, for the tests: saved
// registers, a large frame, a frame of variable size, a sibling call, a callback
// through the C library, a signal handler.
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

volatile long sink;
#define NOINLINE __attribute__((noinline, noclone))

NOINLINE void stop(long n) { sink += n; }

NOINLINE long leaf(long a, long b) {
	stop(a ^ b);
	return sink + a * b;
}

NOINLINE long saves(long a, long b, long c) {
	long x = leaf(a, b), y = leaf(b, c), z = leaf(c, a), w = leaf(x, y);
	return x + y * z - w + leaf(z, w) + a + b + c;
}

NOINLINE long large(long n) {
	volatile char room[5000];
	for (int i = 0; i < 3; i++)
		room[i * n % sizeof room] = (char)i;
	return saves(n, room[n % sizeof room], 3) + room[0];
}

NOINLINE long variable(long n) {
	volatile char *room = __builtin_alloca(n * 16);
	room[0] = 1;
	return large(n) + room[0];
}

NOINLINE long sibling(long n) { return variable(n + 1); }

static int compare(const void *a, const void *b) {
	long d = *(const long *)a - *(const long *)b;
	stop(d);
	return d < 0 ? -1 : d > 0;
}

static void handler(int s) { sink += sibling(s); }

NOINLINE long usesRBP(long a, long b, long c, long d, long e) {
	long v[4] = {d, c, b, a};
	qsort(v, 4, sizeof v[0], compare);
	for (long i = 0; i < 3; i++)
		a += leaf(a, b) * c + d * leaf(e, i);
	return a + b + c + d + e + v[0];
}

int main(int argc, char **argv) {
	(void)argv;
	signal(SIGUSR1, handler);
	sink += sibling(argc);
	sink += usesRBP(argc, 2, 3, 4, 5);
	kill(getpid(), SIGUSR1);
	return 0;
}
