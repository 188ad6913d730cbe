#include "backends/redis/scripts.h"

namespace lockset::redis::scripts {

// ARGV from 4: stamps. {'F', records...}, false where there is none: what they hold, for
// those who have to declare its keys.
const Script find{1, "a look-up of stamps", "", R"(
local fields = {}
for i = 4, #ARGV do fields[i - 3] = 'h:' .. ARGV[i] end
return {'F', unpack(call('HMGET', M, unpack(fields)))}
)", false, false, Sent::reading};

// KEYS from 4: of n names the strings, then the sorted sets, then the lines.
// ARGV from 4: stamp, its application as packed in records ('': anybody's), modes, and '1' if
// its holder releases it, else '0': then the holder has to hear of it.
// 1: ended by this call. {'N'}: no such live hold. {'U'}: no such live hold, in quarantine.
// {'O'}: only an operator may end another application's.
const Script release{2,     "a release",  ", 'h:' .. stamp, 'max_lease', 'longest'", R"(
record, unsure = m[6], quarantine > now
if unsure then lost_until = math.max(now + m[7], m[8] or 0) end
end
if ARGV[5] == '' then
  @refusing@
  local answer = redis.pcall('HDEL', M .. ':config', '')
  if may_not(answer) then return {'O'} end
end
local n = #modes
local token, ends
if record then
  token = string.find(record, ';', 1, true) + 1
  local app = string.find(record, ',', token + 32, true) + 1
  if string.sub(record, app, app + #ARGV[5] - 1) ~= ARGV[5] then return {'N'} end
  ends = tonumber(call('ZSCORE', L, stamp) or 0)
  call('ZREM', L, stamp)
end
if ARGV[7] == '0' then
  @ending@
  if record and (unsure or ends > now) or unsure and ARGV[5] == '' then
    entomb(stamp, math.max(ends or 0, lost_until))
  end
end
if not record then return {unsure and 'U' or 'N'} end
call('HDEL', M, 'h:' .. stamp, 't:' .. string.sub(record, token, token + 31))
for i = 1, n do
  if string.byte(modes, i) == 114 then
    call('ZREM', KEYS[3 + n + i], stamp)
  else
    -- Compared, then deleted.
    if call('GET', KEYS[3 + i]) == stamp then
      call('DEL', KEYS[3 + i])
    else
      call('ZREM', KEYS[3 + n + i], stamp)
    end
  end
end
-- One that had expired is removed too, but this call did not end it.
if call('EXISTS', W) == 1 then
  @wake@
  for i = 1, n do wake(KEYS[3 + 2 * n + i], '-inf') end
end
return ends > now and 1 or {unsure and 'U' or 'N'}
)", false,
                     false, Sent::change,
                     R"(
local stamp, modes = ARGV[4], ARGV[6]
local known = call('HMGET', M, 'calm', 'last', 'h:' .. stamp)
local record, unsure, lost_until, quarantine = known[3], false, 0, 0
if known[1] ~= ARGV[1] or not record
   or (known[2] ~= ARGV[3] and tonumber(known[2]) < tonumber(ARGV[3])) then
)"};

// KEYS from 4: for each item of each hold its string and its sorted set.
// ARGV from 4: the application as packed in records; for each hold its stamp, lease, modes.
// {'W', time, quarantine (1 or 0), for each hold the microseconds that are left, 0 if there is
//  no such live hold of the application, -1 if it may be one that was lost}.
const Script renew{3, "a renewal", ", 'max_lease'", R"(
local app = ARGV[4]
local fields, strings = {}, {}
for i = 5, #ARGV, 3 do fields[#fields + 1] = 'h:' .. ARGV[i] end
for i = 4, #KEYS - 1, 2 do strings[#strings + 1] = KEYS[i] end
local records = #fields > 0 and call('HMGET', M, unpack(fields)) or {}
local values = #strings > 0 and call('MGET', unpack(strings)) or {}
local answer = {'W', format('%.0f', now), quarantine > now and 1 or 0}
local scores = {}
local key, longest = 0, 0
for h, record in ipairs(records) do
  local stamp, lease, modes = ARGV[2 + 3 * h], tonumber(ARGV[3 + 3 * h]), ARGV[4 + 3 * h]
  local at = record and string.find(record, ',', 1, true)
  local mine = at and string.sub(record, at + 1, at + #app) == app
  local ends = mine and tonumber(call('ZSCORE', L, stamp) or 0) or 0
  -- In quarantine its last renewals may be what was lost.
  local lost = quarantine > now
               and (not record and tonumber(call('ZSCORE', L, stamp) or 1) > 0
                    or (mine and ends <= now))
  local left = lost and -1 or 0
  if ends > now then
    local until_ = math.max(ends, now + lease)
    local px = format('%.0f', math.ceil((until_ - now) / 1000) + 60000)
    local whole = true
    for i = 1, #modes do
      local value = values[key + i]
      if string.byte(modes, i) == 119 and value == stamp then
        call('PEXPIRE', strings[key + i], px)
      elseif not call('ZSCORE', KEYS[3 + 2 * (key + i)], stamp) then
        whole = false
      end
    end
    if whole then
      left = until_ - now
      scores[#scores + 1] = format('%.0f', until_)
      scores[#scores + 1] = stamp
      if lease > tonumber(m[6]) then longest = math.max(longest, until_) end
    else
      -- Somebody took a part of it away: it is over.
      bury(stamp)
    end
  end
  key = key + #modes
  answer[3 + h] = format('%.0f', left)
end
if #scores > 0 then
  @may_grow@
  call('ZADD', L, 'XX', unpack(scores))
end
if longest > tonumber(call('HGET', M, 'longest') or 0) then
  call('HSET', M, 'longest', format('%.0f', longest))
end
return answer
)",
                   true};

// In quarantine: what the lost state had granted is registered again.
// KEYS from 4: of n names the strings, then the sorted sets.
// ARGV from 4: version, stamp, lease, its application as packed, token, record with its
// beginning, modes; from 11 the permits.
// {'S'}: another version. {'N'}: it is somebody else's, or no time for this.
// {'W', microseconds left}.
const Script reregister{4, "a re-registration", ", 'max_lease', 'longest'", R"(
if m[3] ~= ARGV[4] then return {'S'} end
if quarantine <= now then return {'N'} end
local stamp, lease, modes = ARGV[5], tonumber(ARGV[6]), ARGV[10]
local n = #modes
-- Some of it may be there: of an older state, or of a first try whose answer was lost.
local known = call('HGET', M, 'h:' .. stamp)
if known and string.sub(string.match(known, ';(%x+)'), 1, 32) ~= ARGV[8] then return {'N'} end
local ends = tonumber(call('ZSCORE', L, stamp) or 1)
if ends <= 0 then return {'N'} end  -- ended for good

local function live(one)
  return one ~= stamp and tonumber(call('ZSCORE', L, one) or 0) > now
end
-- Of two that can't have been held at once the later has the greater stamp: the earlier one
-- had ended, and only its registration came first, or its end was lost.
local earlier = {}
local function gives_way(one)
  if tonumber(one) > tonumber(stamp) then return false end
  earlier[#earlier + 1] = one
  return true
end
for i = 1, n do
  local reads = string.byte(modes, i) == 114
  local permits = tonumber(ARGV[10 + i])
  local readers, writers = {}, {}
  -- Of its own kind only where they may be too many.
  if not reads or call('ZCOUNT', KEYS[3 + n + i], 0, '+inf') >= permits then
    for _, one in ipairs(call('ZRANGEBYSCORE', KEYS[3 + n + i], 0, '+inf')) do
      if live(one) then readers[#readers + 1] = one end
    end
  end
  for _, one in ipairs(call('ZRANGEBYSCORE', KEYS[3 + n + i], '-inf', '(0')) do
    if live(one) then writers[#writers + 1] = one end
  end
  local first = call('GET', KEYS[3 + i])
  if first and live(first) then writers[#writers + 1] = first end
  local mine, against = writers, readers
  if reads then mine, against = readers, writers end
  for _, one in ipairs(against) do
    if not gives_way(one) then return {'N'} end
  end
  if #mine >= permits then
    if permits > 1 or not gives_way(mine[1]) then return {'N'} end
  end
end
@may_grow@
for _, one in ipairs(earlier) do bury(one) end
ends = math.max(ends, now + lease)
local px = format('%.0f', math.ceil((ends - now) / 1000) + 60000)
for i = 1, n do
  if string.byte(modes, i) == 114 then
    call('ZADD', KEYS[3 + n + i], stamp, stamp)
  else
    local first = call('GET', KEYS[3 + i])
    if first and live(first) then
      call('ZADD', KEYS[3 + n + i], '-' .. stamp, stamp)
    else
      call('SET', KEYS[3 + i], stamp, 'PX', px)
    end
  end
end
call('ZADD', L, format('%.0f', ends), stamp)
call('HSET', M, 'h:' .. stamp, ARGV[9], 't:' .. ARGV[8], stamp)
if tonumber(m[4]) < tonumber(stamp) then call('HSET', M, 'last', stamp) end
if lease > tonumber(m[6]) and ends > tonumber(m[7] or 0) then
  call('HSET', M, 'longest', format('%.0f', ends))
end
return {'W', format('%.0f', ends - now)}
)",
                        true};

// KEYS from 4: of n names, where they are known, the strings, then the sorted sets.
// ARGV from 4: token, modes.
// {'N'}: no live hold. {'G', stamp, microseconds left, time, record, floors...}.
const Script resolve{5, "a look-up", ", 't:' .. ARGV[4]", R"(
local stamp, modes = m[6], ARGV[5]
local ends = stamp and tonumber(call('ZSCORE', L, stamp) or 0) or 0
if ends <= now then return {'N'} end
local answer = {'G', stamp, format('%.0f', ends - now), format('%.0f', now),
                call('HGET', M, 'h:' .. stamp)}
local function lower(one, lowest)
  return (tonumber(one) or now) < tonumber(lowest)
         and tonumber(call('ZSCORE', L, one) or 0) > now
end
-- The members of one kind, from the lowest stamp on, up to the first live one below `lowest`.
local function lowest_of(key, reads, lowest)
  for from = 0, math.huge, 64 do
    local some = reads and call('ZRANGEBYSCORE', key, 0, '+inf', 'LIMIT', from, 64)
                 or call('ZREVRANGEBYSCORE', key, '(0', '-inf', 'LIMIT', from, 64)
    for _, one in ipairs(some) do
      if tonumber(one) >= tonumber(lowest) then return lowest end
      if lower(one, lowest) then return one end
    end
    if #some < 64 then return lowest end
  end
end
local n = #modes
for i = 1, n do
  local lowest = stamp
  local reads = string.byte(modes, i) == 114
  local first = not reads and call('GET', KEYS[3 + i])
  if first and lower(first, lowest) then lowest = first end
  answer[5 + i] = lowest_of(KEYS[3 + n + i], reads, lowest)
end
return answer
)", false, false, Sent::reading};

// ARGV from 4: how many at most; where to go on among the waiters, and how many of those. {'X',
// stamps and records of holds whose lease has ended, and of those entombed whose time is over, ids
// and records of waiters that have not been heard of, where to go on}.
const Script expired{6, "a look for what has expired", "", R"(
local stamps = call('ZRANGEBYSCORE', L, format('%.0f', -now), format('%.0f', now),
                    'LIMIT', 0, ARGV[4])
local holds, dead = {}, {}
for _, stamp in ipairs(stamps) do
  holds[#holds + 1] = stamp
  holds[#holds + 1] = call('HGET', M, 'h:' .. stamp) or ''
end
local waiters, next = {}, 0
if call('EXISTS', W) == 1 then
  local some = redis.pcall('HSCAN', W, ARGV[5], 'COUNT', ARGV[6])
  if not some.err then
    next, waiters = some[1], some[2]
  elseif call('HLEN', W) <= 2000 then
    waiters = call('HGETALL', W)  -- the right to HSCAN came later than the others
  end
  for i = 1, #waiters, 2 do
    if tonumber(string.sub(waiters[i + 1], 1, 16)) <= now then
      dead[#dead + 1] = waiters[i]
      dead[#dead + 1] = waiters[i + 1]
    end
  end
end
return {'X', holds, dead, next}
)", false, false, Sent::reading};

// KEYS from 4: for each item of each hold its string, its sorted set, its line.
// ARGV from 4: for each hold its stamp, token, modes. Removes those whose lease has ended.
// {'X', how many holds}.
const Script remove{7, "a sweep", "", R"(
local removed, key = 0, 3
for a = 4, #ARGV, 3 do
  local stamp, modes = ARGV[a], ARGV[a + 2]
  local score = call('ZSCORE', L, stamp)
  score = score and tonumber(score)
  if score and score <= now and score >= -now then
    if score == 0 and quarantine > now then
      entomb_lost(stamp)
    else
      call('ZREM', L, stamp)
    end
    if call('HDEL', M, 'h:' .. stamp, 't:' .. ARGV[a + 1]) > 0 then removed = removed + 1 end
    for i = 0, #modes - 1 do
      if call('GET', KEYS[key + 3 * i + 1]) == stamp then
        call('DEL', KEYS[key + 3 * i + 1])
      end
      call('ZREM', KEYS[key + 3 * i + 2], stamp)
      wake(KEYS[key + 3 * i + 3], '-inf')
    end
  end
  key = key + 3 * #modes
end
return {'X', removed}
)", true, true};

// KEYS from 4: for each waiter the lines of its names. ARGV from 4: '1' if they are to stay in case
// they have been heard of; for each its id, whether it was woken, modes.
const Script end_wait{8, "a goodbye", "", R"(
local key = 3
for a = 5, #ARGV, 3 do
  local id, modes = ARGV[a], ARGV[a + 2]
  local me = call('HGET', W, id)
  if ARGV[4] == '0' or not me or tonumber(string.sub(me, 1, 16)) <= now then
    call('HDEL', W, id)
    for i = 1, #modes do call('ZREM', KEYS[key + i], string.sub(modes, i, i) .. id) end
    if ARGV[a + 1] == '1' or (me and tonumber(string.sub(me, 17, 32)) ~= 0) then
      for i = 1, #modes do wake(KEYS[key + i], '-inf') end
    end
  end
  key = key + #modes
end
return {'X'}
)", false, true};

}  // namespace lockset::redis::scripts
