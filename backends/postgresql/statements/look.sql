-- # A part of guard.sql and seal.sql: looks for anything that Lockset did not make. It uses
-- # nothing that it finds, and nothing of the schema.
-- #
-- # Filled in:
-- #   @space@: the schema
-- #   @tables@: the tables' names, as alternatives of a regular expression
-- #   @sequences@: the sequences' names, as alternatives of a regular expression
-- #   @functions@: all functions' names without the version, as alternatives of a regular
-- #     expression

DO $look$
DECLARE
  _me oid := (SELECT r.oid FROM pg_roles r WHERE r.rolname = current_user);
  _schema oid;
  _owner oid;
  _stranger text;
BEGIN
  SELECT n.oid, n.nspowner INTO _schema, _owner FROM pg_namespace n WHERE n.nspname = '@space@';
  IF NOT FOUND THEN
    RETURN;
  END IF;
  IF _owner <> _me THEN
    RAISE EXCEPTION USING ERRCODE = 'LS001', MESSAGE = format(
      'the schema @space@ belongs to %1$s and not to %2$s, who runs this: whoever owns it decides '
      'what its functions do; name another with space=, drop it, or run lockset init as %1$s',
      pg_get_userbyid(_owner), current_user);
  END IF;
  SELECT pg_describe_object(s.class, s.object, 0) INTO _stranger FROM (
    -- What is in the schema, of whatever kind
    SELECT d.classid AS class, d.objid AS object FROM pg_depend d
     WHERE d.refclassid = 'pg_namespace'::regclass AND d.refobjid = _schema
       AND NOT EXISTS (SELECT FROM pg_class c
                        WHERE d.classid = 'pg_class'::regclass AND c.oid = d.objid
                          AND c.relowner = _me
                          AND (c.relkind = 'r' AND c.relname ~ '^(@tables@)$' OR
                               c.relkind = 'S' AND c.relname ~ '^(@sequences@)$'))
       AND NOT EXISTS (SELECT FROM pg_proc p
                        WHERE d.classid = 'pg_proc'::regclass AND p.oid = d.objid
                          AND p.proowner = _me AND p.prokind = 'f'
                          AND (p.proname = 'about' OR p.proname ~ '^(@functions@)_v[0-9]+$'))
    UNION ALL  -- of an extension: that belongs to a superuser, whoever made it
    SELECT d.classid, d.objid FROM pg_depend d JOIN pg_depend e
        ON e.classid = d.classid AND e.objid = d.objid AND e.deptype = 'e'
     WHERE d.refclassid = 'pg_namespace'::regclass AND d.refobjid = _schema
    UNION ALL  -- what hangs on a table of it
    SELECT 'pg_trigger'::regclass, t.oid FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
     WHERE c.relnamespace = _schema AND NOT t.tgisinternal
    UNION ALL
    SELECT 'pg_rewrite'::regclass, r.oid FROM pg_rewrite r JOIN pg_class c ON c.oid = r.ev_class
     WHERE c.relnamespace = _schema
    UNION ALL
    SELECT 'pg_policy'::regclass, p.oid FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid
     WHERE c.relnamespace = _schema
    UNION ALL
    SELECT 'pg_constraint'::regclass, f.oid FROM pg_constraint f JOIN pg_class c
        ON c.oid = f.conrelid OR c.oid = f.confrelid
     WHERE f.contype = 'f' AND c.relnamespace = _schema
    UNION ALL
    SELECT 'pg_class'::regclass, i.inhrelid FROM pg_inherits i JOIN pg_class c
        ON c.oid = i.inhparent OR c.oid = i.inhrelid
     WHERE c.relnamespace = _schema
    UNION ALL  -- types, functions, operators, ... that a table's columns, defaults, indexes use
    SELECT d.refclassid, d.refobjid FROM pg_depend d
     WHERE d.refobjid >= 16384  -- made after the server was
       AND d.refclassid IN ('pg_proc'::regclass, 'pg_type'::regclass, 'pg_operator'::regclass,
                            'pg_opclass'::regclass, 'pg_opfamily'::regclass,
                            'pg_collation'::regclass, 'pg_language'::regclass)
       AND (d.classid = 'pg_class'::regclass AND d.objid IN (
              SELECT c.oid FROM pg_class c WHERE c.relnamespace = _schema)
         OR d.classid = 'pg_attrdef'::regclass AND d.objid IN (
              SELECT a.oid FROM pg_attrdef a JOIN pg_class c ON c.oid = a.adrelid
               WHERE c.relnamespace = _schema)
         OR d.classid = 'pg_constraint'::regclass AND d.objid IN (
              SELECT k.oid FROM pg_constraint k WHERE k.connamespace = _schema))
    UNION ALL  -- a second function of a name: one of the two is not what is called
    SELECT 'pg_proc'::regclass, max(p.oid) FROM pg_proc p
     WHERE p.pronamespace = _schema GROUP BY p.proname HAVING count(*) > 1
    ) s LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION USING ERRCODE = 'LS001', MESSAGE = format(
      'the schema @space@ holds something that Lockset did not make there: %s; drop it, or name '
      'another schema with space=', _stranger);
  END IF;
END $look$;
