-- Checksums of rows, made and compared by checksums.ts. NULL: the row is older than they are, and is not judged.
--   M1. Behind all other columns, and without a default: to add one changes no row that is there.

ALTER TABLE history ADD COLUMN checksum integer;
ALTER TABLE kv ADD COLUMN checksum integer;
ALTER TABLE inbox ADD COLUMN checksum integer;
ALTER TABLE kept ADD COLUMN checksum integer;
ALTER TABLE arrivals ADD COLUMN checksum integer; -- that of the message which it becomes
ALTER TABLE tasks -- the first: of what a task is born with
  ADD COLUMN checksum integer,
  ADD COLUMN heartbeat_checksum integer,
  ADD COLUMN progress_checksum integer,
  ADD COLUMN failure_checksum integer;
ALTER TABLE instances
  ADD COLUMN ending_checksum integer,
  ADD COLUMN custom_status_checksum integer,
  ADD COLUMN attributes_checksum integer;
