// Calls inlined into the cold part of a function, which lies elsewhere. It is never run.
volatile int sink;

__attribute__((cold, noinline)) static void warn(int x) { sink = x; }

static inline __attribute__((always_inline)) int inner(int x) {
	if (x > 100) {
		warn(x);
		warn(x + 1);
		return -1;
	}
	return x * 3;
}

static inline __attribute__((always_inline)) int outer(int x) {
	if (x < -5) {
		warn(7);
		return inner(x) - 1;
	}
	return inner(x + 1) + 2;
}

__attribute__((noinline)) static int twice(int a) { return outer(a) + outer(a * 2); }

__attribute__((noinline)) static int loop(int n) {
	for (int i = 0; i < n; i++)
		sink = outer(i);
	return 7;
}

void _start(void) { sink = twice(sink) + loop(sink); }
