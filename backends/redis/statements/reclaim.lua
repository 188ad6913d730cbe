-- # A reclaim. KEYS 4: epochs. ARGV from 4: application, as packed, epoch, where the page
-- # begins, how many holds it has at most, the least stamp that matters ('': not known).
-- #
-- # {'H', epoch}: a higher one has begun. {'N'}: the hold is not live.
-- # {'E', how many were ended, their stamps and records, where the next page begins ('': there is
-- #  none), the least stamp that matters: what was granted before the epoch until now began, that
-- #  one ended}.
-- #
-- # The first page begins the epoch, and from then on nothing is granted to a lower one.
-- # Pages are ordered by the end of the leases: a hold that is renewed meanwhile comes
-- # later.
-- #
-- # Filled in:
-- #   @wake_all@: wake_all.lua
-- #   @disturb@: removes `calm`

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
