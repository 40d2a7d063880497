-- Messages of instances that have begun: all but the start of a first execution (due-instances.ts, D4). A runtime that
-- begins no more instances of a kind finds the running ones here, without reading every pending one.
CREATE INDEX inbox_begun ON inbox (target, priority, visible_at, instance)
  WHERE parked = 0 AND (kind <> 'start' OR execution > 1);
