#include "tests/chaos/stores/quiet.h"

#include <memory>

#include "lockset/lockset.h"
#include "tests/support/wait.h"

namespace lockset::chaos {

using namespace std::chrono_literals;

bool answers(const std::string& url) {
  const TimePoint by = BootClock::now() + 5s;
  const auto client = open_backend(url, by);
  return client && client.value()->load_config(by) && client.value()->inspect({}, by);
}

Left when_quiet(const std::string& url, const std::function<Left()>& count) {
  const std::unique_ptr<Backend> client = open_backend(url, test::soon()).value();
  Left left;
  (void)test::eventually(
      [&] {
        (void)client->sweep(test::soon());  // the count below shows what it can't do
        left = count();
        return left.holds + left.waiters + left.connections == 0;
      },
      25s);
  return left;
}

}  // namespace lockset::chaos
