-- # A part of other scripts: wakes the next in line, the first whose score is `after`
-- # ('-inf', or '(' and a score), of one mode if one is given. Passes over waiters that
-- # were woken a while ago and did not come; a waiter whose client does not listen any more
-- # is removed.

-- A waiter's record: when it expires, when it was woken (0: not), each in 16 digits; 'o' and in 9
-- digits how often it was overtaken (older programs leave that out); since when it waits; what it
-- waits for.

-- False if its client does not listen any more.
local function tell(id, waiter)
  local heard = redis.pcall('PUBLISH', M .. ':c:' .. string.sub(id, 1, 32), string.sub(id, 34))
  -- An error: this user may not publish. Then the waiters poll.
  if type(heard) == 'number' and heard == 0 then return false end
  if tonumber(string.sub(waiter, 17, 32)) == 0 then
    call('HSET', W, id, string.sub(waiter, 1, 16) .. format('%016.0f', now)
                        .. string.sub(waiter, 33))
  end
  return true
end
-- Was not woken in vain: it is on its way.
local function may_come(woken)
  return woken == 0 or (woken > now - 100000 and woken <= now)
end
local function wake(line, after, mode)
  local from = 0
  while true do
    local members = call('ZRANGEBYSCORE', line, after, '+inf', 'LIMIT', from, 16)
    if #members == 0 then return end
    for _, member in ipairs(members) do
      local id = string.sub(member, 2)
      local waiter = (not mode or string.sub(member, 1, 1) == mode) and call('HGET', W, id)
      local gone = waiter == false and (not mode or string.sub(member, 1, 1) == mode)
      if waiter then
        local woken = tonumber(string.sub(waiter, 17, 32))
        if tonumber(string.sub(waiter, 1, 16)) <= now then
          gone = true
        elseif may_come(woken) then
          if tell(id, waiter) then return end
          gone = true
          -- Its record says where else it stands: the sweep needs it.
          if call('HLEN', W) <= 1000 then
            call('HSET', W, id, format('%016.0f', now) .. string.sub(waiter, 17))
          else
            call('HDEL', W, id)
          end
        end
      end
      if gone then
        call('ZREM', line, member)
      else
        from = from + 1
      end
    end
  end
end
