-- # Looks for what has expired. ARGV from 4: how many at most; where to continue among the
-- # waiters, and how many of those.
-- #
-- # {'X', stamps and records of holds whose lease has ended, and of entombed holds whose
-- # time is over, ids and records of waiters that were not heard of lately, where to
-- # continue}.

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
