-- The newest time that any process has written as "now", rounded up (clock.ts). Clock readings below it mean that
-- the machine's clock was set back. 0: nothing was written since this row exists.
INSERT INTO meta VALUES ('clock', 0);
