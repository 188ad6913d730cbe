#include "cli/migrate_report.h"

#include <nlohmann/json.hpp>

#include "cli/migrate_steps.h"
#include "tools/table.h"

namespace lockset::cli {

using namespace tools;
namespace {

using nlohmann::ordered_json;

// old_only to new_only: the phases in which a hold can be taken.
constexpr std::size_t hold_phases = std::size(MigrationStatus::Holds{}.by_phase);

std::string_view phase_name(std::size_t index) {
  return to_string(static_cast<MigrationPhase>(index));
}

std::string tenths_of_ms(Duration time) {
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(time).count();
  std::string text = std::to_string(us / 1000) + "." + std::to_string(us % 1000 / 100);
  return text + "ms";
}

// "3 of old-only, 2 of clients of this store alone", "none", or "not known".
std::string holds_text(const std::optional<MigrationStatus::Holds>& holds) {
  if (!holds) return "not known";
  std::string text;
  const auto add = [&](std::size_t count, std::string_view what) {
    if (count == 0) return;
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + std::string(what);
  };
  for (std::size_t i = 0; i < hold_phases; ++i) {
    add(holds->by_phase[i], "of " + std::string(phase_name(i)));
  }
  add(holds->alone, "of clients of this store alone");
  return text.empty() ? "none" : text;
}

std::string shadow_text(const MigrationStatus::Shadow& shadow) {
  if (shadow.clients == 0) return {};
  const std::string sets = shadow.tried == 1 ? " set" : " sets";
  const std::string clients = shadow.clients == 1 ? " client: " : " clients: ";
  const std::string errors = shadow.errors == 1 ? " error, " : " errors, ";
  return "shadow         " + std::to_string(shadow.tried) + sets + " tried in the new store by " +
         std::to_string(shadow.clients) + clients + std::to_string(shadow.granted) + " granted, " +
         std::to_string(shadow.differences) + " not free there, " + std::to_string(shadow.errors) +
         errors + std::to_string(shadow.skipped) + " skipped; median " +
         tenths_of_ms(shadow.median) + ", 99 % within " + tenths_of_ms(shadow.p99) + "\n";
}

ordered_json json_of(const std::optional<MigrationStatus::Holds>& holds) {
  if (!holds) return nullptr;
  ordered_json result{{"alone", holds->alone}};
  for (std::size_t i = 0; i < hold_phases; ++i) {
    result[std::string(phase_name(i))] = holds->by_phase[i];
  }
  return result;
}

std::int64_t micros(Duration time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time).count();
}

}  // namespace

std::string report_text(const MigrationStatus& status, const std::string& from,
                        const std::string& to) {
  std::string text = "phase          " + phase_text(status.phase) +
                     (status.switching ? " (being switched)" : "") +
                     (status.certain ? "" : " (or a later phase)") + "\n";
  text += "old store      " + from + "\n";
  text += "  holds        " + holds_text(status.in_old) + "\n";
  text += "new store      " + to + "\n";
  text += "  holds        " + holds_text(status.in_new) + "\n";
  text += shadow_text(status.shadow);
  for (const std::string& note : status.notes) text += "note           " + harmless(note) + "\n";
  if (status.clients.empty()) {
    const bool all_told = status.in_old && status.in_new;
    return text + "no client holds or awaits anything" +
           (all_told ? "" : " in the store that answered") + "\n";
  }
  Table table({"APPLICATION", "VERSION", "FOLLOWS", "HOLDS", "LABEL"});
  for (const MigrationClient& each : status.clients) {
    table.add({shown(each.owner.app), each.version.empty() ? "?" : shown(each.version),
               each.follows        ? "yes"
               : each.in_old_store ? "no: old store alone"
                                   : "no: new store alone",
               std::to_string(each.holds), harmless(each.owner.label)});
  }
  return text + "\n" + table.text();
}

std::string report_json(const MigrationStatus& status, const std::string& from,
                        const std::string& to) {
  ordered_json clients = ordered_json::array();
  for (const MigrationClient& each : status.clients) {
    clients.push_back({{"app", each.owner.app},
                       {"instance", each.owner.instance},
                       {"label", each.owner.label},
                       {"version", each.version},
                       {"follows", each.follows},
                       {"in_old_store", each.in_old_store},
                       {"holds", each.holds}});
  }
  const ordered_json all{{"phase", to_string(status.phase)},
                         {"certain", status.certain},
                         {"switching", status.switching},
                         {"new_space_kept", status.new_space_kept},
                         {"from", from},
                         {"to", to},
                         {"holds_in_old", json_of(status.in_old)},
                         {"holds_in_new", json_of(status.in_new)},
                         {"clients", clients},
                         {"shadow",
                          {{"clients", status.shadow.clients},
                           {"tried", status.shadow.tried},
                           {"granted", status.shadow.granted},
                           {"differences", status.shadow.differences},
                           {"errors", status.shadow.errors},
                           {"skipped", status.shadow.skipped},
                           {"median_us", micros(status.shadow.median)},
                           {"p99_us", micros(status.shadow.p99)}}},
                         {"notes", status.notes}};
  // The label of another application may be any bytes.
  return all.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace lockset::cli
