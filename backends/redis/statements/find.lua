-- # A look-up of stamps. ARGV from 4: stamps. {'F', records...}, false if there is none.
-- # The records tell the names, whose keys the caller has to declare.

local fields = {}
for i = 4, #ARGV do fields[i - 3] = 'h:' .. ARGV[i] end
return {'F', unpack(call('HMGET', M, unpack(fields)))}
