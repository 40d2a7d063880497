-- Retention: ended instances without a parent, by the time of their end (admin/deletion.ts). "failed" stands
-- for the status, which is in no index (0001-initial.1): an ended instance is completed unless it is failed.
CREATE INDEX instances_ended ON instances (failed, completed_at, key)
  WHERE completed_at IS NOT NULL AND parent_id IS NULL;
-- Until when one runtime has claimed the retention sweep (admin/sweep-claim.ts). 0: no runtime has claimed
-- it.
INSERT INTO meta VALUES ('sweep_until', 0);
