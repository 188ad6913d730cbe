// Content that only a valid hold opens, and a handler that takes its locks around each call. Code
// that forgets to lock does not compile; a lock that was lost is told before the content is
// touched.
//
//   guarded [URL]
#include <lockset/lockset.h>

#include <exception>
#include <iostream>
#include <string>
#include <vector>

int main(int argc, char** argv) try {
  lockset::Locks locks = lockset::open(argc > 1 ? argv[1] : "memory:").value();
  lockset::Guarded<std::vector<std::string>> journal("journal");

  const auto append = lockset::under_locks(locks, {journal.for_write()},
                                           [&](const lockset::Hold& hold, const std::string& line) {
                                             journal.write(hold).value()->push_back(line);
                                             return journal.read(hold).value()->size();
                                           });
  std::size_t lines = 0;
  for (const char* line : {"first", "second"}) lines = append(line).value();
  std::cout << lines << " lines\n";

  lockset::Hold hold = locks.acquire({journal.for_write()}).value();
  auto edit = journal.write(hold).value();
  locks.break_hold(hold.stamp()).value();  // somebody thinks that this program is dead
  static_cast<void>(hold.renew().ok());    // it learns of that
  bool told = false;
  try {
    edit->clear();
  } catch (const lockset::LockError& error) {
    std::cout << error.what() << "\n";
    told = true;
  }
  const lockset::Hold again = locks.acquire({journal.for_read()}).value();
  return told && journal.read(again).value()->size() == 2 ? 0 : 1;
} catch (const std::exception& error) {  // of .value(), for example if the store is away
  std::cerr << error.what() << "\n";
  return 2;
}
