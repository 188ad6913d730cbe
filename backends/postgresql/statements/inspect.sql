-- # Lists holds and waiters.
-- #
-- # Filled in:
-- #   @space@: the schema
-- #   @version@: the schema's version
-- #   @plans_of_all@: how the statements of a function are planned that reads all holds

-- One row for each name of each hold and waiter that matches: 'a'll, by 'n'ame, by
-- 'p'refix. STABLE: all its statements see one state.
CREATE OR REPLACE FUNCTION "@space@".inspect_v@version@(
  _match "char", _text text, OUT _kind "char", OUT _id bigint, OUT _app text,
  OUT _instance text, OUT _epoch bigint, OUT _label text, OUT _since bigint, OUT _left bigint,
  OUT _name text, OUT _mode "char") RETURNS SETOF record
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp @plans_of_all@ AS $$
DECLARE
  _now timestamptz := clock_timestamp();
  -- Behind every name with this prefix: names have 255 bytes at most.
  _end text := CASE _match WHEN 'p' THEN _text || repeat(chr(1114111), 64) ELSE _text END;
  _stamps bigint[];
  _ids bigint[];
BEGIN
  IF _match <> 'a' THEN
    _stamps := ARRAY(SELECT DISTINCT l.stamp FROM "@space@".locks l
                      WHERE l.name BETWEEN _text AND _end);
    _ids := ARRAY(SELECT DISTINCT n.id FROM "@space@".waiter_names n
                   WHERE n.name BETWEEN _text AND _end);
  END IF;
  RETURN QUERY
  SELECT 'h'::"char", h.stamp, h.app, h.instance, h.epoch, h.label,
         (date_part('epoch', h.created) * 1000000)::bigint,
         CASE WHEN isfinite(h.expires)
              THEN (date_part('epoch', h.expires - _now) * 1000000)::bigint END,
         l.name, l.mode
    FROM "@space@".locks h JOIN "@space@".locks l ON l.stamp = h.stamp
   WHERE h.expires > _now AND (_match = 'a' OR h.stamp = ANY(_stamps))
  UNION ALL
  SELECT 'w', w.id, w.app, w.instance, w.epoch, w.label,
         (date_part('epoch', w.since) * 1000000)::bigint, NULL, n.name, n.mode
    FROM "@space@".waiters w, unnest(w.names, w.modes) n(name, mode)
   WHERE w.expires > _now AND (_match = 'a' OR w.id = ANY(_ids))
  ORDER BY 1, 2, 9;
END $$;
