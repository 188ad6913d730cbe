// What doctor reports about one subject.
#pragma once

#include <string>

namespace lockset::test {

// "warning: text"; "" if there is no such finding. Throws if the space can't be examined.
std::string finding(const std::string& url, const std::string& subject);

}  // namespace lockset::test
