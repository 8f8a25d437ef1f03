#!/bin/sh
# SPDX-License-Identifier: MIT
# Run once by the database's container: the role, the database and its extension, in the role's schema.
set -eu
psql -v ON_ERROR_STOP=1 -U postgres -v database=jobmeter -v role=jobmeter -f /jobmeter/role.sql postgres
psql -v ON_ERROR_STOP=1 -U postgres -v password="$JOBMETER_PASSWORD" jobmeter <<'SQL'
ALTER ROLE jobmeter PASSWORD :'password';
CREATE EXTENSION timescaledb SCHEMA jobmeter;
SQL
