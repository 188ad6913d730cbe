-- # A part of other scripts: the configuration is gone, and a program may have put it back
-- # in `kept`. KEYS 5: kept.

local function adopt()
  local was = call('HMGET', M, 'version', 'max_lease', 'phase', 'base')
  call('HSET', M .. ':config', 'version', was[1], 'max_lease', was[2], 'phase', was[3],
       'base', was[4])
  local kept = call('HGETALL', KEYS[5])
  for i = 1, #kept, 2 do call('HSET', M .. ':config', kept[i], kept[i + 1]) end
  call('DEL', KEYS[5])
end
