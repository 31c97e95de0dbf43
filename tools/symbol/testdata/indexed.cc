// Templates, lambdas, exceptions and the library's own inlined code: functions in
// many pieces, with deep chains of inlined calls.

#include <algorithm>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

template <class T> struct Sorted {
	std::vector<T> values;

	void add(T value)
	{
		values.push_back(value);
		std::sort(values.begin(), values.end());
	}

	struct Twice {
		static int of(int n)
		{
			auto times = [&](int x) { return x * n; };
			return times(3) + times(4);
		}
	};
};

static int length(const std::string &s)
{
	if (s.size() > 1000)
		throw std::length_error(s);
	return s.size();
}

int main(int argc, char **argv)
{
	Sorted<int> numbers;
	Sorted<std::string> names;
	std::map<std::string, int> count;
	for (int i = 0; i < argc; i++) {
		numbers.add(i * 7 % 5);
		names.add(argv[i]);
		count[argv[i]] += Sorted<int>::Twice::of(i);
	}
	try {
		numbers.add(length(names.values[0]));
	} catch (const std::length_error &e) {
		return 1;
	}
	std::function<int(int)> more = [&](int n) { return n + argc; };
	return more(numbers.values[0]) + count.size();
}
