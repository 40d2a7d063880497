-- When retention deletes an ended instance, whatever its general rule is (admin.6). NULL: the general rule applies.
ALTER TABLE instances ADD COLUMN delete_after bigint;
-- Ended instances without a parent whose time to delete comes next (sql/admin/deletion.ts).
CREATE INDEX instances_expiring ON instances (delete_after, key)
  WHERE delete_after IS NOT NULL AND parent_id IS NULL;
-- The general rule does not read instances with a separate time.
DROP INDEX instances_ended;
CREATE INDEX instances_ended ON instances (failed, completed_at, key)
  WHERE completed_at IS NOT NULL AND parent_id IS NULL AND delete_after IS NULL;
