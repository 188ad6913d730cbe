-- # A part of other scripts: ends a hold for good, even if the clock is set back later: a
-- # lease that ended in the year 1970 is never renewed. The rest of the hold besides its
-- # record is tidied up by the next call that meets it, and by the sweep, which declares
-- # those keys; only a hold of one name needs none of that.
-- #
-- # In quarantine its holder could register it again as lost, if it has not learned of its
-- # end. So the hold is entombed: in its place, as minus the score, stands how long that
-- # holder may believe in it. Entombed holds whose time is over are removed here too,
-- # because nobody sweeps where only commands run.
-- #
-- # Filled in:
-- #   @may_grow@: a first change of nothing: a server without memory accepts it, and all
-- #     that follow

local function entomb(one, till)
  @may_grow@
  local old = call('ZRANGEBYSCORE', L, '(' .. format('%.0f', -now), '(0', 'LIMIT', 0, 100)
  if #old > 0 then call('ZREM', L, unpack(old)) end
  -- Its holder's clock may be slower.
  call('ZADD', L, format('%.0f', -math.ceil(till + (till - now) / 10)), one)
end
local function entomb_lost(one)
  local most = call('HMGET', M, 'max_lease', 'longest')
  entomb(one, math.max(now + most[1], most[2] or 0, call('ZSCORE', L, one) or 0))
end
local function bury(one)
  local record = call('HGET', M, 'h:' .. one)
  local at = record and string.find(record, ';', 1, true)
  if not record or string.match(record, '^(%d+),', at + 33) == '1' then
    if quarantine > now then
      entomb_lost(one)
    else
      call('ZREM', L, one)
    end
    call('HDEL', M, 'h:' .. one, record and 't:' .. string.sub(record, at + 1, at + 32) or '')
  else
    call('ZADD', L, 'XX', 0, one)
  end
end
