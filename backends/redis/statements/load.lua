-- # Reads the configuration. KEYS 4 and 5: epochs, kept. The answer is that of
-- # answer_config.lua.
-- #
-- # A version below that of the last change is not the space's: somebody set it back, or put
-- # back a part of the space. A copy of what stood there before must not come to count again.
-- #
-- # Filled in:
-- #   @answer_config@: answer_config.lua
-- #   @disturb@: takes `calm` away

local changed_at = call('HGET', M .. ':config', 'version')
if changed_at and tonumber(changed_at) > tonumber(m[3]) then
  call('HSET', M, 'version', format('%.0f', math.max(changed_at + 1, now)))
  @disturb@
end
@answer_config@
