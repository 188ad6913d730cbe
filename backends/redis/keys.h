// The names of a space's keys. All of them contain the hash tag {SPACE}, so that a cluster keeps
// them together.
//
//   {S}            hash: the space itself, the records of its holds, the tokens
//   {S}:leases     sorted set: stamp -> end of the lease in microseconds of the server's
//                  time: the only place that says whether a hold is live. 0 or less: ended
//                  for good (end_of_hold.lua, entomb)
//   {S}:config     hash: permits, longest lease, phase, stamp base. Programs may only read it,
//                  so no script declares it: on Redis 7 that takes the right to write
//   {S}:kept       hash: the same, restored after a loss by a program, which may not write to
//                  :config; it counts only if :config is gone
//   {S}:epochs     hash: epochs of applications
//   {S}:here       string: shows whether the server has held the state all the time, or has
//                  loaded it from somewhere (state.lua)
//   {S}:waiters    hash: the waiters
//   {S}:name:N     string: the stamp of the first writer of the name N
//   {S}:shared:N   sorted set: its readers (score: the stamp) and its further writers
//                  (score: minus the stamp)
//   {S}:wait:N     sorted set: its line of waiters, by the time of arrival
//   {S}:c:CLIENT   channel: the wake-ups of one client
#pragma once

#include <string>
#include <string_view>

namespace lockset::redis {

struct Keys {
  explicit Keys(std::string_view space)
      : main("{" + std::string(space) + "}"),
        leases(main + ":leases"),
        config(main + ":config"),
        kept(main + ":kept"),
        epochs(main + ":epochs"),
        waiters(main + ":waiters"),
        here(main + ":here") {}

  [[nodiscard]] std::string name(std::string_view of) const { return with(":name:", of); }
  [[nodiscard]] std::string shared(std::string_view of) const { return with(":shared:", of); }
  [[nodiscard]] std::string line(std::string_view of) const { return with(":wait:", of); }
  [[nodiscard]] std::string channel(std::string_view client) const { return with(":c:", client); }

  const std::string main;
  const std::string leases;
  const std::string config;
  const std::string kept;
  const std::string epochs;
  const std::string waiters;
  const std::string here;

 private:
  [[nodiscard]] std::string with(std::string_view kind, std::string_view of) const {
    std::string key = main;
    key += kind;
    key += of;
    return key;
  }
};

}  // namespace lockset::redis
