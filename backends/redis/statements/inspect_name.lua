-- # Inspects one name, with the answer of inspect.lua. KEYS from 4: its string, its sorted
-- # set, its line.

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
