// The page without a run: page/ put together when this is built.
#pragma once

#include <string_view>

namespace lockset::bench {

extern const std::string_view page_template;

}  // namespace lockset::bench
