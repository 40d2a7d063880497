-- The latest time that any process has written as "now", rounded up (connection/clock.ts). A lower clock
-- reading means that the machine's clock was set back. 0: nothing was written since this migration.
INSERT INTO meta VALUES ('clock', 0);
