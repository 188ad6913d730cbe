#include "tests/support/private_server.h"

#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "tests/support/cut_connections.h"
#include "tools/child.h"

namespace lockset::test {

namespace {

// A server on a busy machine may start slowly.
constexpr Duration start_limit = std::chrono::seconds(120);

std::string first_line(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::string line;
  if (!std::getline(in, line)) throw std::runtime_error("can't read " + path.string());
  return line;
}

std::filesystem::path new_folder() {
  std::string path = (std::filesystem::temp_directory_path() / "lockset-server-XXXXXX").string();
  if (mkdtemp(path.data()) == nullptr) throw std::runtime_error("no temporary folder");
  return path;
}

// The beginning of a command that gets these variables.
std::vector<std::string> with(const std::vector<std::string>& environment) {
  std::vector<std::string> argv{"/usr/bin/env"};
  argv.insert(argv.end(), environment.begin(), environment.end());
  return argv;
}

}  // namespace

struct PrivateServer::Impl {
  std::string kind;
  std::filesystem::path folder;
  std::string url;
  std::uint16_t port = 0;
  // Controls the server through its standard input, whose other end closes with this process.
  std::unique_ptr<tools::Child> script;

  void command(const std::string& what, int member = 0) const {
    std::vector<std::string> argv{LOCKSET_SERVER_SCRIPT, kind, what, folder.string()};
    if (member != 0) argv.push_back(std::to_string(member));
    tools::Child child(argv);
    if (child.wait(start_limit) != 0) {
      throw std::runtime_error("scripts/server could not " + what + " the " + kind + " server in " +
                               folder.string());
    }
  }

  [[nodiscard]] std::uint16_t read_port(const std::string& file) const {
    return static_cast<std::uint16_t>(std::stoi(first_line(folder / file)));
  }
};

std::optional<std::string> PrivateServer::unavailable(const std::string& kind,
                                                      const std::vector<std::string>& environment) {
  std::vector<std::string> argv = with(environment);
  argv.insert(argv.end(), {LOCKSET_SERVER_SCRIPT, kind, "check"});
  tools::Child check(argv);
  std::string why;
  try {
    why = check.receive();
  } catch (const std::runtime_error&) {  // there is nothing to say
  }
  if (check.wait() == 0) return {};
  return why.empty() ? "scripts/server knows no " + kind : why;
}

PrivateServer::PrivateServer(const std::string& kind, const std::vector<std::string>& lines,
                             const std::vector<std::string>& environment)
    : impl_(std::make_unique<Impl>()) {
  impl_->kind = kind;
  impl_->folder = new_folder();
  std::vector<std::string> argv = with(environment);
  argv.insert(argv.end(), {LOCKSET_SERVER_SCRIPT, kind, "run", impl_->folder.string()});
  argv.insert(argv.end(), lines.begin(), lines.end());
  impl_->script = std::make_unique<tools::Child>(argv);
  try {
    impl_->url = impl_->script->receive(start_limit);
    impl_->port = impl_->read_port("port");
  } catch (const std::exception& e) {
    throw std::runtime_error("no private " + kind + " server: " + e.what());
  }
}

PrivateServer::~PrivateServer() {
  try {
    impl_->script->close_input();
    impl_->script->wait(start_limit);
  } catch (const std::exception&) {  // its guard ends it anyway
  }
}

std::uint16_t PrivateServer::port() const noexcept { return impl_->port; }

std::string PrivateServer::admin_url() const { return impl_->url; }

std::filesystem::path PrivateServer::folder() const { return impl_->folder; }

void PrivateServer::pause() { impl_->command("pause"); }
void PrivateServer::resume() { impl_->command("resume"); }
void PrivateServer::kill() { impl_->command("kill"); }
void PrivateServer::stop() { impl_->command("stop"); }
void PrivateServer::start() {
  impl_->command("start");
  // A single server gives clients that came while it started neither an answer nor an end
  // (docs/backends/zookeeper.md): so end their connections from here.
  if (impl_->kind == "zookeeper") cut_connections(port());
}

void PrivateServer::follow(const PrivateServer& primary, std::uint16_t port) {
  stop();
  tools::Child child({LOCKSET_SERVER_SCRIPT, impl_->kind, "follow", folder().string(),
                      primary.folder().string(), std::to_string(port)});
  if (child.wait(start_limit) != 0) throw std::runtime_error("no standby in " + folder().string());
  impl_->url = first_line(folder() / "url");
  start();
}

std::uint16_t PrivateServer::port(int member) const {
  return member == 1 ? port() : impl_->read_port("port-" + std::to_string(member));
}

void PrivateServer::pause(int member) { impl_->command("pause-one", member); }
void PrivateServer::resume(int member) { impl_->command("resume-one", member); }
void PrivateServer::kill(int member) { impl_->command("kill-one", member); }
void PrivateServer::start(int member) { impl_->command("start-one", member); }

std::string PrivateServer::address(int member) const {
  const std::filesystem::path file = folder() / ("address-" + std::to_string(member));
  return std::filesystem::exists(file) ? first_line(file) : "127.0.0.1";
}

void PrivateServer::cut_off(int member) { impl_->command("cut-off", member); }
void PrivateServer::cut_apart(int member) { impl_->command("cut-apart", member); }
void PrivateServer::rejoin() { impl_->command("rejoin"); }

int PrivateServer::leader() const {
  tools::Child child({LOCKSET_SERVER_SCRIPT, impl_->kind, "leader", impl_->folder.string()});
  return std::stoi(child.receive(start_limit));
}

}  // namespace lockset::test
