-- # Deletes the other rows of a hold whose first row the caller has deleted. They are
-- # looked up without a lock and deleted one by one by the primary key: a delete over the
-- # index of stamps locks the next stamp's entry as well, and two such deletes met in a
-- # deadlock. Adds the names to @lockset_freed.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures

CREATE PROCEDURE {space}_end_rest(p_stamp BIGINT)
MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
  DECLARE v_done INT DEFAULT 0;
  DECLARE v_name VARBINARY(255);
  DECLARE rest CURSOR FOR
    SELECT name FROM {space}_locks FORCE INDEX (by_stamp)
     WHERE stamp = p_stamp AND item > 0 ORDER BY item;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_done = 1;
  OPEN rest;
  FETCH rest INTO v_name;
  WHILE v_done = 0 DO
    DELETE FROM {space}_locks WHERE name = v_name AND stamp = p_stamp;
    SET @lockset_freed = CONCAT(@lockset_freed, CHAR(LENGTH(v_name)), v_name);
    FETCH rest INTO v_name;
  END WHILE;
  CLOSE rest;
END
