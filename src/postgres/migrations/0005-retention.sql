-- Retention: ended instances without a parent, by the time of their end (deletion.ts). "failed" stands for the
-- status, which is in no index (M2 of 0001): an ended instance is completed unless it is failed.
CREATE INDEX instances_ended ON instances (failed, completed_at, key)
  WHERE completed_at IS NOT NULL AND parent_id IS NULL;
-- Until when one runtime has the retention sweep to itself (sweep-claim.ts). 0: no runtime has it.
INSERT INTO meta VALUES ('sweep_until', 0);
