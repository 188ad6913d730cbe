-- # Reads the configuration. KEYS 4 and 5: epochs, kept. The answer is that of
-- # answer_config.lua.
-- #
-- # A version below that of the last change is not the space's: someone set it back, or
-- # restored only a part of the space. A copy of an earlier version must not count again.
-- #
-- # Filled in:
-- #   @answer_config@: answer_config.lua
-- #   @disturb@: removes `calm`

local changed_at = call('HGET', M .. ':config', 'version')
if changed_at and tonumber(changed_at) > tonumber(m[3]) then
  call('HSET', M, 'version', format('%.0f', math.max(changed_at + 1, now)))
  @disturb@
end
@answer_config@
