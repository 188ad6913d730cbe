-- # An acquire of any set. The strategies differ in how a name is locked.
-- #
-- # Answers one row, of the columns
-- #   outcome 'granted': stamp, now, left of the lease or NULL, floors or NULL, whom to tell
-- #   outcome 'busy':    holder (0: names are kept for a waiter), now, left of the first lease or
-- #                      NULL, its own waiter or NULL, name, mode, label, whom to tell
-- #   outcome 'changed': item, now, last write or 0, when that was granted or NULL, label, whom to
-- #                      tell
-- #   outcome 'gone':    whom to tell
-- #   outcome 'quarantine': for how long nothing is granted
-- #   outcome 'stale', 'late', 'unsure'
-- #
-- # Checks whether the server is the one that is written to, and durable: once before (then
-- # nothing is done, and nobody waits here), and once more after the commit. A grant that
-- # was committed after read_only had been set may be missing on a server that had read the
-- # log to its end by then. Only a grant that was committed before is answered as granted.
-- #
-- # Each statement of a READ COMMITTED transaction sees what was committed when it began,
-- # so the look at a name is a statement of its own after the lock on its row. Holds are
-- # counted, never filtered by expiry: expired ones are deleted first, after the expiry was
-- # checked again under the row's lock, which waits for a renewal under way.
-- #
-- # MIN(stamp) is one access to the key, before the optimizer weighs plans; LIMIT 1 was
-- # measured to cost half as much again.
-- #
-- # All calls take locks in this order: name rows by name, the space's row, holds by stamp
-- # (in a hold, item 0 first), waiters, traces by name.
-- #
-- # Who waits (p_listener is not NULL) is registered with the busy answer. A release takes no
-- # lock on a name. So the holds in the way are locked until the registration is committed:
-- # whatever ends one of them waits for that, looks for waiters afterwards, and finds this one.
-- #
-- # A waiter that was overtaken p_overtakes times counts as a hold towards those who came
-- # after it (semantics 13). A grant counts itself first, and is undone if that was once too
-- # often: the count locks the waiters' rows, so two grants of different names can't both be
-- # the last one.
-- #
-- # An item of the set may say which last write its trace has to have (semantics 28).
-- #
-- # The same text makes the procedures that convert a hold (semantics 29, 30): the parts about
-- # the hold that is replaced are filled in only there. It is locked among the expired holds, does
-- # not count, and ends when the new one is recorded. A downgrade passes {unlimited} as
-- # p_overtakes.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures
-- #   {procedure}: _acquire_rows or _acquire_key, by strategy; or _convert_rows or _convert_key
-- #   {lock}: lock_row.sql or lock_key.sql, by strategy
-- #   {p_replaced}: the parameter for the stamp of the hold to replace; else nothing. So are all
-- #     parts in which it occurs:
-- #   {declare_replaced}, {converting}: what only a conversion declares and sets
-- #   {or_replaced}, {but_replaced}: conditions that include or leave out that hold
-- #   {convert_lock}, {convert_gone}, {convert_end}: the files of these names
-- #   {expires}, {lease}: when the new hold ends, and how long it lasts; NULL: for ever
-- #   {now}: the server's clock, in microseconds since 1970
-- #   {items}: the set of the request, as a table
-- #   {conditions}: the last writes that it expects, as a table
-- #   {judged}: the same, with how many hold each name, and for how many waiters it is kept
-- #   {kept}: the condition that names are kept for the waiter (n, w)
-- #   {judge}: judge.sql
-- #   {life}: how long a waiter counts that is not heard of, in microseconds
-- #   {comes_within}: how soon a woken waiter comes, in microseconds
-- #   {prod_after}: after which time a waiter shows that it lives, in microseconds
-- #   {unlimited}: waiters are overtaken without a bound
-- #   {keeps}: the condition that the server is the one that is written to, and a crash loses
-- #     nothing
-- #   {check_keeps}: refuses where the server is not the one that is written to, or a crash
-- #     may lose something
-- #   {here}, {identity}: as in lost.sql

CREATE PROCEDURE {space}{procedure}(
  p_version BIGINT, p_name VARBINARY(255), p_names MEDIUMBLOB,
  p_items MEDIUMTEXT CHARACTER SET utf8mb4, p_count INT, p_mode TINYINT, p_lease BIGINT,
  p_token BINARY(16), p_app VARBINARY(255), p_instance VARBINARY(255), p_epoch BIGINT,
  p_label VARBINARY(1024), p_least BIGINT, p_patience BIGINT,
  p_waiter BIGINT, p_overtakes BIGINT, p_listener VARBINARY(32), p_ticket BIGINT{p_replaced})
MODIFIES SQL DATA SQL SECURITY DEFINER
main: BEGIN
  DECLARE v_began BIGINT DEFAULT {now};
  DECLARE v_now, v_version, v_base, v_low, v_stamp, v_target, v_seen, v_twin BIGINT;
  DECLARE v_least_low, v_most_low, v_holder, v_first_end, v_end, v_waits, v_waiter BIGINT;
  DECLARE v_enough, v_expires, v_woken, v_overtaken, v_ahead, v_permits, v_held BIGINT;
  DECLARE v_calls, v_called, v_left BIGINT;
  DECLARE v_home VARBINARY(96);
  DECLARE v_blocked, v_kept, v_done, v_traced, v_conditional INT;
  DECLARE v_mode, v_holder_mode TINYINT;
  DECLARE v_lease_at VARBINARY(255);
  DECLARE v_label VARBINARY(1100);
  DECLARE v_at, v_size, v_missing, v_changed, v_taken INT DEFAULT 0;
  DECLARE v_name VARBINARY(255) DEFAULT p_name;
  DECLARE v_passed VARBINARY(255);
  DECLARE v_floors MEDIUMTEXT;
  {declare_replaced}
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;

  settle: LOOP
  SET v_seen = NULL, v_floors = NULL, v_changed = 0, v_kept = 0, v_blocked = NULL, v_twin = NULL;
  SET v_enough = {unlimited};
  SET @lockset_wake = NULL, @lockset_freed = '';
  again: LOOP
  SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
  START TRANSACTION;
  IF p_names IS NULL THEN
    {lock}
    SELECT MIN(stamp) INTO v_seen FROM {space}_locks
      WHERE name = p_name AND stamp >= v_low;
    SET v_least_low = v_low, v_most_low = v_low;
  ELSE
    SET v_at = 1, v_least_low = NULL, v_most_low = 0;
    WHILE v_at < LENGTH(p_names) DO
      SET v_size = ORD(SUBSTR(p_names, v_at, 1));
      SET v_name = SUBSTR(p_names, v_at + 1, v_size);
      {lock}
      IF v_seen IS NULL THEN
        SELECT MIN(stamp) INTO v_seen FROM {space}_locks
          WHERE name = v_name AND stamp >= v_low;
      END IF;
      SET v_least_low = LEAST(v_low, COALESCE(v_least_low, v_low));
      SET v_most_low = GREATEST(v_low, v_most_low);
      SET v_at = v_at + 1 + v_size;
    END WHILE;
  END IF;
  LEAVE again;
  END LOOP;

  SET v_now = {now};
  IF v_now - v_began > p_patience THEN
    ROLLBACK;
    SELECT 'late';
    LEAVE main;
  END IF;
  {check_keeps}
  SELECT config_version, stamp_base, (SELECT MIN(w.id) FROM {space}_waiters w),
         (SELECT w.calls FROM {space}_waiters w WHERE w.id = p_waiter),
         (SELECT 1 FROM {space}_traces t LIMIT 1),
         JSON_CONTAINS_PATH(p_items, 'one', '$[*][3]'),
         (SELECT h.home FROM {space}_home h WHERE h.id = 1)
    INTO v_version, v_base, v_waits, v_called, v_traced, v_conditional, v_home
    FROM {space}_space WHERE id = 1 LOCK IN SHARE MODE;
  IF v_home IS NULL OR v_home <> {here} THEN
    ROLLBACK;
    CALL {space}_lost(v_left);
    IF v_left > 0 THEN
      SELECT 'quarantine', v_left;
      LEAVE main;
    END IF;
    ITERATE settle;
  END IF;
  IF v_version IS NULL OR v_version <> p_version THEN
    ROLLBACK;
    SELECT 'stale';
    LEAVE main;
  END IF;
  IF v_conditional THEN
    SELECT c.ord, IF(t.name IS NULL, 0, GREATEST(t.last_write, v_base)),
           IF(t.last_write < v_base, NULL, t.granted), IF(t.last_write < v_base, '', t.label)
      INTO v_blocked, v_stamp, v_end, v_label
      FROM {conditions} c LEFT JOIN {space}_traces t ON t.name = CAST(c.name AS BINARY)
     WHERE c.last_write IS NOT NULL
       AND (t.name IS NULL OR GREATEST(t.last_write, v_base) <> c.last_write)
     ORDER BY c.ord LIMIT 1;
    IF v_blocked IS NOT NULL THEN
      IF p_waiter <> 0 THEN
        -- As in end_wait.sql.
        SELECT id INTO v_waiter FROM {space}_waiters
          WHERE id = p_waiter AND listener = p_listener FOR UPDATE;
        IF v_waiter IS NOT NULL THEN
          CALL {space}_leave_line(v_waiter);
          CALL {space}_wake_freed();
        END IF;
      END IF;
      COMMIT;
      SELECT 'changed', v_blocked - 1, v_now, v_stamp, v_end, v_label, @lockset_wake;
      LEAVE main;
    END IF;
  END IF;

  judge: BEGIN
  {converting}
  IF v_seen IS NOT NULL THEN
    BEGIN
      DECLARE v_items INT;
      DECLARE v_expired BIGINT;
      DECLARE expired CURSOR FOR
        SELECT DISTINCT f.stamp, f.name, f.items
          FROM {items} j
          STRAIGHT_JOIN {space}_locks l ON l.name = CAST(j.name AS BINARY)
          STRAIGHT_JOIN {space}_locks f ON f.name = COALESCE(l.lease_at, l.name)
                                       AND f.stamp = l.stamp
         WHERE f.expires <= v_now{or_replaced} ORDER BY f.stamp;
      DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_done = 1;
      SET v_done = 0;
      OPEN expired;
      FETCH expired INTO v_expired, v_name, v_items;
      WHILE v_done = 0 DO
        {convert_lock}
        DELETE FROM {space}_locks
          WHERE name = v_name AND stamp = v_expired AND item = 0 AND expires <= {now};
        IF ROW_COUNT() = 1 THEN
          SET v_changed = v_changed + 1;
          SET @lockset_freed = CONCAT(@lockset_freed, CHAR(LENGTH(v_name)), v_name);
          IF v_items > 1 THEN
            CALL {space}_end_rest(v_expired);
          END IF;
        END IF;
        FETCH expired INTO v_expired, v_name, v_items;
      END WHILE;
      CLOSE expired;
    END;
    SELECT MIN(IF(t.blocked, t.ord, NULL)), MIN(IF(t.blocked, t.first_end, NULL)),
           GROUP_CONCAT(COALESCE(t.lowest, 0) ORDER BY t.ord)
      INTO v_blocked, v_first_end, v_floors
      FROM (SELECT j.ord AS ord, MIN(l.stamp) AS lowest, MIN(f.expires) AS first_end,
                   IF(j.mode = 1, SUM(l.mode = 0) > 0 OR SUM(l.mode = 1) >= j.permits,
                                  SUM(l.mode = 1) > 0 OR SUM(l.mode = 0) >= j.permits) AS blocked
              FROM {items} j
              LEFT JOIN {space}_locks l ON l.name = CAST(j.name AS BINARY){but_replaced}
              LEFT JOIN {space}_locks f ON f.name = COALESCE(l.lease_at, l.name)
                                       AND f.stamp = l.stamp
             GROUP BY j.ord, j.mode, j.permits) t;
    SET v_now = {now};
    {convert_gone}
    IF v_blocked IS NOT NULL THEN
      SET v_holder = NULL, v_holder_mode = NULL, v_lease_at = NULL, v_label = NULL;
      SELECT CAST(j.name AS BINARY), j.mode, j.permits INTO v_name, v_mode, v_permits
        FROM {items} j WHERE j.ord = v_blocked;
      SELECT l.stamp, l.mode, COALESCE(l.lease_at, l.name)
        INTO v_holder, v_holder_mode, v_lease_at
        FROM {space}_locks l WHERE l.name = v_name{but_replaced} ORDER BY l.stamp LIMIT 1;
      SELECT label INTO v_label FROM {space}_locks
        WHERE name = v_lease_at AND stamp = v_holder;
      LEAVE judge;
    END IF;
    -- The same request was delivered twice: it has its hold already.
    SELECT stamp, expires INTO v_twin, v_end FROM {space}_locks
      WHERE name = p_name AND item = 0 AND token = p_token LIMIT 1;
    IF v_twin IS NOT NULL THEN
      LEAVE judge;
    END IF;
  END IF;

  IF v_waits IS NOT NULL AND p_overtakes < {unlimited} THEN
    -- First a look without counting: what is kept already needs no count of all in line.
    SET v_enough = p_overtakes, v_waiter = NULL;
    SELECT n.id INTO v_waiter
      FROM {items} j
      STRAIGHT_JOIN {space}_waiter_names n ON n.name = CAST(j.name AS BINARY)
      STRAIGHT_JOIN {space}_waiters w ON w.id = n.id
     WHERE {kept} LIMIT 1;
    IF v_waiter IS NOT NULL THEN
      {judge}
    END IF;
    IF v_blocked IS NULL THEN
      SAVEPOINT not_counted;
      UPDATE {items} j
        STRAIGHT_JOIN {space}_waiter_names n ON n.name = CAST(j.name AS BINARY)
        STRAIGHT_JOIN {space}_waiters w ON w.id = n.id
        SET w.overtaken = w.overtaken + 1
        WHERE (p_waiter = 0 OR n.id < p_waiter) AND w.expires > v_now
          AND (w.woken IS NULL OR w.woken > v_now - {comes_within});
      IF ROW_COUNT() > 0 THEN
        SET v_enough = p_overtakes + 1;
        {judge}
        SET v_enough = p_overtakes;
      END IF;
      IF v_blocked IS NOT NULL THEN
        ROLLBACK TO SAVEPOINT not_counted;
      END IF;
    END IF;
    IF v_blocked IS NOT NULL THEN
      SET v_kept = 1, v_holder = 0, v_waiter = NULL, v_expires = NULL;
      SELECT n.id INTO v_waiter
        FROM {space}_waiter_names n STRAIGHT_JOIN {space}_waiters w ON w.id = n.id
       WHERE n.name = v_name AND {kept} ORDER BY n.id LIMIT 1;
      -- Its lock: the waiter in the way can't leave before this one is registered behind it.
      SELECT CONCAT('the queue, for ', label), expires, woken
        INTO v_label, v_expires, v_woken
        FROM {space}_waiters WHERE id = v_waiter FOR UPDATE;
      IF v_expires IS NULL THEN
        -- It has left since the look.
        ROLLBACK;
        ITERATE settle;
      END IF;
      -- If it does not come in time, the next in line is to look, and the others one by one after
      -- that: a long line that looks at once would hold up who comes.
      SELECT COUNT(*) INTO v_ahead FROM {space}_waiter_names
        WHERE name = v_name AND id > v_waiter AND (p_waiter = 0 OR id < p_waiter);
      SET v_first_end = COALESCE(v_woken + {comes_within} * (1 + v_ahead), v_expires);
      -- Others want what is kept for it: does it still live?
      IF v_woken IS NULL AND v_now - (v_expires - {life}) >= {prod_after} THEN
        CALL {space}_wake(v_name, v_waiter - 1, NULL);
        SET v_changed = v_changed + 1;
      END IF;
    END IF;
  END IF;
  END judge;
  IF v_blocked IS NULL THEN
    LEAVE settle;
  END IF;

  -- Busy.
  SET v_waiter = NULL, v_expires = NULL, v_woken = NULL;
  IF p_listener IS NOT NULL THEN
    SELECT id, expires, woken, overtaken, calls
      INTO v_waiter, v_expires, v_woken, v_overtaken, v_calls
      FROM {space}_waiters WHERE id = p_waiter AND listener = p_listener FOR UPDATE;
    IF v_waiter IS NULL THEN
      -- So many of the holds in the way that the set stays blocked. They are all of one mode.
      SET v_held = 0;
      IF v_kept = 0 THEN
        SET v_permits = IF(v_holder_mode = v_mode, v_permits, 1);
        SELECT COUNT(*) INTO v_held
          FROM (SELECT stamp FROM {space}_locks WHERE name = v_name AND mode = v_holder_mode
                 ORDER BY stamp LIMIT v_permits LOCK IN SHARE MODE) h;
      END IF;
      IF v_kept = 0 AND v_held < COALESCE(v_permits, 1) THEN
        -- One has ended since the look.
        ROLLBACK;
        ITERATE settle;
      END IF;
      INSERT INTO {space}_waiters
        (listener, ticket, app, instance, epoch, label, since, expires, calls, overtaken)
        VALUES (p_listener, p_ticket, p_app, p_instance, p_epoch, p_label, v_now,
                v_now + {life}, 0, 0);
      SET v_waiter = LAST_INSERT_ID();
      INSERT INTO {space}_waiter_names
        SELECT CAST(j.name AS BINARY), v_waiter, j.mode FROM {items} j;
      SET v_changed = v_changed + 1;
    ELSEIF v_calls > v_called THEN
      -- It was called after the look: it comes again. What called it found the mark set, and may
      -- not have woken the listener.
      SET v_woken = NULL;
      SET @lockset_wake = CONCAT_WS(',', @lockset_wake, p_listener);
    ELSEIF v_woken IS NOT NULL OR v_now - (v_expires - {life}) >= {prod_after} THEN
      UPDATE {space}_waiters SET woken = NULL, expires = v_now + {life} WHERE id = v_waiter;
      SET v_changed = v_changed + 1;
    END IF;
    IF v_woken IS NOT NULL THEN
      -- What woke it may do for one behind it. A name that its own mode uses up admits nobody
      -- else, and the end of that hold wakes the line again from its head. If names are kept
      -- for this waiter, it counts as a hold.
      BEGIN
        DECLARE v_next_mode TINYINT;
        DECLARE passing CURSOR FOR
          SELECT t.name,
                 CASE WHEN IF(t.mode = 1, t.writing + t.kept_writes, t.reading + t.kept_reads)
                           >= t.permits THEN NULL
                      WHEN IF(t.mode = 1, t.reading + t.kept_reads, t.writing + t.kept_writes)
                           > 0 THEN 1 - t.mode
                      WHEN v_overtaken < p_overtakes THEN 2
                      WHEN IF(t.mode = 1, t.writing, t.reading) + 1 < t.permits THEN t.mode
                 END
            FROM {judged} t ORDER BY t.ord;
        DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_done = 1;
        SET v_done = 0;
        OPEN passing;
        FETCH passing INTO v_passed, v_next_mode;
        WHILE v_done = 0 DO
          IF v_next_mode IS NOT NULL THEN
            CALL {space}_wake(v_passed, v_waiter, NULLIF(v_next_mode, 2));
          END IF;
          SET v_done = 0;
          FETCH passing INTO v_passed, v_next_mode;
        END WHILE;
        CLOSE passing;
      END;
    END IF;
  END IF;
  IF @lockset_freed <> '' AND v_waits IS NOT NULL THEN
    CALL {space}_wake_freed();
  END IF;
  IF v_changed > 0 THEN COMMIT; ELSE ROLLBACK; END IF;
  SELECT 'busy', COALESCE(v_holder, 0), v_now, GREATEST(0, v_first_end - v_now), v_waiter,
         v_name, COALESCE(v_holder_mode, 1), v_label, @lockset_wake;
  LEAVE main;
  END LOOP;

  IF v_twin IS NOT NULL THEN
    IF v_waits IS NOT NULL AND (p_waiter <> 0 OR @lockset_freed <> '') THEN
      CALL {space}_admit_others(p_items, p_waiter);
    END IF;
    COMMIT;
    SELECT IF({keeps}, 'granted', 'unsure'), v_twin, v_now, v_end - v_now, v_floors,
           @lockset_wake;
    LEAVE main;
  END IF;

  {convert_end}
  -- The stamp is the AUTO_INCREMENT value, drawn under the names' locks. Where that is
  -- behind the clock or what was asked for, a row with a higher value raises the counter,
  -- and the stamp is drawn again.
  draw: LOOP
    INSERT INTO {space}_locks
      (name, stamp, item, mode, items, app, instance, epoch, label, token, created, expires)
      VALUES (p_name, NULL, 0, p_mode, p_count, p_app, p_instance, p_epoch, p_label, p_token,
              v_now, {expires});
    SET v_stamp = LAST_INSERT_ID();
    IF v_target IS NULL THEN
      SET v_target = GREATEST(p_least, v_base + 1, v_most_low);
      IF v_stamp >= v_target AND v_stamp >= v_now - 1000000 THEN
        LEAVE draw;
      END IF;
      IF v_stamp < v_now - 1000000
         AND {identity} <> (SELECT h.identity FROM {space}_home h WHERE h.id = 1) THEN
        -- It went back with a dump that was restored.
        ROLLBACK;
        CALL {space}_lost(v_left);
        SELECT 'quarantine', GREATEST(v_left, 1);
        LEAVE main;
      END IF;
      SET v_target = GREATEST(v_target, v_now);
    END IF;
    IF v_stamp >= v_target THEN
      LEAVE draw;
    END IF;
    SET v_taken = v_taken + 1;
    IF v_taken > 3 THEN
      SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'the counter of stamps can not be raised';
    END IF;
    DELETE FROM {space}_locks WHERE name = p_name AND stamp = v_stamp;
    INSERT INTO {space}_locks (name, stamp, item, mode) VALUES ('', v_target - 1, 0, 0);
    DELETE FROM {space}_locks WHERE name = '' AND stamp = v_target - 1;
  END LOOP;
  IF p_names IS NOT NULL THEN
    INSERT INTO {space}_locks (name, stamp, item, mode, lease_at)
      SELECT CAST(j.name AS BINARY), v_stamp, j.ord - 1, j.mode, p_name
        FROM {items} j WHERE j.ord > 1;
  END IF;

  -- Rows that were deleted, and that a long transaction elsewhere keeps from being purged,
  -- lie below `low`. Stamps are about microseconds: at most one update in 5 s per name.
  IF p_names IS NULL THEN
    SET v_low = IF(v_floors IS NULL OR v_floors = '0', v_stamp, CAST(v_floors AS SIGNED));
    IF v_low - v_least_low > 5000000 THEN
      UPDATE {space}_names SET low = v_low WHERE name = p_name;
    END IF;
  ELSEIF v_floors IS NULL AND v_stamp - v_least_low > 5000000 THEN
    SET v_at = 1;
    WHILE v_at < LENGTH(p_names) DO
      SET v_size = ORD(SUBSTR(p_names, v_at, 1));
      UPDATE {space}_names SET low = v_stamp WHERE name = SUBSTR(p_names, v_at + 1, v_size);
      SET v_at = v_at + 1 + v_size;
    END WHILE;
  END IF;
  IF v_waits IS NOT NULL AND (p_waiter <> 0 OR @lockset_freed <> '') THEN
    CALL {space}_admit_others(p_items, p_waiter);
  END IF;
  IF v_traced IS NOT NULL THEN
    UPDATE {items} j
      STRAIGHT_JOIN {space}_traces t ON t.name = CAST(j.name AS BINARY)
      SET t.last_write = v_stamp, t.label = p_label, t.granted = v_now WHERE j.mode = 1;
  END IF;
  COMMIT;
  SELECT IF({keeps}, 'granted', 'unsure'), v_stamp, v_now, {lease}, v_floors, @lockset_wake;
END
