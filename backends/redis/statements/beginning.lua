-- # The first part of every script but init.lua and restore.lua, after opening.lua and its
-- # early part.
-- #
-- # m: schema, run, version, last, quarantine, and the script's own fields.
-- #
-- # The connection tells the server process, because it can't outlive it. If another
-- # process wrote the state, that one may have granted holds that are lost here.
-- #
-- # Filled in:
-- #   @more@: the script's own fields
-- #   @state@: state.lua
-- #   @may_grow@: a first change of nothing: a server without memory accepts it, and all
-- #     that follow
-- #   @disturb@: removes `calm`
-- #   @grace@: how much longer than a lease a quarantine lasts
-- #   @past@: past_lost_stamps.lua
-- #   @schema@: the schema's version

local run, born = string.match(ARGV[1], '^(%S+) (%S+)')
local m = call('HMGET', M, 'schema', 'run', 'version', 'last', 'quarantine'@more@,
               'line', 'mark', 'born')
@state@
local changed = m[2] ~= run or followed(m[#m - 2]) or loaded(m[#m - 1])
if changed or m[1] ~= '@schema@'
   or (m[3] ~= ARGV[2] and tonumber(m[3]) < tonumber(ARGV[2]))
   or (m[4] ~= ARGV[3] and tonumber(m[4]) < tonumber(ARGV[3]))
   or (born ~= '0' and born ~= m[#m]) then
  if not m[1] then return {'L'} end
  if m[1] ~= '@schema@' then return {'V', m[1]} end
  if tonumber(m[3]) < tonumber(ARGV[2]) or tonumber(m[4]) < tonumber(ARGV[3])
     or (born ~= '0' and born ~= m[#m]) then
    return {'L'}
  end
  @may_grow@
  @disturb@
  local was = call('HMGET', M, 'max_lease', 'longest')
  local lease = call('HGET', M .. ':config', 'max_lease') or was[1]
  m[5] = format('%.0f', math.max(m[5] or 0, now + lease + @grace@, was[2] or 0))
  @past@
  m[4] = past_lost_stamps(m[4])
  call('HSET', M, 'quarantine', m[5], 'lost', format('%.0f', now), 'last', m[4])
  keep_state(run)
end
local quarantine = tonumber(m[5] or 0)
