-- SPDX-License-Identifier: MIT
-- The ledger as a hypertable of TimescaleDB, in place of partitions by month: compression, retention, sums by hour.
--
-- Tried with TimescaleDB 2.19.3 on PostgreSQL 15: hypertable, compression, sums by hour, retention, and `forget` on compressed chunks.
-- Versions before 2.11 do not change or delete rows of compressed chunks.
--
-- The extension belongs into the schema of the role, whose search_path has no other: a superuser makes it in that database by
--     CREATE EXTENSION timescaledb SCHEMA jobmeter;
-- In `public` this file fails, since its functions are not found there.
--
-- Then once, after the first start of jobmeter-server, with the server stopped and the ledger still empty, as the server's role:
--     psql -v ON_ERROR_STOP=1 -f timescaledb.sql postgresql://jobmeter@host/jobmeter
BEGIN;

-- The same columns, in a table without partitions.  It fails where something is in the ledger.
DO $$ BEGIN
  IF EXISTS (SELECT 1 FROM ledger) THEN
    RAISE EXCEPTION 'the ledger is not empty: make the hypertable before nodes send their energy';
  END IF;
END $$;
ALTER SEQUENCE ledger_id_seq OWNED BY NONE;
CREATE TABLE ledger_plain (LIKE ledger INCLUDING DEFAULTS);
DROP TABLE ledger;
ALTER TABLE ledger_plain RENAME TO ledger;
ALTER SEQUENCE ledger_id_seq OWNED BY ledger.id;
CREATE INDEX ledger_id ON ledger (id);
CREATE INDEX ledger_line ON ledger (line);
CREATE INDEX ledger_of_user ON ledger (uid, start_ns);

-- Times are nanoseconds since the epoch: a chunk has a week.
CREATE OR REPLACE FUNCTION jobmeter_now_ns() RETURNS BIGINT LANGUAGE SQL STABLE AS
  $$ SELECT (extract(epoch FROM now()) * 1000000)::BIGINT * 1000 $$;

-- ---- from here on it needs the extension ----
SELECT create_hypertable('ledger', 'start_ns', chunk_time_interval => BIGINT '604800000000000', create_default_indexes => FALSE);
CREATE INDEX ledger_start ON ledger (start_ns);
SELECT set_integer_now_func('ledger', 'jobmeter_now_ns');

-- Two weeks old: packed by source.
ALTER TABLE ledger SET (timescaledb.compress, timescaledb.compress_segmentby = 'source, level',
                        timescaledb.compress_orderby = 'start_ns, id');
SELECT add_compression_policy('ledger', BIGINT '1209600000000000');
-- 1,825 days old: deleted, a chunk at a time, a day before the server would do it row by row (retention.ledger: 1826d).
SELECT add_retention_policy('ledger', BIGINT '157680000000000000');

-- Joules by hour, kept as long as the table of sums is.
CREATE MATERIALIZED VIEW ledger_hourly WITH (timescaledb.continuous) AS
  SELECT time_bucket(BIGINT '3600000000000', start_ns) AS hour_ns, owner, uid, level, source, quality,
         sum(microjoules) AS microjoules, count(*) AS entries
  FROM ledger GROUP BY 1, 2, 3, 4, 5, 6 WITH NO DATA;
SELECT add_continuous_aggregate_policy('ledger_hourly', start_offset => BIGINT '604800000000000',
                                       end_offset => BIGINT '7200000000000', schedule_interval => INTERVAL '1 hour');
COMMIT;
