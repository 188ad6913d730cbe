-- # An observation. m from 6: base, lost.
-- #
-- # KEYS from 4: the strings of the n names, then the sorted sets, then the lines. ARGV from 4:
-- # version; after how many microseconds it is written down that a name was observed.
-- #
-- # {'T', last stamp, for each name: stamp, microseconds since the grant ('': not known), label,
-- # whether a write hold is on it}. {'S'}, {'U'}, {'Q', ...}, {'A'}: as in acquire.lua. In
-- # quarantine somebody may write whose hold was lost.
-- #
-- # Filled in:
-- #   @trace@: trace.lua

if m[3] ~= ARGV[4] then return {'S'} end
if quarantine > now then
  return {'Q', format('%.0f', quarantine - now), call('HGET', M, 'lost')}
end
local n = (#KEYS - 4) / 3
@trace@
-- Perhaps nobody else comes who would remove what has expired.
local dead = 0
local function live(one)
  local ends = tonumber(call('ZSCORE', L, one) or 0)
  if ends > now then return true end
  dead = dead + 1
  if ends > 0 then bury(one) end
  return false
end
local function written(i)
  local first = call('GET', KEYS[3 + i])
  if first and live(first) then return true end
  if first then call('DEL', KEYS[3 + i]) end
  while dead <= 2000 do
    local some = call('ZREVRANGEBYSCORE', KEYS[3 + n + i], '(0', '-inf', 'LIMIT', 0, 16)
    if #some == 0 then break end
    for _, one in ipairs(some) do
      if live(one) then return true end
      call('ZREM', KEYS[3 + n + i], one)
    end
  end
  return false
end
local being_written = {}
for i = 1, n do
  local before = dead
  being_written[i] = written(i) and 1 or 0
  if dead > before then wake(KEYS[3 + 2 * n + i], '-inf') end
end
if dead > 2000 then return {'A'} end

local fields = {}
for i = 1, n do
  fields[2 * i - 1] = 'w:' .. name_of(i)
  fields[2 * i] = 'o:' .. name_of(i)
end
local kept = call('HMGET', M, unpack(fields))
local stamp = format('%.0f', math.max(now, m[4] + 1, (m[6] or 0) + 1, ARGV[3] + 1))
local answer = {'T', m[4]}
local news, fresh = {}, {}
local function put(field, value)
  news[#news + 1] = field
  news[#news + 1] = value
end
for i = 1, n do
  local last_write, age, label = trace_of(i, kept[2 * i - 1])
  local observed = last_write and kept[2 * i] or 0
  if not last_write then
    last_write, age, label = stamp, '', ''
    fresh[#fresh + 1] = i
    put(fields[2 * i - 1], entry(stamp, '0', ''))
  end
  if tonumber(observed) <= now - ARGV[5] then put(fields[2 * i], format('%.0f', now)) end
  for _, part in ipairs({last_write, age, label, being_written[i]}) do
    answer[#answer + 1] = part
  end
end
if #fresh > 0 then
  if tonumber(stamp) > 9007199254740991 then return {'U'} end
  put('last', stamp)
  answer[2] = stamp
end
if #news > 0 then call('HSET', M, unpack(news)) end
for _, i in ipairs(fresh) do call('ZADD', KEYS[3 + n + i], '+inf', mark) end
return answer
