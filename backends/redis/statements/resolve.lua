-- # A look-up of an attempt whose answer was lost. m from 6: the stamp of the token.
-- #
-- # KEYS from 4: if the n names are known, their strings, then the sorted sets. ARGV from
-- # 4: token, modes.
-- #
-- # {'N'}: no live hold. {'G', stamp, microseconds left, time, record, floors...}.

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
