-- # A part of acquire.sql where it converts a hold: that hold ends, in the transaction of the
-- # grant. Its names are those of the set, in the same order.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures

  CALL {space}_entomb(p_replaced, v_old_end);
  DELETE FROM {space}_locks WHERE name = p_name AND stamp = p_replaced AND item = 0;
  SET @lockset_freed = CONCAT(@lockset_freed, CHAR(LENGTH(p_name)), p_name);
  IF p_count > 1 THEN
    CALL {space}_end_rest(p_replaced);
  END IF;
