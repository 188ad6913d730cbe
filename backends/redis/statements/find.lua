-- # A look-up of stamps. ARGV from 4: stamps. {'F', records...}, false where there is none:
-- # what they hold, for those that have to declare its keys.

local fields = {}
for i = 4, #ARGV do fields[i - 3] = 'h:' .. ARGV[i] end
return {'F', unpack(call('HMGET', M, unpack(fields)))}
