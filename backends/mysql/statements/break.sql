-- # Ends a hold, for operators. The owner of a stamp does not change: no stamp is used twice.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures

CREATE PROCEDURE {space}_break(p_stamp BIGINT)
MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
  DECLARE v_app VARBINARY(255) DEFAULT '';
  SELECT app INTO v_app FROM {space}_locks FORCE INDEX (by_stamp)
    WHERE stamp = p_stamp AND item = 0;
  CALL {space}_release_noted(p_stamp, v_app, 0);
END
