// A program that runs for a second or two in one function of another.
volatile long sum;

__attribute__((noinline)) void work(long n)
{
	for (long i = 0; i < n; i++)
		sum += i;
}

__attribute__((noinline)) int loop(void)
{
	for (int i = 0; i < 300000; i++)
		work(1000);
	return sum == 3;
}

int main(void)
{
	return loop() * 2;
}
