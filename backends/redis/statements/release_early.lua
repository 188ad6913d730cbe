-- # The usual case of a release. It comes before beginning.lua, which is skipped if `calm`
-- # and the last stamp say that it would find nothing: so the `if` stays open, and
-- # release.lua ends it.

local stamp, modes = ARGV[4], ARGV[6]
local known = call('HMGET', M, 'calm', 'last', 'h:' .. stamp)
local record, unsure, lost_until, quarantine = known[3], false, 0, 0
if known[1] ~= ARGV[1] or not record
   or (known[2] ~= ARGV[3] and tonumber(known[2]) < tonumber(ARGV[3])) then
