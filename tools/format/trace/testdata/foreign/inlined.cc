// A program whose innermost function is inlined twice where it dies.
namespace ns {
template <class T> struct Box {
	T v;
	__attribute__((always_inline)) int get(volatile int *p) const { return *p + static_cast<int>(v); }
};
}

static inline __attribute__((always_inline)) int outer(volatile int *p)
{
	ns::Box<double> b{2.5};
	return b.get(p) + 1;
}

volatile int calls;

__attribute__((noinline)) int middle(volatile int *p)
{
	calls++;
	return outer(p) * 2;
}

int main(int argc, char **)
{
	volatile int *none = nullptr;
	return middle(argc > 5 ? &argc : none) + 1;
}
