// One mistake for each value of LOCKSET_MISTAKE: none of them may compile; without a mistake, the
// file does. Each is a test of its own (CMakeLists.txt). SEM 25
#include <string>
#include <utility>

#include "lockset/patterns/guarded.h"

lockset::Hold taken();

void correct(lockset::Guarded<std::string>& text, const lockset::Hold& hold) {
  text.write(hold).value()->clear();
  (void)text.read(hold).value()->size();
}

void mistake(lockset::Guarded<std::string>& text, [[maybe_unused]] const lockset::Hold& hold) {
  (void)text;
#if LOCKSET_MISTAKE == 1  // no hold
  text.write().value()->clear();
#elif LOCKSET_MISTAKE == 2  // around the lock
  text.content_.clear();
#elif LOCKSET_MISTAKE == 3  // write access by a read
  text.read(hold).value()->clear();
#elif LOCKSET_MISTAKE == 4  // a hold that ends at once
  (void)text.read(taken());
#elif LOCKSET_MISTAKE == 5  // a set instead of a hold
  (void)text.write(text.for_write());
#endif
}
