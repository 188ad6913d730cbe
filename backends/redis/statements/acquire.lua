-- # An acquire, after acquire_early.lua. m from 6: base, lost, calm, seen.
-- #
-- # KEYS from 4: the strings of the n names, then the sorted sets, then the lines. ARGV
-- # from 4: lease; how long strings stay, in milliseconds; 't:' and the token; record;
-- # modes; and in a single argument, because each one costs: '1' if it may go the short way
-- # (its version is the one in ARGV 1, its least stamp is not above ARGV 3, it is not in
-- # line, has no condition, and replaces no hold), version, least stamp, since when it is in line
-- # (0: not yet), whether it was woken, how often a waiter may be overtaken, permits, the waiter
-- # (empty: it won't wait). ARGV 10, only if there is a condition: for each of its names the item and the stamp that
-- # its trace has to have, each with a blank behind it. ARGV 11, only if it takes the place of a hold
-- # (then there is no condition, and it is not in line and won't wait): the stamp of that one.
-- #
-- # A string: the stamp, which is also the time: the set was free, and the lease is as
-- # asked.
-- # {'S'}: another version. {'U'}: the stamps are used up. {'Q', microseconds left, lost
-- # at}: quarantine.
-- # {'G', stamp, lease, time, floors...}: without floors the set was free.
-- # {'B', item, mode, stamp, microseconds until the first in the way ends, in line since,
-- #  record}; stamp 0: names are kept, for the waiter of this record. {'A'}: again, for there is more to be tidied up than one step should do.
-- # {'C', item, stamp (0: it has no trace), microseconds since the grant ('': not known), label,
-- #  whether a write hold is on it}: the condition is not met.
-- # {'N'}: the hold that it is to replace is not live.
-- #
-- # Filled in:
-- #   @trace@: trace.lua
-- #   @replacing@: replacing.lua
-- #   @may_grow@: a first change of nothing: a server without memory accepts it, and all
-- #     that follow

local asked_version, least, in_line, was_woken, most_overtakes, all_permits, waiter =
    string.match(ARGV[9], '^%d (%d+) (%d+) (%d+) (%d) (%d+) ([%d,]+) (.*)$')
if m[3] ~= asked_version then return {'S'} end
if quarantine > now then
  return {'Q', format('%.0f', quarantine - now), call('HGET', M, 'lost')}
end
local modes = ARGV[8]
local n = #modes
local lease, strings_stay = tonumber(ARGV[4]), ARGV[5]
-- Where it stands, for each name: 'string', or its score in the sorted set.
local replaced, place = ARGV[11], {}
local time_now = format('%.0f', now)
least = math.max(m[4] + 1, (m[6] or 0) + 1, least, ARGV[3] + 1)
-- Above it only every second number exists: the next stamp would be the same again.
if least > 9007199254740991 then return {'U'} end
local stamp = least <= now and time_now or format('%.0f', least)

-- The string's own end only tidies up, so it comes a minute after the lease's: until then
-- a request for the name finds the expired hold and ends it.
local function grant()
  for i = 1, n do
    if string.byte(modes, i) == 114 then
      call('ZADD', KEYS[3 + n + i], stamp, stamp)
    elseif not call('SET', KEYS[3 + i], stamp, place[i] == 'string' and 'XX' or 'NX',
                    'PX', strings_stay) then
      call('ZADD', KEYS[3 + n + i], '-' .. stamp, stamp)
    end
  end
  call('ZADD', L, format('%.0f', now + lease), stamp)
  call('HSET', M, 'last', stamp, 'h:' .. stamp, time_now .. ';' .. ARGV[7], ARGV[6], stamp)
  -- By now the quarantine is over, and the base is behind.
  if m[3] == ARGV[2] and (m[8] ~= ARGV[1] or now - (m[9] or 0) > 5000) then
    call('HSET', M, 'calm', ARGV[1], 'seen', time_now)
  end
end

if in_line == '0' and not ARGV[10] and call('EXISTS', unpack(KEYS, 4, 3 + 3 * n)) == 0 then
  grant()
  return {'G', stamp, ARGV[4], time_now}
end

@trace@
-- In the step that grants. A label stands behind the application, epoch and instance.
local function leave_traces()
  local news, label = {}, nil
  for i = 1, n do
    if string.byte(modes, i) == 119 and marked(i) then
      if not label then
        local at = string.find(ARGV[7], ',', 1, true) + 1
        local function read()
          local size = string.match(ARGV[7], '^%d+', at)
          label = string.sub(ARGV[7], at + #size + 1, at + #size + size)
          at = at + #size + 1 + size
        end
        read()
        at = string.find(ARGV[7], ';', at, true) + 1
        read()
        read()
      end
      news[#news + 1] = 'w:' .. name_of(i)
      news[#news + 1] = entry(stamp, time_now, label)
    end
  end
  if #news > 0 then call('HSET', M, unpack(news)) end
end

local permits = {}
for number in string.gmatch(all_permits, '%d+') do permits[#permits + 1] = tonumber(number) end

-- There are holds, live or expired. When each lease ends; false: the hold does not count.
local ends, freed = {}, {}
local dead = 0  -- that were tidied up
local function live(one)
  if ends[one] == nil then
    local at = tonumber(call('ZSCORE', L, one) or 0)
    ends[one] = at > now and at
    if at > 0 and at <= now then bury(one) end
  end
  return ends[one]
end
local function first_writer(i)
  local one = call('GET', KEYS[3 + i])
  if not one then return nil end
  if live(one) then return one ~= replaced and one or nil end
  call('DEL', KEYS[3 + i])
  freed[i] = true
  return nil
end
local function is_there(i, one)
  if live(one) then return true end
  call('ZREM', KEYS[3 + n + i], one)
  freed[i] = true
  dead = dead + 1
  return false
end
-- Those of one kind, dead ones too, without the one that is replaced.
local function count_of(i, least, most)
  local all = call('ZCOUNT', KEYS[3 + n + i], least, most)
  local score = tonumber(place[i])
  return score and (score > 0) == (least == 0) and all - 1 or all
end
local function others(i, least, most)
  local found = {}
  for _, one in ipairs(call('ZRANGEBYSCORE', KEYS[3 + n + i], least, most)) do
    if one ~= replaced and is_there(i, one) then found[#found + 1] = one end
    if dead > 2000 then break end
  end
  return found
end
-- Of many members of one kind, to look at each would stall the server. Which one stands first, and
-- how many there are if they count one by one (`own`), else 1; none: nothing, 0.
local soonest = {}  -- when the first of them may end
local function many(i, least, most, own)
  local key = KEYS[3 + n + i]
  if own then
    -- Those whose lease has ended are few, for the sweep takes them away.
    local ended = call('ZRANGEBYSCORE', L, 0, time_now, 'LIMIT', 0, 500)
    if #ended == 500 then
      local all = others(i, least, most)
      return all, #all
    end
    for _, one in ipairs(ended) do
      if call('ZSCORE', key, one) then is_there(i, one) end
    end
    -- What stands in no lease at all (somebody has meddled) is found bit by bit.
    local at = now % call('ZCOUNT', key, '-inf', '+inf')
    for _, one in ipairs(call('ZRANGE', key, format('%.0f', at), format('%.0f', at + 15))) do
      if one ~= mark then is_there(i, one) end
    end
    local next = call('ZRANGEBYSCORE', L, '(' .. time_now, '+inf', 'WITHSCORES', 'LIMIT', 0, 16)
    for a = 1, #next, 2 do
      soonest[i] = tonumber(next[a + 1])
      if call('ZSCORE', key, next[a]) then break end
    end
  end
  while dead <= 2000 do
    local some = least == 0 and call('ZRANGEBYSCORE', key, least, most, 'LIMIT', 0, 16)
                 or call('ZREVRANGEBYSCORE', key, most, least, 'LIMIT', 0, 16)
    if #some == 0 or #some == 1 and some[1] == replaced then break end
    for _, one in ipairs(some) do
      if one ~= replaced and is_there(i, one) then
        return {one}, own and count_of(i, least, most) or 1
      end
    end
  end
  return {}, 0
end
local function standing(i, least, most, count, own)
  if count > 64 then return many(i, least, most, own) end
  local all = others(i, least, most)
  return all, #all
end
local function floor_of(i)
  local reads = string.byte(modes, i) == 114
  local lowest = not reads and first_writer(i) or nil
  while true do
    local next = reads and call('ZRANGEBYSCORE', KEYS[3 + n + i], 0, '(+inf', 'LIMIT', 0, 1)
                 or call('ZREVRANGEBYSCORE', KEYS[3 + n + i], '(0', '-inf', 'LIMIT', 0, 1)
    if not next[1] then return lowest end
    if live(next[1]) then
      if lowest and tonumber(lowest) < tonumber(next[1]) then return lowest end
      return next[1]
    end
    call('ZREM', KEYS[3 + n + i], next[1])
  end
end
local function answer(of, left)
  local all = {'G', of, left, time_now}
  for i = 1, n do all[4 + i] = floor_of(i) or of end
  return all
end
local function leave_line()
  call('HDEL', W, waiter)
  for i = 1, n do
    call('ZREM', KEYS[3 + 2 * n + i], string.sub(modes, i, i) .. waiter)
  end
end

-- The same request was delivered twice.
local twin = call('HGET', M, ARGV[6])
if twin and live(twin) then
  if in_line ~= '0' then leave_line() end
  return answer(twin, format('%.0f', ends[twin] - now))
end

local function wake_freed()
  for i = 1, n do
    if freed[i] then wake(KEYS[3 + 2 * n + i], '-inf') end
  end
end
local take_place  -- replacing.lua
if replaced then
  @may_grow@
  @replacing@
  if not can_replace() then
    tidy_up()
    wake_freed()
    return {'N'}
  end
  lease = math.max(lease, ends[replaced] - now)
  strings_stay = format('%.0f', math.ceil(lease / 1000) + 60000)
end
for item, stamp in string.gmatch(ARGV[10] or '', '(%d+) (%d+) ') do
  local i = tonumber(item)
  local last_write, age, label = trace_of(i, call('HGET', M, 'w:' .. name_of(i)))
  if last_write ~= stamp then
    local written = first_writer(i) or #others(i, '-inf', '(0') > 0
    wake_freed()
    if in_line ~= '0' then
      leave_line()
      -- What it was woken for, or what was kept for it.
      for of = 1, n do wake(KEYS[3 + 2 * n + of], '-inf') end
    end
    return {'C', i, last_write or '0', age or '', label or '', written and 1 or 0}
  end
end

-- The rule of admission. Expired holds are looked for only where they would make a difference.
local own, other, mine = {}, {}, {}
local item, holder, holder_mode, first_end
for i = 1, n do
  local reads = string.byte(modes, i) == 114
  local first = first_writer(i)
  local r = count_of(i, 0, '(+inf')
  local w = count_of(i, '-inf', '(0') + (first and 1 or 0)
  local readers, writers
  if r > 0 and (not reads or r >= permits[i]) then
    readers, r = standing(i, 0, '(+inf', r, reads)
  end
  if w > 0 and (reads or w >= permits[i]) then
    writers, w = standing(i, '-inf', '(0', first and w - 1 or w, not reads)
    if first then
      writers[#writers + 1] = first
      w = w + 1
    end
  end
  mine[i] = reads and r or w
  own[i] = mine[i] >= permits[i]
  other[i] = (reads and w or r) > 0
  for _, way in ipairs({{own[i] and reads or other[i] and not reads, readers, 'r'},
                        {own[i] and not reads or other[i] and reads, writers, 'w'}}) do
    if way[1] then
      if soonest[i] and (not first_end or soonest[i] < first_end) then first_end = soonest[i] end
      for _, one in ipairs(way[2]) do
        if not first_end or ends[one] < first_end then first_end = ends[one] end
        if not item or (item == i and tonumber(one) < tonumber(holder)) then
          item, holder, holder_mode = i, one, way[3]
        end
      end
    end
  end
end
if dead > 2000 then
  wake_freed()
  return {'A'}
end

-- A waiter that was overtaken often enough counts as a hold towards all who came after it.
most_overtakes = tonumber(most_overtakes)
local function overtaken(record)
  return string.sub(record, 33, 33) == 'o' and tonumber(string.sub(record, 34, 42)) or 0
end
-- Who came before this request and still may come: mode, id, record.
local function in_front(i)
  local found = {}
  local members = call('ZRANGEBYSCORE', KEYS[3 + 2 * n + i], '-inf',
                       in_line == '0' and '+inf' or '(' .. in_line)
  for from = 1, #members, 100 do
    local ids = {}
    for a = from, math.min(from + 99, #members) do ids[#ids + 1] = string.sub(members[a], 2) end
    for a, record in ipairs(call('HMGET', W, unpack(ids))) do
      if record and tonumber(string.sub(record, 1, 16)) > now
         and may_come(tonumber(string.sub(record, 17, 32))) then
        found[#found + 1] = {string.sub(members[from + a - 1], 1, 1), ids[a], record}
      end
    end
  end
  return found
end
local passed = {}  -- those in front: id, record
local keeper       -- the first for whom an item is kept: id, record
-- A downgrade passes them, and overtakes nobody.
local gives_up = replaced and not string.find(modes, 'w', 1, true)
if not item and not gives_up and most_overtakes < 4294967295 and call('EXISTS', W) == 1 then
  for i = 1, n do
    local mode, kept, first = string.sub(modes, i, i), {r = 0, w = 0}, nil
    for _, each in ipairs(in_front(i)) do
      passed[each[2]] = each[3]
      if overtaken(each[3]) >= most_overtakes then
        kept[each[1]] = kept[each[1]] + 1
        first = first or each
      end
    end
    own[i] = mine[i] + kept[mode] >= permits[i]
    other[i] = kept[mode == 'r' and 'w' or 'r'] > 0
    if first and not item and (own[i] or other[i]) then
      item, keeper = i, first
      holder_mode = other[i] and (mode == 'r' and 'w' or 'r') or mode
    end
  end
end
if not item then
  for id, record in pairs(passed) do
    call('HSET', W, id, string.sub(record, 1, 32) .. format('o%09.0f', overtaken(record) + 1)
                        .. string.sub(record, string.sub(record, 33, 33) == 'o' and 43 or 33))
  end
  grant()
  leave_traces()
  ends[stamp] = now + lease
  if replaced then take_place() end
  if in_line ~= '0' then leave_line() end
  if in_line ~= '0' or (replaced and call('EXISTS', W) == 1) then
    -- The waiters that this leaves room for.
    for i = 1, n do
      if mine[i] + 1 < permits[i] then
        wake(KEYS[3 + 2 * n + i], '-inf', string.sub(modes, i, i))
      end
    end
  end
  return answer(stamp, format('%.0f', lease))
end

local since = tonumber(in_line)
if waiter ~= '' then
  -- In the same step, so that no release after this answer can miss it.
  local me = call('HGET', W, waiter)
  local woken = was_woken == '1' or (me and tonumber(string.sub(me, 17, 32)) ~= 0)
  if since == 0 then since = now end
  local times = me and overtaken(me) or 0
  -- It was heard of now, to a second.
  if not me or woken or tonumber(string.sub(me, 1, 16)) < now + 14000000 then
    call('HSET', W, waiter,
         format('%016.0f%016.0fo%09.0f%.0f;', now + 15000000, 0, times, since) .. ARGV[7])
    for i = 1, n do
      call('ZADD', KEYS[3 + 2 * n + i], format('%.0f', since),
           string.sub(modes, i, i) .. waiter)
      call('PEXPIRE', KEYS[3 + 2 * n + i], 3600000)
    end
  end
  if woken then
    -- What it was woken for may do for one behind it. A name that its own mode uses up
    -- admits nobody else. Where names are kept for this waiter, it counts as a hold.
    local after = '(' .. format('%.0f', since)
    for i = 1, n do
      if not own[i] and not other[i] and times >= most_overtakes then
        if mine[i] + 1 < permits[i] then
          wake(KEYS[3 + 2 * n + i], after, string.sub(modes, i, i))
        end
      elseif not own[i] and not other[i] then
        wake(KEYS[3 + 2 * n + i], after)
      elseif not own[i] then
        wake(KEYS[3 + 2 * n + i], after, string.byte(modes, i) == 114 and 'w' or 'r')
      end
    end
  end
end
wake_freed()
if keeper then
  local record = keeper[3]
  local expires, woken = tonumber(string.sub(record, 1, 16)), tonumber(string.sub(record, 17, 32))
  -- If it was not heard of lately, this shows whether it still lives.
  if woken == 0 and expires < now + 14000000 and not tell(keeper[2], record) then
    -- Its client is gone: it does not count any more, and its record tells the sweep.
    call('HSET', W, keeper[2], format('%016.0f', now) .. string.sub(record, 17))
    return {'A'}
  end
  return {'B', item, holder_mode, '0',
          format('%.0f', (woken == 0 and expires or woken + 100000) - now), format('%.0f', since),
          string.sub(record, string.sub(record, 33, 33) == 'o' and 43 or 33)}
end
return {'B', item, holder_mode, holder, format('%.0f', first_end - now),
        format('%.0f', since), call('HGET', M, 'h:' .. holder)}
