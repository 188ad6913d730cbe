-- # Removes the traces of names, unless they were observed meanwhile. KEYS from 4: the sorted sets
-- # of the names. ARGV 4: how long they went unobserved, in microseconds. {'X', how many}.

local before, removed = now - ARGV[4], 0
for i = 4, #KEYS - 1 do
  local name = string.sub(KEYS[i], #M + 9)
  local observed = call('HGET', M, 'o:' .. name)
  if observed and tonumber(observed) <= before then
    call('HDEL', M, 'o:' .. name, 'w:' .. name)
    call('ZREM', KEYS[i], '9007199254740992')
    removed = removed + 1
  end
end
return {'X', removed}
