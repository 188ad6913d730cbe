// A customer with addresses and orders is one aggregate: whatever is changed of it, one lock is
// taken, that of the customer.
//
//   aggregate [URL]
#include <lockset/lockset.h>

#include <exception>
#include <iostream>
#include <string>
#include <vector>

int main(int argc, char** argv) try {
  lockset::Locks locks = lockset::open(argc > 1 ? argv[1] : "memory:").value();

  // Declared once: customer/42/address/3 belongs to customer/42.
  lockset::Aggregates aggregates;
  aggregates.declare(lockset::first_parts(2));

  std::vector<lockset::LockRequest> wanted{lockset::read("rates")};  // a plain name
  for (int i = 0; i < 500; ++i) {
    wanted.push_back(lockset::write("customer/42/order/" + std::to_string(i)));
  }
  const lockset::Hold hold = locks.acquire(aggregates.lock_set(wanted).value()).value();
  std::cout << "500 orders and the rates are " << hold.items().size() << " names:\n";
  for (const lockset::LockRequest& item : hold.items()) {
    std::cout << "  " << to_string(item.mode) << " " << item.name << "\n";
  }

  const auto is_free = [&](const std::string& name) {
    return locks.try_acquire(aggregates.lock_set({lockset::write(name)}).value())
        .value()
        .has_value();
  };
  const bool right = hold.items().size() == 2 && !is_free("customer/42/address/3") &&
                     is_free("customer/43/address/1");
  return right ? 0 : 1;
} catch (const std::exception& error) {  // of .value(), for example if the store is away
  std::cerr << error.what() << "\n";
  return 2;
}
