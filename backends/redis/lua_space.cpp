#include "backends/redis/scripts.h"

namespace lockset::redis::scripts {

// KEYS 4 and 5: epochs, kept. Answers the configuration (scripts.cpp).
// A version below that of the last change is not the space's: somebody set it back, or put back a
// part of the space. A copy of what stood there before must not come to count again.
const Script load{9, "the configuration", "", R"(
local changed_at = call('HGET', M .. ':config', 'version')
if changed_at and tonumber(changed_at) > tonumber(m[3]) then
  call('HSET', M, 'version', format('%.0f', math.max(changed_at + 1, now)))
  @disturb@
end
@answer_config@
)", false, false, Sent::reading};

// KEYS 4 and 5: epochs, kept. ARGV from 4: 'permits', field, value ('': none); or 'max_lease',
// 'phase', 'base' and a value; 'phase' and the version that alone may be changed ('': any).
// A version is never used again, also not after a loss. The answer is that of load, or {'O'}:
// only an operator may.
const Script change{10, "a change of the configuration", "",
                    R"(
@refusing@
@adopting@
local C = M .. ':config'
local kind, value = ARGV[4], ARGV[5]
if kind == 'phase' and ARGV[6] ~= '' and ARGV[6] ~= m[3] then
  @answer_config@
end
local version = format('%.0f', math.max(m[3] + 1, now))
local gone = call('EXISTS', C) == 0
-- The first change, so that it is refused whole.
local answer = redis.pcall('HSET', C, 'version', version)
if may_not(answer) then return {'O'} end
if type(answer) == 'table' then return answer end
if gone then adopt() end
call('HSET', C, 'version', version)
call('HSET', M, 'version', version)
if kind == 'permits' then
  if ARGV[6] == '' then
    call('HDEL', C, value)
  else
    call('HSET', C, value, ARGV[6])
  end
elseif kind == 'max_lease' then
  -- Holds granted so far may last longer.
  local last = call('ZREVRANGE', L, 0, 0, 'WITHSCORES')
  local longest = call('HGET', M, 'longest')
  call('HSET', M, 'max_lease', value,
       'longest', format('%.0f', math.max(longest or 0, last[2] or 0)))
elseif kind == 'base' then
  local base = call('HGET', C, 'base')
  if tonumber(value) < tonumber(base) then value = base end
end
if kind ~= 'permits' then
  call('HSET', C, kind, value)
  call('HSET', M, kind, value)
end
@disturb@
@wake_all@
@answer_config@
)"};

// KEYS 4: epochs. ARGV from 4: application, as packed, epoch, where the page begins, how many
// holds it has at most, the least stamp that matters ('': not known).
// {'H', epoch}: a higher one has begun. {'N'}: the hold is not live.
// {'E', how many were ended, their stamps and records, where the next page begins ('': there is
//  none), the least stamp that matters: what was granted before the epoch until now began, that one
//  ended}.
// The first page begins the epoch, and from then on nothing is granted to a lower one. Pages go by
// the end of the leases: what is renewed meanwhile comes later.
const Script reclaim{11, "a reclaim", "",
                     R"(
local app, probe, epoch = ARGV[4], ARGV[5], tonumber(ARGV[6])
local present = tonumber(call('HGET', KEYS[4], 'e:' .. app) or 0)
if present > epoch then return {'H', format('%.0f', present)} end
local least = tonumber(ARGV[9]) or (present ~= epoch and present or 0)
local function owned(record)
  local at = record and string.find(record, ',', 1, true)
  return at and string.sub(record, at + 1, at + #probe) == probe and at + #probe + 1
end
if not owned(call('HGET', M, 'h:' .. ARGV[6]))
   or tonumber(call('ZSCORE', L, ARGV[6]) or 0) <= now then
  return {'N'}
end
-- Asked for again (the first answer may have been lost), it ends what came since.
if present ~= epoch then
  call('HSET', M, 'version', format('%.0f', math.max(m[3] + 1, now)))
  @disturb@
  call('HSET', KEYS[4], 'e:' .. app, ARGV[6])
end
local ended, live = {}, 0
local stamps = call('ZRANGEBYSCORE', L, ARGV[7], '+inf', 'WITHSCORES', 'LIMIT', 0, ARGV[8])
for first = 1, #stamps, 2000 do
  local fields, places = {}, {}
  for i = first, math.min(first + 1998, #stamps), 2 do
    if tonumber(stamps[i]) >= least then
      fields[#fields + 1] = 'h:' .. stamps[i]
      places[#fields] = i
    end
  end
  for i, record in ipairs(#fields > 0 and call('HMGET', M, unpack(fields)) or {}) do
    local at = record and owned(record)
    local stamp = stamps[places[i]]
    if at and stamp ~= ARGV[6] and tonumber(string.match(record, '^%-?%d+', at)) < epoch then
      if tonumber(stamps[places[i] + 1]) > now then live = live + 1 end
      ended[#ended + 1] = stamp
      ended[#ended + 1] = record
    end
  end
end
-- For good. Their names are tidied up by whoever meets them, and by the sweep.
for i = 1, #ended, 2 do call('ZADD', L, 'XX', 0, ended[i]) end
if present ~= epoch or #ended > 0 then
  @wake_all@
end
return {'E', live, ended, #stamps == 2 * ARGV[8] and stamps[#stamps] or '',
        format('%.0f', least)}
)"};

// ARGV from 4: the end of the last lease of the page before ('': none), how many at most.
// {'I', time, microseconds of quarantine left, waiters, live holds}: of a waiter its name and
// record, of a hold its stamp, end and record. Pages go by the end of
// the leases: a hold that is renewed meanwhile comes later, and again.
const Script inspect{12, "an inspection", "", R"(
local holds = {}
local from = ARGV[4] ~= '' and ARGV[4] or '(' .. format('%.0f', now)
local stamps = call('ZRANGEBYSCORE', L, from, '+inf', 'WITHSCORES', 'LIMIT', 0, ARGV[5])
for i = 1, #stamps, 2 do
  holds[#holds + 1] = stamps[i]
  holds[#holds + 1] = stamps[i + 1]
  holds[#holds + 1] = call('HGET', M, 'h:' .. stamps[i]) or ''
end
return {'I', format('%.0f', now), format('%.0f', math.max(0, quarantine - now)),
        call('HGETALL', W), holds}
)", false, false, Sent::reading};

// The same for one name. KEYS from 4: its string, its sorted set, its line.
const Script inspect_name{13, "an inspection of a name", "", R"(
local stamps, holds, waiters = call('ZRANGE', KEYS[5], 0, -1), {}, {}
local value = call('GET', KEYS[4])
if value then stamps[#stamps + 1] = value end
for _, stamp in ipairs(stamps) do
  local score = call('ZSCORE', L, stamp)
  if score then
    holds[#holds + 1] = stamp
    holds[#holds + 1] = score
    holds[#holds + 1] = call('HGET', M, 'h:' .. stamp) or ''
  end
end
for _, member in ipairs(call('ZRANGE', KEYS[6], 0, -1)) do
  local id = string.sub(member, 2)
  local record = call('HGET', W, id)
  if record then
    waiters[#waiters + 1] = id
    waiters[#waiters + 1] = record
  end
end
return {'I', format('%.0f', now), format('%.0f', math.max(0, quarantine - now)), waiters, holds}
)", false, false, Sent::reading};

// The state is lost, or older than what the client has seen: it puts back what it knows.
// Several may; the highest version stays, and the quarantine only grows. Where another space is in
// its place, made by `lockset init`, that one stays; what the client knew of was granted before.
// KEYS 4 and 5: epochs, kept. ARGV from 4: max_lease, phase, base, longest, then fields and
// values of the configuration. {'X', birth of the space} or {'V', schema}.
const Script restore{14, "a restoration", "", R"(
local M, L, W = KEYS[1], KEYS[2], KEYS[3]
local call, format = redis.call, string.format
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
local run, born = string.match(ARGV[1], '^(%S+) (%S+)')
@state@
local m = call('HMGET', M, 'schema', 'version', 'last', 'quarantine', 'max_lease', 'longest',
               'born', 'run', 'line', 'mark')
if m[1] and m[1] ~= '@schema@' then return {'V', m[1]} end
local older = not m[1] or tonumber(m[2]) < tonumber(ARGV[2])
local behind = not m[1] or tonumber(m[3]) < tonumber(ARGV[3])
local changed = m[8] ~= run or followed(m[9]) or loaded(m[10])
if not older and not behind and not changed then
  if born ~= m[7] then
    local ends = math.max(m[7] + ARGV[4], ARGV[7])
    if ends > math.max(now, m[4] or 0) then
      @disturb@
      call('HSET', M, 'quarantine', format('%.0f', ends), 'lost', m[7])
    end
  end
  return {'X', m[7]}
end
if not m[1] then call('DEL', L, W, KEYS[4]) end
local longest = math.max(m[6] or 0, ARGV[7])
local longest_lease = math.max(m[5] or 0, ARGV[4])
local last = math.max(m[3] or 0, ARGV[3])
if not m[1] then last = math.max(last, now) end
if m[1] then born = m[7] end
call('HSET', M, 'schema', '@schema@', 'born', born, 'last', format('%.0f', last),
     'longest', format('%.0f', longest), 'lost', format('%.0f', now),
     'quarantine', format('%.0f', math.max(m[4] or 0, now + longest_lease, longest)))
keep_state(run)
@disturb@
if older then
  @refusing@
  local C = M .. ':config'
  local gone = call('EXISTS', C) == 0
  local mine = not may_not(redis.pcall('HDEL', C, ''))
  local version, to = ARGV[2], mine and C or KEYS[5]
  if mine or gone then
    call('DEL', to)
    call('HSET', to, 'version', version, 'max_lease', ARGV[4], 'phase', ARGV[5], 'base', ARGV[6])
    call('HSET', M, 'max_lease', ARGV[4], 'phase', ARGV[5], 'base', ARGV[6])
    if mine then call('DEL', KEYS[5]) end
  else
    -- A program can't put it back: what was restored counts, and no copy of before does.
    version = format('%.0f', math.max(version + 1, now))
  end
  call('HSET', M, 'version', version)
  for i = 8, #ARGV, 2 do
    local field, value = ARGV[i], ARGV[i + 1]
    if string.sub(field, 1, 2) ~= 'e:' then
      if mine or gone then call('HSET', to, field, value) end
    elseif tonumber(call('HGET', KEYS[4], field) or 0) < tonumber(value) then
      call('HSET', KEYS[4], field, value)
    end
  end
end
return {'X', born}
)", false, false, Sent::reading};

// `lockset init`: a new, empty space, or one of an older program brought up to date. KEYS 4 and 5:
// epochs, kept. ARGV 1: the
// server process. {'X'}: made, or there already. {'V', schema}.
const Script init{15, "an initialisation", "", R"(
local M, L, W = KEYS[1], KEYS[2], KEYS[3]
local call, format = redis.call, string.format
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
local text = format('%.0f', now)
local schema, run = unpack(call('HMGET', M, 'schema', 'run'))
local C = M .. ':config'
@adopting@
if schema == '@schema@' then
  if call('EXISTS', C) == 0 then adopt() end
  return {'X'}
end
if schema and schema ~= '2' then return {'V', schema} end
@state@
if schema then
  -- What is held goes on. Another process than granted it is for the next call to notice.
  call('HSET', M, 'schema', '@schema@', 'born', text)
  keep_state(run)
  adopt()
  local fields = call('HGETALL', C)
  for i = 1, #fields, 2 do
    if string.sub(fields[i], 1, 2) == 'e:' then
      call('HSET', KEYS[4], fields[i], fields[i + 1])
      call('HDEL', C, fields[i])
    end
  end
else
  call('DEL', L, W, C, KEYS[4], KEYS[5])
  call('HSET', M, 'schema', '@schema@', 'born', text, 'version', text, 'last', text,
       'max_lease', '600000000', 'phase', 0, 'base', 0)
  adopt()
  keep_state(ARGV[1])
end
@disturb@
return {'X'}
)"};

}  // namespace lockset::redis::scripts
