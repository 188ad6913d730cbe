-- # The usual case of a release, before beginning.lua, which is skipped where `calm` and the
-- # last stamp say that it would find nothing: so the `if` is left open, and release.lua ends
-- # it.

local stamp, modes = ARGV[4], ARGV[6]
local known = call('HMGET', M, 'calm', 'last', 'h:' .. stamp)
local record, unsure, lost_until, quarantine = known[3], false, 0, 0
if known[1] ~= ARGV[1] or not record
   or (known[2] ~= ARGV[3] and tonumber(known[2]) < tonumber(ARGV[3])) then
