-- # A part of acquire_one.sql, strategy=select-for-update.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures

SELECT low INTO v_low FROM {space}_names WHERE name = p_name FOR UPDATE;
