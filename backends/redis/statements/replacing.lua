-- # A part of acquire.lua: a request that takes the place of a hold (ADR 0068), the one with the
-- # stamp `replaced`.

-- The application in a record, as packed: it stands behind the first comma.
local function app_of(record)
  local at = string.find(record, ',', 1, true) + 1
  local size = string.match(record, '^%d+', at)
  return string.sub(record, at, at + #size + size)
end
local old = call('HGET', M, 'h:' .. replaced)
-- False if it is not live, or another application's.
local function can_replace()
  if not old or not live(replaced) or app_of(old) ~= app_of(ARGV[7]) then return false end
  for i = 1, n do
    place[i] = call('GET', KEYS[3 + i]) == replaced and 'string'
               or tonumber(call('ZSCORE', KEYS[3 + n + i], replaced))
    if not place[i] then
      -- A part of it is gone, so it is over, as for a renewal.
      bury(replaced)
      ends[replaced] = false
      return false
    end
  end
  return true
end
-- If it is over, it ends here.
local function tidy_up()
  if live(replaced) then return end
  for i = 1, n do
    first_writer(i)
    if call('ZSCORE', KEYS[3 + n + i], replaced) then is_there(i, replaced) end
  end
end
-- After the grant, in the same step. If the answer is lost, its holder has not heard of its end.
take_place = function()
  entomb(replaced, ends[replaced])
  local token = string.find(old, ';', 1, true) + 1
  call('HDEL', M, 'h:' .. replaced, 't:' .. string.sub(old, token, token + 31))
  for i = 1, n do
    if place[i] ~= 'string' then
      call('ZREM', KEYS[3 + n + i], replaced)
    elseif string.byte(modes, i) == 114 then
      call('DEL', KEYS[3 + i])
    end
  end
end
