-- SPDX-License-Identifier: MIT
-- The role, the database and the schema of jobmeter-server, as the least that it needs:
--     psql -v database=jobmeter -v role=jobmeter -f role.sql postgres
-- The role owns its schema and nothing else.  Give it a way in by pg_hba.conf: "peer" for a server on the same machine,
-- else "scram-sha-256" with \password, or "cert".
CREATE ROLE :"role" LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS;
CREATE DATABASE :"database" ENCODING 'UTF8' TEMPLATE template0;
REVOKE ALL ON DATABASE :"database" FROM PUBLIC;
GRANT CONNECT ON DATABASE :"database" TO :"role";
\connect :"database"
REVOKE ALL ON SCHEMA public FROM PUBLIC;
CREATE SCHEMA jobmeter AUTHORIZATION :"role";
ALTER ROLE :"role" IN DATABASE :"database" SET search_path = jobmeter;
