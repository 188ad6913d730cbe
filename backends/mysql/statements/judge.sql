-- # A part of acquire.sql: the first name of the set that holds, and what is kept for waiters,
-- # leave no room in.
-- #
-- # Filled in:
-- #   {judged}: the set, with how many hold each name, and for how many waiters it is kept

SELECT t.ord, t.name, IF(IF(t.mode = 1, t.writing + t.kept_writes >= t.permits,
                                        t.writing + t.kept_writes > 0), 1, 0)
  INTO v_blocked, v_name, v_holder_mode
  FROM {judged} t
 WHERE IF(t.mode = 1, t.reading + t.kept_reads > 0 OR t.writing + t.kept_writes >= t.permits,
                      t.writing + t.kept_writes > 0 OR t.reading + t.kept_reads >= t.permits)
 ORDER BY t.ord LIMIT 1;
