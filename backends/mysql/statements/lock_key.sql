-- # A part of acquire.sql, strategy=unique-index. One statement against the unique key
-- # finds or makes the row, and locks it; the second of two callers waits at the key.
-- # LAST_INSERT_ID(low) leaves `low` as it is, and returns it without another look; a new
-- # row (1 row affected, not 2) has 0.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures

    INSERT INTO {space}_names VALUES (v_name, 0, 1)
      ON DUPLICATE KEY UPDATE gen = gen + 1, low = LAST_INSERT_ID(low);
    SET v_low = IF(ROW_COUNT() = 1, 0, LAST_INSERT_ID());
