-- Everything in the schema `truthfed` that decides what its tables can hold, a line each. The search path must be empty:
-- names in definitions are qualified then. What this says of new tables is in migrations/postgres/schema.txt.
WITH ours AS (
    SELECT c.oid, relname, relkind, relrowsecurity
    FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = 'truthfed' AND relkind <> 'i'
)
SELECT format('relation %s: kind %s, row security %s', relname, relkind, relrowsecurity) AS line FROM ours
UNION ALL
SELECT format('column %s.%s: %s, not null %s, default %s', relname, attname, format_type(atttypid, atttypmod), attnotnull,
              coalesce(pg_get_expr(adbin, adrelid), 'none'))
FROM ours JOIN pg_attribute ON attrelid = ours.oid LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
WHERE attnum > 0 AND NOT attisdropped
UNION ALL
-- PostgreSQL 18 has constraints for columns that are not null.
SELECT format('constraint %s.%s: %s', relname, conname, pg_get_constraintdef(c.oid))
FROM ours JOIN pg_constraint c ON conrelid = ours.oid WHERE contype IN ('c', 'f', 'p', 'u', 'x')
UNION ALL
SELECT format('index: %s, valid %s', pg_get_indexdef(indexrelid), indisvalid)
FROM ours JOIN pg_index ON indrelid = ours.oid
UNION ALL
-- The triggers of constraints are named by a number that differs from database to database.
SELECT format('trigger of %s: %s, enabled %s', relname,
              CASE WHEN tgisinternal THEN tgfoid::regproc::text ELSE pg_get_triggerdef(t.oid) END, tgenabled)
FROM ours JOIN pg_trigger t ON tgrelid = ours.oid
UNION ALL
SELECT format('rule %s.%s', relname, rulename) FROM ours JOIN pg_rewrite ON ev_class = ours.oid
UNION ALL
SELECT format('policy %s.%s', relname, polname) FROM ours JOIN pg_policy ON polrelid = ours.oid
UNION ALL
SELECT format('function %s: %s', proname, translate(prosrc, E'\n\r\t', '   '))
FROM pg_proc JOIN pg_namespace n ON n.oid = pronamespace WHERE nspname = 'truthfed'
