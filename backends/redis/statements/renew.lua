-- # A renewal. m from 6: max_lease.
-- #
-- # KEYS from 4: for each item of each hold its string and its sorted set. ARGV from 4: the
-- # application as packed in records; for each hold its stamp, lease, modes.
-- #
-- # {'W', time, quarantine (1 or 0), for each hold the microseconds left, 0 if the
-- # application has no such live hold, -1 if it may be a hold that was lost}.
-- #
-- # Filled in:
-- #   @may_grow@: a first change of nothing: a server without memory accepts it, and all
-- #     that follow

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
      -- A part of it is gone, so the hold is over.
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
