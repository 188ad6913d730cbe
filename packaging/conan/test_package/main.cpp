#include <lockset/lockset.h>

#include <iostream>

int main() {
  auto locks = lockset::open("memory:").value();
  auto hold = locks.acquire({lockset::write("ws2"), lockset::read("ws1")}).value();
  std::cout << "both are ours: " << std::boolalpha << hold.valid() << "\n";
  hold.release().value();
}
