// What the linker drops, but for kept: functions that are shorter and longer than what is at 0.
extern volatile int g;
static inline __attribute__((always_inline)) int thrice(int x)
{
	g = x;
	return g * 3;
}
int shorter(void)
{
	return 1;
}
int same(int x)
{
	g = x;
	return g * 2 + 1;
}
int longer(int x)
{
	asm volatile(".fill 0x400,1,0x90");
	return thrice(x) + 1;
}
int __attribute__((section(".text.kept"))) kept(int x)
{
	g = 5;
	return thrice(x);
}
