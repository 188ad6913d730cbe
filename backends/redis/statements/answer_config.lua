-- # A part of other scripts: answers the configuration. KEYS 4 and 5: epochs, kept.
-- #
-- # {'C', version, max_lease, phase, base, longest, last, microseconds of quarantine left,
-- # fields and values of the configuration, birth of the space, epochs}. The fields win
-- # over the values before them, which any program may write.

local c = call('HMGET', M, 'version', 'max_lease', 'phase', 'base', 'longest', 'last')
return {'C', c[1], c[2], c[3], c[4], c[5] or 0, c[6],
        format('%.0f', math.max(0, quarantine - now)),
        call('HGETALL', M .. (call('EXISTS', M .. ':config') == 1 and ':config' or ':kept')),
        m[#m], call('HGETALL', KEYS[4])}
