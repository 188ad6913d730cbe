-- # Wakes the first waiter for a name behind the waiter p_after (0: of all), of one mode if
-- # p_mode is not NULL: marks its row. If it was not marked yet, adds its listener to
-- # @lockset_wake, which the procedure of the call answers. Passes over waiters that were woken a
-- # while ago and did not come: they are stopped or dead.
-- #
-- # It counts each call. An attempt of that waiter that is under way may not have seen what has
-- # been freed here: it clears the mark only if it was not called since its look, and wakes
-- # itself otherwise.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures
-- #   {now}: the server's clock, in microseconds since 1970
-- #   {comes_within}: how soon a woken waiter comes, in microseconds

CREATE PROCEDURE {space}_wake(p_name VARBINARY(255), p_after BIGINT, p_mode TINYINT)
MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
  DECLARE v_now BIGINT DEFAULT {now};
  DECLARE v_id BIGINT;
  DECLARE v_listener VARBINARY(32);
  DECLARE v_marked INT;
  search: LOOP
    SET v_id = NULL;
    SELECT n.id, w.listener INTO v_id, v_listener
      FROM {space}_waiter_names n STRAIGHT_JOIN {space}_waiters w ON w.id = n.id
     WHERE n.name = p_name AND n.id > p_after AND (p_mode IS NULL OR n.mode = p_mode)
       AND w.expires > v_now AND (w.woken IS NULL OR w.woken > v_now - {comes_within})
     ORDER BY n.id LIMIT 1;
    IF v_id IS NULL THEN
      LEAVE search;
    END IF;
    SET v_marked = NULL;
    SELECT woken IS NOT NULL INTO v_marked FROM {space}_waiters WHERE id = v_id FOR UPDATE;
    UPDATE {space}_waiters SET woken = COALESCE(woken, {now}), calls = calls + 1 WHERE id = v_id;
    -- Otherwise it has left the line meanwhile.
    IF ROW_COUNT() = 1 THEN
      IF v_marked THEN
        LEAVE search;
      END IF;
      IF @lockset_wake IS NULL THEN
        SET @lockset_wake = v_listener;
      ELSEIF LOCATE(v_listener, @lockset_wake) = 0 THEN
        SET @lockset_wake = CONCAT(@lockset_wake, ',', v_listener);
      END IF;
      LEAVE search;
    END IF;
  END LOOP;
END
