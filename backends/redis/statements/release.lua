-- # A release, after release_early.lua, whose `if` ends here. m from 6: record, max_lease,
-- # longest.
-- #
-- # KEYS from 4: the strings of the n names, then the sorted sets, then the lines. ARGV
-- # from 4: stamp, the application as packed in records ('': any), modes, and '1' if the
-- # holder itself releases it, else '0': then the holder must still learn of it. In
-- # quarantine every end is entombed, so that a renewal which arrives late does not
-- # register the hold again.
-- #
-- # 1: ended by this call. {'N'}: no such live hold. {'U'}: no such live hold, in quarantine.
-- # {'O'}: only an operator may end another application's.
-- #
-- # Filled in:
-- #   @refusing@: refusing.lua
-- #   @ending@: end_of_hold.lua
-- #   @wake@: wake.lua

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
if not record and unsure and tonumber(call('ZSCORE', L, stamp) or 1) <= 0 then
  return {'N'}  -- ended for good
end
if ARGV[7] == '0' or unsure then
  @ending@
  if record and (unsure or ends > now)
     or unsure and (ARGV[5] == '' or ARGV[7] == '1') then
    entomb(stamp, math.max(ends or 0, lost_until))
  end
end
if not record then return {unsure and 'U' or 'N'} end
call('HDEL', M, 'h:' .. stamp, 't:' .. string.sub(record, token, token + 31))
for i = 1, n do
  if string.byte(modes, i) == 114 then
    call('ZREM', KEYS[3 + n + i], stamp)
  else
    -- Deletes it only if it is still of this hold.
    if call('GET', KEYS[3 + i]) == stamp then
      call('DEL', KEYS[3 + i])
    else
      call('ZREM', KEYS[3 + n + i], stamp)
    end
  end
end
-- A hold that had expired is removed too, but this call did not end it.
if call('EXISTS', W) == 1 then
  @wake@
  for i = 1, n do wake(KEYS[3 + 2 * n + i], '-inf') end
end
return ends > now and 1 or {unsure and 'U' or 'N'}
