-- # A re-registration, in quarantine: registers again what the lost state had granted. m
-- # from 6: max_lease, longest.
-- #
-- # KEYS from 4: the strings of the n names, then the sorted sets. ARGV from 4: version,
-- # stamp, lease, the application as packed, token, record with its beginning, modes; from
-- # 11 the permits.
-- #
-- # {'S'}: another version. {'N'}: another owner has it, or it is not the time for this.
-- # {'W', microseconds left}.
-- #
-- # Filled in:
-- #   @may_grow@: a first change of nothing: a server without memory accepts it, and all
-- #     that follow

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
