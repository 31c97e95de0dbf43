// What is in the image, but for unused, which is as long as first.
volatile int g;
static inline __attribute__((always_inline)) int twice(int x)
{
	g = x;
	return g * 2;
}
int __attribute__((section(".text.first"), noinline)) first(int x)
{
	return twice(x) + 1;
}
int kept(int x);
int unused(int x)
{
	return twice(x) + 2;
}
int __attribute__((noinline)) second(int x)
{
	g = 3;
	int r = first(x) + kept(x);
	g = r + twice(x);
	return r;
}
#ifdef __cplusplus
extern "C"
#endif
void _start(void)
{
	second(3);
	g = 7;
}
