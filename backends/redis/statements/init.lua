-- # `lockset init`: a new, empty space, or one of an older program brought up to date. KEYS 4
-- # and 5: epochs, kept. ARGV 1: the server process. {'X'}: made, or there already. {'V',
-- # schema}.
-- #
-- # Filled in:
-- #   @state@: state.lua
-- #   @adopting@: adopting.lua
-- #   @disturb@: removes `calm`
-- #   @schema@: the schema's version

local M, L, W = KEYS[1], KEYS[2], KEYS[3]
local call, format = redis.call, string.format
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
local text = format('%.0f', now)
local schema, run = unpack(call('HMGET', M, 'schema', 'run'))
local C = M .. ':config'
@adopting@
if schema == '@schema@' then
  if call('EXISTS', C) == 0 then adopt() end
  return {'X'}
end
if schema and schema ~= '2' then return {'V', schema} end
@state@
if schema then
  -- What is held goes on. Another process than granted it is for the next call to notice.
  call('HSET', M, 'schema', '@schema@', 'born', text)
  keep_state(run)
  adopt()
  local fields = call('HGETALL', C)
  for i = 1, #fields, 2 do
    if string.sub(fields[i], 1, 2) == 'e:' then
      call('HSET', KEYS[4], fields[i], fields[i + 1])
      call('HDEL', C, fields[i])
    end
  end
else
  call('DEL', L, W, C, KEYS[4], KEYS[5])
  call('HSET', M, 'schema', '@schema@', 'born', text, 'version', text, 'last', text,
       'max_lease', '600000000', 'phase', 0, 'base', 0)
  adopt()
  keep_state(ARGV[1])
end
@disturb@
return {'X'}
