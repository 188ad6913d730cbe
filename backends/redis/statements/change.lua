-- # Changes the configuration. KEYS 4 and 5: epochs, kept. ARGV from 4: 'permits', field,
-- # value ('': none); or 'max_lease', 'overtakes', 'phase', 'base' and a value; 'phase' also the only
-- # version that may be changed ('': any).
-- #
-- # A version is never used again, not even after a loss. The answer is that of load.lua,
-- # or {'O'}: only an operator may.
-- #
-- # Filled in:
-- #   @refusing@: refusing.lua
-- #   @adopting@: adopting.lua
-- #   @wake_all@: wake_all.lua
-- #   @answer_config@: answer_config.lua
-- #   @disturb@: removes `calm`

@refusing@
@adopting@
local C = M .. ':config'
local kind, value = ARGV[4], ARGV[5]
if kind == 'phase' and ARGV[6] ~= '' and ARGV[6] ~= m[3] then
  @answer_config@
end
local version = format('%.0f', math.max(m[3] + 1, now))
local gone = call('EXISTS', C) == 0
-- The first change, so that it is refused whole.
local answer = redis.pcall('HSET', C, 'version', version)
if may_not(answer) then return {'O'} end
if type(answer) == 'table' then return answer end
if gone then adopt() end
call('HSET', C, 'version', version)
call('HSET', M, 'version', version)
if kind == 'permits' then
  if ARGV[6] == '' then
    call('HDEL', C, value)
  else
    call('HSET', C, value, ARGV[6])
  end
elseif kind == 'max_lease' then
  -- Holds granted so far may last longer.
  local last = call('ZREVRANGE', L, 0, 0, 'WITHSCORES')
  local longest = call('HGET', M, 'longest')
  call('HSET', M, 'max_lease', value,
       'longest', format('%.0f', math.max(longest or 0, last[2] or 0)))
elseif kind == 'base' then
  local base = call('HGET', C, 'base')
  if tonumber(value) < tonumber(base) then value = base end
end
if kind ~= 'permits' then
  call('HSET', C, kind, value)
  call('HSET', M, kind, value)
end
@disturb@
@wake_all@
@answer_config@
