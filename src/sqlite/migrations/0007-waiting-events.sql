-- Of the events that wait for a live instance only the oldest makes it due; the others are parked behind it (inbox.ts).
--   M1. Stores of earlier versions have all of them ready, which is slower and no less right.

-- One instance's ready messages, in order, however many events are parked.
CREATE INDEX inbox_ready ON inbox (instance, visible_at) WHERE parked = 0;
