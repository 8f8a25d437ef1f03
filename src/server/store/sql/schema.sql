CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value BIGINT NOT NULL);
CREATE TABLE IF NOT EXISTS records (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  cluster TEXT NOT NULL, node TEXT NOT NULL, boot_id TEXT NOT NULL, manager TEXT NOT NULL, job_id TEXT NOT NULL,
  start_ns BIGINT NOT NULL,
  sequence BIGINT NOT NULL, final INTEGER NOT NULL, digest BIGINT NOT NULL,
  arrived_ns BIGINT NOT NULL, clock_offset_ns BIGINT NOT NULL, closed TEXT,
  record BLOB NOT NULL, timeline BLOB, timeline_at BIGINT NOT NULL,
  uid BIGINT, user_name TEXT, end_ns BIGINT NOT NULL, job BIGINT, sluid TEXT,
  UNIQUE (cluster, node, boot_id, manager, job_id, start_ns)
);
CREATE INDEX IF NOT EXISTS records_of_job ON records (job);
CREATE INDEX IF NOT EXISTS records_arrived ON records (arrived_ns);
CREATE INDEX IF NOT EXISTS records_user ON records (user_name);
CREATE INDEX IF NOT EXISTS records_uid ON records (uid);
CREATE INDEX IF NOT EXISTS records_open ON records (arrived_ns) WHERE final = 0 AND closed IS NULL;
CREATE INDEX IF NOT EXISTS records_node ON records (cluster, node) WHERE final = 0 AND closed IS NULL;
CREATE INDEX IF NOT EXISTS records_by_node ON records (node, job);
CREATE INDEX IF NOT EXISTS records_timelines ON records (arrived_ns) WHERE timeline IS NOT NULL;
CREATE TABLE IF NOT EXISTS jobs (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  cluster TEXT NOT NULL, node TEXT NOT NULL, manager TEXT NOT NULL, job_id TEXT NOT NULL, uid BIGINT,
  start_ns BIGINT NOT NULL, end_ns BIGINT NOT NULL, elapsed_ns BIGINT, nodes BIGINT, final INTEGER, state TEXT,
  exit_code BIGINT, exit_signal BIGINT,
  name TEXT, user_name TEXT, account TEXT, partition_name TEXT, reason TEXT, is_stale INTEGER NOT NULL,
  is_measured BIGINT, has_begun BIGINT
);
DROP INDEX IF EXISTS jobs_start;
DROP INDEX IF EXISTS jobs_of_user;
DROP INDEX IF EXISTS jobs_user_name;
DROP INDEX IF EXISTS jobs_account;
DROP INDEX IF EXISTS jobs_partition;
CREATE INDEX IF NOT EXISTS jobs_by_start ON jobs (start_ns, end_ns);
CREATE INDEX IF NOT EXISTS jobs_by_uid ON jobs (uid, start_ns, end_ns);
CREATE INDEX IF NOT EXISTS jobs_by_user ON jobs (user_name, start_ns, end_ns);
CREATE INDEX IF NOT EXISTS jobs_by_account ON jobs (account, start_ns, end_ns);
CREATE INDEX IF NOT EXISTS jobs_by_partition ON jobs (partition_name, start_ns, end_ns);
CREATE INDEX IF NOT EXISTS jobs_by_name ON jobs (name, start_ns, end_ns);
CREATE INDEX IF NOT EXISTS jobs_id_of_user ON jobs (uid, job_id);
CREATE INDEX IF NOT EXISTS jobs_id ON jobs (job_id, manager, cluster);
CREATE INDEX IF NOT EXISTS jobs_waiting ON jobs (is_stale) WHERE is_stale > 0;
CREATE TABLE IF NOT EXISTS job_mounts (job BIGINT NOT NULL, mount TEXT NOT NULL, fstype TEXT);
CREATE INDEX IF NOT EXISTS job_mounts_job ON job_mounts (job);
CREATE TABLE IF NOT EXISTS job_steps (job BIGINT NOT NULL, step TEXT NOT NULL, start_ns BIGINT, end_ns BIGINT);
CREATE INDEX IF NOT EXISTS job_steps_job ON job_steps (job);
CREATE TABLE IF NOT EXISTS rollups (
  day_ns BIGINT NOT NULL, manager TEXT NOT NULL, cluster TEXT NOT NULL, uid BIGINT NOT NULL, user_name TEXT NOT NULL,
  account TEXT NOT NULL, partition_name TEXT NOT NULL,
  UNIQUE (day_ns, manager, cluster, uid, user_name, account, partition_name)
);
CREATE INDEX IF NOT EXISTS rollups_of_user ON rollups (uid, day_ns);
CREATE TABLE IF NOT EXISTS runs (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  cluster TEXT NOT NULL, manager TEXT NOT NULL, job_id TEXT NOT NULL, submit_ns BIGINT NOT NULL,
  digest BIGINT NOT NULL, changed_ns BIGINT NOT NULL, job BIGINT, sluid TEXT, start_ns BIGINT, end_ns BIGINT,
  user_name TEXT, uid BIGINT,
  UNIQUE (cluster, manager, job_id, submit_ns)
);
CREATE INDEX IF NOT EXISTS runs_of_job ON runs (job);
CREATE INDEX IF NOT EXISTS runs_id ON runs (job_id, manager);
CREATE INDEX IF NOT EXISTS runs_sluid ON runs (sluid);
CREATE INDEX IF NOT EXISTS runs_changed ON runs (changed_ns);
CREATE INDEX IF NOT EXISTS runs_user ON runs (user_name);
CREATE INDEX IF NOT EXISTS runs_uid ON runs (uid);
CREATE TABLE IF NOT EXISTS coordinators (
  manager TEXT NOT NULL, account TEXT NOT NULL, user_name TEXT NOT NULL, UNIQUE (manager, account, user_name)
);
CREATE INDEX IF NOT EXISTS coordinators_user ON coordinators (user_name);
CREATE TABLE IF NOT EXISTS nodes (
  cluster TEXT NOT NULL, node TEXT NOT NULL, told_ns BIGINT NOT NULL, cpus BIGINT, load BIGINT, memory BIGINT, available BIGINT,
  missing BIGINT, lost BIGINT, lacks TEXT, UNIQUE (cluster, node)
);
CREATE TABLE IF NOT EXISTS ledger_lines (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  cluster TEXT NOT NULL, node TEXT NOT NULL, boot_id TEXT NOT NULL, start_ns BIGINT NOT NULL, sequence BIGINT NOT NULL,
  digest BIGINT NOT NULL, arrived_ns BIGINT NOT NULL, clock_offset_ns BIGINT NOT NULL,
  UNIQUE (cluster, node, boot_id, start_ns, sequence)
);
CREATE INDEX IF NOT EXISTS ledger_lines_arrived ON ledger_lines (arrived_ns);
CREATE TABLE IF NOT EXISTS ledger (
  id INTEGER PRIMARY KEY AUTOINCREMENT, line BIGINT NOT NULL,
  start_ns BIGINT NOT NULL, end_ns BIGINT NOT NULL,
  owner TEXT NOT NULL, manager TEXT, job_id TEXT, job_start_ns BIGINT, uid BIGINT,
  level TEXT NOT NULL, source TEXT NOT NULL, quality TEXT NOT NULL, microjoules BIGINT NOT NULL
);
CREATE INDEX IF NOT EXISTS ledger_line ON ledger (line);
CREATE INDEX IF NOT EXISTS ledger_start ON ledger (start_ns);
CREATE INDEX IF NOT EXISTS ledger_of_user ON ledger (uid, start_ns);
CREATE TABLE IF NOT EXISTS events (
  id INTEGER PRIMARY KEY AUTOINCREMENT, at_ns BIGINT NOT NULL, kind TEXT NOT NULL,
  cluster TEXT, node TEXT, manager TEXT, job_id TEXT, detail TEXT
);
CREATE INDEX IF NOT EXISTS events_at ON events (at_ns);
CREATE INDEX IF NOT EXISTS events_node ON events (kind, node, at_ns);
CREATE TABLE IF NOT EXISTS tokens (
  id INTEGER PRIMARY KEY AUTOINCREMENT, user_name TEXT NOT NULL, uid BIGINT NOT NULL, sees_all INTEGER NOT NULL,
  digest TEXT NOT NULL, created_ns BIGINT NOT NULL, expires_ns BIGINT NOT NULL
);
CREATE TABLE IF NOT EXISTS predictions (
  id INTEGER PRIMARY KEY AUTOINCREMENT, job_id TEXT NOT NULL, target TEXT NOT NULL, model TEXT NOT NULL, uid BIGINT NOT NULL,
  made_ns BIGINT NOT NULL, value_milli BIGINT, low_milli BIGINT, high_milli BIGINT
);
CREATE INDEX IF NOT EXISTS predictions_uid ON predictions (uid, id);
CREATE INDEX IF NOT EXISTS predictions_made ON predictions (made_ns);
