-- Adds the missing checksums of rows older than 0002, so that from now on a row without a checksum counts as
-- damaged (docs/decisions/0028). migrations.ts defines row_checksum. The columns are those in
-- admin/checksums.ts.
UPDATE history SET checksum = row_checksum(instance, execution, first, last, data)
  WHERE checksum IS NULL;
UPDATE kv SET checksum = row_checksum(instance, key, value) WHERE checksum IS NULL;
UPDATE inbox
  SET checksum = row_checksum(instance, visible_at, execution, sequence, kind, name, key, data)
  WHERE checksum IS NULL;
UPDATE kept SET checksum = row_checksum(id, key, name, data) WHERE checksum IS NULL;
UPDATE tasks
  SET checksum = row_checksum(instance, execution, sequence, name, session, tags, options, input)
  WHERE checksum IS NULL;
UPDATE tasks SET heartbeat_checksum = row_checksum(heartbeat)
  WHERE heartbeat_checksum IS NULL AND heartbeat IS NOT NULL;
UPDATE tasks SET progress_checksum = row_checksum(progress)
  WHERE progress_checksum IS NULL AND progress IS NOT NULL;
UPDATE tasks SET failure_checksum = row_checksum(last_failure)
  WHERE failure_checksum IS NULL AND last_failure IS NOT NULL;
UPDATE instances SET ending_checksum = row_checksum(output, error)
  WHERE ending_checksum IS NULL AND (output IS NOT NULL OR error IS NOT NULL);
UPDATE instances SET custom_status_checksum = row_checksum(custom_status)
  WHERE custom_status_checksum IS NULL AND custom_status IS NOT NULL;
UPDATE instances SET attributes_checksum = row_checksum(attributes)
  WHERE attributes_checksum IS NULL;
