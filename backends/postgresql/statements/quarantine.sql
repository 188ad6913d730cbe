-- # Whether the space's state may be older than what was answered from it (ADR 0074).
-- #
-- # The space keeps the identity of the server that it was last used on: the cluster (system
-- # identifier), the timeline, and the table that says so. A standby that was promoted and a server
-- # that was recovered from an archive have another timeline, another cluster has another system
-- # identifier, and a dump is restored into other tables.
-- #
-- # `home` is what a step compares, for a sequence can be read at a tenth of what a look into a table
-- # costs. Its value is a number that changes with all of these, and at each start of the server: then
-- # one step reads the rest. It is set only if nothing forbids a grant.
-- #
-- # Filled in:
-- #   @space@: the schema
-- #   @version@: the schema's version
-- #   @plans@: how the function's statements are planned
-- #   @moved@: whether `home` has another value
-- #   @here@: the value that `home` should have
-- #   @identity@: the identity of this server and this space

-- For how many microseconds nothing is granted; 0: grants are allowed. The first call after a loss
-- begins that time: the longest lease that may have been granted before.
--
-- REQUIRES: no row of `locks`, `traces` or `waiters` is locked by this transaction.
CREATE OR REPLACE FUNCTION "@space@".quarantine_v@version@() RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp @plans@ AS $$
DECLARE
  _here text;
  _known record;
  _stamp bigint;
  _now timestamptz;
BEGIN
  IF NOT (@moved@) THEN
    RETURN 0;
  END IF;
  _here := @identity@;
  SELECT m.identity, m.quarantine_until INTO _known FROM "@space@".meta m;
  IF NOT FOUND THEN
    RETURN 1000000;  -- its rows are being put back from a backup
  END IF;
  IF _known.identity <> _here THEN
    -- One of those who see it at the same time writes it down. (A transaction that sees an older
    -- state fails here, and is repeated.)
    SELECT m.identity, m.quarantine_until, m.synchronous_failover INTO _known
      FROM "@space@".meta m FOR NO KEY UPDATE;
    IF _known.identity <> _here AND _known.synchronous_failover
       AND regexp_replace(_known.identity, '/[0-9A-F]{8}/', '/')
           = regexp_replace(_here, '/[0-9A-F]{8}/', '/') THEN
      -- Only the timeline is another one: a standby has taken over, and nothing is missing. `home`
      -- is left to a later step: it would stay set if this one is rolled back.
      UPDATE "@space@".meta m SET identity = _here;
      RETURN 0;
    ELSIF _known.identity <> _here THEN
      -- Lost stamps are below the clock by the end of the quarantine, unless they ran ahead of it.
      SELECT s.last_value + 1000000000 INTO _stamp FROM "@space@".stamps s
       WHERE s.last_value > (date_part('epoch', clock_timestamp()) * 1000000)::bigint;
      _stamp := "@space@".raise_stamp_v@version@(coalesce(_stamp, 0));
      _now := clock_timestamp();
      -- Traces with an older stamp don't count any more: later writes may be missing.
      UPDATE "@space@".meta m
         SET identity = _here, lost = _now, lost_stamp = _stamp,
             quarantine_until = greatest(m.quarantine_until, m.longest,
                                         _now + m.max_lease * interval '1 microsecond')
      RETURNING m.identity, m.quarantine_until INTO _known;
    END IF;
  END IF;
  _now := clock_timestamp();
  IF _known.quarantine_until > _now THEN
    RETURN greatest(1, (date_part('epoch', _known.quarantine_until - _now) * 1000000)::bigint);
  END IF;
  PERFORM setval('"@space@".home'::regclass, @here@);
  RETURN 0;
END $$;

-- A lease longer than the longest one is being renewed: a quarantine lasts until its end. (It may
-- be longer because the longest lease was made shorter.) REQUIRES: as above.
CREATE OR REPLACE FUNCTION "@space@".note_lease_v@version@(_lease bigint) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  _end timestamptz := clock_timestamp() + _lease * interval '1 microsecond';
BEGIN
  -- With something to spare, so that not every renewal writes.
  UPDATE "@space@".meta m SET longest = _end + _lease * interval '1 microsecond'
   WHERE m.longest < _end;
END $$;

-- A hold was ended, and its holder may not know: it must not come back as a lost one. `_expires`:
-- when its lease would have ended.
CREATE OR REPLACE FUNCTION "@space@".entomb_v@version@(_stamp bigint, _expires timestamptz)
RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  _now timestamptz := clock_timestamp();
BEGIN
  -- Its holder's clock may be slower. In a quarantine, its last renewals may be what was lost.
  INSERT INTO "@space@".ended
  SELECT _stamp, CASE WHEN isfinite(_expires)
                      THEN greatest(_now, _expires + greatest(_expires - _now, '0') / 10,
                                    m.quarantine_until)
                      ELSE 'infinity' END
    FROM "@space@".meta m
  ON CONFLICT (stamp) DO UPDATE SET until = greatest(ended.until, excluded.until);
END $$;
