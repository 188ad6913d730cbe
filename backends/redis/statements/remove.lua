-- # A sweep: removes holds whose lease has ended. KEYS from 4: for each item of each hold
-- # its string, its sorted set, its line. ARGV from 4: for each hold its stamp, token,
-- # modes. {'X', how many holds}.

local removed, key = 0, 3
for a = 4, #ARGV, 3 do
  local stamp, modes = ARGV[a], ARGV[a + 2]
  local score = call('ZSCORE', L, stamp)
  score = score and tonumber(score)
  if score and score <= now and score >= -now then
    if score == 0 and quarantine > now then
      entomb_lost(stamp)
    else
      call('ZREM', L, stamp)
    end
    if call('HDEL', M, 'h:' .. stamp, 't:' .. ARGV[a + 1]) > 0 then removed = removed + 1 end
    for i = 0, #modes - 1 do
      if call('GET', KEYS[key + 3 * i + 1]) == stamp then
        call('DEL', KEYS[key + 3 * i + 1])
      end
      call('ZREM', KEYS[key + 3 * i + 2], stamp)
      wake(KEYS[key + 3 * i + 3], '-inf')
    end
  end
  key = key + 3 * #modes
end
return {'X', removed}
