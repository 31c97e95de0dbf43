// A second unit for indexed.cc, which has much in common with it.

#include <map>
#include <string>

int longest(const std::map<std::string, int> &count)
{
	size_t n = 0;
	for (const auto &entry : count)
		n = std::max(n, entry.first.size());
	return n;
}
