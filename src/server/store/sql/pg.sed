# The tables as PostgreSQL has them: of schema.sql.
s/INTEGER PRIMARY KEY AUTOINCREMENT/BIGSERIAL PRIMARY KEY/
s/BLOB/BYTEA/g
s/\bINTEGER\b/BIGINT/g
# orders by bytes, as SQLite does
s/\bTEXT\b/TEXT COLLATE "C"/g
# of any length
s/ON records (user_name)/ON records USING hash (user_name)/
# with SQL_IS_SHORT(): an entry has 2,704 bytes at most
s/^CREATE INDEX IF NOT EXISTS \(jobs_by_[a-z]*\) ON jobs (\(user_name\|account\|partition_name\|name\), start_ns, end_ns);/DROP INDEX IF EXISTS \1; CREATE INDEX IF NOT EXISTS \1_start ON jobs (\2, start_ns, end_ns) WHERE length(\2) <= 500;/
# by months, which are part of each key
/^CREATE TABLE IF NOT EXISTS \(records\|ledger\) (/,/^);/ {
	s/ PRIMARY KEY//
	s/^);/) PARTITION BY RANGE (start_ns);/
}
