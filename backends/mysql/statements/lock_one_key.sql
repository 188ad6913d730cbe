-- # A part of acquire_one.sql, strategy=unique-index.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures

INSERT INTO {space}_names VALUES (p_name, 0, 1)
    ON DUPLICATE KEY UPDATE gen = gen + 1, low = LAST_INSERT_ID(low);
  SET v_low = IF(ROW_COUNT() = 1, 0, LAST_INSERT_ID());
