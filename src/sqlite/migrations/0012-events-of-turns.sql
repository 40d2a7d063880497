-- The events of plain turns are added to the tallies once per group (write/turn.ts, turn.2), not by a trigger
-- for every turn. The trigger still counts every other change: a statement that changes the number of events
-- of an instance in another way sets one of these columns too.
DROP TRIGGER tallies_update;
CREATE TRIGGER tallies_update
AFTER UPDATE OF status, paused, blocked, past_executions, past_events ON instances
WHEN OLD.status = NEW.status BEGIN
  UPDATE tallies SET
    events = events + NEW.last_event + NEW.past_events - OLD.last_event - OLD.past_events,
    executions = executions + NEW.past_executions - OLD.past_executions,
    blocked = blocked + (NEW.blocked IS NOT NULL) - (OLD.blocked IS NOT NULL),
    paused = paused + (NEW.paused IS NOT NULL) - (OLD.paused IS NOT NULL)
  WHERE status = NEW.status;
END;
