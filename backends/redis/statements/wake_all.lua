-- # A part of other scripts: every waiter looks again.

local told = {}
for _, id in ipairs(call('HKEYS', W)) do
  local client = string.sub(id, 1, 32)
  if not told[client] then
    told[client] = true
    redis.pcall('PUBLISH', M .. ':c:' .. client, '*')
  end
end
