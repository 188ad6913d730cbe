-- # A restoration: the state is lost, or older than what the client has seen, and the
-- # client puts back what it knows. Several clients may do so; the highest version stays,
-- # and the quarantine only grows. If `lockset init` has made another space in its place,
-- # that one stays; what the client knew was granted before.
-- #
-- # KEYS 4 and 5: epochs, kept. ARGV from 4: max_lease, phase, base, longest, then fields and
-- # values of the configuration. {'X', birth of the space} or {'V', schema}.
-- #
-- # Filled in:
-- #   @state@: state.lua
-- #   @refusing@: refusing.lua
-- #   @grace@: how much longer than a lease a quarantine lasts
-- #   @past@: past_lost_stamps.lua
-- #   @disturb@: removes `calm`
-- #   @schema@: the schema's version

local M, L, W = KEYS[1], KEYS[2], KEYS[3]
local call, format = redis.call, string.format
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
local run, born = string.match(ARGV[1], '^(%S+) (%S+)')
@state@
local m = call('HMGET', M, 'schema', 'version', 'last', 'quarantine', 'max_lease', 'longest',
               'born', 'run', 'line', 'mark', 'lost')
if m[1] and m[1] ~= '@schema@' then return {'V', m[1]} end
local older = not m[1] or tonumber(m[2]) < tonumber(ARGV[2])
local behind = not m[1] or tonumber(m[3]) < tonumber(ARGV[3])
local changed = m[8] ~= run or followed(m[9]) or loaded(m[10])
if not older and not behind and not changed then
  if born ~= m[7] then
    local ends = math.max(m[7] + ARGV[4] + @grace@, ARGV[7])
    if ends > math.max(now, m[4] or 0) then
      @disturb@
      -- Never the same again: traces from before don't count.
      local lost = format('%.0f', math.max((m[11] or 0) + 1, m[7]))
      call('HSET', M, 'quarantine', format('%.0f', ends), 'lost', lost)
    end
  end
  return {'X', m[7]}
end
if not m[1] then call('DEL', L, W, KEYS[4]) end
local longest = math.max(m[6] or 0, ARGV[7])
local longest_lease = math.max(m[5] or 0, ARGV[4])
@past@
local last = tonumber(past_lost_stamps(math.max(m[3] or 0, ARGV[3])))
if not m[1] then last = math.max(last, now) end
if m[1] then born = m[7] end
call('HSET', M, 'schema', '@schema@', 'born', born, 'last', format('%.0f', last),
     'longest', format('%.0f', longest), 'lost', format('%.0f', now),
     'quarantine', format('%.0f', math.max(m[4] or 0, now + longest_lease + @grace@, longest)))
keep_state(run)
@disturb@
if older then
  @refusing@
  local C = M .. ':config'
  local gone = call('EXISTS', C) == 0
  local mine = not may_not(redis.pcall('HDEL', C, ''))
  local version, to = ARGV[2], mine and C or KEYS[5]
  if mine or gone then
    call('DEL', to)
    call('HSET', to, 'version', version, 'max_lease', ARGV[4], 'phase', ARGV[5], 'base', ARGV[6])
    call('HSET', M, 'max_lease', ARGV[4], 'phase', ARGV[5], 'base', ARGV[6])
    if mine then call('DEL', KEYS[5]) end
  else
    -- A program can't put it back: what was restored counts, and no copy of before does.
    version = format('%.0f', math.max(version + 1, now))
  end
  call('HSET', M, 'version', version)
  for i = 8, #ARGV, 2 do
    local field, value = ARGV[i], ARGV[i + 1]
    if string.sub(field, 1, 2) ~= 'e:' then
      if mine or gone then call('HSET', to, field, value) end
    elseif tonumber(call('HGET', KEYS[4], field) or 0) < tonumber(value) then
      call('HSET', KEYS[4], field, value)
    end
  end
end
return {'X', born}
