// The page without a run: the build puts it together from page/.
#pragma once

#include <string_view>

namespace lockset::bench {

extern const std::string_view page_template;

}  // namespace lockset::bench
