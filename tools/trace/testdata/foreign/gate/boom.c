// What Crash.java calls.
__attribute__((noinline)) static int fail(volatile int *p)
{
	return *p;
}

int Java_Crash_boom(void *env, void *class, int n)
{
	(void)env;
	(void)class;
	return fail((volatile int *)(long)n) + 1;
}
