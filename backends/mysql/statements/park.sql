-- # Where a client's listening connection stays until one of its waiters is woken, for
-- # p_seconds at most. Answers the marks that p_told does not name: 'ticket:calls,...'.
-- #
-- # Whoever has set a mark ends the sleep by KILL QUERY. A mark that was set before the look is
-- # seen by it; a KILL after the look ends the sleep, or the whole call (error 1317).
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures

CREATE PROCEDURE {space}_park(
  p_listener VARBINARY(32), p_told TEXT CHARACTER SET utf8mb4, p_seconds DECIMAL(9,3))
READS SQL DATA SQL SECURITY DEFINER
BEGIN
  DECLARE v_look INT DEFAULT 0;
  DECLARE v_woken MEDIUMTEXT CHARACTER SET utf8mb4;
  WHILE v_look < 2 DO
    SELECT GROUP_CONCAT(ticket, ':', calls) INTO v_woken FROM {space}_waiters
      WHERE listener = p_listener AND woken IS NOT NULL
        AND FIND_IN_SET(CONCAT(ticket, ':', calls), p_told) = 0;
    SET v_look = v_look + 1;
    IF v_woken IS NOT NULL THEN
      SET v_look = 2;
    ELSEIF v_look = 1 THEN
      DO SLEEP(p_seconds);
    END IF;
  END WHILE;
  SELECT v_woken;
END
