-- # Looks for traces that nobody observes any more. ARGV from 4: how long they went unobserved, in
-- # microseconds; where to continue, and about how many fields to look at.
-- #
-- # {'X', where to continue, names...}

local before = now - ARGV[4]
local some = redis.pcall('HSCAN', M, ARGV[5], 'MATCH', 'o:*', 'COUNT', ARGV[6])
if some.err then
  -- The right to HSCAN came later than the others.
  some = {'0', call('HLEN', M) <= 2000 and call('HGETALL', M) or {}}
end
local answer = {'X', some[1]}
for i = 1, #some[2], 2 do
  local field = some[2][i]
  if string.sub(field, 1, 2) == 'o:' and tonumber(some[2][i + 1]) <= before then
    answer[#answer + 1] = string.sub(field, 3)
  end
end
return answer
