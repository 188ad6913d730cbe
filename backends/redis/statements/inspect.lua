-- # An inspection. ARGV from 4: the end of the last lease of the page before ('': none), how
-- # many at most.
-- #
-- # {'I', time, microseconds of quarantine left, waiters, live holds}: for a waiter its
-- # name and record, for a hold its stamp, end and record. Pages are ordered by the end of
-- # the leases: a hold that is renewed meanwhile comes later, and again.

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
