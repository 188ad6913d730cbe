#include "benchmarks/space.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <stdexcept>

#include "lockset/lockset.h"

namespace lockset::bench {
namespace {

constexpr std::string_view default_space = "lockset";

// The text of the address, with another value of the parameter `space`.
std::string with_space(const Url& url, const std::string& suffix) {
  const auto given = url.params.find("space");
  const std::string name =
      (given == url.params.end() ? std::string(default_space) : given->second) + suffix;
  const std::size_t query = url.text.find('?');
  if (query == std::string::npos) return url.text + "?space=" + name;
  std::string text = url.text.substr(0, query);
  std::size_t at = query + 1;
  while (at <= url.text.size()) {
    const std::size_t end = std::min(url.text.find('&', at), url.text.size());
    const std::string pair = url.text.substr(at, end - at);
    if (!pair.empty() && !pair.starts_with("space=")) {
      text += (text.size() == query ? "?" : "&") + pair;
    }
    at = end + 1;
  }
  return text + (text.size() == query ? "?" : "&") + "space=" + name;
}

std::string with_path(const Url& url, const std::string& suffix) {
  std::string text = url.text;
  return text.insert(std::min(text.find('?'), text.size()), suffix);
}

Url beside(const Url& url, bool filled) {
  std::string text = url.text;
  if (url.scheme == "sqlite") {
    text = with_path(url, filled ? "-bench-full" : "-bench");
  } else if (url.scheme != "memory") {
    text = with_space(url, filled ? "_bench_full" : "_bench");
  }
  return Url::parse(text).value();
}

std::string id_of(const std::string& name, const Url& url) {
  if (!name.empty()) return name;
  const auto strategy = url.params.find("strategy");
  return url.scheme + (strategy == url.params.end() ? "" : " " + strategy->second);
}

void remove_files(const Url& url) {
  std::error_code ignored;
  const std::filesystem::path path = url.path;
  std::filesystem::path folder = path.parent_path();
  if (folder.empty()) folder = ".";
  // The database and its companions: -wal, -shm and Lockset's own files.
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name == path.filename() || name.starts_with(path.filename().string() + "-") ||
        name.starts_with(path.filename().string() + ".")) {
      std::filesystem::remove(entry.path(), ignored);
    }
  }
}

void make(const Url& url) {
  const Status made = init_space(url.text, BootClock::now() + std::chrono::seconds(15));
  if (!made) throw std::runtime_error(made.error().message);
}

void bound_overtaking(const Url& url, std::uint32_t max_overtakes) {
  auto locks = open(url.text);
  if (!locks) throw std::runtime_error(locks.error().message);
  if (!locks->traits().bounded_overtaking) return;
  const Status set = locks->set_max_overtakes(max_overtakes);
  if (!set) throw std::runtime_error(set.error().message);
}

}  // namespace

std::vector<Target> spaces(std::span<const std::string> operands,
                           std::vector<std::string>& complaints) {
  std::vector<Target> result;
  std::set<std::string> addresses;
  for (const std::string& operand : operands) {
    const std::size_t equals = operand.find('=');
    const bool named = equals < operand.find(':') && equals > 0;
    const std::string name = named ? operand.substr(0, equals) : "";
    const std::string address = named ? operand.substr(equals + 1) : operand;
    const auto leave_out = [&](const std::string& why) {
      complaints.push_back((named ? name + "=" : "") + redact_url(address) + ": " + why);
    };
    const auto url = Url::parse(address);
    if (!url) {
      leave_out(url.error().message);
      continue;
    }
    const RivalStore* store = find_store(*url);
    if (store == nullptr) {
      leave_out("this build has no benchmarks for '" + url->scheme + ":'");
      continue;
    }
    if (!addresses.insert(url->text).second) {
      leave_out("given twice; measured once");
      continue;
    }
    const std::string id = id_of(name, *url);
    const auto same = [&](const Target& other) { return other.id == id; };
    if (std::any_of(result.begin(), result.end(), same)) {
      leave_out("there is another '" + id + "'; tell them apart as NAME=ADDRESS");
      continue;
    }
    result.push_back({id, store, beside(*url, false), beside(*url, true)});
  }
  return result;
}

bool can_fill(const Target& space) {
  // The holds of server sessions are no rows.
  return space.store->fill != nullptr &&
         space.url.text.find("strategy=session") == std::string::npos;
}

void prepare(const Target& space, std::optional<std::uint32_t> max_overtakes) {
  if (space.url.scheme == "sqlite") clean(space);
  make(space.url);
  if (max_overtakes) bound_overtaking(space.url, *max_overtakes);
  if (can_fill(space)) {
    make(space.filled);
    space.store->fill(space.filled, 0);
  }
  if (space.store->prepare != nullptr) space.store->prepare(space.url);
}

void permit_readers(const Target& space) {
  auto locks = open(space.url.text);
  if (!locks) throw std::runtime_error(locks.error().message);
  if (!locks->traits().counted_permits) return;  // there all readers share
  const Status status = locks->set_permits("*", Mode::read, 100);
  if (!status) throw std::runtime_error(status.error().message);
}

void clean(const Target& space) {
  if (space.store->clean != nullptr) space.store->clean(space.url);
  if (space.url.scheme != "sqlite") return;
  remove_files(space.url);
  remove_files(space.filled);
}

}  // namespace lockset::bench
