// A typical program, which knows no store: the address of its locks is in its configuration file,
// the argument. Takes a set, shows that it excludes, and that it is free again.
#include <lockset/lockset.h>

#include <fstream>
#include <iostream>
#include <string>

int main(int argc, char** argv) {
  using namespace std::chrono_literals;
  const std::string key = "url = ";
  std::string line;
  std::ifstream configuration(argc == 2 ? argv[1] : "");
  while (std::getline(configuration, line) && !line.starts_with(key)) {
  }
  if (!line.starts_with(key)) {
    std::cerr << "no url in the configuration\n";
    return 1;
  }
  try {
    lockset::Locks locks = lockset::open(line.substr(key.size())).value();
    lockset::Hold hold =
        locks.acquire({lockset::write("ws2"), lockset::read("ws1")}, {.wait = 5s}).value();
    std::cout << "both: " << (hold.valid() ? "valid" : "not valid") << "\n";
    std::cout << "ws2 again: "
              << (locks.try_acquire({lockset::read("ws2")}).value() ? "granted" : "busy") << "\n";
    const lockset::Stamp first = hold.stamp();
    hold.release().value();
    const lockset::Stamp second = locks.try_locks({lockset::write("ws2")}).value();
    std::cout << "the next stamp: " << (second > first ? "greater" : "not greater") << "\n";
    locks.release_locks(second).value();
    std::cout << "held: " << locks.inspect().value().holds.size() << "\n";
    return 0;
  } catch (const lockset::LockError& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
