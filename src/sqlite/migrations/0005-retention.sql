-- Retention: ended instances without a parent, by the time of their end (admin/deletion.ts).
CREATE INDEX instances_ended ON instances (status, completed_at, key)
  WHERE completed_at IS NOT NULL AND parent_id IS NULL;
-- Until when one runtime has claimed the retention sweep (admin/sweep-claim.ts). 0: no runtime has claimed
-- it.
INSERT INTO meta VALUES ('sweep_until', 0);
