-- # The usual case of an acquire, before beginning.lua: `calm` and the last stamp say that
-- # the set may be free and nothing else has to be checked. KEYS and ARGV: as for
-- # acquire.lua.

if string.byte(ARGV[9]) == 49 then
  local m = call('HMGET', M, 'calm', 'last', 'seen')
  if m[1] == ARGV[1] and tonumber(m[2]) < now and now - m[3] < 10000
     and (m[2] == ARGV[3] or tonumber(m[2]) > tonumber(ARGV[3]))
     and call('OBJECT', 'ENCODING', KEYS[#KEYS]) == 'raw' then
    local modes = ARGV[8]
    local n = #modes
    if call('EXISTS', unpack(KEYS, 4, 3 + 3 * n)) == 0 then
      -- Writing a number costs as much as a small command.
      local stamp = #time[2] == 6 and time[1] .. time[2] or format('%.0f', now)
      for i = 1, n do
        if string.byte(modes, i) == 114 then
          call('ZADD', KEYS[3 + n + i], stamp, stamp)
        else
          call('SET', KEYS[3 + i], stamp, 'PX', ARGV[5])
        end
      end
      call('ZADD', L, format('%.0f', now + ARGV[4]), stamp)
      call('HSET', M, 'last', stamp, 'h:' .. stamp, stamp .. ';' .. ARGV[7], ARGV[6], stamp)
      return stamp
    end
  end
end
