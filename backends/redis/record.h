// The store's record of a hold or a waiter, besides its lease and its place in line: its client
// packs it, and its readers unpack it. Scripts look only at its beginning:
//
//   SINCE ; TOKEN(32 hex) COUNT , APP EPOCH ; INSTANCE LABEL (r|w) NAME (r|w) NAME ...
//
// APP, INSTANCE, LABEL and each NAME are written LENGTH:BYTES. A script adds SINCE, in
// microseconds of the server's time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lockset/inspection.h"
#include "lockset/lock_set.h"
#include "lockset/stamp.h"

namespace lockset::redis {

// LENGTH:BYTES.
std::string packed(std::string_view text);

// Everything except SINCE and its semicolon.
std::string pack(const Token& token, const Owner& owner, std::span<const LockRequest> items);

struct Record {
  std::int64_t since_us = 0;
  std::string token;  // 32 hex digits
  Owner owner;
  std::vector<LockRequest> items;
};

// `text` includes SINCE. Unset if it is no record.
std::optional<Record> unpack(std::string_view text);

// As unpack, for a waiter's record (wake.lua), which has times and a count before such a text.
std::optional<Record> unpack_waiter(std::string_view text);
// The names that a waiter waits for. Unset if it is no waiter's record.
std::optional<std::vector<LockRequest>> items_of_waiter(std::string_view text);

// "rwr".
std::string modes_of(std::span<const LockRequest> items);

}  // namespace lockset::redis
