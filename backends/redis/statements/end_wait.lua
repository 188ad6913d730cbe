-- # Ends waits. KEYS from 4: for each waiter the lines of its names. ARGV from 4: '1' if
-- # waiters that were heard of meanwhile stay; for each its id, whether it was woken,
-- # modes.

local key = 3
for a = 5, #ARGV, 3 do
  local id, modes = ARGV[a], ARGV[a + 2]
  local me = call('HGET', W, id)
  if ARGV[4] == '0' or not me or tonumber(string.sub(me, 1, 16)) <= now then
    call('HDEL', W, id)
    for i = 1, #modes do call('ZREM', KEYS[key + i], string.sub(modes, i, i) .. id) end
    -- Others may have waited only because names were kept for this one.
    if ARGV[a + 1] == '1' or me then
      for i = 1, #modes do wake(KEYS[key + i], '-inf') end
    end
  end
  key = key + #modes
end
return {'X'}
