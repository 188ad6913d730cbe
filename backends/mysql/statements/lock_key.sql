-- # A part of acquire.sql, strategy=unique-index. The row is found or made, and locked, by one
-- # statement against the unique key; the second of two waits at the key. LAST_INSERT_ID(low)
-- # leaves `low` as it is, and says it without another look; a row just made (1, not 2, rows
-- # affected) has 0.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures

    INSERT INTO {space}_names VALUES (v_name, 0, 1)
      ON DUPLICATE KEY UPDATE gen = gen + 1, low = LAST_INSERT_ID(low);
    SET v_low = IF(ROW_COUNT() = 1, 0, LAST_INSERT_ID());
