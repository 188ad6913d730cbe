#include "cli/open_space.h"

#include <unistd.h>

#include "cli/who.h"
#include "lockset/url.h"
#include "tools/failure.h"

namespace lockset::cli {

using namespace tools;
void fail_open(const Error& error, const Settings& settings) {
  std::string message = error.message;
  // A bad address is bad configuration, no matter where it comes from. Everything else that could
  // be invalid was checked before.
  const bool config = error.code == Errc::invalid || error.code == Errc::misconfigured;
  if (error.code == Errc::invalid) message += " (address from " + settings.origin(Opt::url) + ")";
  throw Failure(config ? exit_config : exit_code_of(error.code), message);
}

Options options_of(const Settings& settings, const std::string& what) {
  Options options;
  options.app = settings.text(Opt::app);
  options.label = settings.text(Opt::label);
  if (options.label.empty()) {
    options.label = user_name() + "@" + host_name() + ":" + std::to_string(::getpid()) + " " + what;
  }
  if (settings.has(Opt::lease)) options.lease = settings.duration(Opt::lease);
  options.io_timeout = settings.duration(Opt::io_timeout);
  options.store_patience = settings.duration(Opt::patience);
  return options;
}

Locks open_space(const Settings& settings) {
  Result<Locks> locks = open(settings.text(Opt::url), options_of(settings, "lockset"));
  if (!locks) fail_open(locks.error(), settings);
  return std::move(*locks);
}

}  // namespace lockset::cli
