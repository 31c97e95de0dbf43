// A program without a C library, with calls inlined into calls, for the tests of
// DWARF. It is never run.
volatile int sink;

static inline int square(int x) {
	sink = x;
	return x * x;
}

static inline int either(int x) {
	if (x > 3)
		return square(x) + square(x + 1);
	return square(x - 1);
}

__attribute__((noinline)) static int loop(int n) {
	int s = 0;
	for (int i = 0; i < n; i++) {
		s += either(i);
		if (s > 100 && (i & 1))
			s -= either(s);
	}
	return s;
}

__attribute__((noreturn, noinline)) static void stop(int code) {
	sink = code;
	for (;;)
		;
}

__attribute__((cold, noinline)) static int rare(int n) { return loop(n) + either(n); }

void _start(void) {
	int r = loop(sink);
	if (__builtin_expect(r < 0, 0))
		r = rare(r);
	stop(r + either(r));
}
