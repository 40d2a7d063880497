-- Checksums of rows; admin/checksums.ts computes and compares them. NULL: the row is older than checksums
-- and is not checked.
--   - The columns come last: adding them rewrites no existing row.

ALTER TABLE history ADD COLUMN checksum INTEGER;
ALTER TABLE kv ADD COLUMN checksum INTEGER;
ALTER TABLE inbox ADD COLUMN checksum INTEGER;
ALTER TABLE kept ADD COLUMN checksum INTEGER;
ALTER TABLE tasks ADD COLUMN checksum INTEGER; -- covers the columns that are fixed at the insert
ALTER TABLE tasks ADD COLUMN heartbeat_checksum INTEGER;
ALTER TABLE tasks ADD COLUMN progress_checksum INTEGER;
ALTER TABLE tasks ADD COLUMN failure_checksum INTEGER;
ALTER TABLE instances ADD COLUMN ending_checksum INTEGER;
ALTER TABLE instances ADD COLUMN custom_status_checksum INTEGER;
ALTER TABLE instances ADD COLUMN attributes_checksum INTEGER;
