-- Messages of instances that have begun: all but the start of a first execution (lease/due-instances.ts,
-- sqlite.due-instances.1). A runtime that starts no further instances of a target finds the running ones
-- here, without reading every pending one.
CREATE INDEX inbox_begun ON inbox (target, priority, visible_at, instance)
  WHERE parked = 0 AND (kind <> 'start' OR execution > 1);
