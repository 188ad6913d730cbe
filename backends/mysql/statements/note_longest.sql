-- # A part of change.sql: holds may go on with a longer lease, and a quarantine has to outlast
-- # them.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures
-- #   {now}: the server's clock, in microseconds since 1970

    IF p_kind = 'max_lease' AND EXISTS (SELECT 1 FROM {space}_locks) THEN
      UPDATE {space}_home h JOIN {space}_space s ON s.id = h.id
        SET h.longest = GREATEST(h.longest, {now} + s.max_lease_us)
        WHERE h.id = 1 AND s.max_lease_us > p_value;
    END IF;
