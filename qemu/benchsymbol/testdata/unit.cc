// A unit of C++ whose functions are its own, so that it can be linked again and again.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace {

template <int N> struct Part {
	std::map<std::string, std::vector<int>> lists;
	int total = N;

	int largest(const std::string &name) const {
		auto at = lists.find(name);
		return at == lists.end() || at->second.empty() ? N : *std::max_element(at->second.begin(), at->second.end());
	}
	int add(const std::string &name, int value) {
		auto &list = lists[name];
		list.push_back(value + largest(name));
		std::sort(list.begin(), list.end(), [](int a, int b) { return a % N < b % N; });
		return total += list.size() > N ? list[N] : value;
	}
};

template <int N> int work(int value) {
	Part<N> part;
	for (int i = 0; i < value; i++)
		part.add(std::to_string(i % N), i);
	if constexpr (N > 1)
		return part.total + work<N - 1>(value);
	return part.total;
}

} // namespace

__attribute__((used)) int (*const unit)(int) = work<12>;
