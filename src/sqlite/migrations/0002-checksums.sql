-- Checksums of rows, made and compared by checksums.ts. NULL: the row is older than they are, and is not judged.
--   M1. Behind all other columns: to add one changes no row that is there.

ALTER TABLE history ADD COLUMN checksum INTEGER;
ALTER TABLE kv ADD COLUMN checksum INTEGER;
ALTER TABLE inbox ADD COLUMN checksum INTEGER;
ALTER TABLE kept ADD COLUMN checksum INTEGER;
ALTER TABLE tasks ADD COLUMN checksum INTEGER; -- of what a task is born with
ALTER TABLE tasks ADD COLUMN heartbeat_checksum INTEGER;
ALTER TABLE tasks ADD COLUMN progress_checksum INTEGER;
ALTER TABLE tasks ADD COLUMN failure_checksum INTEGER;
ALTER TABLE instances ADD COLUMN ending_checksum INTEGER;
ALTER TABLE instances ADD COLUMN custom_status_checksum INTEGER;
ALTER TABLE instances ADD COLUMN attributes_checksum INTEGER;
