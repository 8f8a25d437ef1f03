CREATE INDEX IF NOT EXISTS records_id ON records (id);
CREATE INDEX IF NOT EXISTS ledger_id ON ledger (id);

-- Partitions of the months of both moments and of those between them, for each table that has partitions, and one for times
-- beyond them.  What stands there of a month that is made now (a node's clock was ahead) moves into it.
CREATE OR REPLACE FUNCTION jobmeter_make_months(first_ns BIGINT, last_ns BIGINT) RETURNS BIGINT LANGUAGE plpgsql AS $$
DECLARE
  parent TEXT;
  part TEXT;
  month TIMESTAMP;
  from_ns BIGINT;
  until_ns BIGINT;
  made BIGINT := 0;
BEGIN
  FOR parent IN SELECT relname FROM pg_class WHERE relkind = 'p' AND relnamespace = current_schema()::regnamespace LOOP
    IF to_regclass(parent || '_default') IS NULL THEN
      EXECUTE format('CREATE TABLE %I PARTITION OF %I DEFAULT', parent || '_default', parent);
    END IF;
    month := date_trunc('month', to_timestamp(first_ns / 1000000000) AT TIME ZONE 'UTC');
    LOOP
      from_ns := extract(epoch FROM month)::BIGINT * 1000000000;
      EXIT WHEN from_ns > last_ns;
      until_ns := extract(epoch FROM month + INTERVAL '1 month')::BIGINT * 1000000000;
      part := parent || to_char(month, '_YYYY_MM');
      IF to_regclass(part) IS NULL THEN
        EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS)', part, parent);
        EXECUTE format('WITH moved AS (DELETE FROM %I WHERE start_ns >= %s AND start_ns < %s RETURNING *) '
                       'INSERT INTO %I SELECT * FROM moved', parent || '_default', from_ns, until_ns, part);
        EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)', parent, part, from_ns, until_ns);
        made := made + 1;
      END IF;
      month := month + INTERVAL '1 month';
    END LOOP;
  END LOOP;
  RETURN made;
END $$;

-- Months that ended before and whose rows are all deleted.
CREATE OR REPLACE FUNCTION jobmeter_drop_months(before_ns BIGINT) RETURNS BIGINT LANGUAGE plpgsql AS $$
DECLARE
  part TEXT;
  is_used BOOLEAN;
  dropped BIGINT := 0;
BEGIN
  FOR part IN
    SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_class p ON p.oid = i.inhparent
    WHERE p.relkind = 'p' AND p.relnamespace = current_schema()::regnamespace AND c.relname ~ '_[0-9]{4}_[0-9]{2}$'
      AND to_date(right(c.relname, 7), 'YYYY_MM') + INTERVAL '1 month' <= to_timestamp(before_ns / 1000000000) AT TIME ZONE 'UTC'
  LOOP
    EXECUTE format('SELECT EXISTS (SELECT 1 FROM %I)', part) INTO is_used;
    IF NOT is_used THEN
      EXECUTE format('DROP TABLE %I', part);
      dropped := dropped + 1;
    END IF;
  END LOOP;
  RETURN dropped;
END $$;
