// People open a form without a lock, and the first one who saves wins. Whoever saves later is told
// who was quicker, and overwrites nothing.
//
//   optimistic_edit [URL]     each request below opens the space anew, as another process would
//
// URL is a store that clients share, not memory:, of which each client has its own.
#include <lockset/lockset.h>

#include <exception>
#include <iostream>
#include <string>

namespace {

using lockset::Errc, lockset::Observation;

std::string url;
// The database of the application.
struct {
  std::string text = "10 chairs";
  std::string discount = "5 %";
} invoice;

lockset::Locks locks_of(const std::string& user) {
  return lockset::open(url, {.app = "invoices", .label = user}).value();
}

struct Form {
  std::string text;
  std::string discount;
  std::string seen;  // a hidden field
};

// One request: observe first, then read. If a write came between, read again: otherwise the form
// would show one half of before and one of after it.
Form open_form(const std::string& user) {
  lockset::Locks locks = locks_of(user);
  for (;;) {
    const Observation seen = locks.observe({"invoice/7", "discounts"}).value();
    Form form{invoice.text, invoice.discount, seen.to_string()};
    if (locks.validate(seen).value()) return form;
  }
}

// Another request, minutes later. The lock is held only while it writes.
bool save(const std::string& user, const Form& form) {
  lockset::Locks locks = locks_of(user);
  const Observation seen = Observation::parse(form.seen).value();
  // What was only read is taken as read: it must not have changed either.
  auto hold = locks.acquire({lockset::write("invoice/7"), lockset::read("discounts")},
                            {.unchanged_since = seen});
  if (!hold) {
    std::cout << user << " can't save: " << hold.error().message << "\n";
    if (hold.error().code != Errc::changed) std::exit(2);
    return false;
  }
  invoice.text = form.text;  // with hold->stamp() as its fencing token: docs/fencing.md
  return true;
}

}  // namespace

int main(int argc, char** argv) try {
  url = argc > 1 ? argv[1] : "sqlite:optimistic_edit.db";
  Form alices = open_form("alice");
  Form bobs = open_form("bob");
  alices.text = "11 chairs";
  bobs.text = "12 chairs";
  const bool first = save("bob", bobs);
  const bool second = save("alice", alices);  // overtaken: she sees bob's text, and decides again
  alices = open_form("alice");
  const bool hers_is_newer = alices.text == "12 chairs";
  alices.text = "12 chairs, 1 table";
  const bool third = save("alice", alices);
  std::cout << invoice.text << "\n";
  return first && !second && hers_is_newer && third ? 0 : 1;
} catch (const std::exception& error) {  // of .value(), for example if the store is away
  std::cerr << error.what() << "\n";
  return 2;
}
