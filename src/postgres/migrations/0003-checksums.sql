-- Checksums of rows; admin/checksums.ts computes and compares them. NULL: the row is older than checksums
-- and is not checked.
--   - The columns come last and have no default: adding them rewrites no existing row.

ALTER TABLE history ADD COLUMN checksum integer;
ALTER TABLE kv ADD COLUMN checksum integer;
ALTER TABLE inbox ADD COLUMN checksum integer;
ALTER TABLE kept ADD COLUMN checksum integer;
ALTER TABLE arrivals ADD COLUMN checksum integer; -- the checksum of the message that it becomes
ALTER TABLE tasks -- `checksum` covers the columns that are fixed at the insert
  ADD COLUMN checksum integer,
  ADD COLUMN heartbeat_checksum integer,
  ADD COLUMN progress_checksum integer,
  ADD COLUMN failure_checksum integer;
ALTER TABLE instances
  ADD COLUMN ending_checksum integer,
  ADD COLUMN custom_status_checksum integer,
  ADD COLUMN attributes_checksum integer;
