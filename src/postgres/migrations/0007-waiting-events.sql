-- Waiting events: of the events that wait for a live instance only the oldest makes it due; the others are
-- parked (read/inbox.ts).
--   - In a store of an earlier version all waiting events are ready. That is slower but correct.

-- The ready messages of one instance, in order, without reading its parked events.
CREATE INDEX inbox_ready ON inbox (instance, visible_at, id) WHERE NOT parked;
