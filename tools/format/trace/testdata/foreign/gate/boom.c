// What Crash.java calls.
__attribute__((noinline)) static void nothing(volatile int *p)
{
	__asm__ volatile("" : : "r"(p));
}

// fail calls another function so that it has a frame.
__attribute__((noinline)) static int fail(volatile int *p)
{
	nothing(p);
	return *p + 1;
}

int Java_Crash_boom(void *env, void *class, int n)
{
	(void)env;
	(void)class;
	return fail((volatile int *)(long)n) + 1;
}
