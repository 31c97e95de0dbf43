// A program that fails as its arguments say, or tells where it is.
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int shared;

__attribute__((noinline)) static int add(int a, int b)
{
	return a + b;
}

__attribute__((noinline)) static void *touch(void *p)
{
	shared += p != 0;
	return p;
}

volatile int touched;

/* The sanitizer misses two accesses at the same moment. It does not see this order of them. */
__attribute__((noinline, no_sanitize("thread"))) static void *first(void *p)
{
	touch(p);
	touched = 1;
	return p;
}

__attribute__((noinline, no_sanitize("thread"))) static void await(void)
{
	while (!touched)
		sched_yield();
}

__attribute__((noinline)) int deep(volatile int *p, const char *how)
{
	void *at;
	if (!strcmp(how, "overflow"))
		return p[4];
	if (!strcmp(how, "null"))
		return *(volatile int *)8;
	if (!strcmp(how, "add"))
		return add(0x7fffffff, p[0]);
	if (!strcmp(how, "backtrace")) {
		void *frames[64];
		backtrace_symbols_fd(frames, backtrace(frames, 64), 2);
	}
	if (!strcmp(how, "race")) {
		pthread_t other;
		pthread_create(&other, 0, first, &shared);
		await();
		touch(&shared);
		pthread_join(other, 0);
	}
	if (!strcmp(how, "addresses")) {
		__asm__ volatile("lea (%%rip), %0" : "=r"(at));
		printf("pc=%p\nlr=%p\n", at, __builtin_return_address(0));
	}
	if (!strcmp(how, "maps")) {
		char buf[4096];
		int n, fd = open("/proc/self/maps", O_RDONLY);
		while ((n = read(fd, buf, sizeof buf)) > 0)
			fwrite(buf, 1, n, stdout);
		close(fd);
	}
	fflush(stdout);
	return p[0];
}

__attribute__((always_inline)) static inline int between(volatile int *p, const char *how)
{
	return deep(p, how) + 1;
}

__attribute__((noinline)) static int caller(volatile int *p, const char *how)
{
	return between(p, how) * 2;
}

int main(int argc, char **argv)
{
	int n = 0;
	volatile int *p = malloc(8);
	p[0] = 1;
	for (int i = 1; i < argc; i++)
		n += caller(p, argv[i]);
	return n & 1;
}
