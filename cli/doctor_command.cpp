// lockset doctor
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/checkup.h"
#include "cli/command.h"
#include "cli/findings.h"
#include "cli/open_space.h"
#include "lockset/registry.h"
#include "lockset/url.h"
#include "tools/failure.h"

namespace lockset::cli {

using namespace tools;
namespace {

using Level = Finding::Level;

std::string report_of(const std::vector<Finding>& findings, Level worst, const std::string& url) {
  const nlohmann::ordered_json all{
      {"url", redact_url(url)}, {"worst", word_of(worst)}, {"findings", json_of(findings)}};
  // A server may answer any bytes.
  return all.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

// Opens the store as a program does, and tries a few calls.
Status look_from_inside(const std::string& url, Duration io_timeout,
                        std::vector<Finding>& findings) {
  const Result<std::unique_ptr<Backend>> backend = open_backend(url, BootClock::now() + io_timeout);
  if (!backend) return backend.error();
  return check_up(**backend, io_timeout, findings);
}

// The last line, so that nobody wonders whether something is missing.
void say_that_it_is_fit(const std::vector<Finding>& findings, bool no_space,
                        const std::string& url) {
  const auto warnings = std::count_if(findings.begin(), findings.end(), [](const Finding& each) {
    return each.level == Level::warning;
  });
  std::string text = "programs may rely on the store " + redact_url(url);
  if (no_space) {
    text = "no problem found with the store " + redact_url(url) + ", which has no lock space yet";
  }
  if (warnings == 1) text += "; see the warning above";
  if (warnings > 1) text += "; see the " + std::to_string(warnings) + " warnings above";
  std::printf("%s\n", text.c_str());
}

bool any(const std::vector<Finding>& findings, Level level) {
  return std::any_of(findings.begin(), findings.end(),
                     [&](const Finding& each) { return each.level == level; });
}

}  // namespace

int doctor_command(const Invocation& invocation) {
  check_operands(invocation, 0, 0, "doctor [--json]");
  const Settings& settings = invocation.settings;
  const std::string& url = settings.text(Opt::url);
  const Duration io_timeout = settings.duration(Opt::io_timeout);

  Result<std::vector<Finding>> examined = examine_space(url, BootClock::now() + io_timeout);
  if (!examined) fail_open(examined.error(), settings);
  std::vector<Finding> findings = *std::move(examined);
  const bool no_space = std::any_of(findings.begin(), findings.end(),
                                    [](const Finding& each) { return each.no_space; });
  // Opening a space that does not exist yet might make it; doctor makes none.
  const Status inside = no_space ? Status() : look_from_inside(url, io_timeout, findings);
  const bool refused = !inside && inside.error().code == Errc::misconfigured;
  // Usually the reason was found above already.
  if (refused && !any(findings, Level::unsafe)) {
    findings.push_back({Level::unsafe, "opening", inside.error().message});
  }

  const Level worst = worst_of(findings);
  const std::string text =
      settings.has(Opt::json) ? report_of(findings, worst, url) : table_of(findings);
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (!inside && !refused) fail_open(inside.error(), settings);
  if (worst != Level::unsafe) {
    if (!settings.has(Opt::json)) say_that_it_is_fit(findings, no_space, url);
    return exit_ok;
  }
  throw Failure(exit_config,
                "programs refuse the store " + redact_url(url) + "; mend what is marked as unsafe");
}

}  // namespace lockset::cli
